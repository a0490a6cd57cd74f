//! The request for devices, and the outcome of an attempt.

use mapa_core::{Decision, DeviceId, Policy, Reason, Refusal, Request, SearchStats};

use crate::error::Error;
use crate::ledger::{Lease, Requester, Ticket};

/// The order of a queue that names no scheduler.
pub(crate) const FIRST_COME: &str = "first-come";

/// What is asked for.
#[derive(Clone, Copy)]
pub(crate) struct AcquireRequest<'a> {
    /// The job, as the ledger will name it.
    pub asker: &'a Requester,
    /// The request, read against this machine's graph.
    pub request: &'a Request,
    /// The policy that chooses.
    pub policy: &'a dyn Policy,
    /// The order of the queue, as a request names it.
    pub scheduler: &'a str,
    /// Whether to wait.
    pub wait: bool,
    /// How long the job runs at most, seconds.
    pub seconds: Option<u64>,
}

/// What was given.
pub(crate) struct Granted {
    /// The lease, as it was written.
    pub lease: Lease,
    /// The devices, in rank order.
    pub placement: Vec<DeviceId>,
    /// The decision; none if a scheduler made it for the whole queue.
    pub decision: Option<Decision>,
}

/// The state of a waiting job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitStatus {
    /// The place in the queue: 1 is the first.
    pub position: usize,
    /// The number of waiting jobs.
    pub queue_length: usize,
    /// Why it does not start yet, for people.
    pub reason: String,
}

/// The outcome of one attempt to acquire devices.
pub(super) enum AcquireAttempt {
    Granted(Box<Granted>),
    Queued(i64, WaitStatus),
    /// Nothing was decided: another attempt is needed.
    Retry,
}

/// Those of the queue that have neither a lease nor a refusal yet.
pub(crate) fn waiting(queue: &[Ticket]) -> impl Iterator<Item = &Ticket> {
    queue
        .iter()
        .filter(|ticket| ticket.lease.is_none() && ticket.refusal.is_none())
}

/// Why a job waits before which so many others do.
pub(crate) fn wait_reason(scheduler: &str, before: usize) -> String {
    match before {
        0 => format!("its turn by {scheduler}: nobody waits before it"),
        1 => format!("its turn by {scheduler}: 1 waits before it"),
        _ => format!("its turn by {scheduler}: {before} wait before it"),
    }
}

pub(super) type Outcome = Result<AcquireAttempt, Refusal>;

/// A refusal that another program wrote into the queue: its kind, a colon, why.
pub(crate) fn refusal_of(text: &str) -> Error {
    let (kind, why) = text.split_once(": ").unwrap_or_default();
    let reason = Reason::Rule(why.to_owned().into());
    match kind {
        "infeasible" => Error::Refused(Refusal::Infeasible(reason)),
        "busy" => Error::Refused(Refusal::Busy(reason)),
        // How far that search came was told to the other program alone.
        "limit_reached" => Error::Refused(Refusal::LimitReached(SearchStats::default())),
        _ => Error::at(
            "the ledger",
            format_args!("the refusal `{text}`: expected a kind and a reason"),
        ),
    }
}
