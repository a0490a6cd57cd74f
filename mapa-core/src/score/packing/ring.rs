//! Bandwidth of a set of devices under ring all-reduce: as many rings as the links carry at once.

use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

use super::fractional::{self, largest, settled};
use super::hops::{Hops, pairs};
use super::network::Network;
use super::{Rates, cuts, hamilton, long, widest};
use crate::score::{Direction, Foresight, Objective, Subset};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};

/// What a collective reaches on a set of devices.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bandwidth {
    /// Bus bandwidth as nccl-tests defines it, GB/s, reached by a packing that was found.
    pub gbps: f64,
    /// Proven: no packing is better, GB/s. Equal to `gbps` where that is exact.
    pub at_most_gbps: f64,
    /// The slow path: no packing on direct links reaches as much.
    pub over_host: bool,
    /// The rings of the packing, with their GB/s: devices in ring order, the lowest first. Of three or more, half of it goes one
    /// way round and half the other; of two, there and back.
    pub rings: Vec<(Vec<DeviceId>, f64)>,
}

impl Bandwidth {
    /// Whether it is known exactly.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.gbps == self.at_most_gbps
    }
}

/// A packing that was found, and a bound that was proven, GB/s.
pub(super) struct Packed {
    pub(super) gbps: f64,
    pub(super) at_most: f64,
    /// Cycles by position, each half of its GB/s one way and half the other; of two devices, there and back.
    pub(super) rings: Vec<(Vec<usize>, f64)>,
}

impl Packed {
    pub(super) const NONE: Self = Self { gbps: 0.0, at_most: 0.0, rings: Vec::new() };
}

/// Bandwidth of a set of devices under ring all-reduce: the largest fractional packing of directed Hamiltonian cycles into the
/// capacities of direct links and of ports of link switches, each direction by itself.
///
/// NCCL's rings are each as fast as their slowest hop, and there are as many as the links carry at once. Between two devices
/// a ring goes there and back. Where direct links carry less than one ring through the host would
/// (mostly because they form no ring at all), the host's ring counts instead: the slow path. So more links never lower it (of up
/// to sixteen devices; beyond, what a search finds may be less), in contrast to a model that is fitted; and nothing is fitted but
/// what part of its nominal bandwidth a link reaches ([`Rates`]).
///
/// ```
/// use mapa_core::{DeviceSet, Fabric, LinkClass, Rates, RingPacking};
///
/// // Three devices, one link of 20 GB/s between every two: two rings, one each way round.
/// let mut fabric = Fabric::new();
/// let ids = [0, 1, 2].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
/// for (a, b) in [(0, 1), (0, 2), (1, 2)] {
///     fabric.link(ids[a], ids[b], LinkClass::Direct(1), 20.0)?;
/// }
/// let graph = fabric.lower()?;
/// let rings = RingPacking::new(Rates::NOMINAL);
/// assert_eq!(rings.of(&graph, &graph.all()).unwrap().gbps, 40.0);
/// assert!(rings.of(&graph, &DeviceSet::from([1])).is_none(), "one device sends to nobody");
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RingPacking {
    rates: Rates,
}

impl RingPacking {
    /// With these parts of the nominal bandwidths.
    #[must_use]
    pub fn new(rates: Rates) -> Self {
        Self { rates }
    }

    /// The parts of the nominal bandwidths.
    #[must_use]
    pub fn rates(&self) -> Rates {
        self.rates
    }

