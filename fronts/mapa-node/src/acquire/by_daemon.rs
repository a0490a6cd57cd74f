//! Waiting while a daemon orders the queue: its orders are found in the ledger.

use mapa_live::Processes;

use super::first_come::{behind, never};
use super::request::{
    AcquireAttempt, AcquireRequest, FIRST_COME, Granted, Outcome, WaitStatus, refusal_of,
    wait_reason,
};
use crate::error::Error;
use crate::leader::leader;
use crate::ledger::{Lease, LedgerTx, Requester, Ticket};
use crate::node::Node;

/// Whether a daemon decides about this job: one is there, and the job waits or must stand behind
/// those who do.
pub(super) fn is_served(
    books: &LedgerTx<'_>,
    processes: &Processes,
    want: &AcquireRequest<'_>,
    ticket: Option<i64>,
) -> Result<bool, Error> {
    if leader(books, processes)?.is_none() {
        return Ok(false);
    }
    // A job that does not wait may take free devices although a daemon is there, but only while no job waits.
    Ok(want.wait || ticket.is_some() || books.head()?.is_some())
}

/// What has become of a place in the queue, if whoever decides has decided.
pub(super) fn answered(
    books: &LedgerTx<'_>,
    node: &Node,
    ticket: Option<i64>,
) -> Result<Option<Outcome>, Error> {
    let place = ticket.map(|id| books.ticket(id)).transpose()?.flatten();
    let Some(place) = place else {
        return Ok(None);
    };
    let lease = match fetch(books, &place) {
        Ok(None) => return Ok(None),
        Ok(Some(lease)) => lease,
        Err(Error::Refused(refusal)) => return Ok(Some(Err(refusal))),
        Err(other) => return Err(other),
    };
    let placement = lease.devices.iter().filter_map(|key| node.device(key));
    Ok(Some(Ok(AcquireAttempt::Granted(Box::new(Granted {
        placement: placement.collect(),
        lease,
        decision: None,
    })))))
}

/// The lease of a place in the queue, if whoever decides has given one. The answer is fetched once: from here on the lease
/// alone counts.
///
/// # Errors
/// The refusal, if there is one; the ledger cannot be written.
pub(crate) fn fetch(books: &LedgerTx<'_>, place: &Ticket) -> Result<Option<Lease>, Error> {
    if let Some(found) = place.lease {
        books.dequeue(place.id)?;
        books.begin_time(found)?;
        let lease = books.leases()?.into_iter().find(|lease| lease.id == found);
        // The program that waits lives, so only `mapa release` can have ended it.
        let lease = lease.ok_or_else(|| {
            Error::at(
                "the ledger",
                format_args!("lease {found} of ticket {} is gone", place.id),
            )
        });
        return lease.map(Some);
    }
    let Some(why) = &place.refusal else {
        return Ok(None);
    };
    books.cancel(&place.asker.audited(), place.id, why)?;
    Err(refusal_of(why))
}

/// What a process has whose command has not begun.
pub(crate) enum Unbegun {
    /// A place in the queue.
    Ticket(i64),
    /// Devices.
    Lease(Box<Lease>),
}

/// What a process got from a daemon that was killed before it could tell: to ask for devices once more, it would wait for
/// itself.
///
/// # Errors
/// The ledger cannot be read.
pub(crate) fn unbegun(books: &LedgerTx<'_>, asker: &Requester) -> Result<Option<Unbegun>, Error> {
    let is_own = |other: &Requester| other.uid == asker.uid && other.process == asker.process;
    let mut queue = books.queue()?.into_iter();
    if let Some(place) = queue.find(|place| is_own(&place.asker)) {
        return Ok(Some(Unbegun::Ticket(place.id)));
    }
    let mut leases = books.leases()?.into_iter();
    let lease = leases
        .find(|lease| lease.process().is_some() && lease.child.is_none() && is_own(&lease.asker));
    Ok(lease.map(|lease| Unbegun::Lease(Box::new(lease))))
}

/// Reads the ledger once for a job whose devices a daemon chooses.
pub(super) fn try_acquire(
    books: &LedgerTx<'_>,
    node: &Node,
    processes: &Processes,
    want: &AcquireRequest<'_>,
    ticket: Option<i64>,
) -> Result<Outcome, Error> {
    if let Some(outcome) = answered(books, node, ticket)? {
        return Ok(outcome);
    }
    let Some(leader) = leader(books, processes)? else {
        // The daemon has exited since this attempt began: the next attempt decides without it.
        return waits(books, want, ticket, FIRST_COME);
    };
    if ticket.is_none() {
        if let Some(never) = never(node, want.policy, want.request) {
            return Ok(Err(never));
        }
        if !want.wait {
            return Ok(Err(behind(books, FIRST_COME)?));
        }
    }
    waits(books, want, ticket, &leader.scheduler)
}

/// Stays in the queue, or goes to its end.
fn waits(
    books: &LedgerTx<'_>,
    want: &AcquireRequest<'_>,
    ticket: Option<i64>,
    order: &str,
) -> Result<Outcome, Error> {
    let mut reason = format!("its turn by {order}, which a daemon decides");
    if want.scheduler != FIRST_COME && want.scheduler != order {
        reason += &format!(", not by {}", want.scheduler);
    }
    // `auto` is what a job has that names none.
    let policy = want.policy.name();
    if policy != "auto" {
        reason += &format!(", and by its policy, not by {policy}");
    }
    let id = match ticket {
        Some(id) => id,
        None => books.enqueue(want.asker, order, want.seconds, &reason)?,
    };
    // The daemon keeps the reason of each ticket up to date. A new ticket has the one above.
    if ticket.is_some()
        && let Some(own) = books.ticket(id)?
    {
        reason = own.reason;
    }
    let (all, before) = books.waiting(id)?;
    let waiting = WaitStatus {
        position: before + 1,
        queue_length: all,
        reason: wait_reason(&reason, before),
    };
    Ok(Ok(AcquireAttempt::Queued(id, waiting)))
}
