//! The request for devices, and the outcome of an attempt.

use mapa_core::{DeviceId, Policy, Reason, Refusal, Request, SearchStats};
use mapa_front::answer;

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
    pub decision: Option<answer::Decision>,
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
pub(crate) enum AcquireAttempt {
    /// The job has devices.
    Granted(Box<Granted>),
    /// The job has a place in the queue, and nothing else was decided.
    Enqueued(i64),
    /// The job waits at this place in the queue.
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

/// The reason in the ledger of a job that waits for its turn by this order. The number of jobs before it is counted when
/// the reason is shown: otherwise each start would have to rewrite the reasons of all waiting jobs.
pub(crate) fn turn(scheduler: &str) -> String {
    match scheduler {
        FIRST_COME => "its turn in the queue".to_owned(),
        _ => format!("its turn by {scheduler}"),
    }
}

/// The reason of a waiting job for people: the one in the ledger, with the number of jobs before it.
pub(crate) fn wait_reason(said: &str, before: usize) -> String {
    if !said.starts_with("its turn") {
        return said.to_owned();
    }
    match before {
        0 => said.to_owned(),
        1 => format!("{said}: 1 job waits before this one"),
        _ => format!("{said}: {before} jobs wait before this one"),
    }
}

pub(super) type Outcome = Result<AcquireAttempt, Refusal>;

/// A refusal that another program wrote into the queue: its kind, a colon, why.
pub(crate) fn refusal_of(text: &str) -> Error {
    let (kind, why) = text.split_once(": ").unwrap_or_default();
    // A reason says so itself when it is shown.
    let why = why.strip_prefix("not met: ").unwrap_or(why);
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
