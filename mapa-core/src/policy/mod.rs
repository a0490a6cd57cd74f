//! Which placement to take.
//!
//! A policy is pure: a request and a read-only view go in, a decision or a refusal comes out. Only the
//! [`Allocator`](crate::Allocator) commits. Most policies are [`Rules`]: criteria in order of importance, of which the
//! exact lexicographic optimum is found.

mod balance;
mod best_partition;
mod bound;
mod by_component;
mod by_islands;
mod by_size;
mod by_table;
mod case;
mod chosen;
mod criterion;
mod decision;
mod domains;
mod edge_sums;
mod foresight;
mod greedy;
mod identity;
mod least_weight;
mod links;
mod lowest_id;
mod max_bandwidth;
mod optimum;
mod or_else;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod oracle;
mod pcie;
mod preserve;
mod random;
mod request;
mod requirement;
mod rules;
mod slo;
mod smallest;
mod step_time;
mod subsets;
mod topo_aware;
mod valued;
mod when;
mod within;

pub use balance::{distributed, packed};
pub use best_partition::{BestPartition, best_partition};
pub use by_size::{earliest_finish, largest_first, smallest_first};
pub use case::case;
pub use criterion::{Criterion, least, lowest_ids, max, min, most};
pub use decision::{Decision, Reason, Refusal, RunnerUp, Scored};
pub use foresight::{Ends, Foresight, Next, Outlook, Patience, Wait, foresight};
pub use greedy::greedy;
pub use identity::PolicyId;
pub use least_weight::{LeastWeight, least_weight};
pub use lowest_id::lowest_id;
pub use max_bandwidth::{max_bandwidth, max_bandwidth_with};
pub use or_else::OrElse;
pub use pcie::{PCIE_GEN4_GBPS, pcie_aware, pcie_slowdown, pcie_slowdown_on};
pub use preserve::{preserve, preserve_released, preserve_with};
pub use random::random;
pub use request::Request;
pub use rules::Rules;
pub use slo::{SloSignals, slo_aware};
pub use step_time::{min_edges_seconds, min_step_time};
pub use topo_aware::{topo_aware, topo_aware_released};
pub use when::{When, when};
pub use within::{Within, within};

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

    /// Promises that on states that are [no more than a free set](View::is_of_free_set) the answer is a function of the
    /// machine's graph, what is free, and the request: not of who the machine is or has been. A fleet then asks one of many
    /// servers in equal states for all of them. The number is the policy's own, shared by its copies only. Default: no
    /// promise, and every server is asked.
    ///
    /// [`Rules`] whose criteria, requirements and reports see links, edges and sets keep the promise by themselves; those that see
    /// a [`Seat`](crate::Seat) or a whole placement, and so usage, do not make it.
    fn of_free_set(&self) -> Option<PolicyId> {
        None
    }

    /// This policy, and where it says `Busy` or `Infeasible`, another. A search that stopped at its limit is not followed by
    /// another; a decision carries the name of the policy that made it.
    fn or_else<Q: Policy>(self, other: Q) -> OrElse<Self, Q>
    where
        Self: Sized,
    {
        OrElse { id: PolicyId::unique(), first: self, second: other }
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

/// A built-in policy: its name and what it does in one line; [`BuiltIn::named`] makes it.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    /// The name, as [`Policy::name`] gives it.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// Whether it tells instances of one device apart from those of another, and whole devices not: of no use to jobs on
    /// whole devices.
    pub for_instances: bool,
    make: fn() -> Box<dyn Policy>,
}

impl BuiltIn {
    /// A policy to be offered by name beside the built-in ones, for whole devices. What `make` makes carries the name.
    #[must_use]
    pub const fn new(name: &'static str, summary: &'static str, make: fn() -> Box<dyn Policy>) -> Self {
        Self { name, summary, for_instances: false, make }
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> Box<dyn Policy> {
        (self.make)()
    }

    /// Every built-in policy: the paper's in the order of its tables, the one by ring packing, the one that looks ahead, the
    /// released code's variants, then those for instances. (Those that need to know more of a job are functions only: `earliest_finish`,
    /// `min_step_time`, `slo_aware`, `random`.)
    pub const ALL: [Self; 14] = [
        Self {
            name: "lowest-id",
            summary: "the free devices with the lowest ids (the paper's Baseline)",
            for_instances: false,
            make: || Box::new(lowest_id()),
        },
        Self {
            name: "topo-aware",
            summary: "devices close together in the host tree, by recursive bi-partitioning",
            for_instances: false,
            make: || Box::new(topo_aware()),
        },
        Self {
            name: "greedy",
            summary: "the highest aggregated bandwidth (Eq. 1)",
            for_instances: false,
            make: || Box::new(greedy()),
        },
        Self {
            name: "preserve",
            summary: "sensitive jobs: the highest effective bandwidth (Eq. 2); others: leave the most bandwidth (Eq. 3)",
            for_instances: false,
            make: || Box::new(preserve()),
        },
        Self {
            name: "max-bandwidth",
            summary: "the most rings at once (ring packing), then leave the most bandwidth (Eq. 3), then a fast ring order",
            for_instances: false,
            make: || Box::new(max_bandwidth()),
        },
        Self {
            name: "foresight",
            summary: "as preserve, but weighs what the leases that run will leave to later jobs once they end",
            for_instances: false,
            make: || Box::new(foresight()),
        },
        Self {
            name: "topo-aware-released",
            summary: "as the released code: lowest ids in one socket for small jobs, else lowest-id",
            for_instances: false,
            make: || Box::new(topo_aware_released()),
        },
        Self {
            name: "preserve-released",
            summary: "as the released code: direct links only in Eq. 3, and a floor of 12.335 GB/s for sensitive jobs",
            for_instances: false,
            make: || Box::new(preserve_released()),
        },
        Self {
            name: "packed",
            summary: "instances on as few devices as can be, those in use first",
            for_instances: true,
            make: || Box::new(packed()),
        },
        Self {
            name: "distributed",
            summary: "instances on devices with fewest tenants, evenly",
            for_instances: true,
            make: || Box::new(distributed()),
        },
        Self {
            name: "largest-first",
            summary: "the instances with most compute slices",
            for_instances: true,
            make: || Box::new(largest_first()),
        },
        Self {
            name: "smallest-first",
            summary: "the instances with fewest compute slices",
            for_instances: true,
            make: || Box::new(smallest_first()),
        },
        Self {
            name: "pcie-aware",
            summary: "the least slowdown by shared PCIe (Tang et al., Eq. 2, alpha 1, 30.08 GB/s), then best fit",
            for_instances: true,
            make: || Box::new(pcie_aware(1.0, PCIE_GEN4_GBPS)),
        },
        Self {
            name: "case",
            summary: "shared tasks: more free memory than asked for, fewest warps in use (CASE, Algorithm 2)",
            for_instances: true,
            make: || Box::new(case()),
        },
    ];

    /// The built-in policy of this name.
    ///
    /// # Errors
    /// No such policy; the message lists those there are.
    pub fn named(name: &str) -> Result<Box<dyn Policy>, Error> {
        let known = || Self::ALL.map(|policy| policy.name).join(", ");
        let found = Self::ALL.iter().find(|policy| policy.name == name);
        found.map(Self::policy).ok_or_else(|| ErrorKind::UnknownPolicy { name: name.to_owned(), known: known() }.into())
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
