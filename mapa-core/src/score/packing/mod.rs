//! What a collective can reach on a set of devices, by its links alone: no measurement is fitted.
//!
//! A collective sends along rings, trees or pairs, as many at once as the links can carry. So its bandwidth is bounded by the
//! largest *fractional packing* of these into the capacities of the links (full duplex: each direction counts by itself) and of
//! the ports of link switches. [`Rates`] say what part of a link's nominal bandwidth is reached on it.

mod channels;
mod cuts;
mod exchange;
mod fractional;
mod hamilton;
mod hops;
mod long;
mod network;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod oracle;
mod rates;
mod ring;
mod trees;
mod widest;

pub use channels::Channels;
pub use exchange::AllToAll;
pub use rates::Rates;
pub use ring::{Bandwidth, RingPacking, ring_packing_gbps};
pub use trees::TreePacking;
