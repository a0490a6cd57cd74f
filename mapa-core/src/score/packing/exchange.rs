//! All-to-all: the largest uniform exchange, in which every device sends equally much to every
//! other.
//!
//! The most that all ordered pairs can send at once is the *maximum concurrent flow* with equal
//! demands (Shahrokhi and Matula, J. ACM 37, 1990). It is a packing: a routing is one path for each
//! pair, and flows are fractions of routings. The cheapest routing at given prices takes a shortest
//! path for each pair. So the bound that prices prove is (price of all capacities) / (sum of all
//! shortest distances). Capacities are the same both ways, so the two directions of a pair may take
//! the same path.
//!
//! In an all-to-all each device has n parts, of which one stays. nccl-tests therefore multiply the
//! algorithm bandwidth by (n-1)/n. The bus bandwidth is what a device sends to others: (n-1) times
//! the flow of a pair. It never exceeds the bandwidth of trees
//! ([`TreePacking`](super::TreePacking)): the flow joins every pair of devices, like a complete
//! graph, and a packing of spanning trees in that complete graph, laid along the paths of the flow,
//! reaches as much.

use std::sync::{Arc, LazyLock};

use super::fractional::{FractionalPacking, PackingEffort, largest_by, rounded};
use super::hops::{Hops, narrowest_pair, pairs};
use super::last::LastPackings;
use super::network::CapacityNetwork;
use super::{Bandwidth, Rates};
use crate::score::{Direction, Objective, SetBounds};
use crate::topology::{DeviceSet, HardwareGraph, MemoKey};

/// The bandwidth of an all-to-all exchange, computed from links alone.
///
/// In this model, devices of the set relay data for others. The result is an upper bound of what
/// libraries reach: few of them relay, and then over one device at most. With
/// [`AllToAll::unrelayed`], each pair sends only over the links between the two.
///
/// # Examples
///
/// ```
/// use mapa_core::{AllToAll, Fabric, LinkClass, Rates};
///
/// // A ring of four: each link carries its own pair, and half of what each pair of opposites sends.
/// let mut fabric = Fabric::new();
/// let ids = ["GPU0", "GPU1", "GPU2", "GPU3"].map(|name| fabric.add_device(name).unwrap());
/// for i in 0..4 {
///     fabric.link(ids[i], ids[(i + 1) % 4], LinkClass::Direct(1), 20.0)?;
/// }
/// let graph = fabric.lower()?;
/// let exchange = AllToAll::new(Rates::NOMINAL);
/// assert_eq!(exchange.of(&graph, &graph.all()).unwrap().gbps, 30.0, "3 x 10 GB/s");
/// assert_eq!(exchange.unrelayed().of(&graph, &graph.all()).unwrap().gbps, 0.0);
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AllToAll {
    rates: Rates,
    relayed: bool,
}

impl AllToAll {
    /// The model at these rates.
    #[must_use]
    pub fn new(rates: Rates) -> Self {
        Self {
            rates,
            relayed: true,
        }
    }

    /// The model in which no device relays data for others.
    #[must_use]
    pub fn unrelayed(self) -> Self {
        Self {
            relayed: false,
            ..self
        }
    }

