//! The set of devices whose links can carry most.

use super::api::Policy;
use super::rules::Rules;
use crate::optimum::{max, min};
use crate::score::{Objective, aggregate_gbps, host_hops, preserved_gbps, ring_packing_gbps};

/// The set of devices on which rings carry most ([`RingPacking`](crate::RingPacking)); of equal
/// ones the set that leaves the most bandwidth to other jobs (Eq. 3).
///
/// On this set it takes the rank order with the fewest hops through the host, then with the highest
/// AggBW (Eq. 1). So a ring of ranks follows direct links if the set has a ring of them. Ties:
/// lowest ids, then smallest rank order. A single device carries nothing, so for jobs of one rank
/// the bandwidth left decides.
///
/// For jobs of up to sixteen ranks, no free set has a higher ring packing than the chosen one,
/// unless the decision says that a limit ended its search. For more ranks, the packings compared
/// are those that a search finds.
///
/// # Examples
/// ```
/// use mapa_core::{DeviceSet, Fabric, LinkClass, Pattern, Policy, Request, max_bandwidth};
///
/// // A ring of four double links, and a single one across: three devices with the diagonal form a ring.
/// let mut fabric = Fabric::new();
/// let root = fabric.add_numa("cpu0", 0)?;
/// let ids: Vec<_> = (0..4).map(|i| fabric.add_device(format!("GPU{i}")).unwrap()).collect();
/// for i in 0..4 {
///     fabric.attach(ids[i], root, 12.0)?;
///     fabric.link(ids[i], ids[(i + 1) % 4], LinkClass::Direct(2), 50.0)?;
/// }
/// fabric.link(ids[1], ids[3], LinkClass::Direct(1), 25.0)?;
/// let graph = fabric.lower()?;
/// let all = graph.all();
/// let decision = max_bandwidth().decide(&Request::new(Pattern::ring(3)), &graph.with_free(&all)).unwrap();
/// assert_eq!(decision.placement().iter().copied().collect::<DeviceSet>(), [0, 1, 3].into());
/// assert_eq!(decision.best().score("ring_packing_gbps"), Some(50.0));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[must_use]
pub fn max_bandwidth() -> impl Policy + Clone {
    max_bandwidth_with(ring_packing_gbps())
}

/// [`max_bandwidth`] with another model of the bandwidth of a placement.
#[must_use]
pub fn max_bandwidth_with(bandwidth: Objective<'static>) -> impl Policy + Clone {
    let rules = Rules::new("max-bandwidth").prefer(max(bandwidth));
    rules
        .then(max(preserved_gbps()))
        .then(min(host_hops()))
        .then(max(aggregate_gbps()))
        .report_paper_scores()
}
