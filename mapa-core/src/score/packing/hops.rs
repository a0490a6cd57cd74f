//! The single hops of a network, and which capacities each takes, for things that load both
//! directions alike.

use super::network::CapacityNetwork;

/// The ways between devices: a pair's own links, or its ports of one link switch. Every capacity
/// stands for both directions, since a hop takes equally much of either.
pub(super) struct Hops {
    pub(super) devices: usize,
    /// GB/s, each above 0.
    pub(super) capacities: Vec<f64>,
    /// By pair, at `a * devices + b` with `a < b`: for each way, the capacities that a hop takes.
    ways: Vec<Vec<HopCapacities>>,
}

/// One capacity (own links), or two (ports of a switch).
type HopCapacities = [Option<usize>; 2];

impl Hops {
    /// The hops of a network.
    pub(super) fn new(network: &CapacityNetwork) -> Self {
        let n = network.len();
        let mut hops = Self {
            devices: n,
            capacities: Vec::new(),
            ways: vec![Vec::new(); n * n],
        };
        for (a, b) in pairs(n) {
            let gbps = network.direct[a * n + b];
            if gbps > 0.0 {
                let own = hops.capacity(gbps);
                hops.ways[a * n + b].push([Some(own), None]);
            }
        }
        for switch in &network.ports {
            let ports: Vec<_> = switch
                .iter()
                .map(|&gbps| (gbps > 0.0).then(|| hops.capacity(gbps)))
                .collect();
            for (a, b) in pairs(n).filter(|&(a, b)| ports[a].is_some() && ports[b].is_some()) {
                hops.ways[a * n + b].push([ports[a], ports[b]]);
            }
        }
        hops
    }

    /// The neighbours of each of at most 32 devices, in bits.
    pub(super) fn adjacent(&self) -> Vec<u32> {
        let mut adjacent = vec![0; self.devices];
        for (a, b) in
            pairs(self.devices).filter(|(a, b)| !self.ways[a * self.devices + b].is_empty())
        {
            adjacent[a] |= 1 << b;
            adjacent[b] |= 1 << a;
        }
        adjacent
    }

    /// Adds a capacity; its number.
    fn capacity(&mut self, gbps: f64) -> usize {
        self.capacities.push(gbps);
        self.capacities.len() - 1
    }

    /// The cheapest way between two devices at these prices of the capacities.
    pub(super) fn cheapest(
        &self,
        a: usize,
        b: usize,
        prices: &[f64],
    ) -> Option<(f64, HopCapacities)> {
        let ways = self.ways[a.min(b) * self.devices + a.max(b)].iter();
        let priced = ways.map(|way| (way.iter().flatten().map(|&i| prices[i]).sum::<f64>(), *way));
        priced.min_by(|(a, _), (b, _)| a.total_cmp(b))
    }
}

/// All pairs `(a, b)` with `a < b < n`.
pub(super) fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |a| (a + 1..n).map(move |b| (a, b)))
}

/// The narrowest hop of a widest spanning tree, GB/s, with each pair joined by the better of direct
/// links and host: what any device can send to any other along one path. 0 if some device cannot be
/// reached. O(n²).
pub(super) fn narrowest(network: &CapacityNetwork) -> f64 {
    let n = network.len();
    // Prim's algorithm from device 0. `to_tree` has the widest hop from each device outside to the
    // tree.
    let mut to_tree: Vec<f64> = (0..n)
        .map(|b| match b {
            0 => f64::INFINITY,
            _ => network.best(0, b),
        })
        .collect();
    let mut outside: Vec<usize> = (1..n).collect();
    let mut narrowest = f64::INFINITY;
    while let Some(next) =
        (0..outside.len()).max_by(|&a, &b| to_tree[outside[a]].total_cmp(&to_tree[outside[b]]))
    {
        let device = outside.swap_remove(next);
        narrowest = narrowest.min(to_tree[device]);
        outside
            .iter()
            .for_each(|&b| to_tree[b] = to_tree[b].max(network.best(device, b)));
    }
    narrowest
}

/// The bandwidth of the pair that is worst joined, over the better of direct links and host, GB/s.
/// O(n²).
pub(super) fn narrowest_pair(network: &CapacityNetwork) -> f64 {
    pairs(network.len())
        .map(|(a, b)| network.best(a, b))
        .fold(f64::INFINITY, f64::min)
}
