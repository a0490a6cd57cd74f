//! The queue leader: a daemon that schedules the queue in place of the waiting jobs.
//!
//! It is registered in the ledger, with a heartbeat. A daemon that has died, or whose heartbeat is
//! old, counts as gone: waiting jobs schedule the queue again, in the order that it then has. A
//! daemon that was stopped for so long and continues finds that out before its next change, because
//! each of its changes begins with a heartbeat.

use mapa_live::{Identity, Liveness, Processes};

use crate::error::Error;
use crate::ledger::{LedgerTx, QueueLeader, UnixNanos, now};
use crate::wakeup;

/// How long a daemon that says nothing counts as there: nanoseconds.
pub(crate) const HEARTBEAT_TIMEOUT: UnixNanos = 15_000_000_000;

/// The ticket number under which the daemon receives wake-ups. Those of jobs begin with 1.
pub(crate) const TICKET: i64 = 0;

/// A daemon that orders the queue, as the ledger notes it.
#[derive(Clone, Debug)]
pub(crate) struct Leader {
    /// Its process.
    pub process: Identity,
    /// The user that is noted as the one that decides.
    pub owner: String,
    /// Its scheduler, with settings: `easy-backfill` or `slo-replay,transfer=0.3`.
    pub scheduler: String,
}

/// The daemon that orders the queue now, if there is one.
///
/// # Errors
/// The ledger cannot be read.
pub(crate) fn leader(
    books: &LedgerTx<'_>,
    processes: &Processes,
) -> Result<Option<QueueLeader>, Error> {
    Ok(books.leader()?.filter(|leader| {
        // Both are needed: a daemon that is stopped still lives, and one that was killed has left a fresh heartbeat.
        let is_heard = now().saturating_sub(leader.heartbeat) < HEARTBEAT_TIMEOUT;
        is_heard && processes.life(&leader.process) != Liveness::Ended
    }))
}

/// Begins each change of a daemon with its heartbeat.
///
/// # Errors
/// Another daemon has taken its place; the ledger cannot be written.
pub(crate) fn heartbeat(books: &LedgerTx<'_>, leader: &Leader) -> Result<(), Error> {
    if books.record_heartbeat(&leader.process, now())? {
        return Ok(());
    }
    Err(Error::at(
        "the ledger",
        "another daemon has taken this queue: expected to be its only one",
    ))
}

/// Refuses a second daemon.
///
/// # Errors
/// Another one is there; the ledger cannot be read.
pub(crate) fn refuse_second_leader(
    books: &LedgerTx<'_>,
    processes: &Processes,
) -> Result<(), Error> {
    let Some(other) = leader(books, processes)? else {
        return Ok(());
    };
    Err(Error::at(
        "the ledger",
        format_args!(
            "process {} orders this queue by {}: expected one daemon for each ledger",
            other.process.id.pid, other.scheduler
        ),
    ))
}

/// Registers a daemon as the queue leader.
///
/// # Errors
/// Another one is there; the ledger cannot be written.
pub(crate) fn acquire_leadership(
    books: &LedgerTx<'_>,
    processes: &Processes,
    leader: &Leader,
) -> Result<(), Error> {
    refuse_second_leader(books, processes)?;
    books.acquire_leadership(&leader.owner, &leader.process, &leader.scheduler)
}

/// Wakes the daemon. Does nothing unless a daemon runs.
pub(crate) fn wake(ledger: &str) {
    wakeup::wake(ledger, TICKET);
}
