//! Reader for NCCL's and RCCL's topology: what `NCCL_TOPO_DUMP_FILE` writes, and the files that clouds hand to
//! `NCCL_TOPO_FILE`.
//!
//! A tree of CPUs (NUMA nodes), PCI elements, GPUs and network cards; below a GPU, its direct links, each with the PCI
//! address and class of what is at its other end. Attributes differ between versions, so only those are read that matter
//! here, and few are required.
//!
//! The steps: [`system`] reads the elements; [`links`] sorts out what the direct links lead to; [`build`] puts the fabric
//! together.

mod build;
mod links;
mod system;

use super::xml::{self, Lines};
use crate::dump::{Dump, HostDetail, Says};
use crate::error::Error;
use crate::machine::{Labels, Machine};
use crate::readers::Kind;
use links::Links;
use system::System;

/// Reads NCCL's or RCCL's topology, `<system version="1">` or `"2"`.
///
/// Devices get ids in the order of their `dev` numbers, hosts one after the other. A file without `<gpu>` is a skeleton that
/// NCCL completes at run time: its devices are the PCI elements of a GPU's class, of NVIDIA, AMD or no vendor.
///
/// *Host tree.* NCCL does not tell host bridges apart, so each CPU has one: devices of one CPU that no switch joins read
/// `Phb`, also where `nvidia-smi` would print NODE. Every PCI element with others below it is a switch: below one of them
/// devices read `Pix`, over several `Pxb`, across CPUs `Sys`. A hop has the bandwidth of `link_speed` and `link_width`, or
/// 12 GB/s, which is also NCCL's own default; nothing is said of what joins CPUs, so that hop is as wide as the widest
/// PCI hop. A CPU whose NUMA node is unknown (-1), or has the number of one of another host, is drawn as its host bridge
/// alone.
///
/// *Direct links.* A link to a GPU must be stated by both ends alike; stated by one alone, it is read with a warning. Links
/// to NVSwitches all lead to one link switch, as in NCCL: a device's port has the sum of its counts, whatever the plane. (On
/// a DGX-2 the GPUs of the two boards name different switches, and are joined.) Links to the CPU (POWER9, Grace) hang the
/// device from its CPU's host bridge by their bandwidth, which is the way its data takes. Links to GPUs that are not in
/// the file are left out with a warning: NCCL writes them where a job has some of a machine's GPUs. So a dump does not
/// say that there are no other devices.
///
/// Several GPUs at one PCI address (partitions) are read as devices of their own; their direct links are left out.
///
/// # Errors
/// Malformed XML; an element without the attribute that names it; numbers that are none; ends of a link that contradict
/// each other; two devices of one number. The message names line and element.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let document = xml::parse(text)?;
    let lines = Lines::new(text);
    let mut warnings = Vec::new();
    let system = System::read(document.root_element(), &lines, &mut warnings)?;
    let links = Links::read(&system, &lines, &mut warnings)?;
    let built = build::fabric(&system, &links)?;
    let devices = system.gpus.len();
    let machine = Machine {
        name: "nccl-topology".to_owned(),
        title: format!("{devices} devices, read from NCCL's topology"),
        source: "NCCL_TOPO_DUMP_FILE".to_owned(),
        notes: notes(&system, &links, built.host_told),
        labels: labels(&links),
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

/// Its first element is `<system>`.
pub(super) fn is(text: &str) -> bool {
    xml::begins_with(text, &["system"])
}

fn labels(links: &Links) -> Labels {
    if links.xgmi { Labels { direct: "XGMI".to_owned(), ..Labels::default() } } else { Labels::default() }
}

/// What a reader of the machine must know of its description.
fn notes(system: &System<'_, '_>, links: &Links, host_told: bool) -> Vec<String> {
    let mut notes = vec![
        "NCCL does not tell host bridges apart: each CPU has one, so PHB may be NODE.".to_owned(),
        "Nothing is said of the bandwidth between CPUs: it is taken for that of the widest PCI hop.".to_owned(),
    ];
    if system.skeleton {
        notes.push("A skeleton: devices are told by their PCI class, direct links are not told.".to_owned());
    }
    if !host_told {
        notes.push("Some PCI links have no speed or width: such a hop counts 12 GB/s.".to_owned());
    }
    if !links.rates_known {
        notes.push("Some direct links are of no known generation: each counts 25 GB/s.".to_owned());
    }
    if links.ports.iter().any(Option::is_some) {
        notes.push("All NVSwitches are drawn as one, as NCCL does.".to_owned());
    }
    if links.to_host.iter().any(|&gbps| gbps > 0.0) {
        notes.push("Devices with direct links to their CPU hang from its host bridge by these.".to_owned());
    }
    notes
}
