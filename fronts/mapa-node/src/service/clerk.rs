//! The thread that only notes things in the ledger: as many at once as have come, in one transaction.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mapa_front::answer::node::{NodeAnswer, NodeQuery};
use mapa_live::cgroup::MOUNT;
use mapa_live::{Identity, Liveness, ProcessId, Processes};
use tracing::warn;

use super::work::{Done, Peer, Task, Work, WorkQueue, grant_of, shortened, told};
use crate::acquire::{fetch, wait_reason, wake_head};
use crate::cli::NAME;
use crate::error::Error;
use crate::lease_processes::Lives;
use crate::ledger::{Durability, Lease, Ledger, LedgerTx, Requester};
use crate::mailbox::Mailbox;
use crate::mark;

/// The thread that notes things in the ledger, all that have come in one transaction.
pub(super) fn note(queue: &WorkQueue, done: &Mailbox<Done>, ledger: &mut Ledger) {
    loop {
        let batch = queue.take_all();
        let id = ledger.id().to_owned();
        let in_ledger = || {
            let processes = Processes::new()?;
            let lives = Lives::new(&processes);
            ledger.change(Durability::Boot, |books| {
                let clerk = Clerk {
                    ledger: &id,
                    lives: &lives,
                    processes: &processes,
                };
                let answer = |work: &Work| {
                    let books = books.written_for(work.peer.uid);
                    // One that fails takes nothing of the others with it.
                    books.apart(|books| clerk.answer(books, work))
                };
                Ok(batch.iter().map(answer).collect())
            })
        };
        let noted = catch_unwind(AssertUnwindSafe(in_ledger)).unwrap_or_else(|_| {
            warn!("notes ended their thread: please report it");
            Err(Error::at(
                "the daemon",
                "it could not note this: please report it with the daemon's log",
            ))
        });
        // Without its transaction, none of it has happened.
        let answers: Vec<Result<Outcome, Error>> = noted.unwrap_or_else(|error: Error| {
            let failed = error.to_string();
            batch
                .iter()
                .map(|_| Err(Error::Failed(failed.clone())))
                .collect()
        });
        let mut frees = false;
        for (work, answer) in batch.into_iter().zip(answers) {
            frees |= matches!(
                work.task,
                Task::Query(NodeQuery::Ended { .. } | NodeQuery::Cancel { .. })
            );
            done.post(match answer {
                Ok(Outcome::Waiting(rows)) => Done::Waiting(rows),
                Ok(Outcome::None) => Done::Answer { work, answer: None },
                Ok(Outcome::Answer(answer)) => work.answered(answer),
                Err(error) => work.answered(told(&error)),
            });
        }
        if frees {
            // Lost, it delays the next start to the next poll.
            let _ = wake_head(ledger);
        }
    }
}

/// What has become of one query of a batch.
enum Outcome {
    /// An answer.
    Answer(NodeAnswer),
    /// The ticket waits.
    None,
    /// Who waits, and why.
    Waiting(Vec<(i64, String)>),
}

/// What notes things, within one transaction.
struct Clerk<'a> {
    ledger: &'a str,
    lives: &'a Lives<'a>,
    processes: &'a Processes,
}

