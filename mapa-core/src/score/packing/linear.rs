//! The largest fractional packing of rings by linear programming, and proofs of it in plain arithmetic.
//!
//! *Rings need no direction.* Reverse every ring of a packing: that fits as well, since capacities are the same both ways. Half of
//! each then sends as much one way as the other; so for three or more devices undirected cycles are packed, and what a link
//! or port carries both ways together is twice its capacity.
//!
//! There are up to (n - 1)! / 2 cycles, so the program is solved from its dual (Dantzig, Fulkerson, Johnson 1954, turned to
//! packing): prices of pairs and of ports, such that every cycle costs at least 1, of the least total. A hop is paid at the price
//! of its links or of two ports, whichever is cheaper. Cycles are added as they are found too cheap ([`hamilton::cheapest`],
//! exact), until none is. The program's answer is trusted in nothing: prices, whatever they are, prove that no packing
//! exceeds total / cheapest cycle; and weights of cycles, divided by the worst load, are a packing.

use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, Solution, Variable};

use super::hamilton::{self, hops};
use super::network::Network;

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

/// How many times cycles are added; far beyond what was ever needed.
const ROUNDS: usize = 400;

/// A cycle that costs this much is not too cheap: below the least gap that is looked at.
const ENOUGH: f64 = 1.0 - 1e-11;

/// What can carry a hop between two devices.
struct Hop {
    a: usize,
    b: usize,
    /// Of their own links, both ways together.
    links: f64,
    /// Switches that both have a port of.
    switches: Vec<usize>,
}

/// Capacities as the program has them: the largest is 1.
pub(super) struct Capacities<'n> {
    network: &'n Network,
    scale: f64,
    hops: Vec<Hop>,
}

impl<'n> Capacities<'n> {
    pub(super) fn new(network: &'n Network) -> Self {
        let n = network.len();
        let largest = network.direct.iter().chain(network.ports.iter().flatten()).copied().fold(0.0, f64::max);
        let scale = if largest > 0.0 { 2.0 * largest } else { 1.0 };
        let pairs = (0..n).flat_map(|b| (0..b).map(move |a| (a, b)));
        let hop = |(a, b): (usize, usize)| {
            let joins = |switch: &usize| network.ports[*switch][a].min(network.ports[*switch][b]) > 0.0;
            let switches = (0..network.ports.len()).filter(joins).collect();
            Hop { a, b, links: 2.0 * network.direct[a * n + b] / scale, switches }
        };
        let hops = pairs.map(hop).filter(|hop| hop.links > 0.0 || !hop.switches.is_empty()).collect();
        Self { network, scale, hops }
    }

    fn port(&self, switch: usize, device: usize) -> f64 {
        2.0 * self.network.ports[switch][device] / self.scale
    }

    /// By pair, n x n, which hop it is.
    fn index(&self) -> Vec<Option<usize>> {
        let n = self.network.len();
        let mut index = vec![None; n * n];
        for (at, hop) in self.hops.iter().enumerate() {
            (index[hop.a * n + hop.b], index[hop.b * n + hop.a]) = (Some(at), Some(at));
        }
        index
    }

    /// The best packing of any cycles, starting from some; `at_most` is what is proven already. Up to sixteen devices:
    /// O(2ⁿ n²) for each cycle added, and the linear programs.
    pub(super) fn solve(&self, mut cycles: Vec<Vec<usize>>, at_most: f64) -> Packed {
        let n = self.network.len();
        let mut at_most = at_most / self.scale;
        let Some(mut prices) = Prices::new(self, &cycles) else { return self.pack(&cycles, at_most) };
        let mut added = 0;
        for _ in 0..ROUNDS {
            let (price, total) = prices.effective(self);
            let found = hamilton::cheapest(n, &price);
            let Some(&(cheapest, _)) = found.first() else { return Packed::NONE };
            at_most = at_most.min(total / cheapest);
            if cheapest >= ENOUGH {
                break;
            }
            let cheap = found.into_iter().filter(|(cost, cycle)| *cost < ENOUGH && !cycles.contains(cycle));
            let cheap: Vec<Vec<usize>> = cheap.map(|(_, cycle)| cycle).collect();
            cycles.extend(cheap);
            if cycles.len() == added {
                break;
            }
            added = cycles.len();
            match Prices::new(self, &cycles) {
                Some(better) => prices = better,
                None => break,
            }
        }
        self.pack(&cycles, at_most)
    }

