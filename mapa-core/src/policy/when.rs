//! Chooses between two policies by the request.

use std::borrow::Cow;
use std::sync::Arc;

use super::api::Policy;
use super::decision::Decision;
use super::refusal::Refusal;
use crate::ids::PolicyId;
use crate::request::Request;
use crate::view::View;

/// The policy made by [`when`].
#[derive(Clone)]
pub struct When<'a, Y, N> {
    id: PolicyId,
    name: Cow<'static, str>,
    test: Arc<dyn Fn(&Request) -> bool + Send + Sync + 'a>,
    yes: Y,
    no: N,
}

/// Decides by `yes` for requests that pass `test`, and by `no` for all others.
pub fn when<'a, Y: Policy, N: Policy>(
    name: impl Into<Cow<'static, str>>,
    test: impl Fn(&Request) -> bool + Send + Sync + 'a,
    yes: Y,
    no: N,
) -> When<'a, Y, N> {
    When {
        id: PolicyId::unique(),
        name: name.into(),
        test: Arc::new(test),
        yes,
        no,
    }
}

impl<Y: Policy, N: Policy> Policy for When<'_, Y, N> {
    fn name(&self) -> &str {
        &self.name
    }

    fn of_free_set(&self) -> Option<PolicyId> {
        self.yes
            .of_free_set()
            .and(self.no.of_free_set())
            .map(|_| self.id)
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let decision = if (self.test)(request) {
            self.yes.decide(request, view)
        } else {
            self.no.decide(request, view)
        };
        decision.map(|decision| decision.renamed(self.name.clone()))
    }
}
