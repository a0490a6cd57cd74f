//! The queue that no scheduler orders: first come, first served.

use mapa_core::{Decision, Policy, Reason, Refusal, Request};
use mapa_live::{Liveness, Processes};

use super::grant::give;
use super::request::{
    AcquireAttempt, AcquireRequest, FIRST_COME, Outcome, WaitStatus, turn, wait_reason,
};
use super::snapshot::NodeSnapshot;
use crate::error::Error;
use crate::lease_processes::Lives;
use crate::ledger::{Lease, LedgerTx, Ticket};
use crate::mark::MARK;
use crate::node::{Node, Withheld};

/// Whether a job that comes now goes behind others, who are there: first come, first served. With a scheduler it may be
/// its turn at once.
pub(super) fn is_behind(
    books: &LedgerTx<'_>,
    processes: &Processes,
    want: &AcquireRequest<'_>,
) -> Result<bool, Error> {
    let head = books.head()?;
    Ok(head.is_some_and(|head| {
        let is_there = Lives::new(processes).of(&head.asker.process) != Liveness::Ended;
        is_there && (want.scheduler == FIRST_COME || head.scheduler != want.scheduler)
    }))
}

/// Goes to the end of the queue.
pub(super) fn acquire_behind(
    books: &LedgerTx<'_>,
    node: &Node,
    want: &AcquireRequest<'_>,
) -> Result<Outcome, Error> {
    check_order(books.head()?.as_ref(), want)?;
    if let Some(never) = never(node, want.policy, want.request) {
        return Ok(Err(never));
    }
    let leases = books.leases()?;
    if want.wait
        && let Some(own) = waits_for_itself(books, node, &leases, want)?
    {
        return Ok(Err(own));
    }
    if !want.wait {
        return Ok(Err(behind(books, want.scheduler)?));
    }
    let reason = turn(want.scheduler);
    let id = books.enqueue(want.asker, want.scheduler, want.seconds, &reason)?;
    Ok(Ok(AcquireAttempt::Enqueued(id)))
}

/// The refusal of a job that can never run: it comes at once, not at the head of the queue. Asked on the idle machine:
/// what does not fit there never will.
pub(super) fn never(node: &Node, policy: &dyn Policy, request: &Request) -> Option<Refusal> {
    let answer = policy.decide(request, &node.loaded().idle.view());
    let refusal = node.with_hope(request, answer.err()?);
    matches!(refusal, Refusal::Infeasible(_)).then_some(refusal)
}

/// The refusal of a job that does not wait, while others do in this order.
pub(super) fn behind(books: &LedgerTx<'_>, scheduler: &str) -> Result<Refusal, Error> {
    let (all, _) = books.waiting(i64::MAX)?;
    let reason = wait_reason(&turn(scheduler), all);
    Ok(Refusal::Busy(Reason::Rule(reason.into())))
}

/// Chooses for one who has no place in the queue and takes none: whoever waits comes first.
///
/// # Errors
/// The ledger cannot be read.
pub(crate) fn choose(
    books: &LedgerTx<'_>,
    node: &Node,
    seen: &NodeSnapshot,
    policy: &dyn Policy,
    request: &Request,
) -> Result<Result<Decision, Refusal>, Error> {
    if books.head()?.is_some() {
        let never = never(node, policy, request);
        return Ok(Err(never.map_or_else(|| behind(books, FIRST_COME), Ok)?));
    }
    Ok(decide(node, seen, policy, request))
}

/// Chooses among what is free now. A refusal says what is withheld too.
fn decide(
    node: &Node,
    seen: &NodeSnapshot,
    policy: &dyn Policy,
    request: &Request,
) -> Result<Decision, Refusal> {
    let answer = policy.decide(request, &seen.state.allocator.view());
    // The policy may be of another crate, so its placement is checked against the request before it becomes a lease.
    let answer =
        answer.and_then(|decision| decision.answers(request, node.graph()).map(|()| decision));
    answer.map_err(|refusal| {
        let refusal = node.with_hope(request, refusal);
        with_withheld(refusal, &seen.state.withheld, node)
    })
}

