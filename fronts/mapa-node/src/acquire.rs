//! Asking for devices: at once, or in the queue.
//!
//! The queue is first come, first served, and nobody overtakes: whoever comes while others wait is
//! behind them, also if devices are free that the first cannot use. So nobody waits forever. Each
//! job decides by its own policy when it is the first. With a scheduler the whole queue is ordered
//! by it, and the process that polls grants all their devices.

mod by_daemon;
mod first_come;
mod grant;
mod request;
mod scheduled;
mod snapshot;

use std::rc::Rc;
use std::time::Duration;

use mapa_live::DriverSnapshot as Drivers;
use mapa_live::{Liveness, Processes};

use crate::error::Error;
use crate::job_process::RunEvents;
use crate::leader;
use crate::lease_processes::Lives;
use crate::ledger::{Durability, Lease, Ledger, LedgerTx, Requester, Ticket};
use crate::node::Node;
use crate::recover::{recover, recover_head};
use crate::wakeup::{self, WakeupSocket};

pub(crate) use by_daemon::{Unbegun, fetch, unbegun};
pub(crate) use first_come::choose;
use first_come::{acquire_behind, acquire_fifo, is_behind};
pub(crate) use grant::grant;
pub(crate) use request::{
    AcquireAttempt, AcquireRequest, FIRST_COME, Granted, WaitStatus, refusal_of, turn, wait_reason,
};
use scheduled::acquire_scheduled;
pub(crate) use snapshot::{NodeSnapshot, snapshot, snapshot_of};

/// The poll interval of the queue head. A wake-up is lost if its sender is killed, and devices come without one.
const HEAD_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The poll interval of the job behind the head. It notices that the head was killed. A job `n` places behind the
/// head polls every `n` times this interval: it is woken when its turn comes. In a queue with a scheduler or
/// a daemon, any job may start at any time, so all poll at this interval.
const QUEUED_POLL_INTERVAL: Duration = Duration::from_millis(1500);

/// The longest poll interval.
const LONGEST_POLL_INTERVAL: Duration = Duration::from_secs(10);

/// The outcome of [`AcquireContext::acquire`].
pub(crate) enum AcquireOutcome {
    /// With devices.
    Granted(Box<Granted>),
    /// By a signal, while it waited.
    Signal(i32),
}

/// What an acquisition of devices needs.
pub(crate) struct AcquireContext<'a> {
    /// The ledger in which the lease or the ticket is written.
    pub ledger: &'a mut Ledger,
    /// The machine, as this program found it last. A daemon may partition devices meanwhile.
    pub node: Rc<Node>,
    /// Reads the machine anew: its links have changed.
    pub reload: &'a dyn Fn() -> Result<Node, Error>,
    /// The processes of this boot.
    pub processes: &'a Processes,
    /// Queries the drivers: called for each attempt that decides.
    pub drivers: &'a dyn Fn() -> Result<Drivers, Error>,
}

