//! The bandwidth of a set of devices under ring all-reduce: as many rings as the links carry at
//! once.

use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

use super::bandwidth::{Bandwidth, Packed};
use super::fractional::{self, largest, settled};
use super::hamilton::Cycles;
use super::hops::{Hops, pairs};
use super::last::LastPackings;
use super::network::CapacityNetwork;
use super::rates::Rates;
use super::{cuts, hamilton, long, widest};
use crate::score::{DegreeBound, Direction, Objective, SetBounds, Subset};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, MemoKey};

/// The bandwidth of a set of devices under ring all-reduce: the largest fractional packing of
/// directed Hamiltonian cycles into the capacities of direct links and of ports of link switches,
/// with each direction counted by itself.
///
/// Each of NCCL's rings is as fast as its slowest hop, and there are as many rings as the links
/// carry at once. Between two devices a ring goes there and back. If direct links carry less than
/// one ring through the host would, the ring through the host counts instead (the slow path).
/// Mostly this happens because the direct links form no ring at all.
///
/// For up to sixteen devices, more links never lower this bandwidth, in contrast to a fitted model.
/// Beyond sixteen, a bounded search may find less. The only fitted numbers are the parts of the
/// nominal bandwidth that links reach ([`Rates`]).
///
/// # Examples
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
/// assert!(rings.of(&graph, &DeviceSet::from([1])).is_none(), "one device has no peer");
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RingPacking {
    rates: Rates,
}

impl RingPacking {
    /// The model with these parts of the nominal bandwidths.
    #[must_use]
    pub fn new(rates: Rates) -> Self {
        Self { rates }
    }

    /// The parts of the nominal bandwidths.
    #[must_use]
    pub fn rates(&self) -> Rates {
        self.rates
    }