    /// The best packing of these cycles, scaled so that the worst load is exactly what can be carried.
    pub(super) fn pack(&self, cycles: &[Vec<usize>], at_most: f64) -> Packed {
        let packed = Weights::new(self, cycles).map(|weights| weights.scaled(self, cycles));
        let (value, rings) = packed.unwrap_or_default();
        let rings = rings.into_iter().map(|(ring, weight)| (ring, weight * self.scale)).collect();
        Packed { gbps: value * self.scale, at_most: at_most.max(value) * self.scale, rings }
    }
}

fn solved(problem: &Problem) -> Option<Solution> {
    problem.solve().ok()?.into_solution().ok()
}

/// The program of prices, solved.
struct Prices {
    solution: Solution,
    /// By hop.
    hops: Vec<Variable>,
    /// By switch and device.
    ports: Vec<Vec<Variable>>,
}

impl Prices {
    fn new(on: &Capacities<'_>, cycles: &[Vec<usize>]) -> Option<Self> {
        let n = on.network.len();
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let hops: Vec<Variable> = on.hops.iter().map(|hop| problem.add_var(hop.links, (0.0, 1.0))).collect();
        let switches = 0..on.network.ports.len();
        let ports: Vec<Vec<Variable>> =
            switches.map(|s| (0..n).map(|a| problem.add_var(on.port(s, a), (0.0, 1.0))).collect()).collect();
        for (hop, &price) in on.hops.iter().zip(&hops) {
            for &s in &hop.switches {
                let terms = [(price, 1.0), (ports[s][hop.a], -1.0), (ports[s][hop.b], -1.0)];
                problem.add_constraint(&terms[..], ComparisonOp::Le, 0.0);
            }
        }
        let index = on.index();
        for cycle in cycles {
            let terms = hamilton::hops(cycle).filter_map(|(a, b)| Some((hops[index[a * n + b]?], 1.0)));
            problem.add_constraint(&terms.collect::<Vec<_>>()[..], ComparisonOp::Ge, 1.0);
        }
        Some(Self { solution: solved(&problem)?, hops, ports })
    }

    /// n x n, what each hop costs; and what all capacities cost together.
    fn effective(&self, on: &Capacities<'_>) -> (Vec<f64>, f64) {
        let n = on.network.len();
        let value = |variable: Variable| self.solution.var_value(variable).max(0.0);
        let port = |s: usize, a: usize| value(self.ports[s][a]);
        let mut price = vec![f64::INFINITY; n * n];
        let mut total = 0.0;
        for (hop, &variable) in on.hops.iter().zip(&self.hops) {
            let links = if hop.links > 0.0 { value(variable) } else { f64::INFINITY };
            total += if hop.links > 0.0 { hop.links * links } else { 0.0 };
            let switched = hop.switches.iter().map(|&s| port(s, hop.a) + port(s, hop.b));
            let cheapest = switched.fold(links, f64::min);
            (price[hop.a * n + hop.b], price[hop.b * n + hop.a]) = (cheapest, cheapest);
        }
        for s in 0..self.ports.len() {
            total += (0..n).map(|a| on.port(s, a) * port(s, a)).sum::<f64>();
        }
        (price, total)
    }
}

/// The program of weights of some cycles, solved.
struct Weights {
    cycles: Vec<f64>,
    /// By hop: over its links, then over each of its switches.
    ways: Vec<Vec<f64>>,
}

