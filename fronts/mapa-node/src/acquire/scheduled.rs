//! The queue as a scheduler orders it: one program plans for all who wait.

use mapa_core::{Reason, Refusal};

use super::first_come::check_order;
use super::grant::grant;
use super::request::{
    AcquireAttempt, AcquireRequest, Granted, Outcome, WaitStatus, turn, wait_reason, waiting,
};
use super::snapshot::NodeSnapshot;
use crate::error::Error;
use crate::ledger::{LedgerTx, Ticket, now};
use crate::node::Node;
use crate::plan::{QueueTurn, plan, request as request_of};

/// The queue as a scheduler orders it: all whose turn it is are given their devices.
pub(super) fn acquire_scheduled(
    books: &LedgerTx<'_>,
    node: &Node,
    seen: &NodeSnapshot,
    mut queue: Vec<Ticket>,
    want: &AcquireRequest<'_>,
    ticket: Option<i64>,
    to_wake: &mut Vec<i64>,
) -> Result<Outcome, Error> {
    // A job with a ticket has passed this check, and may be the last of an order that is ending.
    if ticket.is_none() {
        check_order(waiting(&queue).next(), want)?;
    }
    let id = match ticket {
        Some(id) => id,
        None => {
            // The job takes its place before the plan, so that the scheduler sees it among the others.
            let id = books.enqueue(want.asker, want.scheduler, want.seconds, "has just come")?;
            queue.extend(books.ticket(id)?);
            id
        }
    };
    let turns = plan(node, &seen.state, &seen.recovered.leases, &queue, now(), id)?;
    let mut given = None;
    // One program gives devices to all whose turn it is. Otherwise each would plan again, and wait for its own
    // poll to start.
    for (other, turn) in turns {
        let Some(one) = queue.iter().find(|ticket| ticket.id == other) else {
            continue;
        };
        match turn {
            QueueTurn::Start(placement) => {
                let reason = format!("its turn by {}", want.scheduler);
                let lease = grant(
                    books,
                    node,
                    &one.asker,
                    &placement,
                    Some(other),
                    one.seconds,
                    &reason,
                )?;
                if other == id {
                    books.dequeue(id)?;
                    given = Some(Box::new(Granted {
                        lease,
                        placement,
                        decision: None,
                    }));
                } else {
                    // The lease belongs to the process that waits: it finds the number in its ticket, and its
                    // life keeps the lease valid.
                    books.record_grant(other, lease.id)?;
                    to_wake.push(other);
                }
            }
            // It waits for its links.
            QueueTurn::Reject(why) if is_hoped(node, one, &why) => {}
            QueueTurn::Reject(why) if other == id => {
                books.cancel(&want.asker.audited(), id, &why.to_string())?;
                return Ok(Err(why));
            }
            QueueTurn::Reject(why) => {
                books.record_refusal(other, &format!("{}: {why}", why.kind()))?;
                to_wake.push(other);
            }
        }
    }
    if let Some(given) = given {
        return Ok(Ok(AcquireAttempt::Granted(given)));
    }
    // Read the queue again: the plan has taken jobs from it.
    let left = books.queue()?;
    let before = waiting(&left).take_while(|ticket| ticket.id != id).count();
    let said = turn(want.scheduler);
    let why = Refusal::Busy(Reason::Rule(wait_reason(&said, before).into()));
    if !want.wait {
        books.cancel(&want.asker.audited(), id, &why.to_string())?;
        return Ok(Err(why));
    }
    let waits = WaitStatus {
        position: before + 1,
        queue_length: waiting(&left).count(),
        reason: why.to_string(),
    };
    books.set_wait_reason(id, &said)?;
    Ok(Ok(AcquireAttempt::Queued(id, waits)))
}

/// Whether only links that are down keep a job from running.
fn is_hoped(node: &Node, ticket: &Ticket, why: &Refusal) -> bool {
    let Ok(request) = request_of(node, ticket) else {
        return false;
    };
    matches!(why, Refusal::Infeasible(_))
        && matches!(node.with_hope(&request, why.clone()), Refusal::Busy(_))
}
