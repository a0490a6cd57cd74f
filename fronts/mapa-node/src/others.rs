//! Devices that somebody uses whom the ledger does not know.

use std::collections::BTreeSet;

use mapa_core::DeviceId;
use mapa_live::Live;

use crate::error::Error;
use crate::ledger::Lease;
use crate::node::{Node, Withheld};
use crate::process::Processes;

/// The devices that processes use which belong to no lease, by what the drivers say. Of a machine
/// that is only described, nothing is asked.
///
/// # Errors
/// The drivers could not be asked, so that nobody knows what is in use.
pub(crate) fn others(node: &Node, live: &Live) -> Result<Vec<(DeviceId, u32)>, Error> {
    if !node.is_live() {
        return Ok(Vec::new());
    }
    let uses = mapa_live::uses(live).map_err(|error| {
        Error::at(
            "processes on the devices",
            format_args!("{error}; expected an answer, or --no-look to do without"),
        )
    })?;
    let graph = node.graph();
    let device = |own: &mapa_live::Use| {
        graph
            .wholes()
            .iter()
            .find(|&id| own.is_of(graph.device(id)))
    };
    Ok(uses
        .iter()
        .filter_map(|own| Some((device(own)?, own.pid)))
        .collect())
}

/// Of these uses, those that belong to no lease: they withhold their devices.
#[must_use]
pub(crate) fn foreign(
    uses: &[(DeviceId, u32)],
    leases: &[Lease],
    processes: &Processes,
    mark: impl Fn(i64) -> String,
) -> Vec<Withheld> {
    let marks: BTreeSet<String> = leases.iter().map(|own| mark(own.id)).collect();
    let known: BTreeSet<i32> = leases
        .iter()
        .flat_map(|own| {
            own.child
                .iter()
                .chain([&own.asker.process])
                .map(|own| own.pid)
        })
        .collect();
    let mut found = Vec::new();
    for &(device, pid) in uses {
        let pid = i32::try_from(pid).unwrap_or_default();
        let ours = known.contains(&pid)
            || processes
                .mark_of(pid)
                .is_some_and(|mark| marks.contains(&mark));
        // A process that has ended meanwhile uses nothing; a number that cannot be seen may be
        // somebody of another PID namespace.
        if !ours {
            found.push(Withheld {
                device,
                why: format!(
                    "process {pid} {} uses it, and mapa did not start it",
                    processes.name(pid)
                ),
            });
        }
    }
    found.sort();
    found.dedup();
    found
}
