//! Devices that somebody uses whom the ledger does not know.

use std::collections::{BTreeMap, BTreeSet};

use mapa_live::{DriverSnapshot, Identity, Live, Processes};

use crate::error::Error;
use crate::ledger::Lease;
use crate::mark::MARK;
use crate::node::{Cause, Node, Withheld};

/// What the drivers say of this moment. Of a machine that is only described, nothing is asked.
///
/// # Errors
/// The drivers could not be asked, so that nobody knows what is in use.
pub(crate) fn driver_snapshot(node: &Node, live: &Live) -> Result<DriverSnapshot, Error> {
    if !node.is_live() {
        return Ok(DriverSnapshot::default());
    }
    let snapshot = mapa_live::driver_snapshot(live).map_err(|error| error.to_string());
    let snapshot = snapshot.and_then(|snapshot| answered(snapshot, node.is_by_nvml()));
    snapshot.map_err(|why| {
        Error::at(
            "processes on the devices",
            format_args!("{why}; expected an answer, or --no-driver-check to do without"),
        )
    })
}

/// The snapshot, unless it is empty because a driver has gone since it described the machine, as in the midst of
/// its update: what it does not list is neither gone nor free.
fn answered(snapshot: DriverSnapshot, by_nvml: bool) -> Result<DriverSnapshot, String> {
    let is_empty = snapshot.devices.as_ref().is_none_or(Vec::is_empty);
    if by_nvml && is_empty {
        return Err("NVML has described this machine, and lists no device now".to_owned());
    }
    Ok(snapshot)
}

/// Of the uses that the drivers tell of, those that belong to no lease: they withhold their devices,
/// or the instances of these.
#[must_use]
pub(crate) fn foreign(
    node: &Node,
    snapshot: &DriverSnapshot,
    leases: &[Lease],
    processes: &Processes,
    mark: impl Fn(i64) -> String,
) -> Vec<Withheld> {
    if snapshot.uses.is_empty() {
        return Vec::new();
    }
    let marks: BTreeSet<String> = leases.iter().map(|lease| mark(lease.id)).collect();
    let of_leases = leases
        .iter()
        .flat_map(|lease| lease.child.iter().chain([&lease.asker.process]));
    let mut known: BTreeMap<i32, Vec<&Identity>> = BTreeMap::new();
    for of_lease in of_leases {
        known.entry(of_lease.id.pid).or_default().push(of_lease);
    }
    // The number of one that has ended, or of another namespace, is somebody else's here.
    let is_known = |pid| {
        let mut same = known.get(&pid).into_iter().flatten();
        same.any(|identity| processes.may_run(identity))
    };
    let graph = node.graph();
    let mut found = Vec::new();
    for process in &snapshot.uses {
        let whole = graph
            .wholes()
            .iter()
            .find(|&id| process.is_of(graph.device(id), node.number(id)));
        let Some(whole) = whole else { continue };
        let pid = i32::try_from(process.pid).unwrap_or_default();
        // Number and start identify the holder and the child; what these have started is known by the mark in
        // its environment.
        let ours = is_known(pid)
            || processes
                .mark_of(pid, MARK)
                .is_some_and(|mark| marks.contains(&mark));
        // Drivers list some processes a little longer than they live.
        if ours || processes.is_gone(pid) {
            continue;
        }
        let instance = process
            .instance
            .and_then(|number| node.instance(whole, number));
        found.push(Withheld {
            device: instance.unwrap_or(whole),
            cause: Cause::Occupied,
            why: format!(
                "process {pid} {} uses it, and mapa did not start it",
                processes.name(pid)
            ),
        });
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_lists_nothing_any_more_has_not_answered() {
        let none = DriverSnapshot::default();
        let mut empty = DriverSnapshot::default();
        empty.devices = Some(Vec::new());
        for snapshot in [none, empty] {
            assert!(answered(snapshot.clone(), true).is_err(), "{snapshot:?}");
            // KFD and nvidia-smi list none to begin with.
            assert_eq!(answered(snapshot.clone(), false), Ok(snapshot));
        }
    }
}
