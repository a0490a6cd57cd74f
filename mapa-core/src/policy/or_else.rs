//! Another policy where one says no.

use super::Policy;
use super::decision::{Decision, Refusal};
use super::identity::PolicyId;
use super::request::Request;
use crate::view::View;

/// Made by [`Policy::or_else`].
#[derive(Clone, Debug)]
pub struct OrElse<P, Q> {
    pub(super) id: PolicyId,
    pub(super) first: P,
    pub(super) second: Q,
}

impl<P: Policy, Q: Policy> Policy for OrElse<P, Q> {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn of_free_set(&self) -> Option<PolicyId> {
        self.first.of_free_set().and(self.second.of_free_set()).map(|_| self.id)
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        // Where machines are compared, any answer of the first is better than one of the second, whose criteria are others.
        let first = match self.first.decide(request, view) {
            Err(first @ (Refusal::Busy(_) | Refusal::Infeasible(_))) => first,
            answer => return answer.map(|decision| decision.with_first_key(0.0)),
        };
        match (self.second.decide(request, view), first) {
            // What the second can never do, the first may do later.
            (Err(second), first) if first.hope() > second.hope() => Err(first),
            (answer, _) => answer.map(|decision| decision.with_first_key(-1.0)),
        }
    }
}
