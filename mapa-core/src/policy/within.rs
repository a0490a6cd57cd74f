//! Restricts a policy to one part of the machine at a time.

use std::borrow::Cow;
use std::sync::Arc;

use super::api::Policy;
use super::decision::Decision;
use super::refusal::Refusal;
use crate::ids::PolicyId;
use crate::request::Request;
use crate::topology::DeviceSet;
use crate::view::View;

/// The parts of a machine, in the order in which they are tried.
type MachineParts<'a> = dyn Fn(&Request, &View<'_>) -> Vec<DeviceSet> + Send + Sync + 'a;

/// The policy made by [`within`].
#[derive(Clone)]
pub struct Within<'a, P, Q> {
    id: PolicyId,
    name: Cow<'static, str>,
    why: &'static str,
    parts: Arc<MachineParts<'a>>,
    here: P,
    anywhere: Q,
    /// Whether the parts are a function of what is free.
    of_free_set: bool,
}

/// Tries `here` in each of the `parts` in turn, with only the devices of that part, and takes its
/// first decision. If it has none in any part, `anywhere` decides. After `LimitReached` nothing
/// else is tried. `why` is given as the reason why runners-up in other parts lost.
///
/// In a fleet, a decision within a part is better than one by `anywhere`. Of two decisions within
/// parts, the one in the part with fewer free devices is better, as it leaves fewer over.
///
/// # Examples
/// ```
/// use mapa_core::{Rules, aggregate_gbps, within, criteria::max};
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
    Within {
        id,
        name,
        why,
        parts,
        here,
        anywhere,
        of_free_set: false,
    }
}

impl<P, Q> Within<'_, P, Q> {
    /// Promises that the parts depend only on the machine's graph, the free set and the request, on
    /// every state for which [`View::is_of_free_set`] holds. [`Policy::of_free_set`] then makes the
    /// same promise if both policies do.
    #[must_use]
    pub fn parts_of_free_set(self) -> Self {
        Self {
            of_free_set: true,
            ..self
        }
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
            let inside = request
                .clone()
                .only(&request.eligible(view.graph()) & &part);
            let decision = match self.here.decide(&inside, view) {
                Ok(decision) => decision.with_first_key(left(&part)).with_first_key(0.0),
                Err(limit @ Refusal::LimitReached(_)) => return Err(limit),
                Err(_) => continue,
            };
            if decision.runners_up().len() >= request.runners_up {
                return Ok(decision);
            }
            // The decision stands even if `anywhere` has no further runners-up.
            return Ok(match self.anywhere.decide(request, view) {
                Ok(farther) => decision.with_runners_up(request, farther, self.why),
                Err(_) => decision,
            });
        }
        let decision = self.anywhere.decide(request, view)?;
        Ok(decision
            .renamed(self.name.clone())
            .with_first_key(left(&room))
            .with_first_key(-1.0))
    }
}
