//! Recovery: leases whose process is gone are freed, or adopted if what they started goes on. Leases of owners outside
//! stay.
//!
//! Every program that is about to decide does this first, in the transaction of the decision. So
//! nothing must be running for a crash to be noticed, and nobody decides on what a crash left.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mapa_live::cgroup::{self, Cgroups};
use mapa_live::{Identity, Liveness, Marked, Processes};
use rustix::process::Signal;

use crate::error::Error;
use crate::job_process::GRACE;
use crate::lease_processes::{Lives, to_signal};
use crate::ledger::{AuditEntry, AuditKind, Lease, LedgerTx, Ticket, since_boot};
use crate::mark::{self, MARK};
use crate::task_file::TaskFile;

/// The policy in the ledger of a lease whose devices processes share. Its request is the file of
/// their tasks.
pub const CASE: &str = "mapa-case manager";

/// The file of the tasks on a lease's devices, if processes share them.
#[must_use]
pub fn tasks_of(lease: &Lease) -> Option<PathBuf> {
    let spec = (lease.asker.policy == CASE).then_some(&lease.asker.spec)?;
    let file: String = serde_json::from_str(spec).ok()?;
    Some(file.into())
}

/// What recovery did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recovered {
    /// The leases that hold, by number.
    pub leases: Vec<Lease>,
    /// The leases that were freed, and why.
    pub released: Vec<(Lease, String)>,
    /// The leases that were adopted, and by which process they go on.
    pub adopted: Vec<(Lease, Identity)>,
    /// The places of the queue that were given up, and whose.
    pub cancelled: Vec<(i64, String)>,
}

impl Recovered {
    /// Whether anything was found that a crash left.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.released.is_empty() && self.adopted.is_empty() && self.cancelled.is_empty()
    }
}

/// Frees and adopts leases, and removes whoever has left the queue by a crash. `owner` is noted as
/// the one who found it.
///
/// # Errors
/// The ledger cannot be read or written.
pub fn recover(
    books: &LedgerTx<'_>,
    processes: &Processes,
    owner: &str,
) -> Result<Recovered, Error> {
    let mut done = recover_leases(books, processes, owner)?;
    let lives = Lives::new(processes);
    for ticket in books.queue()? {
        if lives.of(&ticket.asker.process) == Liveness::Ended {
            cancel(books, &mut done, ticket, owner)?;
        }
    }
    Ok(done)
}

/// As [`recover`], but of the queue looks no further than to the first whose process lives: so it costs as much for a
/// thousand who wait as for one.
///
/// # Errors
/// The ledger cannot be read or written.
pub(crate) fn recover_head(
    books: &LedgerTx<'_>,
    processes: &Processes,
    owner: &str,
) -> Result<Recovered, Error> {
    let mut done = recover_leases(books, processes, owner)?;
    let lives = Lives::new(processes);
    while let Some(head) = books.head()? {
        if lives.of(&head.asker.process) != Liveness::Ended {
            break;
        }
        cancel(books, &mut done, head, owner)?;
    }
    Ok(done)
}

fn cancel(
    books: &LedgerTx<'_>,
    done: &mut Recovered,
    ticket: Ticket,
    owner: &str,
) -> Result<(), Error> {
    books.cancel(owner, ticket.id, "its process is gone")?;
    done.cancelled.push((ticket.id, ticket.asker.tenant));
    Ok(())
}

/// As [`recover`], of leases alone.
///
/// # Errors
/// The ledger cannot be read or written.
pub(crate) fn recover_leases(
    books: &LedgerTx<'_>,
    processes: &Processes,
    owner: &str,
) -> Result<Recovered, Error> {
    let mut done = Recovered::default();
    // Reading the variables of all processes takes milliseconds, so only a dead owner asks for it.
    let mut marked: Option<Marked> = None;
    let lives = Lives::new(processes);
    for lease in books.leases()? {
        // Only the word of an owner outside ends its lease, in a later boot too: it compares when it starts.
        let Some(process) = lease.process() else {
            done.leases.push(lease);
            continue;
        };
        end_late(books, (processes, &lives), &lease, owner);
        match lives.of(process) {
            Liveness::Runs | Liveness::Elsewhere => {
                done.leases.push(lease);
                continue;
            }
            Liveness::Ended => {}
        }
        // Process numbers mean nothing across boots, so nothing is looked for.
        if lease.asker.process.boot != processes.boot() {
            free(
                books,
                &mut done,
                lease,
                owner,
                "the machine has restarted since",
            )?;
            continue;
        }
        // The manager of shared instances is gone, but processes that it served go on there.
        if tasks_of(&lease).is_some_and(|tasks| TaskFile::has_live(&tasks, processes)) {
            done.leases.push(lease);
            continue;
        }
        // A child may have cleared its variables; its number and start are in the ledger.
        let child = lease.child.as_ref();
        let child = child.filter(|identity| lives.of(identity) != Liveness::Ended);
        // A program that was killed before it could note the group of its command has left a lease without one.
        let mark = books.mark(lease.id);
        // And a container's path of a group leads nowhere outside of the container.
        let noted = lease.cgroup.as_deref();
        let is_there = noted.is_some_and(|path| Path::new(path).is_dir());
        let unnoted = (!is_there)
            .then(|| Cgroups::default().find(&mark::name_of(&mark)))
            .flatten();
        let members = members(&lease, &mark, unnoted.as_deref());
        let mut heir = child.cloned().or_else(|| {
            let members = members.iter().flatten();
            members.filter_map(|&pid| processes.identity(pid)).next()
        });
        if heir.is_none() {
            // Read once for all dead leases of this recovery.
            let marked = marked.get_or_insert_with(|| processes.marked(MARK));
            heir = marked
                .found
                .get(&books.mark(lease.id))
                .and_then(|identities| identities.first().cloned());
            // Another user's variables cannot be read, and a scan of the processes may miss one. Rather hold devices too
            // long than give them twice. Who might go on is not known, so nobody becomes the holder. A
            // group that is empty says that nobody does, whosever they are; not one that is not noted, into which
            // processes were still being moved.
            let asker = &lease.asker;
            let is_empty = members.is_some() && unnoted.is_none();
            let may_live = !marked.complete
                || !is_empty && processes.hides_one_of(asker.uid, asker.process.id.start);
            if heir.is_none() && may_live {
                done.leases.push(lease);
                continue;
            }
        }
        let Some(heir) = heir else {
            let why = "its process is gone, and so is all that it had started";
            free(books, &mut done, lease, owner, why)?;
            if let Some(group) = unnoted {
                cgroup::remove(&group);
            }
            continue;
        };
        let reason = format!(
            "process {} is gone, and process {} that it had started goes on",
            lease.asker.process.id.pid, heir.id.pid
        );
        books.adopt(owner, &lease, &heir, &reason)?;
        done.adopted.push((lease.clone(), heir.clone()));
        // The holder of an adopted lease is the process that lives, so the next recovery checks that one.
        let mut lease = lease;
        lease.adopted = true;
        lease.asker.process = heir;
        done.leases.push(lease);
    }
    Ok(done)
}