impl Weights {
    fn new(on: &Capacities<'_>, cycles: &[Vec<usize>]) -> Option<Self> {
        let n = on.network.len();
        let index = on.index();
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let free = (0.0, f64::INFINITY);
        let weights: Vec<Variable> = cycles.iter().map(|_| problem.add_var(1.0, free)).collect();
        let mut load = vec![LinearExpr::empty(); on.hops.len()];
        for (cycle, &weight) in cycles.iter().zip(&weights) {
            hops(cycle).filter_map(|(a, b)| index[a * n + b]).for_each(|hop| load[hop].add(weight, 1.0));
        }
        let mut ports = vec![vec![LinearExpr::empty(); n]; on.network.ports.len()];
        let mut ways: Vec<Vec<Variable>> = Vec::new();
        for (hop, mut load) in on.hops.iter().zip(load) {
            let mut way = Vec::new();
            if !hop.switches.is_empty() {
                way.push(problem.add_var(0.0, (0.0, hop.links)));
                load.add(way[0], -1.0);
                for &s in &hop.switches {
                    let over = problem.add_var(0.0, free);
                    load.add(over, -1.0);
                    ports[s][hop.a].add(over, 1.0);
                    ports[s][hop.b].add(over, 1.0);
                    way.push(over);
                }
            }
            problem.add_constraint(load, ComparisonOp::Le, if way.is_empty() { hop.links } else { 0.0 });
            ways.push(way);
        }
        for (s, ports) in ports.into_iter().enumerate() {
            for (a, port) in ports.into_iter().enumerate() {
                problem.add_constraint(port, ComparisonOp::Le, on.port(s, a));
            }
        }
        let solution = solved(&problem)?;
        let values = |variables: &[Variable]| variables.iter().map(|v| solution.var_value(*v).max(0.0)).collect();
        Some(Self { cycles: values(&weights), ways: ways.iter().map(|way| values(way)).collect() })
    }

    /// The weights divided by the worst load: a packing; its sum and its cycles.
    fn scaled(&self, on: &Capacities<'_>, cycles: &[Vec<usize>]) -> (f64, Vec<(Vec<usize>, f64)>) {
        let n = on.network.len();
        let index = on.index();
        let mut load = vec![0.0; on.hops.len()];
        // Less than this is a rounding error of the program.
        let used = || cycles.iter().zip(&self.cycles).filter(|(_, weight)| **weight > 1e-12);
        for (cycle, weight) in used() {
            hops(cycle).filter_map(|(a, b)| index[a * n + b]).for_each(|hop| load[hop] += weight);
        }
        let mut worst: f64 = 0.0;
        let mut ports = vec![vec![0.0; n]; on.network.ports.len()];
        for ((hop, load), ways) in on.hops.iter().zip(&load).zip(&self.ways) {
            // What the cycles send must go some way: in the shares that the program gives.
            let all: f64 = ways.iter().sum();
            let share = |at: usize| if all > 0.0 { load * ways[at] / all } else { 0.0 };
            let over_links = if all > 0.0 { share(0) } else { *load };
            if over_links > 0.0 {
                worst = worst.max(over_links / hop.links);
            }
            for (at, &s) in hop.switches.iter().enumerate() {
                ports[s][hop.a] += share(at + 1);
                ports[s][hop.b] += share(at + 1);
            }
        }
        for (s, ports) in ports.iter().enumerate() {
            for (a, load) in ports.iter().enumerate().filter(|(_, load)| **load > 0.0) {
                worst = worst.max(load / on.port(s, a));
            }
        }
        if !(worst > 0.0 && worst.is_finite()) {
            return (0.0, Vec::new());
        }
        let rings: Vec<(Vec<usize>, f64)> = used().map(|(cycle, weight)| (cycle.clone(), weight / worst)).collect();
        (rings.iter().map(|(_, weight)| weight).sum(), rings)
    }
}
