//! The single hops of a network, and what each takes of which capacity, for things that go either way alike.

use super::network::Network;

/// What two devices can send to each other by: their own links, or their ports of one link switch. Every capacity stands for
/// both directions, of which a hop takes the same.
pub(super) struct Hops {
    pub(super) devices: usize,
    /// GB/s, each above 0.
    pub(super) capacities: Vec<f64>,
    /// By pair `a * devices + b`, `a < b`: the capacities that a hop between them takes, by each way that there is.
    ways: Vec<Vec<Way>>,
}

/// One or two capacities.
type Way = [Option<usize>; 2];

impl Hops {
    pub(super) fn new(network: &Network) -> Self {
        let n = network.len();
        let mut hops = Self { devices: n, capacities: Vec::new(), ways: vec![Vec::new(); n * n] };
        for (a, b) in pairs(n) {
            let gbps = network.direct[a * n + b];
            if gbps > 0.0 {
                let own = hops.capacity(gbps);
                hops.ways[a * n + b].push([Some(own), None]);
            }
        }
        for switch in &network.ports {
            let ports: Vec<_> = switch.iter().map(|&gbps| (gbps > 0.0).then(|| hops.capacity(gbps))).collect();
            for (a, b) in pairs(n).filter(|&(a, b)| ports[a].is_some() && ports[b].is_some()) {
                hops.ways[a * n + b].push([ports[a], ports[b]]);
            }
        }
        hops
    }

    fn capacity(&mut self, gbps: f64) -> usize {
        self.capacities.push(gbps);
        self.capacities.len() - 1
    }

    /// The cheapest way between two devices at these prices of the capacities.
    pub(super) fn cheapest(&self, a: usize, b: usize, prices: &[f64]) -> Option<(f64, Way)> {
        let ways = self.ways[a.min(b) * self.devices + a.max(b)].iter();
        let priced = ways.map(|way| (way.iter().flatten().map(|&i| prices[i]).sum::<f64>(), *way));
        priced.min_by(|(a, _), (b, _)| a.total_cmp(b))
    }
}

/// All pairs `(a, b)` with `a < b < n`.
pub(super) fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |a| (a + 1..n).map(move |b| (a, b)))
}

/// The narrowest hop of a widest spanning tree, over the best of direct links and host for each pair, GB/s: what can be sent
/// from any device to any other along one path. 0 where some cannot be reached. O(n²).
pub(super) fn narrowest(network: &Network) -> f64 {
    let n = network.len();
    let width = |a: usize, b: usize| network.alone(a, b).max(network.host[a * n + b]);
    let mut to_tree: Vec<f64> = (0..n).map(|b| if b == 0 { f64::INFINITY } else { width(0, b) }).collect();
    let mut outside: Vec<usize> = (1..n).collect();
    let mut narrowest = f64::INFINITY;
    while let Some(next) = (0..outside.len()).max_by(|&a, &b| to_tree[outside[a]].total_cmp(&to_tree[outside[b]])) {
        let device = outside.swap_remove(next);
        narrowest = narrowest.min(to_tree[device]);
        outside.iter().for_each(|&b| to_tree[b] = to_tree[b].max(width(device, b)));
    }
    narrowest
}

/// The pair that is worst joined over the best of direct links and host, GB/s. O(n²).
pub(super) fn narrowest_pair(network: &Network) -> f64 {
    let n = network.len();
    let width = |(a, b): (usize, usize)| network.alone(a, b).max(network.host[a * n + b]);
    pairs(n).map(width).fold(f64::INFINITY, f64::min)
}