/// First come, first served.
///
/// Called for the head of the queue, and for a new job while the queue is empty.
pub(super) fn acquire_fifo(
    books: &LedgerTx<'_>,
    node: &Node,
    seen: &NodeSnapshot,
    want: &AcquireRequest<'_>,
    ticket: Option<i64>,
) -> Result<Outcome, Error> {
    let (all, before) = books.waiting(ticket.unwrap_or(i64::MAX))?;
    // Recovery has removed dead jobs, and another job is the head.
    if before > 0 {
        return match ticket {
            Some(id) => Ok(Ok(AcquireAttempt::Enqueued(id))),
            None => acquire_behind(books, node, want),
        };
    }
    let why = match decide(node, seen, want.policy, want.request) {
        Ok(decision) => {
            let given = give(books, node, want, ticket, decision)?;
            return Ok(Ok(AcquireAttempt::Granted(given)));
        }
        Err(refusal) => refusal,
    };
    // No lease can end, and no withheld device or link can come back: `mapa` never repartitions.
    let is_whole = seen.state.withheld.is_empty() && !node.has_links_down();
    let is_idle = seen.recovered.leases.is_empty() && is_whole;
    let why = match why {
        Refusal::Busy(reason) if want.wait && is_idle => Refusal::Busy(Reason::Rule(
            format!("nothing is in use, so waiting does not help: {reason}").into(),
        )),
        other => other,
    };
    let busy = matches!(why, Refusal::Busy(_));
    if !busy || !want.wait || is_idle {
        if let Some(id) = ticket {
            books.cancel(&want.asker.audited(), id, &why.to_string())?;
        }
        return Ok(Err(why));
    }
    if ticket.is_none()
        && let Some(own) = waits_for_itself(books, node, &seen.recovered.leases, want)?
    {
        return Ok(Err(own));
    }
    let reason = why.to_string();
    let (id, all) = match ticket {
        Some(id) => {
            books.set_wait_reason(id, &reason)?;
            (id, all)
        }
        None => {
            let id = books.enqueue(want.asker, want.scheduler, want.seconds, &reason)?;
            (id, all + 1)
        }
    };
    let waiting = WaitStatus {
        position: 1,
        queue_length: all,
        reason,
    };
    Ok(Ok(AcquireAttempt::Queued(id, waiting)))
}

/// The refusal of a request that runs inside a lease, if that lease alone holds what it waits for: the lease ends after
/// the request.
fn waits_for_itself(
    books: &LedgerTx<'_>,
    node: &Node,
    leases: &[Lease],
    want: &AcquireRequest<'_>,
) -> Result<Option<Refusal>, Error> {
    let Ok(mark) = std::env::var(MARK) else {
        return Ok(None);
    };
    let mut leases = leases.iter();
    let Some(own) = leases.find(|lease| books.mark(lease.id) == mark) else {
        return Ok(None);
    };
    let alone = node.state(books, std::slice::from_ref(own), &[])?;
    let answer = want.policy.decide(want.request, &alone.allocator.view());
    Ok(answer.err().map(|refusal| {
        let why = format!(
            "no wait for lease {}, in which this command runs: {refusal}",
            own.id
        );
        Refusal::Busy(Reason::Rule(why.into()))
    }))
}

/// Adds to a refusal what is withheld, since no lease explains it.
fn with_withheld(refusal: Refusal, withheld: &[Withheld], node: &Node) -> Refusal {
    let Refusal::Busy(reason) = &refusal else {
        return refusal;
    };
    if withheld.is_empty() {
        return refusal;
    }
    let names: Vec<String> = withheld
        .iter()
        .map(|device| {
            format!(
                "{} ({})",
                node.graph().device(device.device).name,
                device.why
            )
        })
        .collect();
    Refusal::Busy(Reason::Rule(
        format!("no device withheld ({}): {reason}", names.join(", ")).into(),
    ))
}

/// A queue has one order.
pub(super) fn check_order(first: Option<&Ticket>, want: &AcquireRequest<'_>) -> Result<(), Error> {
    let Some(first) = first else {
        return Ok(());
    };
    if first.scheduler != want.scheduler {
        let hint = match first.scheduler.as_str() {
            FIRST_COME => "no --scheduler".to_owned(),
            other => format!("--scheduler {other}"),
        };
        return Err(Error::malformed(format_args!(
            "the queue is ordered by {}, not by {}: expected {hint}, or an empty queue",
            first.scheduler, want.scheduler
        )));
    }
    Ok(())
}
