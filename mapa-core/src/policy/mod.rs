//! Which placement to take.
//!
//! A policy is pure: a request and a read-only view go in, a decision or a refusal comes out. Only the
//! [`Allocator`](crate::Allocator) commits. Most policies are [`Rules`]: criteria in order of importance, of which the
//! exact lexicographic optimum is found.

mod bound;
mod criterion;
mod decision;
mod greedy;
mod lowest_id;
mod optimum;
mod preserve;
mod request;
mod requirement;
mod rules;
mod topo_aware;
mod when;

pub use criterion::{Criterion, least, lowest_ids, max, min, most};
pub use decision::{Decision, Reason, Refusal, RunnerUp, Scored};
pub use greedy::greedy;
pub use lowest_id::lowest_id;
pub use preserve::{preserve, preserve_released, preserve_with};
pub use request::Request;
pub use rules::Rules;
pub use topo_aware::{TopoAware, topo_aware, topo_aware_released};
pub use when::{When, when};

use crate::error::{Error, ErrorKind};
use crate::view::View;

/// How a placement is chosen. Pure and stateless: the same request on the same view gets the same answer.
///
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
    /// Its name, as decisions carry it.
    fn name(&self) -> &str;

    /// Chooses.
    ///
    /// # Errors
    /// The three ways of saying no: see [`Refusal`].
    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal>;
}

impl<P: Policy + ?Sized> Policy for &P {
    fn name(&self) -> &str {
        (**self).name()
    }
    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        (**self).decide(request, view)
    }
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn name(&self) -> &str {
        (**self).name()
    }
    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        (**self).decide(request, view)
    }
}

/// A built-in policy: its name, what it does in one line, and how to make it.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    /// The name, as [`Policy::name`] gives it.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    make: fn() -> Box<dyn Policy>,
}

impl BuiltIn {
    /// Every built-in policy, in the order of the paper's tables; the released code's variants last.
    pub const ALL: [Self; 6] = [
        Self {
            name: "lowest-id",
            summary: "the free devices with the lowest ids (the paper's Baseline)",
            make: || Box::new(lowest_id()),
        },
        Self {
            name: "topo-aware",
            summary: "devices close together in the host tree, by recursive bi-partitioning",
            make: || Box::new(topo_aware()),
        },
        Self { name: "greedy", summary: "the highest aggregated bandwidth (Eq. 1)", make: || Box::new(greedy()) },
        Self {
            name: "preserve",
            summary: "sensitive jobs: the highest effective bandwidth (Eq. 2); others: leave the most bandwidth (Eq. 3)",
            make: || Box::new(preserve()),
        },
        Self {
            name: "topo-aware-released",
            summary: "as the released code: lowest ids in one socket for small jobs, else lowest-id",
            make: || Box::new(topo_aware_released()),
        },
        Self {
            name: "preserve-released",
            summary: "as the released code: direct links only in Eq. 3, and a floor of 12.335 GB/s for sensitive jobs",
            make: || Box::new(preserve_released()),
        },
    ];

    /// The built-in policy of this name.
    ///
    /// # Errors
    /// No such policy; the message lists those there are.
    pub fn named(name: &str) -> Result<Box<dyn Policy>, Error> {
        let known = || Self::ALL.map(|policy| policy.name).join(", ");
        let found = Self::ALL.iter().find(|policy| policy.name == name);
        found
            .map(|policy| (policy.make)())
            .ok_or_else(|| ErrorKind::UnknownPolicy { name: name.to_owned(), known: known() }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_policy_carries_its_name() {
        for built_in in BuiltIn::ALL {
            assert_eq!(BuiltIn::named(built_in.name).unwrap().name(), built_in.name);
        }
        assert!(BuiltIn::named("best").is_err());
    }
}
