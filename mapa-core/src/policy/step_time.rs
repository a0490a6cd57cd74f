//! The placement with the least communication time of a training job's step.
//!
//! A job has many rank orders that differ by more than a symmetry: 2,520 for eight ranks as
//! `tp=4,pp=2`, some 10^12 for sixteen. So the best order on a set of devices is found by branch
//! and bound. Ranks are placed by number on ascending devices. The time of a phase, and of a shared
//! port, only grows as more ranks are placed. A partial order that cannot become better than the
//! best one so far is dropped. The first order found with some value is the smallest with that
//! value. Whole sets are skipped by their lower bound, [`StepTime::at_least`].
//!
//! If the search does not end soon, it starts again with a good order to beat: whole groups on
//! islands of direct links, or the devices in ascending order, both improved by swaps. Orders as
//! good as that one are still followed until the first of them is found, so the answer stays the
//! same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::rules::Rules;
use crate::matching::{Few, Placement};
use crate::optimum::{max, min, settle};
use crate::pattern::{Dimension, Edge, Parallelism, Pattern};
use crate::score::{
    BestOrder, Objective, PairWay, PhaseTimes, Rates, StepTime, Subset, edges_seconds,
    preserved_gbps,
};
use crate::topology::{DeviceId, DeviceSet};

/// The placement with the least communication time of a step
/// ([`step_seconds`](crate::step_seconds)). Ties: the most preserved bandwidth (Eq. 3), the lowest
/// ids, then the smallest rank order. The request must have the job's own
/// [pattern](Parallelism::pattern).
///
/// # Complexity
/// Exact, unless the decision says that [`Request::limits`](crate::Request::limits) were reached.
/// If every pair of devices is joined, a set of k devices takes at most k! / |symmetries| nodes,
/// mostly a small part of that. If some pairs are not joined, every distinct match is weighed.
///
/// # Examples
/// ```
/// use mapa_core::{Parallelism, Policy, Rates, Request, min_step_time};
/// # let mut fabric = mapa_core::Fabric::new();
/// # let gpus = [0, 1, 2, 3].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
/// # for (i, a) in gpus.iter().enumerate() {
/// #     for (j, b) in gpus[..i].iter().enumerate() {
/// #         fabric.link(*a, *b, mapa_core::LinkClass::Direct(1), if i + j == 3 { 100.0 } else { 25.0 })?;
/// #     }
/// # }
/// # let graph = fabric.lower()?;
/// // 0-3 and 1-2 are joined by 100 GB/s, all others by 25.
/// let job = "tp=2,pp=2".parse::<Parallelism>()?.with_bytes_of("tp=2e9,pp=1e9")?;
/// let free = graph.all();
/// let decision = min_step_time(&job, Rates::NOMINAL).decide(&Request::new(job.pattern()), &graph.with_free(&free)).unwrap();
/// assert_eq!(decision.placement().iter().map(|id| id.0).collect::<Vec<_>>(), [0, 3, 1, 2]);
/// assert_eq!(decision.best().score("step_seconds"), Some(0.02 + 0.04));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[must_use]
pub fn min_step_time(job: &Parallelism, rates: Rates) -> Rules<'static> {
    with_preserved(least_step_time(job, rates))
}

/// The placement with the least time of the pattern's slowest edge, if all edges send at once
/// ([`edges_seconds`](crate::edges_seconds)). Ties and complexity are those of [`min_step_time`].
/// The traffic of the pattern must be in bytes, and the request must have this pattern.
///
/// # Examples
/// ```
/// use mapa_core::{Pattern, Policy, Rates, Request, min_edges_seconds};
/// # let mut fabric = mapa_core::Fabric::new();
/// # let gpus = [0, 1, 2].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
/// # for (a, b, gbps) in [(0, 1, 25.0), (1, 2, 50.0), (0, 2, 25.0)] {
/// #     fabric.link(gpus[a], gpus[b], mapa_core::LinkClass::Direct(1), gbps)?;
/// # }
/// # let graph = fabric.lower()?;
/// // 1-2 are joined by 50 GB/s, all others by 25: there the heavy edge goes.
/// let pattern = Pattern::from_edges(3, [(0, 1, 4e9), (1, 2, 1e9)])?;
/// let free = graph.all();
/// let decision = min_edges_seconds(&pattern, Rates::NOMINAL).decide(&Request::new(pattern), &graph.with_free(&free)).unwrap();
/// assert_eq!(decision.placement().iter().map(|id| id.0).collect::<Vec<_>>(), [1, 2, 0]);
/// assert_eq!(decision.best().score("edges_seconds"), Some(4.0 / 50.0));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[must_use]
pub fn min_edges_seconds(pattern: &Pattern, rates: Rates) -> Rules<'static> {
    with_preserved(least_edges_seconds(pattern, rates))
}