    /// The bandwidth of a set, GB/s per direction; none for fewer than two devices, which have no collective bandwidth.
    ///
    /// Up to sixteen devices it is exact: packing and bound differ by less than 10⁻⁹ of themselves, and are rounded to seven
    /// digits. Beyond, packings are looked for in a bounded search and held against the least cut, so there may be a gap. Vertices
    /// that are not whole devices have no direct links. O(k²) where cuts and a greedy packing agree, else O(2ᵏ k²) for each of
    /// some dozens of rings, and the linear programs.
    ///
    /// # Panics
    /// If a device of the set is not one of the graph's, as [`HardwareGraph::pair`].
    #[must_use]
    pub fn of(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<Bandwidth> {
        if set.len() < 2 {
            return None;
        }
        let network = Network::new(graph, set, &self.rates);
        let (direct, host) = (on_direct_links(&network), widest::ring(&network));
        let over_host = host.gbps > direct.gbps * (1.0 + 1e-9);
        let at_most = direct.at_most.max(host.at_most);
        let Packed { gbps, rings, .. } = if over_host { host } else { direct };
        let (gbps, at_most_gbps) = settled(gbps, at_most);
        let named = |ring: Vec<usize>| ring.into_iter().map(|at| network.devices[at]).collect();
        let rings = rings.into_iter().map(|(ring, gbps)| (named(ring), gbps)).collect();
        Some(Bandwidth { gbps, at_most_gbps, over_host, rings })
    }

    /// The bandwidths of all sets of whole devices of these sizes, size by size, lowest ids first, worked out as they are
    /// asked for. C(m, k) sets of k of m devices.
    pub fn table<'g>(
        &self,
        graph: &'g HardwareGraph,
        sizes: RangeInclusive<usize>,
    ) -> impl Iterator<Item = (DeviceSet, Bandwidth)> + use<'g> {
        let this = *self;
        let wholes = graph.wholes().len() as u32;
        let sets = sizes.filter(|k| *k >= 2).flat_map(move |k| sets_of(wholes, k));
        sets.filter_map(move |set| this.of(graph, &set).map(|bandwidth| (set, bandwidth)))
    }

    /// [`RingPacking::of`] as an objective, `ring_packing_gbps`: what was found, 0 for one device.
    #[must_use]
    pub fn objective(&self) -> Objective<'static> {
        let this = *self;
        Objective::chosen("ring_packing_gbps", move |subset| {
            this.of(subset.graph, subset.devices).map_or(0.0, |bandwidth| bandwidth.gbps)
        })
        .blind_to_ids()
        .bounded(move |subset| this.at_most(subset))
        .foreseen(Foresight {
            within: Arc::new(move |part, k| this.at_most_within(part, k)),
            apart: Some(Arc::new(move |part| this.at_most_apart(part))),
        })
        .bounds_of(Direction::Highest)
    }

    /// What no packing on these devices exceeds, by cuts: cheap.
    fn at_most(&self, subset: Subset<'_>) -> f64 {
        let network = Network::new(subset.graph, subset.devices, &self.rates);
        let n = network.len();
        if n < 2 {
            return 0.0;
        }
        let host = widest::at_most(&network);
        let direct = if n == 2 { network.alone(0, 1) } else { cuts::at_most(&network) };
        let ring = direct <= host || n > hamilton::MOST || has_cycle(&network);
        fractional::rounded(if ring { direct.max(host) } else { host })
    }

    /// What no packing on k of these devices exceeds: each has its best k - 1 links and its ports. O(m² log m) for m devices.
    fn at_most_within(&self, part: Subset<'_>, k: usize) -> f64 {
        let network = Network::new(part.graph, part.devices, &self.rates);
        let m = network.len();
        if k < 2 || m < k {
            return 0.0;
        }
        let best = |mut gbps: Vec<f64>, most: usize| {
            gbps.sort_unstable_by(|a, b| b.total_cmp(a));
            gbps.truncate(most);
            gbps
        };
        let of = |a: usize| {
            let links: f64 = best(network.direct[a * m..(a + 1) * m].to_vec(), k - 1).iter().sum();
            let ports: f64 = network.ports.iter().map(|ports| ports[a]).sum();
            let hops = (0..m).filter(|&b| b != a).map(|b| network.alone(a, b).max(network.host[a * m + b]));
            let ring = best(hops.collect(), (k - 1).min(2)).last().copied().unwrap_or(0.0);
            (links + ports).max(ring)
        };
        fractional::rounded(best((0..m).map(of).collect(), k).last().copied().unwrap_or(0.0))
    }

    /// What no packing exceeds on devices of different islands: a ring has to go from one to another over the host. O(m²).
    fn at_most_apart(&self, part: Subset<'_>) -> f64 {
        let network = Network::new(part.graph, part.devices, &self.rates);
        let m = network.len();
        let mut island: Vec<usize> = (0..m).collect();
        for a in 0..m {
            for b in (0..a).filter(|&b| network.alone(a, b) > 0.0) {
                let (old, new) = (island[a], island[b]);
                island.iter_mut().filter(|island| **island == old).for_each(|island| *island = new);
            }
        }
        let apart = (0..m * m).filter(|at| island[at / m] != island[at % m]);
        fractional::rounded(apart.map(|at| network.host[at]).fold(0.0, f64::max))
    }
}