impl AcquireContext<'_> {
    /// Acquires devices, and waits for them if the request says so, at this place of the queue if it has one already. Calls
    /// `on_wait` whenever position or reason change.
    ///
    /// # Errors
    /// The refusal; the ledger cannot be used.
    pub(crate) fn acquire(
        &mut self,
        want: &AcquireRequest<'_>,
        ticket: Option<i64>,
        happenings: &RunEvents,
        on_wait: &mut dyn FnMut(&WaitStatus),
    ) -> Result<AcquireOutcome, Error> {
        let outcome = self.acquire_or_wait(want, ticket, happenings, on_wait);
        happenings.wake_by(None);
        outcome
    }

    /// Looks once. A job that waits, or must, has a place in the queue then.
    ///
    /// # Errors
    /// The refusal; the ledger cannot be used.
    pub(crate) fn acquire_once(
        &mut self,
        want: &AcquireRequest<'_>,
    ) -> Result<AcquireAttempt, Error> {
        loop {
            match self.attempt(want, None) {
                Ok(AcquireAttempt::Retry) => {}
                Ok(done) => return Ok(done),
                Err(AttemptError::Drivers(error) | AttemptError::Other(error)) => {
                    return Err(error);
                }
            }
        }
    }

    fn acquire_or_wait(
        &mut self,
        want: &AcquireRequest<'_>,
        // It outlives the rounds of the loop: the place in the queue is kept.
        mut ticket: Option<i64>,
        happenings: &RunEvents,
        on_wait: &mut dyn FnMut(&WaitStatus),
    ) -> Result<AcquireOutcome, Error> {
        let mut last_reported: Option<WaitStatus> = None;
        let mut wakeups: Option<Option<WakeupSocket>> = None;
        loop {
            let mut driver_failed = false;
            let attempt = match self.attempt(want, ticket) {
                Ok(attempt) => attempt,
                // One driver timeout must not cost a waiting job its position in the queue.
                Err(AttemptError::Drivers(error)) => {
                    let (Some(id), Some(before)) = (ticket, &last_reported) else {
                        return Err(error);
                    };
                    let reason = format!("{error}; they are asked again");
                    let waiting = WaitStatus {
                        reason,
                        ..before.clone()
                    };
                    driver_failed = true;
                    AcquireAttempt::Queued(id, waiting)
                }
                Err(AttemptError::Other(error)) => {
                    // Dequeue the ticket on error: a failing head would block the queue.
                    if let Some(id) = ticket {
                        drop(self.cancel(want.asker, id, &error.to_string()));
                    }
                    return Err(error);
                }
            };
            let (id, waiting) = match attempt {
                // The daemon has gone since: now the drivers are asked.
                AcquireAttempt::Retry => continue,
                AcquireAttempt::Granted(granted) => return Ok(AcquireOutcome::Granted(granted)),
                AcquireAttempt::Enqueued(id) => (id, None),
                AcquireAttempt::Queued(id, waiting) => (id, Some(waiting)),
            };
            ticket = Some(id);
            let is_new = wakeups.is_none();
            let wakeups = wakeups.get_or_insert_with(|| {
                // If the socket cannot be bound, the job relies on polling.
                let socket = WakeupSocket::new(self.ledger.id(), id).ok()?;
                happenings.wake_by(socket.forward().ok());
                Some(socket)
            });
            let Some(waiting) = waiting else { continue };
            // Print only if something has changed since the last report.
            if last_reported.as_ref() != Some(&waiting) {
                on_wait(&waiting);
            }
            let behind = u32::try_from(waiting.position - 1).unwrap_or(u32::MAX);
            last_reported = Some(waiting);
            // A wake-up that was sent before the socket was bound is lost: so look once more.
            let processes = self.processes;
            if is_new
                && self
                    .ledger
                    .read(|books| look(books, processes, id))?
                    .is_none()
            {
                continue;
            }
            // A scheduler, or a daemon, may start any job of the queue.
            let leader = self.ledger.read(|books| leader::leader(books, processes))?;
            let is_decided_by_others = want.scheduler != FIRST_COME || leader.is_some();
            let pause = match behind {
                // A driver that does not answer may take long to say so.
                0 if driver_failed => QUEUED_POLL_INTERVAL,
                0 => HEAD_POLL_INTERVAL,
                _ if is_decided_by_others => QUEUED_POLL_INTERVAL,
                _ => QUEUED_POLL_INTERVAL.saturating_mul(behind),
            };
            if let Some(signal) = happenings.pause(pause.min(LONGEST_POLL_INTERVAL)) {
                self.cancel(want.asker, id, &format!("signal {signal} ended the wait"))?;
                return Ok(AcquireOutcome::Signal(signal));
            }
            if let Some(socket) = &wakeups {
                socket.clear();
            }
        }
    }

    /// Looks once, and decides if this job's turn has come.
    fn attempt(
        &mut self,
        want: &AcquireRequest<'_>,
        ticket: Option<i64>,
    ) -> Result<AcquireAttempt, AttemptError> {
        let processes = self.processes;
        if let Some(id) = ticket
            && let Some(waiting) = self.ledger.read(|books| look(books, processes, id))?
        {
            return Ok(AcquireAttempt::Queued(id, waiting));
        }
        // A daemon asks the drivers itself, and a job that goes to the end of the queue decides nothing.
        let is_decided_elsewhere = self.ledger.read(|books| {
            Ok(by_daemon::is_served(books, processes, want, ticket)?
                || ticket.is_none() && is_behind(books, processes, want)?)
        })?;
        let drivers = if is_decided_elsewhere {
            None
        } else {
            let asked = (self.drivers)().and_then(|drivers| {
                self.renew(&drivers)?;
                Ok(drivers)
            });
            Some(asked.map_err(AttemptError::Drivers)?)
        };
        Ok(self.try_acquire(want, ticket, drivers.as_ref())?)
    }

    /// Reads the machine anew if its links are not as they were: jobs wait for hours.
    ///
    /// # Errors
    /// The drivers do not answer, or the machine has other devices now.
    fn renew(&mut self, drivers: &Drivers) -> Result<(), Error> {
        if self.node.is_current(drivers) {
            return Ok(());
        }
        let node = (self.reload)()?;
        // The request names devices by their ids.
        if !node.has_devices_of(&self.node) {
            return Err(Error::at("the machine", "it has other devices than before"));
        }
        self.node = Rc::new(node);
        Ok(())
    }

    /// Removes the ticket from the queue, and releases devices that were granted just then.
    fn cancel(&mut self, asker: &Requester, ticket: i64, reason: &str) -> Result<(), Error> {
        self.ledger.change(Durability::Boot, |books| {
            let given = books
                .leases()?
                .into_iter()
                // The queue's turn may have come since the last poll, so the lease is given back too. One
                // transaction, so that no other program sees one without the other.
                .find(|lease| lease.ticket == Some(ticket));
            if let Some(lease) = given {
                books.release(&asker.audited(), &lease, reason)?;
            }
            if books.ticket(ticket)?.is_some() {
                books.cancel(&asker.audited(), ticket, reason)?;
            }
            Ok(())
        })?;
        self.wake_head()
    }

    /// Tries to acquire devices once: recovers the ledger, then grants devices if this ticket is next.
    fn try_acquire(
        &mut self,
        want: &AcquireRequest<'_>,
        ticket: Option<i64>,
        drivers: Option<&Drivers>,
    ) -> Result<AcquireAttempt, Error> {
        let (node, processes) = (&*self.node, self.processes);
        let (mut to_wake, mut has_recovered) = (Vec::new(), false);
        let attempt = self.ledger.change(Durability::Boot, |books| {
            if by_daemon::is_served(books, processes, want, ticket)? {
                // A daemon is there. It gives the devices; this program only reads what has become of its
                // ticket.
                return by_daemon::try_acquire(books, node, processes, want, ticket);
            }
            if ticket.is_none() && is_behind(books, processes, want)? {
                return acquire_behind(books, node, want);
            }
            // Without a driver snapshot this process must not place jobs.
            let Some(drivers) = drivers else {
                return Ok(Ok(AcquireAttempt::Retry));
            };
            let owner = want.asker.audited();
            // In a queue that is first come, first served, only the first living job matters.
            let recovered = if want.scheduler == FIRST_COME {
                recover_head(books, processes, &owner)?
            } else {
                recover(books, processes, &owner)?
            };
            has_recovered = !recovered.is_clean();
            let seen = snapshot_of(books, node, processes, &owner, (drivers, recovered))?;
            // Another program, or a daemon that has gone since, may have decided about this ticket.
            if let Some(outcome) = by_daemon::answered(books, node, ticket)? {
                return Ok(outcome);
            }
            // A ticket keeps the scheduler under which it was queued, even after that daemon has exited.
            let place = ticket.map(|id| books.ticket(id)).transpose()?.flatten();
            let order = place.map(|ticket| ticket.scheduler);
            let want = &AcquireRequest {
                scheduler: order.as_deref().unwrap_or(want.scheduler),
                ..*want
            };
            if want.scheduler == FIRST_COME {
                acquire_fifo(books, node, &seen, want, ticket)
            } else {
                let queue = books.queue()?;
                acquire_scheduled(books, node, &seen, queue, want, ticket, &mut to_wake)
            }
        });
        // Wake-ups are sent after the commit: a program that wakes up earlier would read the old state.
        for ticket in to_wake {
            wakeup::wake(self.ledger.id(), ticket);
        }
        let attempt = attempt?;
        // Recovery has freed devices or removed tickets: another job may start now.
        if has_recovered {
            let _ = self.wake_head();
        }
        // Wake the daemon: it does not know of a new ticket or lease yet.
        if ticket.is_none() && !matches!(attempt, Ok(AcquireAttempt::Retry)) {
            leader::wake(self.ledger.id());
        }
        match attempt {
            Ok(attempt) => {
                if matches!(attempt, AcquireAttempt::Granted(_)) {
                    // More devices may be free, so wake the new queue head. A lost wake-up only delays it to its next poll.
                    let _ = self.wake_head();
                }
                Ok(attempt)
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Releases a lease whose command has ended with this exit status, if it has begun, and wakes the queue head.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub(crate) fn free(
        &mut self,
        lease: &Lease,
        reason: &str,
        status: Option<u8>,
    ) -> Result<(), Error> {
        let owner = lease.asker.audited();
        self.ledger.change(Durability::Boot, |books| {
            books.release_with(&owner, lease, reason, status.map(i32::from))
        })?;
        self.wake_head()
    }

    fn wake_head(&mut self) -> Result<(), Error> {
        wake_head(self.ledger)
    }
}

/// Wakes the queue head.
///
/// # Errors
/// The ledger cannot be read.
pub fn wake_head(ledger: &mut Ledger) -> Result<(), Error> {
    if let Some(first) = ledger.read(|books| books.head())? {
        // Only the head of the queue is woken: no job behind it may start first, and with a scheduler one poll
        // decides for all.
        wakeup::wake(ledger.id(), first.id);
    }
    // The daemon has a socket of its own, since it decides for all who wait.
    leader::wake(ledger.id());
    Ok(())
}

/// Why an attempt failed.
enum AttemptError {
    /// The drivers do not answer now.
    Drivers(Error),
    Other(Error),
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// How a ticket waits; `None` if its program has something to do: fetch an answer, or decide, since it is the first or the
/// first was killed. Nothing is written, so that any number may look.
fn look(
    books: &LedgerTx<'_>,
    processes: &Processes,
    ticket: i64,
) -> Result<Option<WaitStatus>, Error> {
    let Some(own) = books.ticket(ticket)? else {
        return Ok(None);
    };
    if own.lease.is_some() || own.refusal.is_some() {
        return Ok(None);
    }
    let (all, before) = books.waiting(ticket)?;
    if leader::leader(books, processes)?.is_none() {
        // With a scheduler one decides for all, and the second stands in for a first that is stopped.
        let decides = if own.scheduler == FIRST_COME { 0 } else { 1 };
        let (head, lives) = (books.head()?, Lives::new(processes));
        let is_there = |head: Ticket| lives.of(&head.asker.process) != Liveness::Ended;
        if before <= decides || !head.is_some_and(is_there) {
            return Ok(None);
        }
    }
    Ok(Some(WaitStatus {
        position: before + 1,
        queue_length: all,
        reason: wait_reason(&own.reason, before),
    }))
}

#[cfg(test)]
mod tests {
    use mapa_core::{Pattern, Request};
    use mapa_front::names::Choice;
    use mapa_front::{MachineSpec, Names};

    use super::*;
    use crate::local_files::LocalFiles;

    /// A daemon may exit between the attempt that found it and the next one, which must decide.
    #[test]
    fn nobody_decides_who_has_not_asked_the_drivers() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path().join("ledger.db")).unwrap();
        let spec = MachineSpec::named("dgx-1v");
        let node = Node::new(spec.load(&LocalFiles, &mut |_| {}).unwrap(), false);
        let processes = Processes::new().unwrap();
        let asker = Requester {
            tenant: "t".to_owned(),
            uid: 0,
            process: processes.own().unwrap(),
            command: "true".to_owned(),
            policy: "{}".to_owned(),
            spec: "{}".to_owned(),
        };
        let policy = Names::built_in().policy("preserve", &Choice::default());
        let request = Request::new(Pattern::ring(2));
        let want = AcquireRequest {
            asker: &asker,
            request: &request,
            policy: &*policy.unwrap(),
            scheduler: FIRST_COME,
            wait: true,
            seconds: None,
        };
        let mut desk = AcquireContext {
            ledger: &mut ledger,
            node: Rc::new(node),
            reload: &|| Err(Error::malformed("nothing changes")),
            processes: &processes,
            drivers: &|| Ok(Drivers::default()),
        };
        assert!(matches!(
            desk.try_acquire(&want, None, None),
            Ok(AcquireAttempt::Retry)
        ));
        let asked = Drivers::default();
        let attempt = desk.try_acquire(&want, None, Some(&asked));
        assert!(matches!(attempt, Ok(AcquireAttempt::Granted(_))));
    }
}