fn with_preserved(least: Rules<'static>) -> Rules<'static> {
    least.then(max(preserved_gbps())).report_paper_scores()
}

/// The least communication time of a step, and no other criterion.
pub(super) fn least_step_time(job: &Parallelism, rates: Rates) -> Rules<'static> {
    let model = StepTime::new(job, rates);
    let seconds = model.objective();
    rules(seconds, Orders::new(Some(*job), model, rates))
}

/// The least time of the slowest edge, and no other criterion.
pub(super) fn least_edges_seconds(pattern: &Pattern, rates: Rates) -> Rules<'static> {
    rules(
        edges_seconds(pattern, rates),
        Orders::new(None, StepTime::of_edges(pattern, rates), rates),
    )
}

fn rules(seconds: Objective<'static>, orders: Orders) -> Rules<'static> {
    let best_order: BestOrder<'static> = Arc::new(move |pattern, subset, go_on| {
        orders
            .model
            .is_of(pattern)
            .then(|| orders.best(subset, go_on))
            .flatten()
    });
    Rules::new("min-step-time").prefer(min(seconds.ordered(best_order)))
}

/// The job, as the search over rank orders needs it.
struct Orders {
    job: Option<Parallelism>,
    rates: Rates,
    model: StepTime,
    /// The job's pattern, with a distinct traffic for each pair of phase and number of bytes. So
    /// its symmetries map edges only to edges of the same phase and bytes.
    by_phase: Pattern,
    /// By rank, its edges to lower ranks: phase, other end and bytes.
    edges: Vec<Few<(usize, usize, f64)>>,
}

impl Orders {
    fn new(job: Option<Parallelism>, model: StepTime, rates: Rates) -> Self {
        let mut edges: Vec<Few<(usize, usize, f64)>> = Vec::new();
        let mut coloured = Vec::new();
        let colours: BTreeSet<(usize, u64)> = model
            .edges()
            .map(|(phase, .., bytes)| (phase, bytes.to_bits()))
            .collect();
        let colours: BTreeMap<(usize, u64), f64> =
            colours.into_iter().zip((1u32..).map(f64::from)).collect();
        for (phase, a, b, bytes) in model.edges() {
            edges.resize(edges.len().max(b + 1), Few::new());
            edges[b].push((phase, a, bytes));
            let traffic = colours
                .get(&(phase, bytes.to_bits()))
                .copied()
                .unwrap_or(1.0);
            coloured.push(Edge {
                a: a as u16,
                b: b as u16,
                traffic,
            });
        }
        let by_phase = Pattern::with(
            model.pattern().len(),
            coloured,
            model.pattern().demands().to_vec(),
        );
        Self {
            job,
            rates,
            model,
            by_phase,
            edges,
        }
    }

    fn best(&self, subset: Subset<'_>, go_on: &mut dyn FnMut() -> bool) -> Option<Placement> {
        let devices: Vec<DeviceId> = subset.devices.iter().collect();
        let k = devices.len();
        let mut search = OrderSearch::new(self, subset, k * k, go_on);
        search.place([0.0; Dimension::COUNT]);
        if search.halted {
            search.start(subset, &devices);
            search.left = usize::MAX;
            search.place([0.0; Dimension::COUNT]);
        }
        let order = search.best?;
        Some(order.into_iter().map(|i| devices[i]).collect())
    }

    /// The part of the job that fits on so many devices.
    fn part(&self, devices: usize) -> Option<Self> {
        let part = self.job?.part(devices)?;
        Some(Self::new(
            Some(part),
            StepTime::new(&part, self.rates),
            self.rates,
        ))
    }
}

/// The most nodes that the search on one island may take.
const NODES_OF_ISLAND: usize = 1000;

