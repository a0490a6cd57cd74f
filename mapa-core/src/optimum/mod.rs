//! The exact lexicographic optimum of a list of criteria over all placements that a request and a
//! list of requirements admit.
//!
//! A [`Problem`] defines the optimum. `solve` tries the algorithms in turn, from the cheapest. Each
//! returns the whole answer or passes the problem on. Their answers agree, ties included, with one
//! exception: `by_islands` finds the lowest ids, but not always the smallest rank order on them.
//!
//! - `by_counts`: instances of partitioned devices, if the number of them on each device decides.
//! - `by_component`: one component of directly linked devices at a time, if a criterion bounds what
//!   placements over several components can reach.
//! - `by_table`: up to sixteen devices, from tables of reachable counts.
//! - `by_islands`: rings, chains and stars on islands of devices that a network joins.
//! - `search`: everything else, by branch and bound over sets of devices and rank orders. `partial_sets` builds
//!   sets device by device and drops them early, by the bounds of `by_loss` and `by_degree`; `ring_order` finds
//!   the rank order of a ring.
//!
//! They share `domains` (where each rank may be placed), `links` (the kinds of link that criteria
//! distinguish), `bound` (upper bounds for a set), `valued` and `edge_sums` (the values of sets by
//! criteria of links and edges), `smallest` (the smallest rank order of a known value), `subsets`, and `visits`
//! (what a search does with one set).

mod bound;
mod by_component;
mod by_counts;
mod by_degree;
mod by_islands;
mod by_loss;
mod by_table;
mod criterion;
mod domains;
mod edge_sums;
mod links;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod oracle;
mod partial_sets;
mod problem;
mod requirement;
mod ring_order;
mod search;
mod smallest;
mod solve;
mod subsets;
mod valued;
mod visits;

pub(crate) use criterion::settle;
pub use criterion::{Criterion, least, lowest_ids, max, min, most};
pub(crate) use problem::{Problem, RankedPlacement};
pub(crate) use requirement::{Requirement, RequirementTest};
