//! All-reduce along trees: the largest fractional packing of spanning trees.
//!
//! A tree reduces towards its root and broadcasts back, so its data crosses each of its edges once
//! in each direction. Several trees at once carry a part each. The most that they can carry, t, is
//! the algorithm bandwidth of the all-reduce: t GB of input are reduced per second.
//!
//! With links between pairs only, t follows from the fractional form of the theorem of Tutte and
//! Nash-Williams (J. London Math. Soc. 36, 1961): it is the least, over all partitions of the
//! devices, of (capacity between parts) / (parts - 1). With link switches, a tree uses a device's
//! port once for each of its edges at that device that go over the switch. The packing is solved
//! as a linear program with cheapest spanning trees, which covers both cases.
//!
//! # Comparison with rings
//!
//! A ring sends every byte 2(n-1)/n times past each device. nccl-tests therefore multiplies the
//! algorithm bandwidth of an all-reduce by 2(n-1)/n, whatever the algorithm was, and calls the
//! result bus bandwidth. A packing of rings *is* a bus bandwidth; a packing of trees becomes one by
//! that factor.
//!
//! Trees then reach at least what rings reach. Capacities are the same both ways, so let each ring
//! run half either way. Dropping each edge of a ring in turn gives n paths, each a spanning tree. R
//! GB/s of rings thus make (R/2) n/(n-1) GB/s of trees, which is R again as bus bandwidth. A switch
//! with equal ports of p GB/s gives p in either model.

use std::sync::{Arc, LazyLock};

use super::fractional::{FractionalPacking, largest, rounded};
use super::hops::{Hops, narrowest};
use super::last::LastPackings;
use super::network::CapacityNetwork;
use super::{Bandwidth, Rates};
use crate::score::{Direction, Objective, SetBounds};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, MemoKey};

/// The bandwidth of an all-reduce along trees, computed from links alone.
///
/// # Examples
///
/// ```
/// use mapa_core::{DeviceSet, Fabric, LinkClass, Rates, TreePacking};
///
/// // Three links in a row: no ring, but one tree.
/// let mut fabric = Fabric::new();
/// let ids = ["GPU0", "GPU1", "GPU2", "GPU3"].map(|name| fabric.add_device(name).unwrap());
/// for pair in ids.windows(2) {
///     fabric.link(pair[0], pair[1], LinkClass::Direct(1), 20.0)?;
/// }
/// let graph = fabric.lower()?;
/// let trees = TreePacking::new(Rates::NOMINAL);
/// assert_eq!(trees.of(&graph, &graph.all()).unwrap().gbps, 30.0, "20 GB/s x 2(n-1)/n");
/// assert_eq!(trees.of(&graph, &[0].into()), None);
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TreePacking {
    rates: Rates,
}

impl TreePacking {
    /// The model at these rates.
    #[must_use]
    pub fn new(rates: Rates) -> Self {
        Self { rates }
    }

    /// The bus bandwidth of an all-reduce along trees among some devices; none for fewer than two.
    ///
    /// If direct links do not join the devices, or reach less than the host, the result is the
    /// narrowest hop of a widest spanning tree over direct links and host. All hops of a device
    /// over the host share its one port, as at a link switch, where b GB/s per port are b GB/s of
    /// bus bandwidth.
    ///
    /// The result is exact to seven digits as long as the solver does not fail; else the gap is
    /// reported.
    ///
    /// # Complexity
    ///
    /// Linear programs with as many variables as there are links and ports: milliseconds for up to
    /// 16 devices.
    ///
    /// # Panics
    /// If the set holds an id that the machine does not have.
    #[must_use]
    pub fn of(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<Bandwidth> {
        let network = CapacityNetwork::new(graph, set, &self.rates);
        let n = network.len();
        if n < 2 {
            return None;
        }
        let key = TreesKey {
            direct: self.rates.direct.to_bits(),
        };
        let last = graph.memo().get_or_make(&key, LastPackings::new);
        let (amount, at_most) = last.get_or_make(set, || {
            let found = trees(&Hops::new(&network));
            (found.amount, found.at_most)
        });
        let as_bus = 2.0 * (n as f64 - 1.0) / n as f64;
        Some(Bandwidth::or_host(
            amount * as_bus,
            at_most * as_bus,
            narrowest(&network),
        ))
    }

    /// The trees of a largest packing on direct links: each by its edges, with the GB/s of
    /// algorithm bandwidth that it carries. None if direct links do not join the set.
    ///
    /// # Complexity
    ///
    /// As [`TreePacking::of`].
    ///
    /// # Panics
    /// As [`TreePacking::of`].
    #[must_use]
    pub fn trees(
        &self,
        graph: &HardwareGraph,
        set: &DeviceSet,
    ) -> Vec<(Vec<(DeviceId, DeviceId)>, f64)> {
        let network = CapacityNetwork::new(graph, set, &self.rates);
        if network.len() < 2 {
            return Vec::new();
        }
        let parts = trees(&Hops::new(&network)).parts.into_iter();
        parts
            .map(|(edges, gbps)| {
                let edges = edges.into_iter();
                let named = edges.map(|(a, b)| (network.devices[a], network.devices[b]));
                (named.collect(), gbps)
            })
            .collect()
    }

    /// [`TreePacking::of`] as an objective, `tree_packing_gbps`: 0 for one device.
    #[must_use]
    pub fn objective(&self) -> Objective<'static> {
        let model = *self;
        Objective::chosen("tree_packing_gbps", move |chosen| {
            let found = model.of(chosen.graph, chosen.devices);
            found.map_or(0.0, |found| found.gbps)
        })
        .blind_to_ids()
        .bounded(move |chosen| {
            let network = CapacityNetwork::new(chosen.graph, chosen.devices, &model.rates);
            at_most(&network, network.len())
        })
        .foreseen(SetBounds {
            within: Arc::new(move |part, k| {
                at_most(
                    &CapacityNetwork::new(part.graph, part.devices, &model.rates),
                    k,
                )
            }),
            apart: None,
            by_degree: Some(Arc::new(move |part, k| {
                let network = CapacityNetwork::new(part.graph, part.devices, &model.rates);
                // Every tree has an edge at every device. One with a hop over the host carries no more
                // than that.
                let as_bus = 2.0 * (k as f64 - 1.0) / k as f64;
                network.by_degree(model.rates.direct * as_bus)
            })),
        })
        .bounds_of(Direction::Highest)
    }
}