/// A search over the rank orders of one set. Devices are positions in the set.
struct OrderSearch<'s> {
    orders: &'s Orders,
    /// k x k: how devices are joined.
    ways: Vec<PairWay>,
    /// A lower bound on the time of each phase.
    floors: PhaseTimes,
    /// A lower bound on the time of all orders.
    goal: f64,
    order: Vec<usize>,
    used: Vec<bool>,
    /// The best order so far.
    best: Option<Vec<usize>>,
    /// The time of the best order.
    least: f64,
    /// Whether the search found the best order by placing ranks, so that no smaller order is as
    /// good. False if it is an order to beat, from [`OrderSearch::start`].
    is_first: bool,
    /// The number of steps left.
    left: usize,
    /// Whether the search ended for lack of steps.
    halted: bool,
    go_on: &'s mut dyn FnMut() -> bool,
}

impl<'s> OrderSearch<'s> {
    fn new(
        orders: &'s Orders,
        subset: Subset<'_>,
        left: usize,
        go_on: &'s mut dyn FnMut() -> bool,
    ) -> Self {
        let devices: Vec<DeviceId> = subset.devices.iter().collect();
        let k = devices.len();
        let from = |&a: &DeviceId| {
            devices
                .iter()
                .map(move |&b| orders.model.way(subset.graph, a, b))
        };
        let ways = devices.iter().flat_map(from).collect();
        let floors = orders.model.floors(subset);
        let goal = settle(orders.model.total(floors));
        let (order, used) = (Vec::with_capacity(k), vec![false; k]);
        let (best, least, is_first, halted) = (None, f64::INFINITY, true, false);
        Self {
            orders,
            ways,
            floors,
            goal,
            order,
            used,
            best,
            least,
            is_first,
            left,
            halted,
            go_on,
        }
    }

    /// Whether one more step may be taken.
    fn step(&mut self) -> bool {
        self.halted = self.left == 0 || !(self.go_on)();
        self.left = self.left.saturating_sub(1);
        !self.halted
    }

    /// Whether no order with this time can be the answer.
    fn loses(&self, time: f64) -> bool {
        time > self.least || time == self.least && self.is_first
    }

    /// Finds a good order to beat.
    fn start(&mut self, subset: Subset<'_>, devices: &[DeviceId]) {
        let by_islands = self.by_islands(subset, devices);
        for order in by_islands.into_iter().chain([(0..devices.len()).collect()]) {
            if self.least > self.goal {
                self.improve(order);
            }
        }
    }

    /// An order that puts whole groups on islands. Each island is solved by itself, and ranks left
    /// over come last. `None` if there is one island only, or every device is one.
    fn by_islands(&mut self, subset: Subset<'_>, devices: &[DeviceId]) -> Option<Vec<usize>> {
        let islands = islands(subset, devices);
        if islands.len() == 1 || islands.len() == devices.len() {
            return None;
        }
        let (mut order, mut rest) = (Vec::new(), Vec::new());
        for island in islands {
            let part = self.orders.part(island.len());
            let (own, left) =
                island.split_at(part.as_ref().map_or(0, |part| part.model.pattern().len()));
            rest.extend_from_slice(left);
            let Some(part) = part else { continue };
            let set: DeviceSet = own.iter().map(|&i| devices[i]).collect();
            let subset = Subset {
                graph: subset.graph,
                devices: &set,
            };
            let mut search = OrderSearch::new(&part, subset, NODES_OF_ISLAND, &mut *self.go_on);
            search.place([0.0; Dimension::COUNT]);
            let found = search.best.unwrap_or_else(|| (0..own.len()).collect());
            order.extend(found.into_iter().map(|i| own[i]));
        }
        order.append(&mut rest);
        Some(order)
    }

    /// Swaps two ranks or two tensor groups as long as that lowers the value, and keeps the result
    /// as an order to beat. k devices take at most k³ swaps.
    fn improve(&mut self, mut order: Vec<usize>) {
        let k = order.len();
        let tensor = self
            .orders
            .job
            .map_or(1, |job| job.degree(Dimension::Tensor));
        let moves: Vec<[usize; 3]> = [1, tensor][..if tensor > 1 { 2 } else { 1 }]
            .iter()
            .flat_map(|&size| (1..k / size).flat_map(move |b| (0..b).map(move |a| [size, a, b])))
            .collect();
        self.left = k.saturating_pow(3);
        let mut value = self.value(&order);
        let mut since = 0;
        for &[size, a, b] in moves.iter().cycle() {
            if since == moves.len() || !self.step() {
                break;
            }
            swap(&mut order, size, a, b);
            let next = self.value(&order);
            since += 1;
            if next < value {
                (value, since) = (next, 0);
            } else {
                swap(&mut order, size, a, b);
            }
        }
        if value.0 < self.least {
            (self.least, self.best, self.is_first) = (value.0, Some(order), false);
        }
    }

