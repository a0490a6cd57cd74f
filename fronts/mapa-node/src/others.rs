//! Devices that somebody uses whom the ledger does not know.

use std::collections::BTreeSet;

use mapa_live::{Live, Look};

use crate::error::Error;
use crate::ledger::Lease;
use crate::node::{Cause, Node, Withheld};
use crate::process::Processes;

/// What the drivers say of this moment. Of a machine that is only described, nothing is asked.
///
/// # Errors
/// The drivers could not be asked, so that nobody knows what is in use.
pub(crate) fn look(node: &Node, live: &Live) -> Result<Look, Error> {
    if !node.is_live() {
        return Ok(Look::default());
    }
    mapa_live::look(live).map_err(|error| {
        Error::at(
            "processes on the devices",
            format_args!("{error}; expected an answer, or --no-look to do without"),
        )
    })
}

/// Of the uses that the drivers tell of, those that belong to no lease: they withhold their devices,
/// or the instances of these.
#[must_use]
pub(crate) fn foreign(
    node: &Node,
    look: &Look,
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
                // The number of one that has ended, or of another namespace, is somebody else's here.
                .filter(|own| processes.may_run(own))
                .map(|own| own.pid)
        })
        .collect();
    let graph = node.graph();
    let mut found = Vec::new();
    for own in &look.uses {
        let whole = graph
            .wholes()
            .iter()
            .find(|&id| own.is_of(graph.device(id), node.number(id)));
        let Some(whole) = whole else { continue };
        let pid = i32::try_from(own.pid).unwrap_or_default();
        let ours = known.contains(&pid)
            || processes
                .mark_of(pid)
                .is_some_and(|mark| marks.contains(&mark));
        // Drivers list some processes a little longer than they live.
        if ours || processes.is_gone(pid) {
            continue;
        }
        let instance = own.instance.and_then(|number| node.instance(whole, number));
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