/// How much longer than its time a lease may hold before others end it while its own program lives.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// The reason in the audit when the processes of an expired lease get SIGTERM.
const EXPIRED: &str =
    "its time is up, and its own program does not end it: SIGTERM to its processes";

/// Ends the processes of a lease whose time is up, if the program that should do so is gone, or does not. A program without
/// the right to signal them leaves it to the next one.
fn end_late(
    books: &LedgerTx<'_>,
    (processes, lives): (&Processes, &Lives<'_>),
    lease: &Lease,
    owner: &str,
) {
    let Some(deadline) = lease.deadline else {
        return;
    };
    let late = since_boot().saturating_sub(deadline);
    // A deadline before its holder began is no lease's of ours.
    let begun = processes.since_boot(&lease.asker.process);
    if deadline < begun || late < 0 || lease.asker.process.boot != processes.boot() {
        return;
    }
    let late = Duration::from_nanos(late.unsigned_abs());
    let is_kept = !lease.adopted && lives.of(&lease.asker.process) != Liveness::Ended;
    let patience = if is_kept { PATIENCE } else { Duration::ZERO };
    let Some(late) = late.checked_sub(patience) else {
        return;
    };
    let signal = if late < GRACE {
        Signal::TERM
    } else {
        Signal::KILL
    };
    // Several programs come here, some of them five times a second: one of them sends SIGTERM, once.
    if signal == Signal::TERM {
        if books
            .is_noted(AuditKind::Expire, lease.id, EXPIRED)
            .unwrap_or(true)
        {
            return;
        }
        let devices: Vec<String> = lease.devices.iter().map(ToString::to_string).collect();
        let note = AuditEntry {
            lease: Some(lease.id),
            devices: &devices,
            ..AuditEntry::new(AuditKind::Expire, owner, EXPIRED)
        };
        if books.note(note).is_err() {
            return;
        }
    }
    // Its program is not asked to pass the signal on: it is gone, or has not done so.
    let lease = Lease {
        adopted: true,
        ..lease.clone()
    };
    let of = (books.file(), &lease);
    for process in to_signal(processes, of, &books.mark(lease.id), signal) {
        // One of another user is left to that user, to root, and to the daemon.
        let _ = processes.signal(&process, signal);
    }
}

/// The processes in the control groups of a lease; none if that cannot be said. Version 2 has a process
/// in one group alone, so whom a daemon limits has left the lease's own.
fn members(lease: &Lease, mark: &str, unnoted: Option<&Path>) -> Option<Vec<i32>> {
    let noted = lease.cgroup.as_deref();
    let group = unnoted.or(noted.and_then(|path| mark::of_lease(path, mark)))?;
    let mut found = cgroup::members(group).ok()?;
    if let Some(other) = &lease.limited {
        // A group that does not exist, not yet or not any more, has no members.
        match cgroup::members(mark::of_lease(other, mark)?) {
            Ok(more) => found.extend(more),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    Some(found)
}

fn free(
    books: &LedgerTx<'_>,
    done: &mut Recovered,
    lease: Lease,
    owner: &str,
    why: &str,
) -> Result<(), Error> {
    books.release(owner, &lease, why)?;
    // Nothing is in it any more: the kernel removes empty groups only.
    let group = lease.cgroup.as_deref();
    if let Some(group) = group.and_then(|group| mark::of_lease(group, &books.mark(lease.id))) {
        cgroup::remove(group);
    }
    done.released.push((lease, why.to_owned()));
    Ok(())
}