    /// The bus bandwidth of an all-to-all among some devices; none for fewer than two.
    ///
    /// If direct links do not join all of them, or reach less than the host, the result is the
    /// bandwidth of the pair that is worst joined over direct links and host. All that a device
    /// sends over the host shares its one port, so b GB/s there are b GB/s for all its pairs
    /// together.
    ///
    /// The result is exact to seven digits on up to 46 devices, as long as the solver does not fail; else
    /// the gap is reported. On more devices fewer linear programs are solved.
    ///
    /// # Complexity
    ///
    /// O(n³) for each routing found, and linear programs with as many variables as there are links
    /// and ports: a fifth of a second for a hundred devices.
    ///
    /// # Panics
    /// If the set holds an id that the machine does not have.
    #[must_use]
    pub fn of(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<Bandwidth> {
        let network = CapacityNetwork::new(graph, set, &self.rates);
        if network.len() < 2 {
            return None;
        }
        let Flow { amount, at_most } = self.flow(graph, set, &network);
        let others = network.len() as f64 - 1.0;
        Some(Bandwidth::or_host(
            amount * others,
            at_most * others,
            narrowest_pair(&network),
        ))
    }

    /// How much every pair can send on direct links.
    fn flow(&self, graph: &HardwareGraph, set: &DeviceSet, network: &CapacityNetwork) -> Flow {
        let key = FlowsKey {
            direct: self.rates.direct.to_bits(),
            relayed: self.relayed,
        };
        let last = graph.memo().get_or_make(&key, LastPackings::new);
        last.get_or_make(set, || flow(&Hops::new(network), self.relayed))
    }

    /// [`AllToAll::of`] as an objective, `all_to_all_gbps` or `all_to_all_unrelayed_gbps`: 0 for
    /// one device.
    #[must_use]
    pub fn objective(&self) -> Objective<'static> {
        let model = *self;
        let name = if self.relayed {
            "all_to_all_gbps"
        } else {
            "all_to_all_unrelayed_gbps"
        };
        Objective::chosen(name, move |chosen| {
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
            // Relays carry most: what is around one device says little.
            by_degree: None,
        })
        .bounds_of(Direction::Highest)
    }
}

/// [`AllToAll`] at nominal bandwidths, as an objective.
#[must_use]
pub fn all_to_all_gbps() -> Objective<'static> {
    static NOMINAL: LazyLock<Objective<'static>> =
        LazyLock::new(|| AllToAll::new(Rates::NOMINAL).objective());
    NOMINAL.clone()
}

/// An upper bound of all exchanges on k of these devices, on direct links or over the host. A
/// device sends no more than its links carry. O(m² log m) for m devices.
fn at_most(network: &CapacityNetwork, k: usize) -> f64 {
    let each = network.at_each(k).into_iter();
    let mut each: Vec<f64> = each.map(|(links, host)| links.max(host)).collect();
    each.sort_unstable_by(|a, b| b.total_cmp(a));
    let least = k.checked_sub(1).and_then(|last| each.get(last));
    least.map_or(0.0, |least| rounded(*least))
}

/// How much every pair can send at once, as a packing of routings, and a proven bound of that.
#[derive(Clone, Copy)]
struct Flow {
    amount: f64,
    at_most: f64,
}

/// The key of the last flows: all that they depend on besides the machine and the set.
#[derive(Clone, PartialEq, Eq, Hash)]
struct FlowsKey {
    direct: u64,
    relayed: bool,
}

impl MemoKey for FlowsKey {
    type Table = LastPackings<Flow>;
}

/// The flow on these hops. Only the loads of routings matter.
fn flow(hops: &Hops, relayed: bool) -> Flow {
    let cheapest = if relayed { shortest } else { own_links };
    let effort = PackingEffort::for_steps(hops.devices.pow(3));
    let FractionalPacking {
        amount, at_most, ..
    } = largest_by(effort, &hops.capacities, |prices| {
        Some(((), cheapest(hops, prices)?))
    });
    Flow { amount, at_most }
}

/// The load if each pair sends over its own links, the cheapest way.
fn own_links(hops: &Hops, prices: &[f64]) -> Option<Vec<f64>> {
    let mut load = vec![0.0; hops.capacities.len()];
    for (a, b) in pairs(hops.devices) {
        let (_, way) = hops.cheapest(a, b, prices)?;
        way.iter()
            .flatten()
            .for_each(|&capacity| load[capacity] += 1.0);
    }
    Some(load)
}