/// [`RingPacking`] at nominal bandwidths, as an objective: only rates that differ between links or from those of the host
/// could change which of two sets is better.
#[must_use]
pub fn ring_packing_gbps() -> Objective<'static> {
    static NOMINAL: LazyLock<Objective<'static>> = LazyLock::new(|| RingPacking::default().objective());
    NOMINAL.clone()
}

/// The largest packing on direct links and link switches.
fn on_direct_links(network: &Network) -> Packed {
    let n = network.len();
    if n == 2 {
        let gbps = network.alone(0, 1);
        let rings = if gbps > 0.0 { vec![(vec![0, 1], gbps)] } else { Vec::new() };
        return Packed { gbps, at_most: gbps, rings };
    }
    let by_degree = cuts::by_degree(network);
    if by_degree == 0.0 || n <= hamilton::MOST && !has_cycle(network) {
        return Packed::NONE;
    }
    let greedy = long::greedy(network);
    // Not `sum`, which makes -0 of nothing.
    let gbps = greedy.iter().fold(0.0, |sum, (_, gbps)| sum + gbps);
    if fractional::agree(gbps, by_degree) {
        return Packed { gbps, at_most: by_degree, rings: greedy };
    }
    let at_most = by_degree.min(cuts::at_most(network));
    if fractional::agree(gbps, at_most) {
        return Packed { gbps, at_most, rings: greedy };
    }
    let hops = Hops::new(network);
    let better = if n <= hamilton::MOST {
        largest(&hops.capacities, |prices| cheapest_ring(&hops, prices))
    } else {
        let cheapest = vec![0.0; hops.capacities.len()];
        let rings = greedy.iter().filter_map(|(ring, _)| Some((ring.clone(), load(&hops, ring, &cheapest)?)));
        fractional::of(&hops.capacities, rings.collect())
    };
    let at_most = at_most.min(better.at_most);
    if better.amount < gbps {
        return Packed { gbps, at_most: at_most.max(gbps), rings: greedy };
    }
    Packed { gbps: better.amount, at_most: at_most.max(better.amount), rings: better.parts }
}

/// The cheapest ring at these prices, and its load.
///
/// *Rings need no direction.* Reverse every ring of a packing: that fits as well, since capacities are the same both ways.
/// Half of each then sends as much one way as the other; so for three or more devices undirected cycles are packed, and each
/// loads either direction of a link or port by half for every time that it crosses it.
fn cheapest_ring(hops: &Hops, prices: &[f64]) -> Option<(Vec<usize>, Vec<f64>)> {
    let n = hops.devices;
    let mut price = vec![f64::INFINITY; n * n];
    for (a, b) in pairs(n) {
        let cheapest = hops.cheapest(a, b, prices).map_or(f64::INFINITY, |(price, _)| price);
        (price[a * n + b], price[b * n + a]) = (cheapest, cheapest);
    }
    let ring = hamilton::cheapest(n, &price)?;
    let load = load(hops, &ring, prices)?;
    Some((ring, load))
}

/// What a ring takes of each capacity, by the cheapest ways at these prices.
fn load(hops: &Hops, ring: &[usize], prices: &[f64]) -> Option<Vec<f64>> {
    let mut load = vec![0.0; hops.capacities.len()];
    for (a, b) in hamilton::hops(ring) {
        let (_, way) = hops.cheapest(a, b, prices)?;
        way.iter().flatten().for_each(|&capacity| load[capacity] += 0.5);
    }
    Some(load)
}

/// Whether direct links and switches form any cycle.
fn has_cycle(network: &Network) -> bool {
    let n = network.len();
    let joined = |a: usize, b: usize| a != b && network.alone(a, b) > 0.0;
    let near = |a: usize| (0..n).filter(|&b| joined(a, b)).map(|b| 1 << b).sum();
    hamilton::find(&(0..n).map(near).collect::<Vec<u32>>()).is_some()
}

/// The sets of k of the first n devices, as sorted lists of ids are ordered.
fn sets_of(n: u32, k: usize) -> impl Iterator<Item = DeviceSet> {
    let first: Option<Vec<u32>> = (k <= n as usize).then(|| (0..k as u32).collect());
    let next = move |ids: &Vec<u32>| {
        let mut ids = ids.clone();
        let last = |at: usize| n - (k - at) as u32;
        let at = (0..k).rfind(|&at| ids[at] < last(at))?;
        ids[at] += 1;
        for after in at + 1..k {
            ids[after] = ids[after - 1] + 1;
        }
        Some(ids)
    };
    std::iter::successors(first, next).map(|ids| ids.into_iter().map(DeviceId).collect())
}
