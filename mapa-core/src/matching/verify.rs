//! Checking a claimed match, without any search.

use std::fmt;

use crate::pattern::Pattern;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};

/// What keeps a placement from being a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// It has so many ranks, the pattern has so many.
    Length {
        /// Ranks placed.
        placed: usize,
        /// Ranks of the pattern.
        wanted: usize,
    },
    /// The rank's device is not one of those allowed.
    NotAllowed {
        /// The rank.
        rank: usize,
        /// Its device.
        device: DeviceId,
    },
    /// Two ranks share a device.
    Shared {
        /// The two ranks.
        ranks: (usize, usize),
        /// Their device.
        device: DeviceId,
    },
    /// Ranks that talk to each other have no connection.
    NotJoined {
        /// The two ranks.
        ranks: (usize, usize),
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { placed, wanted } => write!(f, "{placed} ranks are placed, the pattern has {wanted}"),
            Self::NotAllowed { rank, device } => write!(f, "rank {rank} is on device {device}, which is not available"),
            Self::Shared { ranks: (a, b), device } => write!(f, "ranks {a} and {b} are both on device {device}"),
            Self::NotJoined { ranks: (a, b) } => write!(f, "ranks {a} and {b} talk, but their devices are not joined"),
        }
    }
}

/// That `placement` is a match of `pattern` on `allowed` devices. O(k² + edges).
pub(crate) fn verify(
    pattern: &Pattern,
    graph: &HardwareGraph,
    allowed: &DeviceSet,
    placement: &[DeviceId],
) -> Result<(), Violation> {
    if placement.len() != pattern.len() {
        return Err(Violation::Length { placed: placement.len(), wanted: pattern.len() });
    }
    for (rank, &device) in placement.iter().enumerate() {
        if device.index() >= graph.len() || !allowed.contains(device) {
            return Err(Violation::NotAllowed { rank, device });
        }
        if let Some(other) = placement[..rank].iter().position(|&d| d == device) {
            return Err(Violation::Shared { ranks: (other, rank), device });
        }
    }
    for edge in pattern.edges() {
        let ranks = (usize::from(edge.a), usize::from(edge.b));
        if !graph.link(placement[ranks.0], placement[ranks.1]).exists() {
            return Err(Violation::NotJoined { ranks });
        }
    }
    Ok(())
}
