//! Converts measurements to samples of a fit: finds the devices of the machine that took part,
//! their ring and its links.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{
    Census, DeviceId, DeviceSet, HardwareGraph, LinkClass, Pattern, Request, Tiers, greedy,
};

use crate::error::{Error, ErrorKind};
use crate::measurements::{Column, Devices, Measurement, PciPlace, Rank};
use crate::sample::Sample;

/// How measurements become samples.
#[derive(Clone, Debug)]
pub struct SampleConfig {
    /// The tiers by which links are counted. Default: the paper's.
    pub tiers: Tiers,
    /// Which bandwidth of a run is taken. Default: out of place.
    pub column: Column,
    /// The collective whose measurements are taken, beside those that do not name theirs. Default:
    /// `all_reduce`. `None`: all.
    pub op: Option<String>,
    /// The ring whose links are counted. Default: the best of the set.
    pub order: RankOrder,
}

impl Default for SampleConfig {
    fn default() -> Self {
        let op = Some("all_reduce".to_owned());
        Self {
            tiers: Tiers::PAPER,
            column: Column::default(),
            op,
            order: RankOrder::default(),
        }
    }
}

/// The ring whose links are counted for a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankOrder {
    /// The ring of the highest aggregated bandwidth (Eq. 1) through the devices, as [`greedy`]
    /// finds it. A communication library orders its rings by the links, not by the ranks.
    #[default]
    Best,
    /// The ring of rank 0, rank 1, and so on.
    AsGiven,
}

/// Samples, and why the other measurements were left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// One for each measurement that could be used, in their order.
    pub samples: Vec<Sample>,
    /// The ring of each sample.
    pub rings: Vec<Vec<DeviceId>>,
    /// The classes of link on these rings, best first: for the domain of a model fitted to them.
    pub classes: Vec<LinkClass>,
    /// The labels of measurements that were left out, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// Whether devices were found by the number that the benchmark gave them, because the machine's
    /// description has no PCI addresses. Such numbers count within `CUDA_VISIBLE_DEVICES`, which
    /// not every source contains.
    pub by_number: bool,
}

/// Makes samples of measurements on this machine: the peak bandwidth of each, and the links of a
/// ring through its devices. Measurements of another collective are left out, and those of a single
/// device, which has no links.
///
/// # Complexity
/// One placement of a ring on a given set for each measurement.
///
/// # Errors
/// A device that the machine does not have, or that is named twice; ranks on several hosts; a
/// measurement without its devices, or without the column of the configuration; devices that no
/// link joins. The message begins with the measurement's label.
pub fn samples(
    measurements: &[Measurement],
    graph: &HardwareGraph,
    config: &SampleConfig,
) -> Result<Samples, Error> {
    let mut finder = Finder {
        graph,
        by_number: BTreeMap::new(),
    };
    let mut found = Samples {
        samples: Vec::new(),
        rings: Vec::new(),
        classes: Vec::new(),
        left_out: Vec::new(),
        by_number: false,
    };
    let mut classes = BTreeSet::new();
    for run in measurements {
        let wrong = |what: String| {
            Error::from(ErrorKind::BadSample {
                label: run.label.clone(),
                what,
            })
        };
        if let Some(why) = other_collective(run, config) {
            found.left_out.push((run.label.clone(), why));
            continue;
        }
        let devices = finder.find(&run.devices).map_err(wrong)?;
        if devices.len() < 2 {
            found.left_out.push((
                run.label.clone(),
                "one device has no collective bandwidth".to_owned(),
            ));
            continue;
        }
        let gbps = run.peak_gbps(config.column).ok_or_else(|| {
            wrong("no bandwidth in the chosen column: expected another column".to_owned())
        })?;
        let ring = ring(&devices, graph, config.order).map_err(wrong)?;
        let pattern = Pattern::ring(ring.len());
        let ends = pattern
            .edges()
            .iter()
            .map(|edge| [edge.a, edge.b].map(|rank| ring[usize::from(rank)]));
        classes.extend(ends.map(|[a, b]| graph.link(a, b).class));
        let links = Census::of(&pattern, &ring, graph, &config.tiers);
        found.samples.push(Sample {
            label: run.label.clone(),
            links,
            ranks: ring.len(),
            gbps,
        });
        found.rings.push(ring);
    }
    found.classes = classes.into_iter().rev().collect();
    found.by_number = !finder.by_number.is_empty();
    Ok(found)
}

fn other_collective(run: &Measurement, config: &SampleConfig) -> Option<String> {
    let (wanted, op) = config.op.as_ref().zip(run.op.as_ref())?;
    // The columns of a log may leave two open.
    op.split(" or ")
        .all(|one| one != wanted)
        .then(|| format!("{op}, not {wanted}"))
}

