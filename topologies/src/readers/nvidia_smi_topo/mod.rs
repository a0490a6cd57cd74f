//! Reader for the output of `nvidia-smi topo -m`, in the forms in which people paste it.
//!
//! The text is a matrix of devices and network cards with a header, then columns for CPU and NUMA
//! affinity, then a legend. Terminals, chats, wikis and scripts change it. Cells are separated by
//! tabs, spaces or table pipes. Colour codes remain. Prompts, time stamps or comment marks precede
//! the rows. The header loses its white space, or is missing. So the reader does not count columns
//! of text: a row is a label followed by link words, and the header is a run of labels.
//!
//! [`table`] finds the header and the rows; [`repair`] splits words that a terminal's wrap glued. [`matrix`] compares
//! them cell by cell, and [`affinity`] reads what is right of the cells. [`infer`]
//! derives what the matrix does not state: the host path of pairs with direct links, and the
//! devices behind a link switch. This file builds the fabric.

mod affinity;
mod matrix;
mod repair;
mod table;

use mapa_core::{DeviceInfo, Fabric, FabricNode, Link, LinkClass, NodeId, NodeKind};

use super::infer::{self, MOST_NVLINKS};
use super::pairs::PairLinks;
use super::text;
use crate::dump::{Dump, HostDetail, Says};
use crate::error::Error;
use crate::kind::Kind;
use crate::links::{ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS};
use crate::machine::{Labels, Machine, Warning};
use crate::vendor::Vendor;
use matrix::TopoMatrix;

/// Reads the output of `nvidia-smi topo -m`.
///
/// Devices get ids in the order of the header. The text has no bandwidths: a direct link counts
/// 25 GB/s, and a path through the host 12 GB/s.
///
/// For a pair with direct links, the text does not show the host path. It is inferred from a third
/// device or card. If the pair's paths to the third differ, the host path has the worse class of
/// the two. If they are alike, it is at least as good. Otherwise NUMA affinity decides. Without
/// that, the path gets the worst class, between sockets.
///
/// If a row has more direct links than a device can have, its group of devices is attached to a
/// link switch.
///
/// Words that a terminal's wrap glued are split where there is one way to do it. A missing or broken row of a network
/// card, or such a card's cell, is a warning. A fault between two devices is an error.
///
/// `topo -mp` leaves direct links out, and is read with a warning.
///
/// # Errors
/// No matrix in the text; a row or cell that is missing, unknown, repeated or asymmetric. The
/// message names line and cell.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let table = table::find(text)?;
    let mut matrix = TopoMatrix::new(table)?;
    let command = if matrix.is_pcie_only {
        "nvidia-smi topo -mp"
    } else {
        "nvidia-smi topo -m"
    };
    if matrix.is_pcie_only {
        let what =
            "nvidia-smi topo -mp leaves NVLink out: if the GPUs have it, add `nvidia-smi topo -m`";
        matrix.warnings.push(Warning {
            line: None,
            what: what.to_owned(),
        });
    }
    let fabric = build(&matrix)?;
    let sys = if matrix.says_soc { "SOC" } else { "SYS" };
    let machine = Machine {
        name: "topo-m".to_owned(),
        title: format!("{} devices, read from {command}", matrix.devices.len()),
        source: command.to_owned(),
        notes: notes(&matrix),
        vendor: Some(Vendor::Nvidia),
        labels: Labels {
            sys: sys.to_owned(),
            ..Labels::default()
        },
        fabric,
        warnings: matrix.warnings,
    };
    let says = Says {
        direct: !matrix.is_pcie_only,
        host: HostDetail::Classes,
        every_device: true,
        ..Says::default()
    };
    Ok(Dump::new(Kind::NvidiaSmiTopo, machine, says))
}

/// Whether a text has a matrix whose cells are links (not states of peer access).
pub(super) fn is(text: &str) -> bool {
    // A faulty matrix counts as one. Its error has a line; the error for no matrix has none.
    table::find(text).map_or_else(|error| error.line().is_some(), |_| true)
}

/// Whether a line is the header of a matrix, and not prose that ends with names of GPUs.
pub(super) fn is_header(line: &str, words: &[(&str, usize)]) -> bool {
    let before = words
        .iter()
        .take_while(|(word, _)| !word.starts_with("GPU"));
    let mut before = before.map(|(word, _)| word);
    table::header(line, words, 0).is_some() && before.all(|word| text::is_margin(word))
}

/// Notes on assumptions that the reader made.
fn notes(matrix: &TopoMatrix) -> Vec<String> {
    let n = matrix.devices.len();
    let direct = |a, b| matrix.class(a, b).is_some_and(LinkClass::is_direct);
    let mut notes = vec![
        "The text gives no bandwidth of host paths: unless set, each counts 12 GB/s.".to_owned(),
    ];
    if (0..n).any(|b| (0..b).any(|a| direct(a, b))) {
        notes.push(
            "The text gives no bandwidth of direct links: unless set, each counts 25 GB/s."
                .to_owned(),
        );
        notes.push("Host paths beneath direct links are inferred.".to_owned());
    }
    notes
}

fn build(matrix: &TopoMatrix) -> Result<Fabric, Error> {
    let devices = matrix.devices.len();
    let same_numa = |a: usize, b: usize| {
        let (x, y) = (&matrix.devices[a], &matrix.devices[b]);
        match (x.numa, y.numa) {
            (Some(x), Some(y)) => x == y,
            _ => x.cpus.is_some() && x.cpus == y.cpus,
        }
    };
    let n = matrix.len();
    let host = infer::host_classes(n, devices, |a, b| matrix.class(a, b), same_numa);
    let device = |(id, device): (usize, &affinity::DeviceRow)| {
        let index = device.index.filter(|&index| index as usize != id);
        let info = DeviceInfo {
            index,
            numa: device.numa,
            ..DeviceInfo::default()
        };
        FabricNode {
            name: device.name.clone(),
            kind: NodeKind::Device(info),
        }
    };
    let card = |name: &String| FabricNode {
        name: name.clone(),
        kind: NodeKind::Nic,
    };
    let mut fabric = PairLinks {
        ends: matrix
            .devices
            .iter()
            .enumerate()
            .map(device)
            .chain(matrix.cards.iter().map(card))
            .collect(),
        devices,
        direct: |a, b| match matrix.class(a, b) {
            Some(LinkClass::Direct(links)) => Some((links, ASSUMED_DIRECT_GBPS)),
            _ => None,
        },
        host: |a: usize, b: usize| {
            host[a * n + b].map(|class| Link {
                class,
                gbps: ASSUMED_HOST_GBPS,
            })
        },
        most_links: Some(MOST_NVLINKS),
    }
    .fabric()?;
    // Without NUMA numbers, the cores tell which devices share a socket.
    let nodes: Vec<NodeId> = fabric
        .nodes()
        .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
        .map(|(id, _)| id)
        .collect();
    for (id, row) in nodes.into_iter().zip(&matrix.devices) {
        if let Some(cores) = row.cpus.as_deref().filter(|_| row.numa.is_none()) {
            fabric
                .set_cores(id, cores)
                .map_err(|error| Error::core(None, error))?;
        }
    }
    Ok(fabric)
}
