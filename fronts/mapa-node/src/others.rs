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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Asker, Lease};
    use crate::process::Identity;

    #[test]
    fn processes_of_leases_are_ours_and_all_others_withhold_their_devices() {
        let processes = Processes::new().unwrap();
        let own = processes.own().unwrap();
        let child = Identity {
            pid: 1 << 29,
            ..own.clone()
        };
        let lease = Lease {
            id: 1,
            asker: Asker {
                tenant: "tester".to_owned(),
                uid: 0,
                process: own.clone(),
                command: String::new(),
                policy: String::new(),
                spec: String::new(),
            },
            child: Some(child),
            adopted: false,
            devices: Vec::new(),
            granted: 0,
            expires: None,
            ticket: None,
        };
        let [a, b] = [0, 1].map(DeviceId);
        let uses = [(a, own.pid as u32), (a, 1 << 29), (b, (1 << 29) + 1)];
        let mark = |id: i64| format!("x:{id}");
        let found = foreign(&uses, &[lease], &processes, mark);
        assert_eq!(found.iter().map(|own| own.device).collect::<Vec<_>>(), [b]);
        assert!(
            found[0].why.contains("mapa did not start it"),
            "{}",
            found[0].why
        );
        let without = foreign(&uses, &[], &processes, mark);
        assert_eq!(without.len(), 3);
    }
}
