//! What a collective can reach on a set of devices, by its links alone: no measurement is fitted.
//!
//! A collective sends along rings, trees or pairs, as many at once as the links can carry. So its bandwidth is bounded by the
//! largest *fractional packing* of these into the capacities of the links (full duplex: each direction counts by itself) and of
//! the ports of link switches. [`Rates`] say what part of a link's nominal bandwidth is reached on it.

mod channels;
mod exchange;
mod fractional;
mod hops;
mod network;
mod rates;
mod trees;

pub use channels::Channels;
pub use exchange::AllToAll;
pub use rates::Rates;
pub use trees::TreePacking;

use crate::topology::DeviceId;

/// What a collective reaches on a set of devices.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bandwidth {
    /// Bus bandwidth as nccl-tests defines it, GB/s, reached by a packing that was found.
    pub gbps: f64,
    /// Proven: no packing is better. Equal to `gbps` where that is exact.
    pub at_most_gbps: f64,
    /// The slow path: no packing on direct links reaches as much.
    pub over_host: bool,
    /// Of rings: the rings of the packing in ring order, with their GB/s.
    pub rings: Vec<(Vec<DeviceId>, f64)>,
}

impl Bandwidth {
    /// A packing on direct links that lies within these bounds, or what the host carries, if that is more.
    fn or_host(gbps: f64, at_most_gbps: f64, host: f64) -> Self {
        let (gbps, at_most_gbps) = fractional::settled(gbps, at_most_gbps);
        let over_host = host > gbps * (1.0 + 1e-9);
        let (gbps, at_most_gbps) = fractional::settled(gbps.max(host), at_most_gbps.max(host));
        Self { gbps, at_most_gbps, over_host, rings: Vec::new() }
    }
}