impl Clerk<'_> {
    fn answer(&self, books: &LedgerTx<'_>, work: &Work) -> Result<Outcome, Error> {
        let peer = &work.peer;
        let noted = Ok(Outcome::Answer(NodeAnswer::Noted {}));
        match &work.task {
            Task::Look => Ok(Outcome::Waiting(books.wait_reasons()?)),
            Task::Fetch(ticket) | Task::Query(NodeQuery::Resume { ticket }) => {
                let answer = self.fetch(books, peer, *ticket)?;
                if let (None, Task::Query(_)) = (&answer, &work.task) {
                    return self.place(books, *ticket);
                }
                Ok(answer.map_or(Outcome::None, Outcome::Answer))
            }
            Task::Query(NodeQuery::Cancel { ticket, reason }) => {
                self.cancel(books, peer, *ticket, reason)?;
                noted
            }
            Task::Query(NodeQuery::Started {
                lease,
                pid,
                start,
                namespace,
                cgroup,
            }) => {
                let lease = self.own(books, peer, *lease)?;
                let child = Identity {
                    boot: peer.process.boot.clone(),
                    namespace: *namespace,
                    id: ProcessId {
                        pid: *pid,
                        start: *start,
                    },
                };
                let child = self.lives.here(&child);
                let is_own =
                    |child: &Identity| self.processes.uid_of(child.id.pid) == Some(peer.uid);
                let Some(child) = child.filter(is_own) else {
                    return Err(Error::malformed(format_args!(
                        "lease {}: process {pid} of namespace {namespace}: expected one of user {} that runs",
                        lease.id, peer.uid
                    )));
                };
                let group = self.group(books, &lease, cgroup.as_deref())?;
                books.set_command_process(lease.id, &child, group)?;
                noted
            }
            Task::Query(NodeQuery::Grouped { lease, cgroup }) => {
                let lease = self.own(books, peer, *lease)?;
                let group = self.group(books, &lease, Some(cgroup))?;
                books.set_cgroup(lease.id, group.unwrap_or_default())?;
                noted
            }
            Task::Query(NodeQuery::Ended {
                lease,
                reason,
                status,
            }) => {
                let lease = self.own(books, peer, *lease)?;
                let child = lease.child.as_ref();
                if let Some(child) = child.filter(|child| self.lives.of(child) != Liveness::Ended) {
                    return Err(Error::malformed(format_args!(
                        "lease {}: its process {} runs: expected its end",
                        lease.id, child.id.pid
                    )));
                }
                let owner = lease.asker.audited();
                let reason = shortened(reason, NAME);
                books.release_with(&owner, &lease, reason, status.map(i32::from))?;
                noted
            }
            Task::Query(_) | Task::Text(_) => Err(Error::malformed(
                "another query: expected one of docs/schema",
            )),
        }
    }

    /// The lease of this number, if the process that asks holds it.
    ///
    /// # Errors
    /// It has ended, or is another's.
    fn own(&self, books: &LedgerTx<'_>, peer: &Peer, id: i64) -> Result<Lease, Error> {
        let mut leases = books.leases()?.into_iter();
        let own = leases.find(|lease| lease.id == id && lease.asker.process == peer.process);
        own.filter(|lease| lease.asker.uid == peer.uid)
            .ok_or_else(|| {
                Error::at(
                    format_args!("lease {id}"),
                    "it has ended meanwhile, or is another's: its devices may be another's too",
                )
            })
    }

    /// The folder of a control group, if it may be one of the lease.
    ///
    /// # Errors
    /// It is none.
    fn group<'g>(
        &self,
        books: &LedgerTx<'_>,
        lease: &Lease,
        group: Option<&'g str>,
    ) -> Result<Option<&'g str>, Error> {
        let mark = books.mark(lease.id);
        if let Some(path) = group
            && mark::of_lease(path, &mark).is_none()
        {
            return Err(Error::malformed(format_args!(
                "lease {}: the control group: expected a folder below {MOUNT} that is called {}",
                lease.id,
                mark::name_of(&mark)
            )));
        }
        Ok(group)
    }

    /// The answer to a ticket, if it has one.
    fn fetch(
        &self,
        books: &LedgerTx<'_>,
        peer: &Peer,
        id: i64,
    ) -> Result<Option<NodeAnswer>, Error> {
        let is_own = |asker: &Requester| asker.uid == peer.uid && asker.process == peer.process;
        let Some(place) = books.ticket(id)? else {
            // The answer that told of its lease was lost.
            let mut leases = books.leases()?.into_iter();
            let lease = leases.find(|lease| lease.ticket == Some(id) && is_own(&lease.asker));
            let lease = lease.ok_or_else(|| no_ticket(id))?;
            return Ok(Some(self.granted(&lease)));
        };
        if !is_own(&place.asker) {
            return Err(no_ticket(id));
        }
        match fetch(books, &place) {
            Ok(lease) => Ok(lease.map(|lease| self.granted(&lease))),
            // What was noted of the refusal stays.
            Err(refused @ Error::Refused(_)) => Ok(Some(told(&refused))),
            Err(error) => Err(error),
        }
    }

    fn granted(&self, lease: &Lease) -> NodeAnswer {
        NodeAnswer::Granted {
            grant: Box::new(grant_of(self.ledger, lease)),
        }
    }

    /// How a ticket waits.
    fn place(&self, books: &LedgerTx<'_>, id: i64) -> Result<Outcome, Error> {
        let (all, before) = books.waiting(id)?;
        let reason = books.ticket(id)?.map(|ticket| ticket.reason);
        Ok(Outcome::Answer(NodeAnswer::Queued {
            ticket: id,
            position: before + 1,
            length: all,
            reason: wait_reason(&reason.unwrap_or_default(), before),
        }))
    }

    /// Removes a ticket from the queue, and releases devices that were granted just then.
    fn cancel(
        &self,
        books: &LedgerTx<'_>,
        peer: &Peer,
        id: i64,
        reason: &str,
    ) -> Result<(), Error> {
        let is_own = |asker: &Requester| asker.uid == peer.uid && asker.process == peer.process;
        let reason = shortened(reason, NAME);
        let mut leases = books.leases()?.into_iter();
        if let Some(lease) = leases.find(|lease| lease.ticket == Some(id))
            && is_own(&lease.asker)
            && lease.child.is_none()
        {
            books.release(&lease.asker.audited(), &lease, reason)?;
        }
        if let Some(ticket) = books.ticket(id)?
            && is_own(&ticket.asker)
        {
            books.cancel(&ticket.asker.audited(), id, reason)?;
        }
        Ok(())
    }
}

fn no_ticket(id: i64) -> Error {
    Error::at(
        format_args!("ticket {id}"),
        "it has left the queue: expected a job that waits",
    )
}
