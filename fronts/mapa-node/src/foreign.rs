//! Devices that somebody uses whom the ledger does not know.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use mapa_core::DeviceId;
use mapa_live::{DriverSnapshot, Identity, Live, Liveness, ProcessTree, Processes};

use crate::error::Error;
use crate::ledger::{AuditEntry, AuditKind, Lease, LedgerTx};
use crate::mark::{self, MARK};
use crate::node::{Cause, Node, Withheld};
use crate::recover::tasks_of;

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

/// A process of a lease that uses a device which the lease does not have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stray {
    /// The number of its lease.
    pub lease: i64,
    /// The device that it uses.
    pub device: DeviceId,
    /// Which process does so, for people.
    pub why: String,
}

/// Whose use of a device this is.
enum Owner {
    /// A lease that has the device.
    Holder,
    /// This lease, which does not have it.
    Other(i64),
    /// No lease.
    Nobody,
}

/// Finds foreign processes: those that use a device which no lease of theirs holds. They withhold the device, or the
/// instance. Also returns which of them belong to a lease of other devices.
#[must_use]
pub(crate) fn foreign(
    node: &Node,
    snapshot: &DriverSnapshot,
    leases: &[Lease],
    processes: &Processes,
    mark: impl Fn(i64) -> String,
) -> (Vec<Withheld>, Vec<Stray>) {
    if snapshot.uses.is_empty() {
        return Default::default();
    }
    let owners = Owners::new(leases, processes, mark);
    let graph = node.graph();
    let (mut found, mut strays) = (Vec::new(), Vec::new());
    for process in &snapshot.uses {
        let whole = graph
            .wholes()
            .iter()
            .find(|&id| process.is_of(graph.device(id), node.number(id)));
        let Some(whole) = whole else { continue };
        let pid = i32::try_from(process.pid).unwrap_or_default();
        let instance = process
            .instance
            .and_then(|number| node.instance(whole, number));
        let holds = |lease: &Lease| {
            let mut devices = lease.devices.iter();
            // A destroyed instance has no number any more: a lease of any instance of the device may have it.
            devices.any(|key| match node.device(key) {
                Some(held) => match instance {
                    Some(used) => held == used || held == whole,
                    None => graph.device(held).parent == whole,
                },
                None => node.keys(&[whole]).iter().any(|own| own.whole == key.whole),
            })
        };
        // The processes of an owner outside carry no mark, and its lease withholds the device.
        let mut outside = leases.iter().filter(|lease| lease.owner.is_some());
        if outside.any(holds) {
            continue;
        }
        let owner = owners.of(pid, holds);
        // Drivers list some processes a little longer than they live.
        if matches!(owner, Owner::Holder) || processes.is_gone(pid) {
            continue;
        }
        let (device, name) = (instance.unwrap_or(whole), processes.name(pid));
        let why = match owner {
            Owner::Other(lease) => {
                let why = format!(
                    "process {pid} {name} of lease {lease} uses it, and the lease does not have it"
                );
                strays.push(Stray {
                    lease,
                    device,
                    why: why.clone(),
                });
                why
            }
            _ => format!("process {pid} {name} uses it, and mapa did not start it"),
        };
        found.push(Withheld {
            device,
            cause: Cause::Occupied,
            why,
        });
    }
    found.sort();
    found.dedup();
    strays.sort();
    strays.dedup();
    (found, strays)
}

/// The leases, by what their processes are known by.
struct Owners<'a> {
    processes: &'a Processes,
    by_mark: BTreeMap<String, &'a Lease>,
    by_pid: BTreeMap<i32, Vec<(&'a Identity, &'a Lease)>>,
    /// The parents of processes: read when the first mark asks for them.
    families: OnceCell<ProcessTree>,
}

impl<'a> Owners<'a> {
    fn new(leases: &'a [Lease], processes: &'a Processes, mark: impl Fn(i64) -> String) -> Self {
        let mut by_pid: BTreeMap<i32, Vec<(&Identity, &Lease)>> = BTreeMap::new();
        // No process is known by the lease of an owner outside.
        let of_processes = || leases.iter().filter(|lease| lease.owner.is_none());
        for lease in of_processes() {
            for own in lease.child.iter().chain([&lease.asker.process]) {
                by_pid.entry(own.id.pid).or_default().push((own, lease));
            }
        }
        let by_mark = of_processes().map(|lease| (mark(lease.id), lease));
        Self {
            processes,
            by_mark: by_mark.collect(),
            by_pid,
            families: OnceCell::new(),
        }
    }

    fn of(&self, pid: i32, holds: impl Fn(&Lease) -> bool) -> Owner {
        // Number and start identify the holder and the child. The number of a process that has ended, or of another
        // namespace, is another process here. A program may hold several leases.
        let same = self.by_pid.get(&pid).into_iter().flatten();
        let named = same.filter(|(own, _)| self.processes.may_run(own));
        let mut of: Vec<&Lease> = named.map(|(_, lease)| *lease).collect();
        // Processes that these have started are known by the mark in their environment, or by their group.
        let mark = self.processes.mark_of(pid, MARK);
        let marked = mark.and_then(|mark| Some((*self.by_mark.get(&mark)?, mark)));
        of.extend(marked.and_then(|(lease, mark)| self.is_of(pid, lease, &mark).then_some(lease)));
        if of.is_empty() {
            let mut grouped = self.by_mark.iter();
            let groups = self.processes.groups_of(pid);
            let is_in = |mark: &str| groups.contains(&mark::name_of(mark));
            of.extend(grouped.find_map(|(mark, lease)| is_in(mark).then_some(*lease)));
        }
        match of.first() {
            Some(_) if of.iter().any(|lease| holds(lease)) => Owner::Holder,
            Some(lease) => Owner::Other(lease.id),
            None => Owner::Nobody,
        }
    }

    /// Whether a process with this mark is one of the lease's: it is below the lease's processes, or in the lease's
    /// group. Any user can copy a variable.
    fn is_of(&self, pid: i32, lease: &Lease, mark: &str) -> bool {
        let own = || lease.child.iter().chain([&lease.asker.process]);
        let is_judged = own().all(|own| self.processes.life(own) != Liveness::Elsewhere);
        // Only the mark identifies processes of an adopted lease without a group, of a lease of another PID namespace,
        // and of a lease whose devices other programs share.
        let is_grouped = lease.cgroup.is_some();
        if !is_judged || lease.adopted && !is_grouped || tasks_of(lease).is_some() {
            return true;
        }
        if self.processes.groups_of(pid).contains(&mark::name_of(mark)) {
            return true;
        }
        let families = self.families.get_or_init(|| self.processes.families());
        let mut roots = own().filter(|own| families.has(own));
        roots.any(|root| {
            let below = families.below(root.id.pid);
            below.iter().any(|process| process.id.pid == pid)
        })
    }
}

/// Notes in the audit which processes compute on a device that their lease does not have: each once.
///
/// # Errors
/// The ledger cannot be read or written.
pub(crate) fn record_strays(
    books: &LedgerTx<'_>,
    node: &Node,
    owner: &str,
    strays: &[Stray],
) -> Result<(), Error> {
    for stray in strays {
        if books.is_noted(AuditKind::Stray, stray.lease, &stray.why)? {
            continue;
        }
        let keys = node.keys(&[stray.device]);
        let devices: Vec<String> = keys.iter().map(ToString::to_string).collect();
        books.note(AuditEntry {
            lease: Some(stray.lease),
            devices: &devices,
            ..AuditEntry::new(AuditKind::Stray, owner, &stray.why)
        })?;
    }
    Ok(())
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
