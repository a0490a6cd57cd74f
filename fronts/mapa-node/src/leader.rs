//! The steward of the queue: a daemon that decides who is next, so that nobody who waits decides by
//! themselves.
//!
//! It is entered in the ledger, and says now and then that it is there. One that has died, or has
//! said nothing for a while, counts as gone: whoever waits decides again, by the order that the
//! queue then has. A daemon that was stopped for so long and goes on finds that out before its next
//! change, because each of its changes begins with its beat.

use mapa_live::{Identity, Life, Processes};

use crate::error::Error;
use crate::ledger::{LedgerTx, Steward, UnixNanos, now};
use crate::wakeup;

/// How long a daemon that says nothing counts as there: nanoseconds.
pub(crate) const SILENCE: UnixNanos = 15_000_000_000;

/// The bell of the daemon. Numbers of tickets begin with 1.
pub(crate) const BELL: i64 = 0;

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
pub(crate) fn steward(
    books: &LedgerTx<'_>,
    processes: &Processes,
) -> Result<Option<Steward>, Error> {
    Ok(books.steward()?.filter(|steward| {
        // Both are needed: a daemon that is stopped still lives, and one that was killed has left a fresh heartbeat.
        let is_heard = now().saturating_sub(steward.beat) < SILENCE;
        is_heard && processes.life(&steward.process) != Life::Ended
    }))
}

/// Begins each change of a daemon: says that it is there.
///
/// # Errors
/// Another daemon has taken its place; the ledger cannot be written.
pub(crate) fn stay(books: &LedgerTx<'_>, leader: &Leader) -> Result<(), Error> {
    if books.beat(&leader.process, now())? {
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
pub(crate) fn alone(books: &LedgerTx<'_>, processes: &Processes) -> Result<(), Error> {
    let Some(other) = steward(books, processes)? else {
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

/// Enters a daemon in the ledger.
///
/// # Errors
/// Another one is there; the ledger cannot be written.
pub(crate) fn enter(
    books: &LedgerTx<'_>,
    processes: &Processes,
    leader: &Leader,
) -> Result<(), Error> {
    alone(books, processes)?;
    books.enter(&leader.owner, &leader.process, &leader.scheduler)
}

/// Rings for the daemon. Nothing happens if there is none.
pub(crate) fn ring(ledger: &str) {
    wakeup::ring(ledger, BELL);
}