fn ring(
    devices: &[DeviceId],
    graph: &HardwareGraph,
    order: RankOrder,
) -> Result<Vec<DeviceId>, String> {
    let pattern = Pattern::ring(devices.len());
    match order {
        RankOrder::AsGiven => {
            let apart = pattern
                .edges()
                .iter()
                .map(|edge| [edge.a, edge.b].map(|rank| devices[usize::from(rank)]));
            let apart = apart
                .into_iter()
                .find(|[a, b]| !graph.link(*a, *b).exists());
            match apart.map(|pair| pair.map(|id| &graph.device(id).name)) {
                Some([a, b]) => Err(format!("no link joins {a} and {b}")),
                None => Ok(devices.to_vec()),
            }
        }
        RankOrder::Best => {
            let set: DeviceSet = devices.iter().copied().collect();
            let best = graph
                .with_free(&set)
                .decide(greedy(), &Request::new(pattern));
            best.map(|best| best.placement().to_vec())
                .map_err(|refusal| refusal.to_string())
        }
    }
}

struct Finder<'g> {
    graph: &'g HardwareGraph,
    /// The devices that were found by number although the benchmark gave their place on PCI, by
    /// host and place.
    by_number: BTreeMap<(Option<String>, PciPlace), DeviceId>,
}

impl Finder<'_> {
    fn find(&mut self, devices: &Devices) -> Result<Vec<DeviceId>, String> {
        let found = match devices {
            Devices::First(count) => {
                let most = self.graph.wholes().iter().count();
                if *count > most {
                    return Err(format!(
                        "the first {count} devices: expected at most {most}, all that the \
                         machine has"
                    ));
                }
                Ok(self.graph.wholes().iter().take(*count).collect())
            }
            Devices::Named(names) => names.iter().map(|name| self.named(name)).collect(),
            Devices::Ranks { ranks, visible } => {
                if let Some(other) = ranks.iter().find(|rank| rank.host != ranks[0].host) {
                    let [a, b] =
                        [&ranks[0].host, &other.host].map(|host| host.as_deref().unwrap_or("?"));
                    return Err(format!("ranks on {a} and {b}: expected one machine"));
                }
                ranks
                    .iter()
                    .map(|rank| self.rank(rank, visible.as_deref()))
                    .collect()
            }
            Devices::Unknown => Err("the run does not name its devices: expected lines such as \
                 `# Rank 0 .. device 0 [0000:07:00] ..`, or a CSV with a column `devices`"
                .to_owned()),
        };
        let found: Vec<DeviceId> = found?;
        match found
            .iter()
            .enumerate()
            .find(|(i, id)| found[..*i].contains(id))
        {
            Some((_, twice)) => Err(format!(
                "{} is named twice: expected each device once",
                self.graph.device(*twice).name
            )),
            None => Ok(found),
        }
    }

    fn named(&self, name: &str) -> Result<DeviceId, String> {
        self.graph.find(name).map_err(|error| error.to_string())
    }

    /// Where the machine's description has a device on PCI.
    fn place(&self, id: DeviceId) -> Option<PciPlace> {
        let address = self.graph.device(id).pci.as_deref()?;
        PciPlace::of_device(address)
    }

    /// The device of a rank: by its place on PCI, if the machine's description has such places;
    /// else by its number among the visible devices.
    fn rank(&mut self, rank: &Rank, visible: Option<&[String]>) -> Result<DeviceId, String> {
        let wholes = self.graph.wholes();
        if let Some(pci) = rank.pci
            && wholes.iter().any(|id| self.place(id).is_some())
        {
            let hits: Vec<DeviceId> = wholes
                .iter()
                .filter(|id| self.place(*id).is_some_and(|address| pci.is(&address)))
                .collect();
            return match hits[..] {
                [id] => Ok(id),
                [] => Err(format!(
                    "no device of the machine is at {pci} on PCI: expected the machine that was measured"
                )),
                _ => Err(format!(
                    "{} devices of the machine are at {pci} on PCI: expected one",
                    hits.len()
                )),
            };
        }
        let number = rank.number.to_string();
        let name = match visible {
            None => &number,
            Some(names) => {
                let seen = names.get(usize::try_from(rank.number).unwrap_or(usize::MAX));
                seen.ok_or_else(|| {
                    format!(
                        "device {number}: expected one of the {} visible devices, counted from 0",
                        names.len()
                    )
                })?
            }
        };
        let id = self.named(name)?;
        if let Some(pci) = rank.pci {
            let known = *self.by_number.entry((rank.host.clone(), pci)).or_insert(id);
            if known != id {
                let [a, b] = [known, id].map(|id| &self.graph.device(id).name);
                return Err(format!(
                    "the device at {pci} on PCI is {b} by its number, and {a} in another run, \
                     because numbers depend on CUDA_VISIBLE_DEVICES: expected a machine described \
                     with PCI addresses, as by --live, `NCCL_TOPO_DUMP_FILE` or hwloc"
                ));
            }
        }
        Ok(id)
    }
}
