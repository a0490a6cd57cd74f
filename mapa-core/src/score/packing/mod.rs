//! The bandwidth of a collective on a set of devices, computed from its links alone. No measurement
//! is fitted.
//!
//! A collective sends along rings, trees or pairs, as many at once as the links can carry. So its
//! bandwidth is bounded by the largest *fractional packing* of these into the capacities of the
//! links and of the ports of link switches. Links are full duplex: each direction counts by itself.
//! [`Rates`] give the part of a link's nominal bandwidth that is reached on it.

mod bandwidth;
mod channels;
mod cuts;
mod exchange;
mod fractional;
mod hamilton;
mod hops;
mod last;
mod long;
mod network;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod oracle;
mod rates;
mod ring;
mod trees;
mod widest;

pub use bandwidth::Bandwidth;
pub use channels::Channels;
pub use exchange::{AllToAll, all_to_all_gbps};
pub(crate) use fractional::rounded;
pub use rates::Rates;
pub use ring::{RingPacking, ring_packing_gbps};
pub use trees::{TreePacking, tree_packing_gbps};
