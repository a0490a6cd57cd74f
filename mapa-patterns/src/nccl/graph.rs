//! NCCL's graph in XML, read as one communicator of the devices of one host.

use std::collections::BTreeSet;

use mapa_topologies::{Channel, Kind};

use super::communicator::{Communicator, JobDevice, NcclJob, Ring, Tree, TreeHalf};
use crate::application::Note;
use crate::error::Error;

/// NCCL's numbers of patterns: 1 to 3 are trees, 4 rings; those above are NVLS and CollNet.
const RING: u32 = 4;

/// Whether a text is XML with graphs.
pub(super) fn is(text: &str) -> bool {
    text.trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('<')
        && text.contains("<graphs")
}

/// Reads graphs. Each rank writes its own, so all of them must be equal.
pub(super) fn read(files: &[(&str, &str)]) -> Result<NcclJob, Error> {
    let mut first: Option<Vec<Channel>> = None;
    for (name, text) in files {
        if !is(text) {
            return Err(Error::new(
                "a log beside a graph in XML: expected logs only, or graphs only",
            )
            .within(name));
        }
        let dump = mapa_topologies::read(text.as_bytes())
            .map_err(|error| Error::from(error).within(name))?;
        if dump.kind != Kind::NcclGraph || dump.channels.is_empty() {
            return Err(Error::new("no channel: expected <graphs> with channels").within(name));
        }
        match &first {
            Some(channels) if *channels != dump.channels => {
                return Err(Error::new(
                    "other channels than in the graph before: expected the same",
                )
                .within(name));
            }
            _ => first = Some(dump.channels),
        }
    }
    job(&first.unwrap_or_default()).map_err(|error| {
        files
            .first()
            .map_or(Error::new(""), |(name, _)| error.within(name))
    })
}

/// The job of a graph: its channels as rings and trees of one communicator.
fn job(channels: &[Channel]) -> Result<NcclJob, Error> {
    let numbers: BTreeSet<u32> = channels
        .iter()
        .flat_map(|channel| channel.devices.iter().copied())
        .collect();
    let numbers: Vec<u32> = numbers.into_iter().collect();
    let ranks = numbers.len();
    let mut communicator = Communicator {
        name: "graph".to_owned(),
        ranks,
        ..Communicator::default()
    };
    communicator.devices = (0..ranks).map(Some).collect();
    let mut notes: BTreeSet<&str> = BTreeSet::new();
    for channel in channels {
        if channel.pattern > RING {
            notes.insert(
                "a graph of NVLS or CollNet, which may be used in place of rings and trees",
            );
            continue;
        }
        let order: Vec<u32> = channel
            .devices
            .iter()
            .map(|number| numbers.binary_search(number).unwrap_or(0) as u32)
            .collect();
        let distinct: BTreeSet<u32> = order.iter().copied().collect();
        if distinct.len() != ranks || order.len() != ranks {
            let what = format!(
                "a channel of {} devices, {} of them distinct: expected {ranks}",
                order.len(),
                distinct.len()
            );
            return Err(Error::new(what));
        }
        let mut hops: Vec<(u32, u32)> = order
            .iter()
            .copied()
            .zip(order.iter().copied().skip(1))
            .collect();
        if channel.pattern != RING {
            hops.sort_unstable_by_key(|&(_, child)| child);
            communicator.trees.push(Tree {
                channel: communicator.trees.len() as u32,
                half: TreeHalf::Both,
                edges: hops,
            });
            continue;
        }
        let is_whole = channel.cards.is_empty();
        if is_whole {
            hops.extend(order.last().copied().zip(order.first().copied()));
            let at = hops.iter().position(|&(from, _)| from == 0).unwrap_or(0);
            hops.rotate_left(at);
        } else {
            notes.insert("the hops of rings to other hosts");
        }
        communicator.rings.push(Ring {
            channel: communicator.rings.len() as u32,
            hops,
            is_whole,
        });
    }
    communicator.channels = communicator.rings.len().max(communicator.trees.len());
    let devices = numbers.into_iter().map(|number| JobDevice {
        number: Some(number),
        label: format!("GPU{number}"),
        ..JobDevice::default()
    });
    Ok(NcclJob {
        devices: devices.collect(),
        communicators: vec![communicator],
        messages: Vec::new(),
        notes: notes.into_iter().map(Note::left_out).collect(),
    })
}
