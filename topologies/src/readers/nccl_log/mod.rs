//! Reader for the tree of a machine in NCCL's or RCCL's log: `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH`.
//!
//! Reports of issues have this log more often than the XML that says the same, because a job prints it without a
//! further run. It is the output of `ncclTopoPrint` in NCCL's `src/graph/topo.cc`, whose form changed often: what
//! is read here was compared with the source of every version from 2.5 to 2.30, and of RCCL.
//!
//! [`row`] reads lines, [`printed`] finds the trees among those of several processes, [`tree`] nests the rows of one,
//! [`machine`] places devices and joins them, and [`count`] finds how many links a bandwidth stands for.

mod count;
mod machine;
mod printed;
mod row;
mod tree;

use super::nccl_tree::{self, NcclTree};
use crate::dump::{Dump, HostDetail, Says};
use crate::error::Error;
use crate::kind::Kind;
use crate::link_generation::COUNTED_SOURCE;
use crate::machine::{Labels, Machine, Warning};
use crate::vendor::Vendor;
use machine::LogMachine;
use printed::PrintedTree;

/// Reads the tree in a log of NCCL or RCCL.
///
/// Every rank prints a tree for every communicator. Of those of the process that comes first, the one with the most
/// devices is read, else the first. If all of these are cut or garbled, the first whole one of another process is
/// read, with a warning.
///
/// Devices get ids in the order of hosts, and within a host of their PCI addresses, as drivers number them. The
/// number that the log prints is a rank, which is the user's choice.
///
/// *Bandwidths* are those that the library counts with, 80 % of the nominal ones or less. They are kept as they are,
/// and count as assumed when dumps are merged. *Numbers of links* follow from what one link counts, if only one
/// figure fits the version and all rows. The note says which.
///
/// *Host tree and links* are as in the library's XML: each CPU is one host bridge, all NVSwitches are one link
/// switch, links to the CPU attach a device to its host bridge, and partitions of one GPU have no direct links. Since
/// the library forgets links to devices that are not in the job, the machine may have more devices.
///
/// # Errors
/// No heading; a tree without its end; a row that is cut, misplaced, or names an element without a row; two ends of a link
/// that contradict each other. The message names the line.
///
/// # Complexity
/// O(n · log n) in the length of the text.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let text = printed::cleaned(text);
    let trees = printed::trees(&text);
    let (mut found, flattened) = choose(&trees)?;
    let built = nccl_tree::fabric(NcclTree {
        cpus: &found.cpus,
        devices: &found.devices,
        links: &found.bonds,
    })?;
    let devices = found.devices.len();
    let direct = found.bonds.ports.iter().any(Option::is_some) || !found.bonds.pairs.is_empty();
    let vendor = match (found.xgmi, direct) {
        (true, _) => Some(Vendor::Amd),
        (false, true) => Some(Vendor::Nvidia),
        (false, false) => None,
    };
    let machine = Machine {
        name: "nccl-log".to_owned(),
        title: format!("{devices} devices, read from NCCL's log"),
        source: COUNTED_SOURCE.to_owned(),
        notes: notes(&found, flattened, built.host_told),
        vendor,
        labels: Labels::of(vendor),
        fabric: built.fabric,
        warnings: std::mem::take(&mut found.warnings),
    };
    let says = Says {
        every_device: false,
        direct: !found.left_out,
        direct_gbps: false,
        host: HostDetail::Tree,
        host_gbps: false,
    };
    Ok(Dump::new(Kind::NcclLog, machine, says))
}

/// Whether a line of a text is the heading of a tree.
pub(super) fn is(text: &str) -> bool {
    // A line that only quotes it, such as a string in JSON, goes on behind it.
    let is_heading = |line: &str| {
        let heading = line
            .find("=== System : max")
            .map(|at| super::text::clean(&line[at..]));
        heading.is_some_and(|heading| row::heading(&heading).is_some())
    };
    text.lines().any(is_heading)
}

/// The tree to read, and whether it has switches that the library flattened.
fn choose(trees: &[PrintedTree<'_>]) -> Result<(LogMachine, bool), Error> {
    let Some(first) = trees.first() else {
        return Err(Error::new(
            "no tree of NCCL's log: expected a line such as `=== System : maxBw 24.0 totalBw 48.0 ===`, and the rows below it",
        ));
    };
    let read = |printed: &PrintedTree<'_>| {
        let tree = tree::read(printed)?;
        let found = machine::machine(&tree, printed.heading, printed.line)?;
        Ok((found, tree.flattened, printed.line))
    };
    let mut failed: Option<Error> = None;
    let mut best: Option<(LogMachine, bool, usize)> = None;
    let (own, others): (Vec<_>, Vec<_>) =
        trees.iter().partition(|tree| tree.process == first.process);
    for printed in own {
        match read(printed) {
            Ok(found) => {
                let most = best.as_ref().map(|(best, ..)| best.devices.len());
                if most.is_none_or(|most| most < found.0.devices.len()) {
                    best = Some(found);
                }
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let best = best.or_else(|| others.into_iter().find_map(|printed| read(printed).ok()));
    match (best, failed) {
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::new("no tree of NCCL's log can be read")),
        (Some((found, flattened, _)), None) => Ok((found, flattened)),
        (Some((mut found, flattened, line)), Some(error)) => {
            let what = format!("{error}; the tree of line {line} is read instead");
            found.warnings.push(Warning { line: None, what });
            Ok((found, flattened))
        }
    }
}

/// Notes on assumptions that the reader made.
fn notes(found: &LogMachine, flattened: bool, host_told: bool) -> Vec<String> {
    let mut notes = vec![
        "Bandwidths are the figures that NCCL counts with, which are less than nominal ones.".to_owned(),
        "The log has ranks, no numbers of devices: they are numbered in the order of PCI addresses.".to_owned(),
        "NCCL does not distinguish host bridges: each CPU has one, so PHB may be NODE.".to_owned(),
    ];
    if flattened {
        notes.push(
            "NCCL joins the two levels of some Broadcom switches: PIX may be PXB.".to_owned(),
        );
    }
    if !found.between_told {
        notes.push(
            "The log gives no bandwidth between CPUs: it counts as that of the widest PCI hop."
                .to_owned(),
        );
    }
    if !host_told {
        notes.push("Some PCI hops have no bandwidth: such a hop counts 12 GB/s.".to_owned());
    }
    notes.extend(found.counts.as_ref().map(|counts| counts.note.clone()));
    if found.bonds.ports.iter().any(Option::is_some) {
        notes.push("All NVSwitches become one link switch, as in NCCL.".to_owned());
    }
    if found.bonds.to_host.iter().any(|&gbps| gbps > 0.0) {
        notes.push("Devices with direct links to their CPU are attached to its host bridge by these links.".to_owned());
    }
    notes
}
