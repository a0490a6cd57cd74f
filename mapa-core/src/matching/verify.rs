//! Checking a claimed match, without any search: by the pattern and the machine alone, or by a view with its tenants too.

use std::collections::BTreeSet;
use std::fmt;

use crate::pattern::{Demand, Pattern};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, MAX_DEVICES};
use crate::view::View;

/// What keeps a placement from being a match, or from being one that there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
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
    /// Ranks that do not talk have a connection, which induced matching forbids.
    Joined {
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
            Self::Joined { ranks: (a, b) } => write!(f, "ranks {a} and {b} do not talk, but their devices are joined"),
            Self::NoLayout { device } => write!(f, "device {device} cannot be cut up into what is placed on it"),
        }
    }
}

impl std::error::Error for Violation {}

/// Says whether a placement is a match of a pattern on a machine, and if not, what is wrong. Searches nothing: O(k² + edges)
/// for k ranks.
///
/// What it accepts are the raw matches that a [`Search`](crate::Search) without domains, predicates or
/// [sharing](crate::Search::sharing) finds; and no rank at all for the empty pattern, which searches do not find. Who uses
/// the machine, and how full its devices are, it does not know.
///
/// ```
/// use mapa_core::{DeviceId, Fabric, LinkClass, Pattern, Verifier, Violation};
///
/// let mut fabric = Fabric::new();
/// let nodes: Vec<_> = (0..3).map(|i| fabric.add_device(format!("GPU{i}"))).collect::<Result<_, _>>()?;
/// fabric.link(nodes[0], nodes[1], LinkClass::Direct(1), 25.0)?;
/// fabric.link(nodes[1], nodes[2], LinkClass::Direct(1), 25.0)?;
/// let graph = fabric.lower()?;
/// let chain = Pattern::chain(3);
/// let verifier = Verifier::new(&chain, &graph);
/// assert_eq!(verifier.check(&[0, 1, 2].map(DeviceId)), Ok(()));
/// let violation = verifier.check(&[0, 2, 1].map(DeviceId)).unwrap_err();
/// assert_eq!(violation, Violation::NotJoined { ranks: (0, 1) });
/// assert_eq!(violation.to_string(), "ranks 0 and 1 talk, but their devices are not joined");
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Verifier<'a> {
    pattern: &'a Pattern,
    graph: &'a HardwareGraph,
    within: Option<&'a DeviceSet>,
    induced: bool,
}

impl<'a> Verifier<'a> {
    /// Of non-induced matches on any devices.
    #[must_use]
    pub fn new(pattern: &'a Pattern, graph: &'a HardwareGraph) -> Self {
        Self { pattern, graph, within: None, induced: false }
    }

    /// Whether ranks without an edge must lie on devices without a connection. Default: no.
    #[must_use]
    pub fn induced(self, induced: bool) -> Self {
        Self { induced, ..self }
    }

    /// Only devices of this set.
    #[must_use]
    pub fn within(self, devices: &'a DeviceSet) -> Self {
        Self { within: Some(devices), ..self }
    }

    /// That `placement[rank]` is a device for each rank.
    ///
    /// # Errors
    /// The first condition that is not met: the number of ranks; rank by rank, what its device is and whether it can be beside
    /// those of lower ranks; edge by edge, that it lies on a connection; if induced, pair by pair, that others do not.
    pub fn check(&self, placement: &[DeviceId]) -> Result<(), Violation> {
        let Self { pattern, graph, .. } = *self;
        check_length(pattern, placement)?;
        for (rank, &device) in placement.iter().enumerate() {
            check_device(pattern, graph, self.within.unwrap_or(graph.everything()), (rank, device))?;
            if let Some(other) = placement[..rank].iter().position(|&other| other == device) {
                return Err(Violation::Shared { ranks: (other, rank), device });
            }
            check_overlap(graph, placement, rank)?;
        }
        check_edges(pattern, graph, placement)?;
        if self.induced { check_no_other_edges(pattern, graph, placement) } else { Ok(()) }
    }
}

fn check_length(pattern: &Pattern, placement: &[DeviceId]) -> Result<(), Violation> {
    let (placed, wanted) = (placement.len(), pattern.len());
    // A pattern larger than any machine is not looked at.
    let fits = placed == wanted && wanted <= MAX_DEVICES;
    if fits { Ok(()) } else { Err(Violation::Length { placed, wanted }) }
}

/// That the rank's device is there, and what it wants.
fn check_device(
    pattern: &Pattern,
    graph: &HardwareGraph,
    allowed: &DeviceSet,
    (rank, device): (usize, DeviceId),
) -> Result<(), Violation> {
    if device.index() >= graph.len() || !allowed.contains(device) {
        return Err(Violation::NotAllowed { rank, device });
    }
    let fits = pattern.demands()[rank].fits(graph.device(device));
    if fits { Ok(()) } else { Err(Violation::Unfit { rank, device }) }
}

/// That the rank's device can exist beside those of lower ranks.
fn check_overlap(graph: &HardwareGraph, placement: &[DeviceId], rank: usize) -> Result<(), Violation> {
    let overlap = graph.overlap(placement[rank]);
    match placement[..rank].iter().position(|&other| overlap.contains(other)) {
        Some(other) => Err(Violation::Excluded { ranks: (other, rank) }),
        None => Ok(()),
    }
}

fn check_edges(pattern: &Pattern, graph: &HardwareGraph, placement: &[DeviceId]) -> Result<(), Violation> {
    let ends = pattern.edges().iter().map(|edge| (usize::from(edge.a), usize::from(edge.b)));
    let joined = |&(a, b): &(usize, usize)| graph.link_of_ranks(placement[a], placement[b]).exists();
    match { ends }.find(|ranks| !joined(ranks)) {
        Some(ranks) => Err(Violation::NotJoined { ranks }),
        None => Ok(()),
    }
}

fn check_no_other_edges(pattern: &Pattern, graph: &HardwareGraph, placement: &[DeviceId]) -> Result<(), Violation> {
    let talk: BTreeSet<_> = pattern.edges().iter().map(|edge| (usize::from(edge.a), usize::from(edge.b))).collect();
    let mut pairs = (0..placement.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let joined = |&(a, b): &(usize, usize)| graph.link(placement[a], placement[b]).exists();
    match pairs.find(|ranks| !talk.contains(ranks) && joined(ranks)) {
        Some(ranks) => Err(Violation::Joined { ranks }),
        None => Ok(()),
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
    check_length(pattern, placement)?;
    for (rank, (&device, demand)) in placement.iter().zip(pattern.demands()).enumerate() {
        check_device(pattern, graph, allowed, (rank, device))?;
        if !view.has_room(&Demand { memory_bytes: 0, ..*demand }, device) {
            return Err(Violation::NotAllowed { rank, device });
        }
        let before = || placement[..rank].iter().zip(pattern.demands()).enumerate();
        if let Some((other, _)) =
            before().find(|(_, (d, other))| **d == device && !(other.is_shared() && demand.is_shared()))
        {
            return Err(Violation::Shared { ranks: (other, rank), device });
        }
        check_overlap(graph, placement, rank)?;
        let here = before().filter(|(_, (d, _))| **d == device).map(|(_, (_, other))| *other);
        if !view.holds(device, here.chain([*demand])) {
            return Err(Violation::Memory { rank, device });
        }
    }
    check_edges(pattern, graph, placement)?;
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
