//! The trait [`Policy`], and how two policies are combined.

use super::decision::Decision;
use super::refusal::Refusal;
use crate::ids::PolicyId;
use crate::request::Request;
use crate::view::View;

/// A rule that chooses a placement. A policy is pure and stateless: the same request on the same
/// view gets the same answer.
///
/// # Examples
/// ```
/// use mapa_core::{Decision, Policy, Refusal, Request, View};
///
/// /// Takes the highest free ids, in descending order, and leaves the low ones to the display.
/// struct FromTheTop;
///
/// impl Policy for FromTheTop {
///     fn name(&self) -> &str {
///         "from-the-top"
///     }
///     fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
///         Decision::checked("from-the-top", request, view, view.free().iter().rev().take(request.pattern.len()))
///     }
/// }
/// ```
pub trait Policy: Send + Sync {
    /// The policy's name. Its decisions carry it.
    fn name(&self) -> &str;

    /// Chooses a placement.
    ///
    /// # Errors
    /// One of three kinds of refusal: see [`Refusal`].
    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal>;

    /// Promises that the answer depends only on the machine's graph, the free set and the request,
    /// on every state that is [fully described by its free set](View::is_of_free_set). The answer
    /// then does not depend on the machine's id or history, and a fleet decides once for all
    /// servers in equal states.
    ///
    /// Returns a number that only this policy and its copies have. Default: `None`, no promise, and
    /// a fleet decides for each server separately.
    ///
    /// [`Rules`](crate::Rules) make the promise if their criteria, requirements and reports see only links, edges
    /// and sets. Rules that see a [`Seat`](crate::Seat) or a whole placement also see usage, and do
    /// not make it.
    fn of_free_set(&self) -> Option<PolicyId> {
        None
    }

    /// Combines two policies: `other` decides where this one answers `Busy` or `Infeasible`. If
    /// this one answers `LimitReached`, `other` does not run. A decision carries the name of the
    /// policy that made it.
    fn or_else<Q: Policy>(self, other: Q) -> OrElse<Self, Q>
    where
        Self: Sized,
    {
        OrElse {
            id: PolicyId::unique(),
            first: self,
            second: other,
        }
    }
}

impl<P: Policy + ?Sized> Policy for &P {
    fn name(&self) -> &str {
        (**self).name()
    }
    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        (**self).decide(request, view)
    }
    fn of_free_set(&self) -> Option<PolicyId> {
        (**self).of_free_set()
    }
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn name(&self) -> &str {
        (**self).name()
    }
    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        (**self).decide(request, view)
    }
    fn of_free_set(&self) -> Option<PolicyId> {
        (**self).of_free_set()
    }
}

/// Two policies, the second for what the first refuses. Made by [`Policy::or_else`].
#[derive(Clone, Debug)]
pub struct OrElse<P, Q> {
    id: PolicyId,
    first: P,
    second: Q,
}

impl<P: Policy, Q: Policy> Policy for OrElse<P, Q> {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn of_free_set(&self) -> Option<PolicyId> {
        self.first
            .of_free_set()
            .and(self.second.of_free_set())
            .map(|_| self.id)
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        // The two policies have different criteria, so their keys cannot be compared. The leading
        // key puts every answer of the first before every answer of the second.
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

impl View<'_> {
    /// Runs a policy on this view: `policy.decide(request, self)` with the view first.
    ///
    /// The policy is taken by value. A policy that borrows its scheduler is thus dropped before the
    /// scheduler acts on the answer. `&policy` is a policy too.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn decide(&self, policy: impl Policy, request: &Request) -> Result<Decision, Refusal> {
        policy.decide(request, self)
    }
}