    /// The bandwidth of a set, GB/s per direction; none for fewer than two devices.
    ///
    /// For up to sixteen devices the result is exact: the relative difference of packing and bound
    /// is below 10⁻⁹, and both are rounded to seven digits. For more, packings are sought in a
    /// bounded search and compared with the least cut, so there may be a gap. Vertices that are not
    /// whole devices have no direct links.
    ///
    /// # Complexity
    ///
    /// O(k²) for k devices if cuts and a greedy packing agree. Else O(2ᵏ k²) for each of some
    /// dozens of rings, and the linear programs.
    ///
    /// # Panics
    /// If a device of the set is not one of the graph's, as [`HardwareGraph::pair`].
    #[must_use]
    pub fn of(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<Bandwidth> {
        if set.len() < 2 {
            return None;
        }
        let network = CapacityNetwork::new(graph, set, &self.rates);
        let direct = self.on_direct_links(graph, set, &network);
        // Where no hop is wide enough, the ring over the host is not sought.
        let host = if widest::at_most(&network) <= direct.gbps {
            Packed::NONE
        } else {
            widest::ring(&network)
        };
        let over_host = host.gbps > direct.gbps * (1.0 + 1e-9);
        let at_most = direct.at_most.max(host.at_most);
        let Packed { gbps, rings, .. } = if over_host { host } else { direct };
        let (gbps, at_most_gbps) = settled(gbps, at_most);
        let rings = rings
            .into_iter()
            .map(|(ring, gbps)| {
                let ring = ring.into_iter().map(|at| network.devices[at]);
                (ring.collect(), gbps)
            })
            .collect();
        Some(Bandwidth {
            gbps,
            at_most_gbps,
            over_host,
            rings,
        })
    }

    /// The largest packing on direct links and link switches, as it is kept or made.
    fn on_direct_links(
        &self,
        graph: &HardwareGraph,
        set: &DeviceSet,
        network: &CapacityNetwork,
    ) -> Packed {
        let key = RingsKey {
            direct: self.rates.direct.to_bits(),
        };
        let last = graph.memo().get_or_make(&key, LastPackings::new);
        last.get_or_make(set, || on_direct_links(network))
    }

    /// The bandwidths of all sets of whole devices of these sizes, size by size, lowest ids first.
    /// Each is computed when the iterator reaches it. There are C(m, k) sets of k of m devices.
    ///
    /// # Complexity
    ///
    /// That of [`RingPacking::of`] for each set.
    pub fn table<'g>(
        &self,
        graph: &'g HardwareGraph,
        sizes: RangeInclusive<usize>,
    ) -> impl Iterator<Item = (DeviceSet, Bandwidth)> + use<'g> {
        let this = *self;
        let wholes = graph.wholes().len() as u32;
        let sets = sizes
            .filter(|k| *k >= 2)
            .flat_map(move |k| sets_of(wholes, k));
        sets.filter_map(move |set| this.of(graph, &set).map(|bandwidth| (set, bandwidth)))
    }

    /// [`RingPacking::of`] as an objective, `ring_packing_gbps`: the bandwidth found; 0 for one
    /// device.
    #[must_use]
    pub fn objective(&self) -> Objective<'static> {
        let this = *self;
        Objective::chosen("ring_packing_gbps", move |subset| {
            this.of(subset.graph, subset.devices)
                .map_or(0.0, |bandwidth| bandwidth.gbps)
        })
        .blind_to_ids()
        .bounded(move |subset| this.at_most(subset))
        .foreseen(SetBounds {
            within: Arc::new(move |part, k| this.at_most_within(part, k)),
            apart: Some(Arc::new(move |part| this.at_most_apart(part))),
            by_degree: Some(Arc::new(move |part, k| this.by_degree(part, k))),
        })
        .bounds_of(Direction::Highest)
    }

    /// An upper bound of all packings on these devices, by cuts. O(k³) for k devices, and O(2ᵏ k)
    /// to see whether there is a ring at all.
    fn at_most(&self, subset: Subset<'_>) -> f64 {
        let network = CapacityNetwork::new(subset.graph, subset.devices, &self.rates);
        let n = network.len();
        if n < 2 {
            return 0.0;
        }
        let host = widest::at_most(&network);
        let direct = if n == 2 {
            network.alone(0, 1)
        } else {
            cuts::at_most(&network)
        };
        // Where direct links form no ring, their cuts bound nothing: only the host's ring remains.
        let ring = direct <= host || n > hamilton::MOST || has_cycle(&network);
        fractional::rounded(if ring { direct.max(host) } else { host })
    }

    /// An upper bound of all packings on k of these devices. Among k devices each has at most its
    /// best k - 1 links, and its ports. A packing needs k devices that reach its bandwidth, so the
    /// k-th best device bounds it. O(m² log m) for m devices.
    fn at_most_within(&self, part: Subset<'_>, k: usize) -> f64 {
        let m = part.devices.len();
        if k < 2 || m < k {
            return 0.0;
        }
        let network = CapacityNetwork::new(part.graph, part.devices, &self.rates);
        let best = |mut gbps: Vec<f64>, most: usize| {
            gbps.sort_unstable_by(|a, b| b.total_cmp(a));
            gbps.truncate(most);
            gbps
        };
        let mut bounds = Vec::with_capacity(m);
        for a in 0..m {
            let own = network.direct[a * m..(a + 1) * m].to_vec();
            let links: f64 = best(own, k - 1).iter().sum();
            let ports: f64 = network.ports.iter().map(|ports| ports[a]).sum();
            let others = (0..m).filter(|&b| b != a);
            let hops = others.map(|b| network.best(a, b)).collect();
            let ring = best(hops, (k - 1).min(2)).last().copied().unwrap_or(0.0);
            bounds.push((links + ports).max(ring));
        }
        fractional::rounded(best(bounds, k).last().copied().unwrap_or(0.0))
    }

    /// A bound of all packings on k of these devices by the links of any one; none where link switches
    /// join them. O(m²) for m devices.
    fn by_degree(&self, part: Subset<'_>, k: usize) -> Option<DegreeBound> {
        let network = CapacityNetwork::new(part.graph, part.devices, &self.rates);
        // A ring that is not of direct links alone has a hop over the host.
        let bound = network.by_degree(self.rates.direct)?;
        Some(DegreeBound {
            over_two: k > 2,
            ..bound
        })
    }

    /// An upper bound of all packings on devices of different islands: a ring must pass from one
    /// island to another over the host. O(m³) for m devices.
    fn at_most_apart(&self, part: Subset<'_>) -> f64 {
        let network = CapacityNetwork::new(part.graph, part.devices, &self.rates);
        let m = network.len();
        let mut island: Vec<usize> = (0..m).collect();
        for a in 0..m {
            for b in (0..a).filter(|&b| network.alone(a, b) > 0.0) {
                let (old, new) = (island[a], island[b]);
                island
                    .iter_mut()
                    .filter(|island| **island == old)
                    .for_each(|island| *island = new);
            }
        }
        let apart = (0..m * m).filter(|at| island[at / m] != island[at % m]);
        fractional::rounded(apart.map(|at| network.host[at]).fold(0.0, f64::max))
    }
}

/// [`RingPacking`] at nominal bandwidths, as an objective. Other rates can change which of two sets
/// is better only if the rate differs between links, or between links and the host.
#[must_use]
pub fn ring_packing_gbps() -> Objective<'static> {
    static NOMINAL: LazyLock<Objective<'static>> =
        LazyLock::new(|| RingPacking::default().objective());
    NOMINAL.clone()
}

/// The key of the last packings: all that they depend on besides the machine and the set.
#[derive(Clone, PartialEq, Eq, Hash)]
struct RingsKey {
    direct: u64,
}

impl MemoKey for RingsKey {
    type Table = LastPackings<Packed>;
}

