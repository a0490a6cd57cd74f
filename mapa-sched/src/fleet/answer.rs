//! The best of several machines' answers to one request.

use std::cmp::Ordering;

use mapa_core::{Decision, MachineId, Policy, Reason, Refusal, Request, View};

/// A machine, and the policy's answer there.
pub(super) type MachineAnswer = (MachineId, Result<Decision, Refusal>);

/// Compares two answers to one request: the better one is less. A decision is better than a
/// refusal. Decisions are compared by the policy's criteria, refusals by how soon the request may
/// fit. Of equal answers, that of the lower machine is better.
pub(super) fn better((machine, a): &MachineAnswer, (other, b): &MachineAnswer) -> Ordering {
    let order = match (a, b) {
        (Ok(a), Ok(b)) => a.order(b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        // Swapped, because more hope is better.
        (Err(a), Err(b)) => b.hope().cmp(&a.hope()),
    };
    order.then(machine.cmp(other))
}

/// The refusal of a fleet without machines.
pub(super) fn no_machine(request: &Request) -> Refusal {
    Refusal::Infeasible(Reason::TooFewDevices {
        wanted: request.pattern.len(),
        allowed: 0,
    })
}

/// The policy's best decision over these machines, or the refusal if there is none.
///
/// # Complexity
/// One decision for each machine.
pub(crate) fn best_of<'a>(
    views: impl IntoIterator<Item = View<'a>>,
    policy: impl Policy,
    request: &Request,
) -> Result<Decision, Refusal> {
    let answers = views
        .into_iter()
        .map(|view| (view.machine(), policy.decide(request, &view)));
    answers
        .min_by(better)
        .map_or_else(|| Err(no_machine(request)), |(_, answer)| answer)
}
