//! Scores: how good a placement is.
//!
//! An [`Objective`] is a named number per placement. The arguments of its closure fix its *form*:
//! link counts, single edges, single devices, the chosen set, the devices left over, or the whole
//! placement. The less the closure depends on, the more an optimiser can do with it. A policy
//! combines objectives into an order of criteria.
//!
//! The paper's three scores are here: [`aggregate_gbps`] (Eq. 1), [`effective_gbps`] (Eq. 2) and
//! [`preserved_gbps`] (Eq. 3), with the variants of its released code.

mod aggregate;
mod census;
mod effective;
mod expected;
mod host_distance;
mod link_model;
mod objective;
mod packing;
mod preserved;
mod step_time;

pub use aggregate::{aggregate_gbps, host_hops};
pub use census::{Census, Tiers};
pub use effective::{Coefficients, effective_gbps, effective_gbps_with};
pub use expected::{
    Class, DataWay, Efficiency, Estimate, Expected, Factor, Hop, Operation, Part, Share, Spread,
    Use, WayTerm,
};
pub(crate) use expected::{expected_gbps, network_gbps};
pub use host_distance::{host_distance, host_distance_left, host_sharing};
pub use link_model::{Domain, LinkModel, Term};
pub(crate) use objective::{BestOrder, DegreeBound, Direction, PairSum, PairsOf, SetBounds};
pub use objective::{Candidate, EdgeOn, Form, Objective, Seat, Subset};
#[cfg(any(test, feature = "testing"))]
pub(crate) use packing::oracle as packing_oracle;
pub use packing::{
    AllToAll, Bandwidth, Channels, Rates, RingPacking, TreePacking, all_to_all_gbps,
    ring_packing_gbps, tree_packing_gbps,
};
pub use preserved::{preserved_direct_gbps, preserved_gbps};
pub(crate) use step_time::{PairWay, PhaseTimes};
pub use step_time::{StepTime, edges_seconds, step_seconds};
