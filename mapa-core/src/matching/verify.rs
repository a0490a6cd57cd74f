//! Checking a claimed match without any search: against the pattern and the machine alone, or
//! against a view with its tenants too.

use std::collections::BTreeSet;
use std::fmt;

use crate::pattern::{Demand, Pattern};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, MAX_DEVICES};
use crate::view::View;

/// Why a placement is not a match, or is a match for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// The placement and the pattern have different numbers of ranks.
    Length {
        /// Ranks placed.
        placed: usize,
        /// Ranks of the pattern.
        wanted: usize,
    },
    /// The rank's device does not exist, is in use, or is not among the allowed ones.
    NotAllowed {
        /// The rank.
        rank: usize,
        /// Its device.
        device: DeviceId,
    },
    /// The rank's device is not of the kind or size that the rank demands.
    Unfit {
        /// The rank.
        rank: usize,
        /// Its device.
        device: DeviceId,
    },
    /// Two ranks are on one device, and at least one of them does not share.
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
    /// The ranks on a device need more memory than it has left.
    Memory {
        /// The last of them.
        rank: usize,
        /// Their device.
        device: DeviceId,
    },
    /// Two ranks that communicate are on devices without a connection.
    NotJoined {
        /// The two ranks.
        ranks: (usize, usize),
    },
    /// Two ranks that do not communicate are on devices with a connection, which induced matching
    /// forbids.
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
            Self::Length { placed, wanted } => {
                write!(f, "{placed} ranks are placed, the pattern has {wanted}")
            }
            Self::NotAllowed { rank, device } => write!(
                f,
                "rank {rank} is on device {device}, which is not available"
            ),
            Self::Unfit { rank, device } => write!(
                f,
                "rank {rank} is on device {device}, which is not of the kind or size that it demands"
            ),
            Self::Shared {
                ranks: (a, b),
                device,
            } => write!(f, "ranks {a} and {b} are both on device {device}"),
            Self::Excluded { ranks: (a, b) } => write!(
                f,
                "ranks {a} and {b} are on devices that cannot exist at once"
            ),
            Self::Memory { rank, device } => write!(
                f,
                "rank {rank} is on device {device}, whose memory is too small"
            ),
            Self::NotJoined { ranks: (a, b) } => write!(
                f,
                "ranks {a} and {b} communicate, but their devices are not joined"
            ),
            Self::Joined { ranks: (a, b) } => write!(
                f,
                "ranks {a} and {b} do not communicate, but their devices are joined"
            ),
            Self::NoLayout { device } => write!(
                f,
                "device {device} cannot be partitioned into the instances placed on it"
            ),
        }
    }
}

impl std::error::Error for Violation {}

/// Checks whether a placement is a match of a pattern on a machine, and if not, returns the first
/// violation.
///
/// The placements accepted are the raw matches that a [`Search`](crate::Search) without domains,
/// predicates or [sharing](crate::Search::sharing) finds. In addition, the empty placement is
/// accepted for the empty pattern, which searches do not find. Tenants and free memory of the
/// machine are not considered.
///
/// # Complexity
///
/// O(k² + e) for k ranks and e edges.
///
/// # Examples
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
/// assert_eq!(violation.to_string(), "ranks 0 and 1 communicate, but their devices are not joined");
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
    /// A verifier of non-induced matches on any devices.
    #[must_use]
    pub fn new(pattern: &'a Pattern, graph: &'a HardwareGraph) -> Self {
        Self {
            pattern,
            graph,
            within: None,
            induced: false,
        }
    }

    /// Whether ranks without an edge must lie on devices without a connection. Default: no.
    #[must_use]
    pub fn induced(self, induced: bool) -> Self {
        Self { induced, ..self }
    }

    /// Restricts placements to devices of this set.
    #[must_use]
    pub fn within(self, devices: &'a DeviceSet) -> Self {
        Self {
            within: Some(devices),
            ..self
        }
    }

    /// Checks a placement, in which `placement[rank]` is the device of each rank.
    ///
    /// # Complexity
    ///
    /// O(k² + e) for k ranks and e edges.
    ///
    /// # Errors
    /// The first condition that is violated, in this order: the number of ranks; for each rank,
    /// that its device fits and can exist beside those of lower ranks; for each edge, that it lies
    /// on a connection; if induced, for each other pair of ranks, that it does not.
    pub fn check(&self, placement: &[DeviceId]) -> Result<(), Violation> {
        let Self { pattern, graph, .. } = *self;
        check_length(pattern, placement)?;
        for (rank, &device) in placement.iter().enumerate() {
            check_device(
                pattern,
                graph,
                self.within.unwrap_or(graph.everything()),
                (rank, device),
            )?;
            if let Some(other) = placement[..rank].iter().position(|&other| other == device) {
                return Err(Violation::Shared {
                    ranks: (other, rank),
                    device,
                });
            }
            check_overlap(graph, placement, rank)?;
        }
        check_edges(pattern, graph, placement)?;
        if self.induced {
            check_no_other_edges(pattern, graph, placement)
        } else {
            Ok(())
        }
    }
}

