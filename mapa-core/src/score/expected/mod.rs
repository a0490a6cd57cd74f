//! The bandwidth that an operation on large messages is expected to reach, with an interval.
//!
//! Two parts. What the links of a machine could carry is computed: packings over direct links
//! ([`packing`](super::packing)), and the host as a network ([`HostNetwork`]). What links reach of
//! that is measured: a share for each part and kind of traffic ([`Efficiency`]). An operation is as
//! fast as the part on its way that binds.

mod bounds;
mod efficiency;
mod model;
mod operation;
mod shipped;
mod ways;

pub use efficiency::{Class, Efficiency, Factor, Part, Share, Spread, Use};
pub use model::{Estimate, Expected};
pub(crate) use model::{expected_gbps, network_gbps};
pub use operation::Operation;
pub use ways::{Hop, Term as WayTerm, Way as DataWay};
