//! The manager's instances in the ledger, so that nobody else gets them.

use std::path::Path;

use mapa_live::{Liveness, Processes};

use mapa_node::{
    CASE, DeviceKey, Durability, Error, Lease, Ledger, Requester, TaskFile, recover, tasks_of,
    user, wake_head,
};

use crate::instances::{Instances, SharedInstance};

/// Takes the instances, or goes on with the lease of a manager of the same file that is gone.
///
/// # Errors
/// Somebody else holds one of them; a manager with this file runs; the ledger cannot be written.
pub(crate) fn take(
    ledger: &mut Ledger,
    processes: &Processes,
    instances: &Instances,
    tasks: &Path,
) -> Result<Lease, Error> {
    let tasks = std::path::absolute(tasks).map_err(|error| Error::at(tasks.display(), error))?;
    let owner = user();
    let process = processes.own()?;
    let asker = Requester {
        tenant: owner.clone(),
        uid: rustix::process::geteuid().as_raw(),
        process,
        command: "mapa-case manager".to_owned(),
        policy: CASE.to_owned(),
        spec: serde_json::to_string(&tasks.display().to_string()).unwrap_or_default(),
    };
    let keys: Vec<DeviceKey> = instances.list().iter().map(SharedInstance::key).collect();
    ledger.change(Durability::Boot, |books| {
        let leases = recover(books, processes, &owner)?.leases;
        let before = leases.iter().find(|lease| tasks_of(lease).as_deref() == Some(&*tasks));
        if let Some(lease) = before {
            if processes.life(&lease.asker.process) == Liveness::Runs {
                return Err(Error::at(
                    tasks.display(),
                    format_args!(
                        "process {} serves these tasks: expected it to end, or another --task-file FILE",
                        lease.asker.process.id.pid
                    ),
                ));
            }
            books.release(&owner, lease, "its manager is gone, and another goes on")?;
        }
        let held = |key: &DeviceKey| {
            let mut others = leases.iter().filter(|lease| Some(lease.id) != before.map(|lease| lease.id));
            others.find(|lease| lease.devices.iter().any(|other| overlap(key, other)))
        };
        if let Some((key, lease)) = keys.iter().find_map(|key| Some((key, held(key)?))) {
            return Err(Error::at(
                key,
                format_args!(
                    "lease {} of {} holds it: expected it to end, or other instances",
                    lease.id, lease.asker.tenant
                ),
            ));
        }
        let id = books.grant(&asker, &keys, None, None, "its processes share them")?;
        let granted = books.leases()?.into_iter().find(|lease| lease.id == id);
        granted.ok_or_else(|| Error::at("the ledger", "has no lease that it has just granted"))
    })
}

/// Whether two names are of devices that have something in common. The UUID of an instance may stand
/// alone.
fn overlap(one: &DeviceKey, other: &DeviceKey) -> bool {
    let is_part = one.part.is_empty() || other.part.is_empty() || one.part == other.part;
    let is_uuid =
        |whole: &DeviceKey, part: &DeviceKey| whole.part.is_empty() && whole.whole == part.part;
    one.whole == other.whole && is_part || is_uuid(one, other) || is_uuid(other, one)
}

/// Gives the instances back, unless processes go on that were served: then the next manager, or
/// whoever looks at the ledger after they have ended, does.
///
/// # Errors
/// The ledger cannot be written.
pub(crate) fn give_back(
    ledger: &mut Ledger,
    processes: &Processes,
    lease: &Lease,
) -> Result<(), Error> {
    if tasks_of(lease).is_some_and(|tasks| TaskFile::has_live(&tasks, processes)) {
        return Ok(());
    }
    let owner = user();
    ledger.change(Durability::Boot, |books| {
        books.release(&owner, lease, "its manager has ended")
    })?;
    wake_head(ledger)
}
