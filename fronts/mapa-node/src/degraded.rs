//! Faults of links: direct links that are down, PCIe with fewer lanes or a lower generation than
//! device and slot have. No device is withheld for it, since decisions are made on the machine as its links are now.
//! The ledger notes each change once, for people.

use mapa_core::{DeviceId, HardwareGraph, LinksUp};
use mapa_live::{DriverSnapshot, LinkStatus, PcieLevel};

use crate::error::Error;
use crate::ledger::{DeviceFault, DeviceKey, FaultKind, LedgerTx};
use crate::node::Node;

/// A device that lacks something of its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Degraded {
    /// The whole device.
    pub device: DeviceId,
    /// The kind of fault.
    pub fault: FaultKind,
    /// The fault in words, for people.
    pub detail: String,
}

/// Returns the faults of links of a graph's devices, given the links by device id.
#[must_use]
pub(crate) fn degraded(graph: &HardwareGraph, links: &[LinkStatus]) -> Vec<Degraded> {
    let direct = graph.fabric().links_up();
    let direct = direct.map(|(device, LinksUp { up, all })| Degraded {
        device,
        fault: FaultKind::LinksDown,
        detail: format!("{up} of {all} direct links are up"),
    });
    let mut found: Vec<Degraded> = direct.collect();
    for (device, links) in (0..).map(DeviceId).zip(links) {
        if let Some(PcieLevel { now, most, .. }) =
            links.pcie_lanes.filter(|lanes| lanes.is_reduced())
        {
            found.push(Degraded {
                device,
                fault: FaultKind::PcieLanes,
                detail: format!("PCIe has {now} of {most} lanes"),
            });
        }
        let generation = links.pcie_generation.filter(|level| level.is_reduced());
        if let Some(PcieLevel { now, most, .. }) = generation {
            found.push(Degraded {
                device,
                fault: FaultKind::PcieGeneration,
                detail: format!("PCIe runs at generation {now} of {most} while it computes"),
            });
        }
    }
    found
}

/// Notes in the ledger what the links of devices lack now, and what they lack no more.
///
/// # Errors
/// The ledger cannot be read or written.
pub(crate) fn record_degraded(
    books: &LedgerTx<'_>,
    node: &Node,
    owner: &str,
    boot: &str,
    snapshot: &DriverSnapshot,
) -> Result<(), Error> {
    let graph = node.graph();
    // A node that was read before the last change would note what was before it.
    if node.links().is_empty() || !node.is_current(snapshot) {
        return Ok(());
    }
    let said: Vec<Option<&LinkStatus>> = graph
        .wholes()
        .iter()
        .map(|id| {
            node.status_in(snapshot, id)
                .and_then(|status| status.links.as_ref())
        })
        .collect();
    // The snapshot is the later one of the two, and tells the generation of PCIe as of now.
    let links = said.iter().map(|links| links.cloned().unwrap_or_default());
    let now = degraded(graph, &links.collect::<Vec<_>>());
    let before = books.faults(boot)?;
    for (id, links) in graph.wholes().iter().zip(said) {
        // Nothing is known of a device that does not answer.
        let (Some(links), Some(DeviceKey { whole, .. })) = (links, node.keys(&[id]).pop()) else {
            continue;
        };
        for fault in FaultKind::OF_LINKS {
            let mut now = now.iter();
            let now = now.find(|row| (row.device, row.fault) == (id, fault));
            let mut known = before.iter();
            let known = known.find(|row| row.device == whole && row.kind == fault.name());
            match (now, known) {
                (Some(now), None) => {
                    books.record_fault(owner, boot, &whole, fault, &now.detail)?;
                }
                (Some(now), Some(known)) if is_other(fault, &now.detail, &known.detail) => {
                    books.record_fault(owner, boot, &whole, fault, &now.detail)?;
                }
                (None, Some(known)) => {
                    if let Some(why) = over(fault, links, known) {
                        books.clear_fault(owner, &whole, Some(fault), why)?;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The number of direct links that were up, read from the words of a fault.
fn up_in(detail: &str) -> Option<u32> {
    detail.split_once(' ')?.0.parse().ok()
}

/// Whether a fault is another one than the ledger has. Of direct links, those that are up count: how many there are
/// in all, users with different caches may judge differently.
fn is_other(fault: FaultKind, now: &str, known: &str) -> bool {
    match fault {
        FaultKind::LinksDown => up_in(now) != up_in(known),
        _ => now != known,
    }
}

/// Why a fault of the ledger is over, of which this program sees nothing; `None` if it is not. Another one may know of
/// links that were up before this one came, and an idle device reports no generation.
fn over(fault: FaultKind, links: &LinkStatus, known: &DeviceFault) -> Option<&'static str> {
    let is_whole = |level: Option<PcieLevel>| level.is_some_and(|level| !level.is_reduced());
    match fault {
        FaultKind::LinksDown => {
            let more = up_in(&known.detail).is_none_or(|up| links.up() > up);
            more.then_some("its direct links are up again")
        }
        FaultKind::PcieLanes => {
            is_whole(links.pcie_lanes).then_some("PCIe has all its lanes again")
        }
        _ => is_whole(links.pcie_generation).then_some("PCIe runs at its generation again"),
    }
}

#[cfg(test)]
mod tests {
    use mapa_core::Fabric;

    use super::*;

    /// `over` and `is_other` read the number from a text that `degraded` writes.
    #[test]
    fn the_number_of_links_that_are_up_is_read_from_its_text() {
        let mut fabric = Fabric::new();
        let device = fabric.add_device("GPU0").unwrap();
        let links = LinksUp { up: 7, all: 18 };
        fabric.set_links_up(device, links).unwrap();
        let found = degraded(&fabric.lower().unwrap(), &[]);
        assert_eq!(found.len(), 1);
        assert_eq!(up_in(&found[0].detail), Some(7), "{}", found[0].detail);
    }

    #[test]
    fn another_number_of_all_links_is_no_other_fault() {
        let other = |now, known| is_other(FaultKind::LinksDown, now, known);
        assert!(!other(
            "0 of 6 direct links are up",
            "0 of 4 direct links are up"
        ));
        assert!(other(
            "1 of 6 direct links are up",
            "0 of 6 direct links are up"
        ));
    }
}
