//! Reader for hwloc's XML: what `lstopo --of xml` writes, of versions 1.x to 3.x.
//!
//! A tree of objects: packages, NUMA nodes, bridges, PCI devices, and below these the names by which the operating system
//! and vendors' libraries know them. Which of these there are depends on how hwloc was built and run: without NVML, CUDA
//! or ROCm a GPU is a PCI device like others; direct links are there only where NVML or ROCm told of them.
//!
//! The steps: [`objects`] walks the tree; [`distances`] reads the matrices of bandwidths between devices; [`build`] puts
//! the fabric together.

mod build;
mod distances;
mod objects;

use super::xml::{self, Lines, tag};
use crate::dump::{Dump, HostDetail, Says};
use crate::error::Error;
use crate::machine::{Labels, Machine};
use crate::readers::Kind;
use distances::Links;
use objects::Topology;

/// Reads hwloc's XML.
///
/// *Devices* are the PCI devices that a library for GPUs names: NVML, ROCm SMI, CUDA, Level Zero, or OpenCL as a GPU. Where
/// none is named in the whole file, hwloc was built without these, and the class tells: 3D controllers and processing
/// accelerators (0302, 1200) of NVIDIA and AMD, AMD's other display controllers (0380), Intel's data-centre GPUs. VGA
/// controllers (0300) are not counted then: most are a board's own. Ids follow the number of the first of these libraries
/// that names a device, in that order, if they tell all devices apart; else the PCI address.
///
/// *Host tree.* A bridge from the host is a host bridge. Below it, PCI bridges alternate: a root port, the upstream port of
/// a switch, its downstream ports, the upstream port of another. Only upstream ports are drawn, as switches. So two devices
/// below two root ports of one host bridge read `Phb`, as in `nvidia-smi topo -m`, and two below one switch `Pix`. A hop
/// has the bandwidth of the slower of its two ends, as far as these are told; else it counts 12 GB/s. (A port tells its
/// present speed, which is low while the device is idle; where NVML tells the other end's, that is the highest. So where
/// the two differ, bandwidths do not count as told.) What joins host bridges and NUMA nodes is not told; it is as wide as the widest hop.
///
/// *Direct links* come from the matrices `NVLinkBandwidth` and `XGMIBandwidth`, in MB/s: as many links as that is of one of
/// the device's generation. All NVSwitches are one link switch (on a DGX-2 the GPUs of the two boards have different
/// ones, and are joined). Links to a CPU hang the device from its host bridge by their bandwidth. `XGMIBandwidth` is read
/// only where it can be true: some drivers give all pairs of a hive the same bandwidth and one hop, though their links
/// differ. Without a matrix, direct links are not told.
///
/// # Errors
/// Malformed XML; a device without a PCI address; matrices of the wrong size, or whose two halves contradict each other. The
/// message names line and element.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let document = xml::parse(text)?;
    let lines = Lines::new(text);
    let root = document.root_element();
    if tag(root) != "topology" {
        return Err(xml::error(root, "expected <topology>"));
    }
    let mut warnings = Vec::new();
    let topology = Topology::read(root)?;
    let links = Links::read(root, &topology, &lines, &mut warnings)?;
    let built = build::fabric(&topology, &links)?;
    let devices = topology.gpus.len();
    let machine = Machine {
        name: "hwloc".to_owned(),
        title: format!("{devices} devices, read from hwloc's XML"),
        source: "lstopo --of xml".to_owned(),
        notes: notes(&topology, &links, built.host_told),
        labels: if links.xgmi { Labels { direct: "XGMI".to_owned(), ..Labels::default() } } else { Labels::default() },
        fabric: built.fabric,
        warnings,
    };
    let says = Says {
        every_device: topology.pci,
        direct: links.told,
        direct_gbps: links.told,
        host: if topology.pci { HostDetail::Tree } else { HostDetail::Nothing },
        host_gbps: devices > 0 && built.host_told && !topology.ends_differ,
    };
    Ok(Dump::new(Kind::Hwloc, machine, says))
}

/// Its first element is `<topology>`.
pub(super) fn is(text: &str) -> bool {
    xml::begins_with(text, &["topology"])
}

/// What a reader of the machine must know of its description.
fn notes(topology: &Topology<'_, '_>, links: &Links, host_told: bool) -> Vec<String> {
    let mut notes = vec![
        "Nothing is said of the bandwidth between host bridges and NUMA nodes: it is taken for that of the widest hop."
            .to_owned(),
    ];
    if topology.by_class && !topology.gpus.is_empty() {
        notes.push("No library for GPUs is named: devices are told by their PCI class.".to_owned());
    }
    if !host_told {
        notes.push("Some PCI links have no speed: such a hop counts 12 GB/s.".to_owned());
    }
    if topology.ends_differ {
        let told = "The ends of some PCI links tell different speeds: the slower is taken, though it may be idle";
        notes.push(format!("{told}; if it is, set the bandwidth of host paths by hand."));
    }
    if !links.told {
        notes.push("Direct links are not told.".to_owned());
    }
    notes.extend(links.notes.iter().cloned());
    notes
}