/// The largest packing on direct links and link switches.
///
/// Cheap bounds come first: if a greedy packing reaches the bound by degrees or by cuts, no linear
/// program is needed.
fn on_direct_links(network: &CapacityNetwork) -> Packed {
    let n = network.len();
    if n == 2 {
        let gbps = network.alone(0, 1);
        let rings = if gbps > 0.0 {
            vec![(vec![0, 1], gbps)]
        } else {
            Vec::new()
        };
        return Packed {
            gbps,
            at_most: gbps,
            rings,
        };
    }
    // A device without direct links, or links without a cycle, admit no ring at all.
    let by_degree = cuts::by_degree(network);
    if by_degree == 0.0 || n <= hamilton::MOST && !has_cycle(network) {
        return Packed::NONE;
    }
    let greedy = long::greedy(network);
    // Not `sum`: the sum of no floats is -0, which prints as such.
    let gbps = greedy.iter().fold(0.0, |sum, (_, gbps)| sum + gbps);
    if fractional::agree(gbps, by_degree) {
        return Packed {
            gbps,
            at_most: by_degree,
            rings: greedy,
        };
    }
    let at_most = by_degree.min(cuts::at_most(network));
    if fractional::agree(gbps, at_most) {
        return Packed {
            gbps,
            at_most,
            rings: greedy,
        };
    }
    let hops = Hops::new(network);
    let better = if n <= hamilton::MOST {
        let cycles = Cycles::of(&hops.adjacent());
        largest(&hops.capacities, |prices| {
            cheapest_ring(&hops, &cycles, prices)
        })
    } else {
        // Pricing rings exactly takes a table over all subsets. Beyond its size the best mixture of
        // the greedy rings is taken, and the bound stays that of the cuts.
        let cheapest = vec![0.0; hops.capacities.len()];
        let rings = greedy
            .iter()
            .filter_map(|(ring, _)| Some((ring.clone(), load(&hops, ring, &cheapest)?)));
        fractional::of(&hops.capacities, rings.collect())
    };
    let at_most = at_most.min(better.at_most);
    if better.amount < gbps {
        return Packed {
            gbps,
            at_most: at_most.max(gbps),
            rings: greedy,
        };
    }
    Packed {
        gbps: better.amount,
        at_most: at_most.max(better.amount),
        rings: better.parts,
    }
}

/// The cheapest ring at these prices, and its load.
///
/// Rings need no direction. Capacities are the same both ways, so a packing with every ring
/// reversed fits as well. Half of each, taken together, sends as much one way as the other. So for
/// three or more devices undirected cycles are packed. Each loads either direction of a link or
/// port by one half for every time that it crosses it.
fn cheapest_ring(hops: &Hops, cycles: &Cycles, prices: &[f64]) -> Option<(Vec<usize>, Vec<f64>)> {
    let n = hops.devices;
    let mut price = vec![f64::INFINITY; n * n];
    for (a, b) in pairs(n) {
        let cheapest = hops
            .cheapest(a, b, prices)
            .map_or(f64::INFINITY, |(price, _)| price);
        (price[a * n + b], price[b * n + a]) = (cheapest, cheapest);
    }
    let ring = cycles.cheapest(&price)?;
    let load = load(hops, &ring, prices)?;
    Some((ring, load))
}

/// What a ring takes of each capacity, with the cheapest way for each hop at these prices.
fn load(hops: &Hops, ring: &[usize], prices: &[f64]) -> Option<Vec<f64>> {
    let mut load = vec![0.0; hops.capacities.len()];
    for (a, b) in hamilton::hops(ring) {
        let (_, way) = hops.cheapest(a, b, prices)?;
        way.iter()
            .flatten()
            .for_each(|&capacity| load[capacity] += 0.5);
    }
    Some(load)
}

/// Whether direct links and switches form any cycle.
fn has_cycle(network: &CapacityNetwork) -> bool {
    let n = network.len();
    let mut adjacent = vec![0u32; n];
    for (a, b) in pairs(n).filter(|&(a, b)| network.alone(a, b) > 0.0) {
        adjacent[a] |= 1 << b;
        adjacent[b] |= 1 << a;
    }
    hamilton::find(&adjacent).is_some()
}

/// The sets of k of the first n devices, in lexicographic order of their sorted ids.
fn sets_of(n: u32, k: usize) -> impl Iterator<Item = DeviceSet> {
    let first: Option<Vec<u32>> = (k <= n as usize).then(|| (0..k as u32).collect());
    let next = move |ids: &Vec<u32>| {
        // Raise the last id that can be raised, and put those after it as low as possible.
        let mut ids = ids.clone();
        let at = (0..k).rfind(|&at| ids[at] < n - (k - at) as u32)?;
        ids[at] += 1;
        for after in at + 1..k {
            ids[after] = ids[after - 1] + 1;
        }
        Some(ids)
    };
    std::iter::successors(first, next).map(|ids| ids.into_iter().map(DeviceId).collect())
}
