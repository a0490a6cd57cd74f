//! Checking a claimed match, without any search.

use std::fmt;

use crate::pattern::{Demand, Pattern};
use crate::topology::{DeviceId, DeviceSet};
use crate::view::View;

/// What keeps a placement from being one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// It has so many ranks, the pattern has so many.
    Length {
        /// Ranks placed.
        placed: usize,
        /// Ranks of the pattern.
        wanted: usize,
    },
    /// The rank's device is not there, in use, or not one of those allowed.
    NotAllowed {
        /// The rank.
        rank: usize,
        /// Its device.
        device: DeviceId,
    },
    /// The rank's device is not of the kind or size that it wants.
    Unfit {
        /// The rank.
        rank: usize,
        /// Its device.
        device: DeviceId,
    },
    /// Two ranks, not both of which share, are on one device.
    Shared {
        /// The two ranks.
        ranks: (usize, usize),
        /// Their device.
        device: DeviceId,
    },
    /// The devices of two ranks cannot exist at once.
    Excluded {
        /// The two ranks.
        ranks: (usize, usize),
    },
    /// The ranks on a device want more memory than it has left.
    Memory {
        /// The last of them.
        rank: usize,
        /// Their device.
        device: DeviceId,
    },
    /// Ranks that talk to each other have no connection.
    NotJoined {
        /// The two ranks.
        ranks: (usize, usize),
    },
    /// The instances on a device, with those in use, are not part of any layout.
    NoLayout {
        /// The whole device.
        device: DeviceId,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { placed, wanted } => write!(f, "{placed} ranks are placed, the pattern has {wanted}"),
            Self::NotAllowed { rank, device } => write!(f, "rank {rank} is on device {device}, which is not available"),
            Self::Unfit { rank, device } => write!(f, "rank {rank} is on device {device}, which is not what it wants"),
            Self::Shared { ranks: (a, b), device } => write!(f, "ranks {a} and {b} are both on device {device}"),
            Self::Excluded { ranks: (a, b) } => write!(f, "ranks {a} and {b} are on devices that cannot exist at once"),
            Self::Memory { rank, device } => write!(f, "rank {rank} is on device {device}, whose memory is too small"),
            Self::NotJoined { ranks: (a, b) } => write!(f, "ranks {a} and {b} talk, but their devices are not joined"),
            Self::NoLayout { device } => write!(f, "device {device} cannot be cut up into what is placed on it"),
        }
    }
}

/// That `placement` is a match of `pattern` on `allowed` devices, and that the view has room for it. O(k² + edges).
pub(crate) fn verify(
    pattern: &Pattern,
    view: &View<'_>,
    allowed: &DeviceSet,
    placement: &[DeviceId],
) -> Result<(), Violation> {
    let graph = view.graph();
    if placement.len() != pattern.len() {
        return Err(Violation::Length { placed: placement.len(), wanted: pattern.len() });
    }
    for (rank, (&device, demand)) in placement.iter().zip(pattern.demands()).enumerate() {
        if device.index() >= graph.len() || !allowed.contains(device) {
            return Err(Violation::NotAllowed { rank, device });
        }
        if !demand.fits(graph.device(device)) {
            return Err(Violation::Unfit { rank, device });
        }
        if !view.has_room(&Demand { memory_bytes: 0, ..*demand }, device) {
            return Err(Violation::NotAllowed { rank, device });
        }
        let before = || placement[..rank].iter().zip(pattern.demands()).enumerate();
        if let Some((other, _)) =
            before().find(|(_, (d, other))| **d == device && !(other.is_shared() && demand.is_shared()))
        {
            return Err(Violation::Shared { ranks: (other, rank), device });
        }
        if let Some((other, _)) = before().find(|(_, (d, _))| graph.overlap(device).contains(**d)) {
            return Err(Violation::Excluded { ranks: (other, rank) });
        }
        let here = before().filter(|(_, (d, _))| **d == device).map(|(_, (_, other))| *other);
        if !view.holds(device, here.chain([*demand])) {
            return Err(Violation::Memory { rank, device });
        }
    }
    for edge in pattern.edges() {
        let ranks = (usize::from(edge.a), usize::from(edge.b));
        if !graph.link_of_ranks(placement[ranks.0], placement[ranks.1]).exists() {
            return Err(Violation::NotJoined { ranks });
        }
    }
    match without_layout(view, placement) {
        Some(device) => Err(Violation::NoLayout { device }),
        None => Ok(()),
    }
}

/// A device that cannot be cut up into what is placed on it beside its tenants. Overlap is seen pair by pair; this is
/// about profiles of which only a few may exist, and about views of more than one layout only.
pub(crate) fn without_layout(view: &View<'_>, placement: &[DeviceId]) -> Option<DeviceId> {
    if !view.is_of_any_layout() {
        return None;
    }
    let graph = view.graph();
    let slice = |id: DeviceId| graph.device(id).unit.instance();
    placement.iter().filter(|&&id| slice(id).is_some()).map(|&id| graph.device(id).parent).find(|&whole| {
        let here = placement.iter().copied().filter(|&id| graph.device(id).parent == whole);
        let mut instances = view.instances_in_use(whole);
        instances.extend(here.filter_map(slice));
        instances.sort_unstable();
        instances.dedup();
        graph.model(whole).is_some_and(|model| model.layout(&instances).is_err())
    })
}
