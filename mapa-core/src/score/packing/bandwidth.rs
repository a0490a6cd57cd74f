//! The bandwidth of a set of devices, as a packing gives it.

use super::fractional::settled;
use crate::topology::DeviceId;

/// The bandwidth that a collective reaches on a set of devices.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bandwidth {
    /// Bus bandwidth as nccl-tests defines it, GB/s, reached by a packing that was found.
    pub gbps: f64,
    /// A proven upper bound of all packings, GB/s. Equal to `gbps` where that is exact.
    pub at_most_gbps: f64,
    /// Whether `gbps` is reached over the host, because no packing found on direct links reaches as
    /// much.
    pub over_host: bool,
    /// The rings of the packing with their GB/s: devices in ring order, the lowest first. Of a ring
    /// of three or more devices, half of the bandwidth goes one way round and half the other way; a
    /// ring of two goes there and back.
    pub rings: Vec<(Vec<DeviceId>, f64)>,
}

impl Bandwidth {
    /// Whether the bandwidth is known exactly.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.gbps == self.at_most_gbps
    }

    /// The bandwidth of a packing on direct links with these bounds, or of the host if that is
    /// more.
    pub(super) fn or_host(gbps: f64, at_most_gbps: f64, host: f64) -> Self {
        let (gbps, at_most_gbps) = settled(gbps, at_most_gbps);
        let over_host = host > gbps * (1.0 + 1e-9);
        let (gbps, at_most_gbps) = settled(gbps.max(host), at_most_gbps.max(host));
        Self {
            gbps,
            at_most_gbps,
            over_host,
            rings: Vec::new(),
        }
    }
}

/// A packing of rings that was found, and a bound that was proven, GB/s.
#[derive(Clone)]
pub(super) struct Packed {
    pub(super) gbps: f64,
    pub(super) at_most: f64,
    /// The cycles by position, with their GB/s; directions are those of [`Bandwidth::rings`].
    pub(super) rings: Vec<(Vec<usize>, f64)>,
}

impl Packed {
    pub(super) const NONE: Self = Self {
        gbps: 0.0,
        at_most: 0.0,
        rings: Vec::new(),
    };
}
