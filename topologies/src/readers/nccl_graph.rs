//! Reader for NCCL's and RCCL's graph files: the output of `NCCL_GRAPH_DUMP_FILE` and the input of
//! `NCCL_GRAPH_FILE`.
//!
//! For each kind of search (ring, tree, collnet, NVLS) the file has the channels that were found. A
//! channel is an order of GPUs, with a network card at each end if there are other machines. So the
//! file shows the order in which GPUs communicate, but not the links of the machine.

use std::collections::BTreeSet;

use mapa_core::{DeviceInfo, Fabric, FabricNode, NodeKind};
use roxmltree::Node;

use super::xml::{self, XmlLines, elements, tag};
use crate::dump::{Channel, Dump, Says};
use crate::error::{Error, ErrorKind};
use crate::kind::Kind;
use crate::machine::{Labels, Machine};

/// Reads NCCL's or RCCL's graphs, `<graphs version="1">`.
///
/// The devices are those in any channel, in the order of their `dev` numbers. The machine has no
/// links. Channels keep the file's numbers of devices and cards. Recent versions write numbers in
/// hexadecimal, with the host's number in the highest byte. This byte is dropped for cards. For
/// devices it must be that of the first host.
///
/// # Errors
/// Malformed XML; a graph without its id and pattern; a device or card without a number; devices of
/// several hosts. The message names line and element.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let document = xml::parse(text)?;
    let lines = XmlLines::new(text);
    let root = document.root_element();
    if tag(root) != "graphs" {
        return Err(xml::error(root, "expected <graphs>"));
    }
    let mut warnings = Vec::new();
    let mut channels = Vec::new();
    for graph in elements(root).filter(|node| node.has_tag_name("graph")) {
        let found = read_graph(graph)?;
        let told: Option<usize> = xml::number(graph, "nchannels")?;
        if let Some(told) = told.filter(|&told| told != found.len()) {
            let what = format!(
                "nchannels=\"{told}\", but the graph has {} channels",
                found.len()
            );
            warnings.push(lines.warning(graph, what));
        }
        channels.extend(found);
    }
    let fabric = fabric(&channels)?;
    let machine = Machine {
        name: "nccl-graph".to_owned(),
        title: format!("{} devices, read from NCCL's graphs", fabric.device_count()),
        source: "NCCL_GRAPH_DUMP_FILE".to_owned(),
        notes: vec![
            "Channels show in which order links were used, not which links exist.".to_owned(),
        ],
        vendor: None,
        labels: Labels::default(),
        fabric,
        warnings,
    };
    Ok(Dump {
        channels,
        ..Dump::new(Kind::NcclGraph, machine, Says::default())
    })
}

/// Whether the first element of a text is `<graphs>`.
pub(super) fn is(text: &str) -> bool {
    xml::begins_with(text, &["graphs"])
}

fn read_graph(node: Node<'_, '_>) -> Result<Vec<Channel>, Error> {
    let (graph, pattern) = (xml::required(node, "id")?, xml::required(node, "pattern")?);
    let (intra_gbps, inter_gbps) = (speed(node, "speedintra")?, speed(node, "speedinter")?);
    let channels = elements(node).filter(|child| child.has_tag_name("channel"));
    let read = |channel: Node<'_, '_>| {
        let (mut devices, mut cards) = (Vec::new(), Vec::new());
        for end in elements(channel) {
            match tag(end) {
                "gpu" => devices.push(device(end)?),
                "net" => cards.extend(card(end)?),
                _ => {}
            }
        }
        Ok(Channel {
            graph,
            pattern,
            devices,
            cards,
            intra_gbps,
            inter_gbps,
        })
    };
    channels.map(read).collect()
}

/// A bandwidth attribute, GB/s. 0 if the attribute is missing.
fn speed(node: Node<'_, '_>, attribute: &str) -> Result<f64, Error> {
    let gbps: f64 = xml::number(node, attribute)?.unwrap_or(0.0);
    if !(gbps.is_finite() && gbps >= 0.0) {
        return Err(xml::error(
            node,
            format!("{attribute}=\"{gbps}\": expected GB/s"),
        ));
    }
    Ok(gbps)
}

/// A number in the forms of all NCCL versions: `3`, or `0x3` with the host's number in the highest
/// byte.
fn number(node: Node<'_, '_>) -> Result<i128, Error> {
    let Some(text) = node.attribute("dev") else {
        return Err(xml::error(node, "no attribute `dev`: expected a number"));
    };
    let read = match text.trim().strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16),
        None => text.trim().parse(),
    };
    read.map_err(|_| xml::error(node, format!("dev=\"{text}\": expected a number")))
}

/// The bits of a number below the host's byte.
const LOCAL: i128 = (1 << 56) - 1;

fn device(node: Node<'_, '_>) -> Result<u32, Error> {
    let number = number(node)?;
    if number > LOCAL {
        let what = "a device of another host: expected the graphs of one machine";
        return Err(xml::error(node, what).with_kind(ErrorKind::Unsupported));
    }
    u32::try_from(number).map_err(|_| {
        xml::error(
            node,
            format!("dev=\"{number}\": expected the number of a device"),
        )
    })
}

/// The number of a card. `None` for -1, which means no card.
fn card(node: Node<'_, '_>) -> Result<Option<u32>, Error> {
    let number = number(node)?;
    if number == -1 || number == i128::from(u64::MAX) {
        return Ok(None);
    }
    let local = u32::try_from(number & LOCAL)
        .map_err(|_| xml::error(node, "expected the number of a network card"));
    if number < 0 {
        Err(xml::error(node, "expected the number of a network card"))
    } else {
        local.map(Some)
    }
}

fn fabric(channels: &[Channel]) -> Result<Fabric, Error> {
    let named: BTreeSet<u32> = channels
        .iter()
        .flat_map(|channel| channel.devices.iter().copied())
        .collect();
    let mut fabric = Fabric::new();
    for (id, number) in (0u32..).zip(named) {
        let info = DeviceInfo {
            index: Some(number).filter(|&number| number != id),
            ..DeviceInfo::default()
        };
        fabric.add(FabricNode {
            name: format!("GPU{number}"),
            kind: NodeKind::Device(info),
        })?;
    }
    Ok(fabric)
}
