//! Policies: which placement a job gets.
//!
//! A policy is a pure function of a request and a read-only view. It returns a decision or a
//! refusal. Only the [`Allocator`](crate::Allocator) commits decisions. Most policies are
//! [`Rules`]: criteria in order of importance, with their exact lexicographic optimum.

mod alike;
mod answer_memo;
mod api;
mod auto;
mod balance;
mod best_partition;
mod built_in;
mod chosen;
mod decision;
mod fewest_warps;
mod foresight;
mod greedy;
mod least_port_slowdown;
mod least_weight;
mod lowest_id;
mod max_bandwidth;
mod offered;
mod preserve;
mod random;
mod refusal;
mod rules;
mod step_time;
mod topo_aware;
mod when;
mod within;

pub use api::{OrElse, Policy};
pub use auto::{
    Auto, auto, auto_by, auto_for, auto_for_edges, auto_with, default_model, fitting_expected,
    fitting_model,
};
pub use balance::{distributed, packed};
pub use best_partition::{BestPartition, best_partition};
pub use built_in::{BuiltIn, ModelUse};
pub use decision::{Decision, RunnerUp, Scored};
pub use fewest_warps::fewest_warps;
pub use foresight::{
    Ends, Foresight, Next, Outlook, Patience, Prefer, SetChoices, SetScores, Wait, foresight,
};
pub use greedy::greedy;
pub use least_port_slowdown::{
    PCIE_GEN4_GBPS, least_port_slowdown, pcie_slowdown, pcie_slowdown_on,
};
pub use least_weight::{LeastWeight, least_weight};
pub use lowest_id::lowest_id;
pub use max_bandwidth::{max_bandwidth, max_bandwidth_with};
pub use preserve::{preserve, preserve_released, preserve_with};
pub use random::{Lots, random};
pub use refusal::{Reason, Refusal};
pub use rules::Rules;
pub use step_time::{min_edges_seconds, min_step_time};
pub use topo_aware::{topo_aware, topo_aware_released};
pub use when::{When, when};
pub use within::{Within, within};
