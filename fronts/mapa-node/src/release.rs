//! `mapa release LEASE`: the end of a lease from outside.

use std::thread;
use std::time::{Duration, Instant};

use mapa_front::answer::mapa::Released;
use mapa_live::Processes;
use mapa_live::cgroup::{self, Cgroups};
use rustix::process::Signal;

use crate::acquire::wake_head;
use crate::error::Error;
use crate::job_process::GRACE;
use crate::lease_processes::{Lives, to_signal};
use crate::ledger::{AuditEntry, AuditKind, Durability, Lease, Ledger, OutsideOwner};
use crate::mark::{self, MARK};
use crate::output::Output;
use crate::recover::recover;

/// Ends a lease: its processes get SIGTERM, and are killed if they do not end.
///
/// # Errors
/// There is no such lease; its processes cannot be signalled, or do not end, and it is not forced; `uid` may not force it.
pub(crate) fn end(
    ledger: &mut Ledger,
    (id, is_forced): (i64, bool),
    (owner, uid): (&str, u32),
) -> Result<Released, Error> {
    let processes = Processes::new()?;
    // Recover first: a lease whose processes have ended needs no signal, and this way it is not found below.
    let leases = ledger.change(Durability::Boot, |books| {
        Ok(recover(books, &processes, owner)?.leases)
    })?;
    let lease = leases.iter().find(|lease| lease.id == id);
    let lease = lease.ok_or_else(|| no_lease(id, &leases))?;
    if is_forced {
        may_force(lease, uid)?;
    }
    if let Some(outside) = &lease.owner {
        return end_outside(ledger, lease, outside, is_forced, owner);
    }
    let devices: Vec<String> = lease.devices.iter().map(ToString::to_string).collect();
    let asked = AuditEntry {
        lease: Some(id),
        devices: &devices,
        ..AuditEntry::new(AuditKind::Terminate, owner, "mapa release")
    };
    ledger.change(Durability::Boot, |books| books.note(asked).map(drop))?;
    let ended = end_processes(ledger, lease, &processes);
    // If the holder was killed, or is not ours, recovery frees the devices now rather than at the next request.
    ledger.change(Durability::Boot, |books| {
        recover(books, &processes, owner).map(drop)
    })?;
    let mut forced = None;
    if still(ledger, id)? {
        let why = match ended {
            Err(error) => error.to_string(),
            Ok(()) => format!(
                "lease {id}: it still holds: its processes cannot be seen from here; expected its owner, or root, where it was started"
            ),
        };
        if !is_forced {
            return Err(Error::Failed(format!("{why}; or --force")));
        }
        force(ledger, lease, owner, &why)?;
        forced = Some(why);
    }
    wake_head(ledger)?;
    Ok(Released {
        released: id,
        forced,
    })
}

/// Says that a lease has ended.
pub(crate) fn show(answer: &Released, output: Output) {
    if let Some(why) = &answer.forced {
        output.aside(format!(
            "{why}; its devices are given to others nevertheless"
        ));
    }
    output.line(format!("lease {} has ended", answer.released));
}

/// Ends the lease of an owner outside, whose processes are not known here: by force only.
///
/// # Errors
/// It is not forced.
fn end_outside(
    ledger: &mut Ledger,
    lease: &Lease,
    outside: &OutsideOwner,
    is_forced: bool,
    owner: &str,
) -> Result<Released, Error> {
    let id = lease.id;
    if !is_forced {
        return Err(Error::malformed(format_args!(
            "lease {id} is of {outside}, and mapa knows no process of it: expected {} to end it, or --force by root or user {} once nothing of it computes any more",
            outside.kind(),
            outside.uid()
        )));
    }
    let why = format!("ended by force, and {outside} did not say so");
    ledger.change(Durability::Disk, |books| books.release(owner, lease, &why))?;
    wake_head(ledger)?;
    Ok(Released {
        released: id,
        forced: Some(why),
    })
}

/// Whether a user may end a lease whatever becomes of its processes.
///
/// # Errors
/// It is another user's, and this one is not root.
fn may_force(lease: &Lease, uid: u32) -> Result<(), Error> {
    if uid == 0 || uid == lease.asker.uid {
        return Ok(());
    }
    Err(Error::malformed(format_args!(
        "--force: lease {} is of user {}: expected that user, or root",
        lease.id, lease.asker.uid
    )))
}

/// Ends a lease whose processes cannot be seen, or do not end.
fn force(ledger: &mut Ledger, lease: &Lease, owner: &str, why: &str) -> Result<(), Error> {
    let mark = ledger.mark(lease.id);
    ledger.change(Durability::Boot, |books| {
        books.release(owner, lease, &format!("ended by force: {why}"))
    })?;
    // One with processes in it stays.
    if let Some(group) = Cgroups::default().find(&mark::name_of(&mark)) {
        cgroup::remove(&group);
    }
    Ok(())
}

/// Signals the processes of a lease until they have ended.
///
/// # Errors
/// They are another user's; they do not end.
fn end_processes(ledger: &mut Ledger, lease: &Lease, processes: &Processes) -> Result<(), Error> {
    let id = lease.id;
    let begun = Instant::now();
    let (mark, file) = (ledger.mark(id), ledger.file());
    let mut signal = Signal::TERM;
    loop {
        let told = to_signal(processes, (file, lease), &mark, signal);
        if told.is_empty() {
            return Ok(());
        }
        for identity in told {
            processes.signal(&identity, signal).map_err(|error| {
                Error::at(
                    format_args!("lease {id}: process {}", identity.id.pid),
                    format_args!("{error}; expected its owner, or root"),
                )
            })?;
        }
        // Each of the two signals gets the whole grace.
        let grace = begun.elapsed() + GRACE;
        while begun.elapsed() < grace && still(ledger, id)? && alive(processes, lease, &mark) {
            thread::sleep(Duration::from_millis(20));
        }
        if !still(ledger, id)? {
            return Ok(());
        }
        // A process that hangs in a call of the GPU driver ends only when that call returns, SIGKILL or not.
        if signal == Signal::KILL && begun.elapsed() > 3 * GRACE {
            return Err(Error::at(
                format_args!("lease {id}"),
                "its processes do not end, not even by SIGKILL",
            ));
        }
        signal = Signal::KILL;
    }
}

/// The error that a lease is not there, with those that are.
fn no_lease(id: i64, leases: &[Lease]) -> Error {
    let known: Vec<String> = leases.iter().map(|lease| lease.id.to_string()).collect();
    let known = if known.is_empty() {
        "no lease at all now".to_owned()
    } else {
        known.join(", ")
    };
    Error::malformed(format_args!("no lease {id}: expected {known}"))
}

/// Whether the ledger still has the lease.
fn still(ledger: &mut Ledger, id: i64) -> Result<bool, Error> {
    ledger.read(|books| Ok(books.leases()?.iter().any(|lease| lease.id == id)))
}

fn alive(processes: &Processes, lease: &Lease, mark: &str) -> bool {
    let lives = Lives::new(processes);
    let own = lease.process().into_iter().chain(&lease.child);
    { own }.any(|process| lives.here(process).is_some())
        || processes.marked(MARK).found.contains_key(mark)
}