/// Checks that every rank has a device.
fn check_length(pattern: &Pattern, placement: &[DeviceId]) -> Result<(), Violation> {
    let (placed, wanted) = (placement.len(), pattern.len());
    // A pattern larger than any machine is not analysed.
    let fits = placed == wanted && wanted <= MAX_DEVICES;
    if fits {
        Ok(())
    } else {
        Err(Violation::Length { placed, wanted })
    }
}

/// Checks that the rank's device exists, is allowed, and is what the rank demands.
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
    if fits {
        Ok(())
    } else {
        Err(Violation::Unfit { rank, device })
    }
}

/// Checks that the rank's device can exist beside those of lower ranks.
fn check_overlap(
    graph: &HardwareGraph,
    placement: &[DeviceId],
    rank: usize,
) -> Result<(), Violation> {
    let overlap = graph.overlap(placement[rank]);
    match placement[..rank]
        .iter()
        .position(|&other| overlap.contains(other))
    {
        Some(other) => Err(Violation::Excluded {
            ranks: (other, rank),
        }),
        None => Ok(()),
    }
}

/// Checks that every edge lies on a connection.
fn check_edges(
    pattern: &Pattern,
    graph: &HardwareGraph,
    placement: &[DeviceId],
) -> Result<(), Violation> {
    let ends = pattern
        .edges()
        .iter()
        .map(|edge| (usize::from(edge.a), usize::from(edge.b)));
    let joined =
        |&(a, b): &(usize, usize)| graph.link_of_ranks(placement[a], placement[b]).exists();
    match { ends }.find(|ranks| !joined(ranks)) {
        Some(ranks) => Err(Violation::NotJoined { ranks }),
        None => Ok(()),
    }
}

/// Checks that no pair of ranks without an edge lies on a connection.
fn check_no_other_edges(
    pattern: &Pattern,
    graph: &HardwareGraph,
    placement: &[DeviceId],
) -> Result<(), Violation> {
    let talk: BTreeSet<_> = pattern
        .edges()
        .iter()
        .map(|edge| (usize::from(edge.a), usize::from(edge.b)))
        .collect();
    let mut pairs = (0..placement.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let joined = pairs
        .find(|&(a, b)| !talk.contains(&(a, b)) && graph.link(placement[a], placement[b]).exists());
    match joined {
        Some(ranks) => Err(Violation::Joined { ranks }),
        None => Ok(()),
    }
}

/// Checks that `placement` is a match of `pattern` on `allowed` devices, and that the view has room
/// for it. O(k² + e) for k ranks and e edges.
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
        // Memory is checked below, for all ranks of the device together.
        if !view.has_room(
            &Demand {
                memory_bytes: 0,
                ..*demand
            },
            device,
        ) {
            return Err(Violation::NotAllowed { rank, device });
        }
        let before = || placement[..rank].iter().zip(pattern.demands()).enumerate();
        if let Some((other, _)) = before()
            .find(|(_, (d, other))| **d == device && !(other.is_shared() && demand.is_shared()))
        {
            return Err(Violation::Shared {
                ranks: (other, rank),
                device,
            });
        }
        check_overlap(graph, placement, rank)?;
        let here = before()
            .filter(|(_, (d, _))| **d == device)
            .map(|(_, (_, other))| *other);
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

/// A device that cannot be partitioned into the instances placed on it together with those in use.
///
/// Overlap is checked pair by pair elsewhere. What remains are profiles of which only a few may
/// exist at once, and only views that allow more than one layout can violate that.
pub(crate) fn without_layout(view: &View<'_>, placement: &[DeviceId]) -> Option<DeviceId> {
    if !view.is_of_any_layout() {
        return None;
    }
    let graph = view.graph();
    let slice = |id: DeviceId| graph.device(id).unit.instance();
    placement
        .iter()
        .filter(|&&id| slice(id).is_some())
        .map(|&id| graph.device(id).parent)
        .find(|&whole| {
            let here = placement
                .iter()
                .copied()
                .filter(|&id| graph.device(id).parent == whole);
            let mut instances = view.instances_in_use(whole);
            instances.extend(here.filter_map(slice));
            instances.sort_unstable();
            instances.dedup();
            graph
                .model(whole)
                .is_some_and(|model| model.layout(&instances).is_err())
        })
}
