//! Another policy where one says no.

use super::Policy;
use super::decision::{Decision, Refusal};
use super::request::Request;
use crate::view::View;

/// Made by [`Policy::or_else`].
#[derive(Clone, Debug)]
pub struct OrElse<P, Q> {
    pub(super) first: P,
    pub(super) second: Q,
}

impl<P: Policy, Q: Policy> Policy for OrElse<P, Q> {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        match self.first.decide(request, view) {
            Err(Refusal::Busy(_) | Refusal::Infeasible(_)) => self.second.decide(request, view),
            answer => answer,
        }
    }
}