/// The load if each pair sends along a cheapest path (Floyd and Warshall).
fn shortest(hops: &Hops, prices: &[f64]) -> Option<Vec<f64>> {
    let n = hops.devices;
    let mut cost = vec![f64::INFINITY; n * n];
    // By source and destination, the next device on the path: at first the destination itself.
    let mut next: Vec<usize> = (0..n * n).map(|at| at % n).collect();
    let mut ways = vec![[None; 2]; n * n];
    for (a, b) in pairs(n) {
        if let Some((price, way)) = hops.cheapest(a, b, prices) {
            for at in [a * n + b, b * n + a] {
                (cost[at], ways[at]) = (price, way);
            }
        }
    }
    // Floyd and Warshall: after step `via`, `cost` is that of the cheapest paths over devices up to
    // `via`. A way from a device back to itself costs something or nothing, so it changes no path.
    let mut from_via = vec![0.0; n];
    for via in 0..n {
        from_via.copy_from_slice(&cost[via * n..(via + 1) * n]);
        let rows = cost.chunks_exact_mut(n).zip(next.chunks_exact_mut(n));
        for (_, (cost, next)) in rows.enumerate().filter(|(a, _)| *a != via) {
            let (to_via, first) = (cost[via], next[via]);
            if to_via.is_infinite() {
                continue;
            }
            for ((cost, next), from_via) in cost.iter_mut().zip(next).zip(&from_via) {
                let detour = to_via + from_via;
                if detour < *cost {
                    (*cost, *next) = (detour, first);
                }
            }
        }
    }
    let mut load = vec![0.0; hops.capacities.len()];
    for (a, b) in pairs(n) {
        // One pair that is not joined makes a uniform exchange impossible.
        if cost[a * n + b].is_infinite() {
            return None;
        }
        let mut at = a;
        while at != b {
            let to = next[at * n + b];
            ways[at * n + to]
                .iter()
                .flatten()
                .for_each(|&capacity| load[capacity] += 1.0);
            at = to;
        }
    }
    Some(load)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Fabric, LinkClass};

    /// A grid of this side with 25 GB/s between neighbours.
    fn grid(side: usize) -> HardwareGraph {
        let mut fabric = Fabric::new();
        let ids: Vec<_> = (0..side * side)
            .map(|i| fabric.add_device(format!("GPU{i}")).unwrap())
            .collect();
        for at in 0..side * side {
            let right = (at % side + 1 < side).then_some(at + 1);
            let below = Some(at + side).filter(|below| *below < side * side);
            for near in right.into_iter().chain(below) {
                fabric
                    .link(ids[at], ids[near], LinkClass::Direct(1), 25.0)
                    .unwrap();
            }
        }
        fabric.lower().unwrap()
    }

    /// Of an even grid each half sends to the other over `side` links, and routes along rows, then columns, load
    /// no link more than those: that is the most.
    #[test]
    fn the_gap_of_a_large_exchange_holds_the_most_that_a_grid_carries() {
        for side in [4, 6, 8] {
            let graph = grid(side);
            let n = (side * side) as f64;
            let most = side as f64 * 25.0 / (n * n / 4.0) * (n - 1.0);
            let found = AllToAll::new(Rates::NOMINAL)
                .of(&graph, &graph.all())
                .unwrap();
            let gap = found.gbps * (1.0 - 1e-6)..=found.at_most_gbps * (1.0 + 1e-6);
            assert!(gap.contains(&most), "{most} not in {gap:?}");
            assert!(found.gbps > 0.95 * most, "{} of {most}", found.gbps);
        }
    }

    #[test]
    fn kept_flows_are_those_of_the_set_and_the_rates() {
        let (graph, fresh) = (grid(5), || grid(5));
        let half = Rates {
            direct: 0.5,
            ..Rates::NOMINAL
        };
        let models = [
            AllToAll::new(Rates::NOMINAL),
            AllToAll::new(Rates::NOMINAL).unrelayed(),
            AllToAll::new(half),
        ];
        let all = graph.all();
        let sets = [
            all.clone(),
            &all - &DeviceSet::from([24]),
            &all - &DeviceSet::from([0, 1]),
        ];
        for _ in 0..2 {
            for (model, set) in models
                .iter()
                .flat_map(|model| sets.iter().map(move |set| (model, set)))
            {
                assert_eq!(model.of(&graph, set), model.of(&fresh(), set));
            }
        }
    }
}
