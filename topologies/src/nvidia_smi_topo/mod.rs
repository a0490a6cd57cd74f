//! Reader for what `nvidia-smi topo -m` prints, in all the shapes in which it gets pasted.
//!
//! The text is a matrix of devices and network cards with a header, then columns for CPU and NUMA affinity, then a legend.
//! It reaches us through terminals, chats, wikis and scripts: tabs or spaces or table pipes between cells, colour codes,
//! prompts and time stamps and comment marks before the rows, the header glued together or lost. So nothing here counts
//! columns of text: a row is a label followed by link words, and the header is a run of labels.
//!
//! The steps: [`table`] finds the header and the rows; [`matrix`] checks them against each other, cell by cell;
//! [`infer`] works out what the matrix leaves open (the host path beneath direct links, and which devices hang from a
//! switch); this file puts the fabric together.

mod infer;
mod matrix;
mod table;

use mapa_core::{DeviceInfo, Fabric, FabricNode, LinkClass, NodeKind};

use crate::error::Error;
use crate::machine::{Labels, Machine};
use matrix::Matrix;

/// What the text does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Assumed {
    /// GB/s per direction of one direct link. 25: NVLink 2 to 4.
    pub(crate) direct_gbps: f64,
    /// GB/s per direction of any path through the host. 12: the paper's figure for PCIe 3.
    pub(crate) host_gbps: f64,
}

impl Assumed {
    pub(crate) const DEFAULT: Self = Self { direct_gbps: 25.0, host_gbps: 12.0 };
}

impl Machine {
    /// Reads the output of `nvidia-smi topo -m`.
    ///
    /// Devices get ids in the order of the header. Bandwidths are not in the text: a direct link counts 25 GB/s, a path
    /// through the host 12. What joins a pair beneath its direct links is not there either and is inferred: from a third
    /// device or card (the worse of the two ways to it, if they differ; at least as good as both, if not), else from NUMA
    /// affinity, else taken for the worst, between sockets. Where one row claims more direct links than a device can
    /// have, its group hangs from a link switch.
    ///
    /// Missing or broken rows of network cards are warnings; anything wrong with a device's row is an error.
    ///
    /// # Errors
    /// No matrix in the text; rows or cells missing, unknown, doubled or asymmetric. The message names line and cell.
    pub fn from_nvidia_smi_topo(text: &str) -> Result<Self, Error> {
        let table = table::find(text)?;
        let matrix = Matrix::new(table)?;
        let fabric = build(&matrix, Assumed::DEFAULT)?;
        let sys = if matrix.says_soc { "SOC" } else { "SYS" };
        Ok(Self {
            name: "topo-m".to_owned(),
            title: format!("{} devices, read from nvidia-smi topo -m", matrix.devices.len()),
            source: "nvidia-smi topo -m".to_owned(),
            notes: notes(&matrix),
            labels: Labels { sys: sys.to_owned(), ..Labels::default() },
            fabric,
            warnings: matrix.warnings,
        })
    }
}

/// What a reader of the machine must know of its description.
fn notes(matrix: &Matrix) -> Vec<String> {
    let n = matrix.devices.len();
    let direct = |a, b| matrix.class(a, b).is_some_and(LinkClass::is_direct);
    let mut notes =
        vec!["The text gives no bandwidths: unless set, a direct link counts 25 GB/s, a host path 12.".to_owned()];
    if (0..n).any(|b| (0..b).any(|a| direct(a, b))) {
        notes.push("Host paths beneath direct links are inferred.".to_owned());
    }
    notes
}

fn build(matrix: &Matrix, assumed: Assumed) -> Result<Fabric, Error> {
    let mut fabric = Fabric::new();
    let n = matrix.devices.len();
    let host = infer::host_classes(matrix);
    let switches = infer::switched_groups(matrix);
    let mut ends = Vec::with_capacity(n);
    for (id, device) in matrix.devices.iter().enumerate() {
        let index = device.index.filter(|&index| index as usize != id);
        let info = DeviceInfo { index, numa: device.numa, ..DeviceInfo::default() };
        ends.push(fabric.add(FabricNode { name: device.name.clone(), kind: NodeKind::Device(info) })?);
    }
    for card in &matrix.cards {
        ends.push(fabric.add(FabricNode { name: card.clone(), kind: NodeKind::Nic })?);
    }
    for (i, group) in switches.iter().enumerate() {
        let switch = fabric.add(FabricNode { name: format!("link-switch{i}"), kind: NodeKind::LinkSwitch })?;
        for &device in &group.devices {
            let gbps = f64::from(group.links) * assumed.direct_gbps;
            fabric.link(ends[device], switch, LinkClass::Direct(group.links), gbps)?;
        }
    }
    let mut switch_of = vec![None; ends.len()];
    for (i, group) in switches.iter().enumerate() {
        group.devices.iter().for_each(|&device| switch_of[device] = Some(i));
    }
    let switched = |a: usize, b: usize| switch_of[a].is_some() && switch_of[a] == switch_of[b];
    for b in 0..ends.len() {
        for a in 0..b {
            if let Some(LinkClass::Direct(links)) = matrix.class(a, b)
                && !switched(a, b)
            {
                let gbps = f64::from(links) * assumed.direct_gbps;
                fabric.link(ends[a], ends[b], LinkClass::Direct(links), gbps)?;
            }
            if let Some(class) = host[a * ends.len() + b] {
                fabric.link(ends[a], ends[b], class, assumed.host_gbps)?;
            }
        }
    }
    Ok(fabric)
}
