//! The lease of a decision.

use mapa_core::{Decision, DeviceId};
use mapa_front::answer;

use super::request::{AcquireRequest, Granted};
use crate::error::Error;
use crate::ledger::{Lease, LedgerTx, Requester, UnixNanos, now, since_boot};
use crate::node::Node;

/// Gives the devices of a decision.
pub(super) fn give(
    books: &LedgerTx<'_>,
    node: &Node,
    want: &AcquireRequest<'_>,
    ticket: Option<i64>,
    decision: Decision,
) -> Result<Box<Granted>, Error> {
    let placement: Vec<DeviceId> = decision.placement().iter().copied().collect();
    let lease = grant(
        books,
        node,
        want.asker,
        &placement,
        ticket,
        want.seconds,
        &decision.to_string(),
    )?;
    // The lease and the end of the ticket are one transaction, so the job never has both or neither.
    if let Some(ticket) = ticket {
        books.dequeue(ticket)?;
    }
    Ok(Box::new(Granted {
        lease,
        placement,
        decision: Some(answer::Decision::new(
            &decision,
            node.graph(),
            Some(node.vendor()),
        )),
    }))
}

pub(crate) fn grant(
    books: &LedgerTx<'_>,
    node: &Node,
    asker: &Requester,
    placement: &[DeviceId],
    ticket: Option<i64>,
    seconds: Option<u64>,
    reason: &str,
) -> Result<Lease, Error> {
    let granted = now();
    // An end that does not fit into the ledger's numbers is as good as none.
    let length = |number: u64| {
        UnixNanos::try_from(number.saturating_mul(1_000_000_000)).unwrap_or(UnixNanos::MAX)
    };
    let expires = seconds.map(|seconds| granted.saturating_add(length(seconds)));
    let devices = node.keys(placement);
    let id = books.grant(asker, &devices, ticket, expires, reason)?;
    Ok(Lease {
        id,
        asker: asker.clone(),
        owner: None,
        child: None,
        adopted: false,
        devices,
        granted,
        expires,
        deadline: expires.map(|expires| since_boot().saturating_add(expires - granted)),
        ticket,
        cgroup: None,
        limited: None,
    })
}
