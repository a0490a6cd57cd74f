//! Reader for NCCL's and RCCL's topology: what `NCCL_TOPO_DUMP_FILE` writes, and the files that
//! clouds hand to `NCCL_TOPO_FILE`.
//!
//! The file is a tree of CPUs (NUMA nodes), PCI elements, GPUs and network cards. Below a GPU are
//! its direct links, each with the PCI address and class of its other end. Attributes differ
//! between versions, so the reader uses only those that matter here, and requires few.
//!
//! [`system`] reads the elements, [`links`] finds the other ends of direct links, and [`nccl_tree`] builds
//! the fabric.

mod links;
mod system;

use super::nccl_tree::{self, NcclTree};
use super::xml::{self, XmlLines};
use crate::dump::{Dump, HostDetail, Says};
use crate::error::Error;
use crate::kind::Kind;
use crate::machine::{Labels, Machine};
use crate::vendor::Vendor;
use links::NcclLinks;
use system::{NcclGpu, NcclSystem};

/// Reads NCCL's or RCCL's topology, `<system version="1">` or `"2"`.
///
/// Devices get ids in the order of hosts, and within a host in the order of their `dev` numbers. A
/// file without `<gpu>` is a skeleton that NCCL completes at run time. Its devices are the PCI
/// elements with the class of a GPU whose vendor is NVIDIA, AMD or not given.
///
/// *Host tree.* NCCL does not distinguish host bridges, so each CPU gets one. Two devices of one
/// CPU without a common switch have the class `Phb`, even if `nvidia-smi` prints NODE for them.
/// Every PCI element with others below it is a switch. Two devices below one switch have the class
/// `Pix`, over several switches `Pxb`, and across CPUs `Sys`.
///
/// The bandwidth of a hop follows from `link_speed` and `link_width`. Without these it is 12 GB/s,
/// which is also NCCL's default. The file does not describe the connection between CPUs, so this
/// hop gets the bandwidth of the widest PCI hop. A CPU whose NUMA node is unknown (-1), or has the
/// same number as one of another host, has a host bridge but no NUMA node.
///
/// *Direct links.* Both ends of a link between GPUs must state the same number of links. A link
/// that only one end states is read with a warning. All NVSwitches become one link switch, as in
/// NCCL: a device's port has the sum of its counts over all planes. (On a DGX-2 the GPUs of the two
/// boards name different switches, and are joined.) Links to the CPU (POWER9, Grace) attach the
/// device to its CPU's host bridge with the bandwidth of these links, because data takes this path.
/// Links to GPUs that are not in the file are left out with a warning. NCCL writes such links if a
/// job has only some of a machine's GPUs, so the machine may have more devices than the file.
///
/// Several GPUs at one PCI address (partitions) are read as separate devices. Their direct links
/// are left out.
///
/// # Errors
/// Malformed XML; an element without the attribute that identifies it; an attribute that is not a
/// number; two ends of a link that contradict each other; two devices with the same number. The
/// message names line and element.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let document = xml::parse(text)?;
    let lines = XmlLines::new(text);
    let mut warnings = Vec::new();
    let system = NcclSystem::read(document.root_element(), &lines, &mut warnings)?;
    let links = NcclLinks::read(&system, &lines, &mut warnings)?;
    let devices = system.gpus.len();
    let built = nccl_tree::fabric(NcclTree {
        cpus: &system.cpus,
        devices: &system.devices(&lines),
        links: &links.bonds,
    })?;
    let vendor = Vendor::one_of(system.gpus.iter().map(NcclGpu::vendor));
    let machine = Machine {
        name: "nccl-topology".to_owned(),
        title: format!("{devices} devices, read from NCCL's topology"),
        source: "NCCL_TOPO_DUMP_FILE".to_owned(),
        notes: notes(&system, &links, built.host_told),
        vendor,
        labels: Labels::of(vendor),
        fabric: built.fabric,
        warnings,
    };
    let says = Says {
        every_device: false,
        direct: !system.skeleton && !links.left_out,
        direct_gbps: !system.skeleton && !links.left_out && links.rates_known,
        host: HostDetail::Tree,
        host_gbps: devices > 0 && built.host_told,
    };
    Ok(Dump::new(Kind::NcclTopology, machine, says))
}

/// Whether the first element of a text is `<system>`.
pub(super) fn is(text: &str) -> bool {
    xml::begins_with(text, &["system"])
}

/// Notes on assumptions that the reader made.
fn notes(system: &NcclSystem<'_, '_>, links: &NcclLinks, host_told: bool) -> Vec<String> {
    let mut notes = vec![
        "NCCL does not distinguish host bridges: each CPU has one, so PHB may be NODE.".to_owned(),
        "The file gives no bandwidth between CPUs: it counts as that of the widest PCI hop."
            .to_owned(),
    ];
    if system.skeleton {
        notes.push(
            "A skeleton: devices are recognised by their PCI class, and direct links are unknown."
                .to_owned(),
        );
    }
    if !host_told {
        notes.push("Some PCI links have no speed or width: such a hop counts 12 GB/s.".to_owned());
    }
    if !links.rates_known {
        notes.push("Some direct links fit no known generation: each counts 25 GB/s.".to_owned());
    }
    if links.bonds.ports.iter().any(Option::is_some) {
        notes.push("All NVSwitches become one link switch, as in NCCL.".to_owned());
    }
    if links.bonds.to_host.iter().any(|&gbps| gbps > 0.0) {
        notes.push(
            "Devices with direct links to their CPU are attached to its host bridge by these links.".to_owned(),
        );
    }
    notes
}