    /// The time of an order, and the sum of its edges' cubed times. The sum distinguishes orders
    /// whose slowest edges take equally long.
    fn value(&self, order: &[usize]) -> (f64, f64) {
        let way = |a: usize, b: usize| self.ways[order[a] * order.len() + order[b]];
        let times = self.orders.model.times(self.floors, way);
        let cubes = self
            .orders
            .model
            .edges()
            .map(|(_, a, b, bytes)| (bytes / way(a, b).rate).powi(3))
            .sum();
        (settle(self.orders.model.total(times)), cubes)
    }

    /// Places the next rank and all after it. Returns whether a better order may still exist.
    fn place(&mut self, times: PhaseTimes) -> bool {
        let (orders, rank, k) = (self.orders, self.order.len(), self.used.len());
        if rank == k {
            (self.least, self.best) = (settle(orders.model.total(times)), Some(self.order.clone()));
            self.is_first = true;
            return self.least > self.goal;
        }
        let above = orders
            .by_phase
            .rank_matcher()
            .lower(rank)
            .map(|lower| self.order[lower] + 1);
        for device in above.unwrap_or(0)..k {
            if self.used[device] {
                continue;
            }
            if !self.step() {
                return false;
            }
            let next = self.with(rank, device, times);
            if self.loses(settle(orders.model.total(next))) {
                continue;
            }
            self.used[device] = true;
            self.order.push(device);
            let go_on = self.place(next);
            self.order.pop();
            self.used[device] = false;
            if !go_on {
                return false;
            }
        }
        true
    }

    /// Lower bounds on the times of the phases with one more rank placed.
    fn with(&self, rank: usize, device: usize, times: PhaseTimes) -> PhaseTimes {
        let mut next = times;
        for (time, floor) in next.iter_mut().zip(self.floors) {
            *time = time.max(floor);
        }
        let k = self.used.len();
        for &(phase, other, bytes) in self.orders.edges.get(rank).into_iter().flatten() {
            next[phase] = next[phase].max(bytes / self.ways[self.order[other] * k + device].rate);
        }
        for exchange in self.orders.model.exchanges() {
            let at = |rank: usize| {
                self.order
                    .get(rank)
                    .copied()
                    .or((rank == self.order.len()).then_some(device))
            };
            let way = |a: usize, b: usize| Some(self.ways[at(a)? * k + at(b)?]);
            let peers = exchange.peers.get(rank).into_iter().flatten().copied();
            for stage in peers.filter(|peer| *peer < rank).chain([rank]) {
                next[exchange.phase] =
                    next[exchange.phase].max(exchange.port(stage, |peer| way(stage, peer)));
            }
        }
        next
    }
}

/// The groups of devices that direct links connect, as positions.
fn islands(subset: Subset<'_>, devices: &[DeviceId]) -> Vec<Vec<usize>> {
    let direct = |a: usize, b: usize| {
        subset
            .graph
            .link_of_ranks(devices[a], devices[b])
            .class
            .is_direct()
    };
    let mut left: Vec<usize> = (0..devices.len()).collect();
    let mut islands = Vec::new();
    while !left.is_empty() {
        let (mut island, mut at) = (vec![left.remove(0)], 0);
        while at < island.len() {
            let (near, far): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|&i| direct(island[at], i));
            island.extend(near);
            (left, at) = (far, at + 1);
        }
        island.sort_unstable();
        islands.push(island);
    }
    islands
}

/// Swaps blocks a and b of this size.
fn swap(order: &mut [usize], size: usize, a: usize, b: usize) {
    (0..size).for_each(|i| order.swap(a * size + i, b * size + i));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_change_places_rank_by_rank() {
        let mut order: Vec<usize> = (0..8).collect();
        swap(&mut order, 2, 1, 3);
        assert_eq!(order, [0, 1, 6, 7, 4, 5, 2, 3]);
        swap(&mut order, 2, 1, 3);
        assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