/// [`TreePacking`] at nominal bandwidths, as an objective.
#[must_use]
pub fn tree_packing_gbps() -> Objective<'static> {
    static NOMINAL: LazyLock<Objective<'static>> =
        LazyLock::new(|| TreePacking::new(Rates::NOMINAL).objective());
    NOMINAL.clone()
}

/// The key of the last packings: all that they depend on besides the machine and the set.
#[derive(Clone, PartialEq, Eq, Hash)]
struct TreesKey {
    direct: u64,
}

impl MemoKey for TreesKey {
    /// How much the trees carry, and a proven bound of that.
    type Table = LastPackings<(f64, f64)>;
}

/// An upper bound of all packings on k of these devices, on direct links or over the host. A tree
/// has k - 1 edges, each on a link between two devices or between two ports, and at least one at
/// every device. So it is bounded by what the k best devices have together, and by what the least of
/// them has. O(m² log m) for m devices.
fn at_most(network: &CapacityNetwork, k: usize) -> f64 {
    if k < 2 || network.len() < k {
        return 0.0;
    }
    let sorted = |values: Vec<f64>| {
        let mut values = values;
        values.sort_unstable_by(|a, b| b.total_cmp(a));
        values.truncate(k);
        values
    };
    let (links, hosts): (Vec<f64>, Vec<f64>) = network.at_each(k).into_iter().unzip();
    let links = sorted(links);
    let least = |values: &[f64]| values.last().copied().unwrap_or(0.0);
    let k = k as f64;
    let together = links.iter().sum::<f64>() / k;
    let alone = least(&links) * 2.0 * (k - 1.0) / k;
    rounded(together.min(alone).max(least(&sorted(hosts))))
}

/// A spanning tree by its edges, from parent to child.
type SpanningTree = Vec<(usize, usize)>;

/// The largest packing of spanning trees.
fn trees(hops: &Hops) -> FractionalPacking<SpanningTree> {
    largest(&hops.capacities, |prices| cheapest_tree(hops, prices))
}

/// A cheapest spanning tree and its load, by Prim's algorithm. O(n²) beside the search for the
/// ways.
fn cheapest_tree(hops: &Hops, prices: &[f64]) -> Option<(SpanningTree, Vec<f64>)> {
    let mut load = vec![0.0; hops.capacities.len()];
    let mut edges = Vec::with_capacity(hops.devices - 1);
    let mut outside: Vec<usize> = (1..hops.devices).collect();
    // By device outside the tree, the cheapest way into it; the tree starts with device 0.
    let mut to_tree = vec![None];
    for b in 1..hops.devices {
        let way = hops.cheapest(0, b, prices);
        to_tree.push(way.map(|(price, way)| (price, 0, way)));
    }
    let price = |entry: &Option<(f64, usize, _)>| {
        entry.as_ref().map_or(f64::INFINITY, |(price, ..)| *price)
    };
    while let Some(at) = (0..outside.len())
        .min_by(|&a, &b| price(&to_tree[outside[a]]).total_cmp(&price(&to_tree[outside[b]])))
    {
        let device = outside.remove(at);
        let (_, parent, way) = to_tree[device]?;
        way.iter()
            .flatten()
            .for_each(|&capacity| load[capacity] += 1.0);
        edges.push((parent, device));
        for &b in &outside {
            let entry = hops
                .cheapest(device, b, prices)
                .map(|(price, way)| (price, device, way));
            if price(&entry) < price(&to_tree[b]) {
                to_tree[b] = entry;
            }
        }
    }
    Some((edges, load))
}
