//! Reader for hwloc's XML, the output of `lstopo --of xml`, versions 1.x to 3.x.
//!
//! The file is a tree of objects: packages, NUMA nodes, bridges and PCI devices. Below a PCI device
//! are its names in the operating system and in vendors' libraries. The objects depend on how hwloc
//! was built and run. Without NVML, CUDA or ROCm, a GPU is a PCI device like others. Direct links
//! are in the file only if hwloc got them from NVML or ROCm.
//!
//! [`objects`] walks the tree, [`distances`] reads the matrices of bandwidths between devices, and
//! [`build`] builds the fabric.

mod build;
mod distances;
mod objects;

use super::xml::{self, XmlLines, tag};
use crate::dump::{Dump, HostDetail, Says};
use crate::error::Error;
use crate::kind::Kind;
use crate::machine::{Labels, Machine};
use crate::vendor::Vendor;
use crate::virtual_machine::is_virtual_machine;
use distances::HwlocLinks;
use objects::HwlocFile;

/// Reads hwloc's XML.
///
/// *Devices* are the PCI devices that a library for GPUs names: NVML, ROCm SMI, CUDA, Level Zero,
/// or OpenCL as a GPU. If no library names a device in the whole file, hwloc was built without
/// these, and the PCI class decides. Devices are then 3D controllers and processing accelerators
/// (0302, 1200) of NVIDIA and AMD, AMD's other display controllers (0380), and Intel's data-centre
/// GPUs. VGA controllers (0300) do not count then, because most are on-board graphics.
///
/// Ids follow the devices' numbers in the first of these libraries that names them, if the numbers
/// are different for all devices. Otherwise ids follow the PCI address.
///
/// *Host tree.* A bridge from the host is a host bridge. Below it, PCI bridges alternate: a root
/// port, the upstream port of a switch, its downstream ports, the upstream port of another switch.
/// Only upstream ports become switches of the machine. So two devices below two root ports of one
/// host bridge have the class `Phb`, as in `nvidia-smi topo -m`, and two below one switch `Pix`.
///
/// A hop has the bandwidth of the slower of its two ends, as far as the file gives them. Otherwise
/// it counts 12 GB/s. A port states its present speed, which is low while the device is idle. NVML
/// states the highest speed of the other end. So if the two differ, the bandwidths do not count as
/// given by the file. The file does not describe the connection of host bridges and NUMA nodes. It
/// gets the bandwidth of the widest hop.
///
/// *Direct links* come from the matrices `NVLinkBandwidth` and `XGMIBandwidth`, in MB/s. The number
/// of links is this bandwidth divided by that of one link of the device's generation. All
/// NVSwitches become one link switch (on a DGX-2 the GPUs of the two boards have different ones,
/// and are joined). Links to a CPU attach the device to its host bridge with their bandwidth.
/// `XGMIBandwidth` is read only if it is plausible: some drivers give all pairs of a hive the same
/// bandwidth and one hop, even if their links differ. Without a matrix, the direct links are
/// unknown.
///
/// # Errors
/// Malformed XML; a device without a PCI address; matrices of the wrong size, or whose two halves
/// contradict each other. The message names line and element.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let document = xml::parse(text)?;
    let lines = XmlLines::new(text);
    let root = document.root_element();
    if tag(root) != "topology" {
        return Err(xml::error(root, "expected <topology>"));
    }
    let mut warnings = Vec::new();
    let topology = HwlocFile::read(root)?;
    let links = HwlocLinks::read(root, &topology, &lines, &mut warnings)?;
    let mut built = build::fabric(&topology, &links)?;
    let info = |name| {
        let mut infos = root.descendants().filter(|node| tag(*node) == "info");
        let found = infos.find(|node| node.attribute("name") == Some(name));
        found.and_then(|node| node.attribute("value")).unwrap_or("")
    };
    let (maker, product) = (info("DMISysVendor"), info("DMIProductName"));
    built.fabric.set_virtual(is_virtual_machine(maker, product));
    let devices = topology.gpus.len();
    // Only AMD's drivers give the matrix of XGMI.
    let vendor = match links.xgmi {
        true => Some(Vendor::Amd),
        false => Vendor::one_of(topology.gpus.iter().map(|gpu| gpu.vendor)),
    };
    let machine = Machine {
        name: "hwloc".to_owned(),
        title: format!("{devices} devices, read from hwloc's XML"),
        source: "lstopo --of xml".to_owned(),
        notes: notes(&topology, &links, built.host_told),
        vendor,
        labels: Labels::of(vendor),
        fabric: built.fabric,
        warnings,
    };
    let says = Says {
        every_device: topology.pci,
        direct: links.told,
        direct_gbps: links.told,
        host: if topology.pci {
            HostDetail::Tree
        } else {
            HostDetail::Nothing
        },
        host_gbps: devices > 0 && built.host_told && !topology.ends_differ,
    };
    Ok(Dump::new(Kind::Hwloc, machine, says))
}

/// Whether the first element of a text is `<topology>`.
pub(super) fn is(text: &str) -> bool {
    xml::begins_with(text, &["topology"])
}

/// Notes on assumptions that the reader made.
fn notes(topology: &HwlocFile<'_, '_>, links: &HwlocLinks, host_told: bool) -> Vec<String> {
    let mut notes = vec![
        "The bandwidth between host bridges and NUMA nodes is unknown: it counts as that of the widest hop."
            .to_owned(),
    ];
    if topology.by_class && !topology.gpus.is_empty() {
        notes.push(
            "The file names no library for GPUs: devices are recognised by their PCI class."
                .to_owned(),
        );
    }
    if !host_told {
        notes.push("Some PCI links have no speed: such a hop counts 12 GB/s.".to_owned());
    }
    if topology.ends_differ {
        let told = "The ends of some PCI links have different speeds: the slower counts";
        notes.push(format!(
            "{told}. If the device was idle, set the bandwidth of host paths by hand."
        ));
    }
    if !links.told {
        notes.push("The text does not describe direct links.".to_owned());
    }
    notes.extend(links.notes.iter().cloned());
    notes
}
