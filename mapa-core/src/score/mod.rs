//! How good is a placement?
//!
//! An [`Objective`] is a named number per placement. The closure it is made of fixes its *form*, by what it is shown: link
//! counts, single edges, single devices, the chosen set, the devices left over, or everything. The less it sees, the more an
//! optimiser can do with it; a policy combines objectives into an order of criteria.
//!
//! The paper's three scores are here: [`aggregate_gbps`] (Eq. 1), [`effective_gbps`] (Eq. 2) and [`preserved_gbps`]
//! (Eq. 3), with the variants that its released code uses.

mod aggregate;
mod census;
mod effective;
mod link_model;
mod objective;
mod packing;
mod preserved;
mod step_time;

pub use aggregate::{aggregate_gbps, host_hops};
pub use census::{Census, Tiers};
pub use effective::{Coefficients, effective_gbps, effective_gbps_with};
pub use link_model::{Domain, LinkModel, Term};
pub(crate) use objective::{BestOrder, Direction, Foresight};
pub use objective::{Candidate, EdgeOn, Form, Objective, Seat, Subset};
#[cfg(any(test, feature = "testing"))]
pub(crate) use packing::oracle as packing_oracle;
pub use packing::{AllToAll, Bandwidth, Channels, Rates, RingPacking, TreePacking, ring_packing_gbps};
pub use preserved::{preserved_direct_gbps, preserved_gbps};
pub use step_time::{StepTime, edges_seconds, step_seconds};
pub(crate) use step_time::{Times, Way};
