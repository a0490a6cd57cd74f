//! All-to-all: the largest uniform exchange, in which every device sends the same to every other.
//!
//! What each ordered pair can send at once is the *maximum concurrent flow* with equal demands (Shahrokhi and Matula, J. ACM 37,
//! 1990). As a packing: a routing is one path for each pair, and flows are fractions of routings. The cheapest routing at
//! given prices takes a shortest path for each pair, so that the bound of any prices is (price of all capacities) / (sum of all
//! shortest distances). Capacities are the same both ways, hence the two directions of a pair may take the same path.
//!
//! nccl-tests multiply the algorithm bandwidth of an all-to-all, n parts a device of which one stays, by (n-1)/n: the bus
//! bandwidth is what a device sends to others, (n-1) times the flow of a pair. It never exceeds that of trees
//! ([`TreePacking`](super::TreePacking)): the trees of a complete graph, one edge a pair, laid along the paths of the flow, hold
//! spanning trees for as many.

use super::fractional::{Packing, largest};
use super::hops::{Hops, narrowest_pair, pairs};
use super::network::Network;
use super::{Bandwidth, Rates};
use crate::score::Objective;
use crate::topology::{DeviceSet, HardwareGraph};

/// The bandwidth of an all-to-all exchange, by links alone.
///
/// Devices of the set pass on what is for others: an upper bound of what libraries do, few of which relay, and over one
/// device at most. [`AllToAll::unrelayed`] has each pair send over what joins the two.
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
        Self { rates, relayed: true }
    }

    /// No device passes on what is for others.
    #[must_use]
    pub fn unrelayed(self) -> Self {
        Self { relayed: false, ..self }
    }

    /// The bus bandwidth of an all-to-all among some devices; none for fewer than two. Where direct links do not join them all,
    /// or reach less, it is that of the pair worst joined over direct links and host: as all that a device sends over the host
    /// shares its one port, b GB/s there are b GB/s for all pairs of it together.
    ///
    /// Exact, up to seven digits, as long as the solver does not fail; else with a gap that is told. O(n³) for each routing found
    /// and linear programs with as many variables as there are links and ports.
    ///
    /// # Panics
    /// If the set holds an id that the machine has not.
    #[must_use]
    pub fn of(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<Bandwidth> {
        let network = Network::new(graph, set, &self.rates);
        if network.len() < 2 {
            return None;
        }
        let Packing { amount, at_most, .. } = flow(&Hops::new(&network), self.relayed);
        let others = network.len() as f64 - 1.0;
        Some(Bandwidth::or_host(amount * others, at_most * others, narrowest_pair(&network)))
    }

    /// It as an objective, `all_to_all_gbps` or `all_to_all_unrelayed_gbps`: 0 for one device.
    #[must_use]
    pub fn objective(&self) -> Objective<'static> {
        let model = *self;
        let name = if self.relayed { "all_to_all_gbps" } else { "all_to_all_unrelayed_gbps" };
        let gbps = move |graph: &HardwareGraph, set: &DeviceSet| model.of(graph, set).map_or(0.0, |found| found.gbps);
        Objective::chosen(name, move |chosen| gbps(chosen.graph, chosen.devices)).blind_to_ids()
    }
}

/// How much every pair can send, as a packing of routings, of which only the loads matter.
fn flow(hops: &Hops, relayed: bool) -> Packing<()> {
    let cheapest = if relayed { shortest } else { own_links };
    largest(&hops.capacities, |prices| Some(((), cheapest(hops, prices)?)))
}

/// The load of each pair over what joins the two, the cheapest way.
fn own_links(hops: &Hops, prices: &[f64]) -> Option<Vec<f64>> {
    let mut load = vec![0.0; hops.capacities.len()];
    for (a, b) in pairs(hops.devices) {
        let (_, way) = hops.cheapest(a, b, prices)?;
        way.iter().flatten().for_each(|&capacity| load[capacity] += 1.0);
    }
    Some(load)
}

/// The load of each pair along a cheapest path (Floyd and Warshall).
fn shortest(hops: &Hops, prices: &[f64]) -> Option<Vec<f64>> {
    let n = hops.devices;
    let mut cost = vec![f64::INFINITY; n * n];
    let mut next: Vec<usize> = (0..n * n).map(|at| at % n).collect();
    let mut ways = vec![[None; 2]; n * n];
    for (a, b) in pairs(n) {
        if let Some((price, way)) = hops.cheapest(a, b, prices) {
            for at in [a * n + b, b * n + a] {
                (cost[at], ways[at]) = (price, way);
            }
        }
    }
    for via in 0..n {
        for (a, b) in (0..n * n).map(|at| (at / n, at % n)).filter(|(a, b)| a != b && *a != via && *b != via) {
            let detour = cost[a * n + via] + cost[via * n + b];
            if detour < cost[a * n + b] {
                (cost[a * n + b], next[a * n + b]) = (detour, next[a * n + via]);
            }
        }
    }
    let mut load = vec![0.0; hops.capacities.len()];
    for (a, b) in pairs(n) {
        if cost[a * n + b].is_infinite() {
            return None;
        }
        let mut at = a;
        while at != b {
            let to = next[at * n + b];
            ways[at * n + to].iter().flatten().for_each(|&capacity| load[capacity] += 1.0);
            at = to;
        }
    }
    Some(load)
}
