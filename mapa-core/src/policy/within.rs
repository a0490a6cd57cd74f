//! A policy on the first part of a machine where it has an answer.

use std::borrow::Cow;
use std::sync::Arc;

use super::Policy;
use super::decision::{Decision, Refusal};
use super::identity::PolicyId;
use super::request::Request;
use crate::topology::DeviceSet;
use crate::view::View;

/// Where to look, first things first.
type Parts<'a> = dyn Fn(&Request, &View<'_>) -> Vec<DeviceSet> + Send + Sync + 'a;

/// Made by [`within`].
#[derive(Clone)]
pub struct Within<'a, P, Q> {
    id: PolicyId,
    name: Cow<'static, str>,
    why: &'static str,
    parts: Arc<Parts<'a>>,
    here: P,
    anywhere: Q,
    /// Whether the parts are a function of what is free.
    of_free_set: bool,
}

/// Tries `here` in each of the `parts` in turn, as if there were nothing else, and takes its first decision; where it has none,
/// that of `anywhere`. A search that stops at its limit is not followed by another. `why` is what runners-up in other parts
/// lose on.
///
/// Over a fleet a decision in a part is better than one in none, and one in a part with fewer free devices is better: less is
/// left over.
///
/// ```
/// use mapa_core::{Rules, aggregate_gbps, max, within};
///
/// // Within one NUMA node if one has room, the lowest first.
/// let rules = Rules::new("by node").prefer(max(aggregate_gbps()));
/// let policy = within(
///     "by node",
///     "closeness",
///     |_, view| view.graph().numa_nodes().into_iter().map(|(_, node)| node).collect(),
///     rules.clone(),
///     rules,
/// );
/// # let _ = policy;
/// ```
pub fn within<'a, P: Policy, Q: Policy>(
    name: impl Into<Cow<'static, str>>,
    why: &'static str,
    parts: impl Fn(&Request, &View<'_>) -> Vec<DeviceSet> + Send + Sync + 'a,
    here: P,
    anywhere: Q,
) -> Within<'a, P, Q> {
    let (id, name, parts) = (PolicyId::unique(), name.into(), Arc::new(parts));
    Within { id, name, why, parts, here, anywhere, of_free_set: false }
}

impl<P, Q> Within<'_, P, Q> {
    /// Promises that the parts are a function of the machine's graph, what is free on it, and the request, wherever
    /// [`View::is_of_free_set`] holds: [`Policy::of_free_set`] then holds if it holds of both policies.
    #[must_use]
    pub fn parts_of_free_set(self) -> Self {
        Self { of_free_set: true, ..self }
    }
}

impl<P: Policy, Q: Policy> Policy for Within<'_, P, Q> {
    fn name(&self) -> &str {
        &self.name
    }

    fn of_free_set(&self) -> Option<PolicyId> {
        let both = self.here.of_free_set().and(self.anywhere.of_free_set());
        both.filter(|_| self.of_free_set).map(|_| self.id)
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let room = request.room(view);
        let left = |part: &DeviceSet| -((part & &room).len() as f64);
        for part in (self.parts)(request, view) {
            let inside = request.clone().only(&request.eligible(view.graph()) & &part);
            let decision = match self.here.decide(&inside, view) {
                Ok(decision) => decision.with_first_key(left(&part)).with_first_key(0.0),
                Err(limit @ Refusal::LimitReached(_)) => return Err(limit),
                Err(_) => continue,
            };
            if decision.runners_up().len() >= request.runners_up {
                return Ok(decision);
            }
            // Whether or not there is anything farther to name, the decision stands.
            return Ok(match self.anywhere.decide(request, view) {
                Ok(farther) => decision.with_runners_up(request, farther, self.why),
                Err(_) => decision,
            });
        }
        let decision = self.anywhere.decide(request, view)?;
        Ok(decision.renamed(self.name.clone()).with_first_key(left(&room)).with_first_key(-1.0))
    }
}
