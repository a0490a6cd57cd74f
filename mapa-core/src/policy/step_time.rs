//! The placement on which a training job's step communicates least.
//!
//! Rank orders that differ by more than a symmetry of the job are many: 2,520 of eight ranks as `tp=4,pp=2`, some 10^12 of sixteen.
//! So on a set of devices the best one is sought by branch and bound: ranks are placed by number on ascending devices, a phase's
//! time only grows as ranks are placed, and what cannot become better than the best order so far is given up. The first order of a
//! value is the smallest that has it. Sets themselves are passed over by [`StepTime::at_least`].

use std::sync::Arc;

use super::criterion::{max, min, settle};
use super::rules::Rules;
use crate::matching::{Few, Placement};
use crate::pattern::{Edge, Parallelism, Pattern};
use crate::score::{BestOrder, Rates, StepTime, Subset, preserved_gbps};
use crate::topology::DeviceId;

/// The least communication time of a step ([`step_seconds`](crate::step_seconds)); then the most preserved bandwidth (Eq. 3),
/// the lowest ids, the smallest rank order. For requests with the job's own [pattern](Parallelism::pattern).
///
/// Exact on machines where every pair of devices is joined, if [`Request::limits`](crate::Request::limits) are not reached, as the
/// decision says: a set of k devices takes at most k! / |symmetries| nodes, and mostly a small part of that. Where some pairs are
/// not joined, every distinct match is weighed.
///
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
/// let job: Parallelism = "tp=2,pp=2".parse()?;
/// let free = graph.all();
/// let decision = min_step_time(&job, Rates::NOMINAL).decide(&Request::new(job.pattern()), &graph.with_free(&free)).unwrap();
/// assert_eq!(decision.placement().iter().map(|id| id.0).collect::<Vec<_>>(), [0, 3, 1, 2]);
/// assert_eq!(decision.best().score("step_seconds"), Some(0.01 + 0.04));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[must_use]
pub fn min_step_time(job: &Parallelism, rates: Rates) -> Rules<'static> {
    let model = StepTime::new(job, rates);
    let orders = Orders::new(model.clone());
    let best_order: BestOrder<'static> = Arc::new(move |pattern, subset, go_on| {
        orders.model.is_of(pattern).then(|| orders.best(subset, go_on)).flatten()
    });
    let seconds = model.objective().ordered(best_order);
    Rules::new("min-step-time").prefer(min(seconds)).then(max(preserved_gbps())).report_paper_scores()
}

/// What a search over rank orders needs to know of the job.
struct Orders {
    model: StepTime,
    /// The job's pattern with a traffic of its own for each phase: its symmetries keep phases.
    by_phase: Pattern,
    /// By rank, the edges to lower ranks: phase and other end.
    edges: Vec<Few<(usize, usize)>>,
    /// By phase, what each edge carries.
    bytes: [f64; 3],
}

impl Orders {
    fn new(model: StepTime) -> Self {
        let mut edges: Vec<Few<(usize, usize)>> = Vec::new();
        let (mut bytes, mut coloured) = ([0.0; 3], Vec::new());
        for (phase, a, b, traffic) in model.edges() {
            edges.resize(edges.len().max(b + 1), Few::new());
            edges[b].push((phase, a));
            bytes[phase] = traffic;
            coloured.push(Edge { a: a as u16, b: b as u16, traffic: 1.0 + phase as f64 });
        }
        let by_phase = Pattern::with(model.pattern().len(), coloured, model.pattern().demands().to_vec());
        Self { model, by_phase, edges, bytes }
    }

    fn best(&self, subset: Subset<'_>, go_on: &mut dyn FnMut() -> bool) -> Option<Placement> {
        let devices: Vec<DeviceId> = subset.devices.iter().collect();
        let k = devices.len();
        let mut seconds = vec![[0.0; 3]; k * k];
        for (i, &a) in devices.iter().enumerate() {
            for (j, &b) in devices.iter().enumerate() {
                let rate = self.model.bytes_per_second(subset.graph.link_of_ranks(a, b));
                seconds[i * k + j] = self.bytes.map(|bytes| bytes / rate);
            }
        }
        let floors = self.model.floors(subset);
        let goal = settle(self.model.total(floors));
        let order = Vec::with_capacity(k);
        let mut search = Search {
            orders: self,
            seconds,
            floors,
            goal,
            order,
            used: vec![false; k],
            best: (f64::INFINITY, None),
            go_on,
        };
        search.place([0.0; 3]);
        let order = search.best.1?;
        Some(order.into_iter().map(|i| devices[i]).collect())
    }
}

/// Over the rank orders of one set; devices are positions in it.
struct Search<'s> {
    orders: &'s Orders,
    /// k x k: what an edge of each phase takes there.
    seconds: Vec<[f64; 3]>,
    /// What each phase takes at least.
    floors: [f64; 3],
    /// What no order goes below.
    goal: f64,
    order: Vec<usize>,
    used: Vec<bool>,
    /// The time of the best order so far, and it.
    best: (f64, Option<Vec<usize>>),
    go_on: &'s mut dyn FnMut() -> bool,
}

impl Search<'_> {
    /// Places the next rank, and all after it; whether something better may be left.
    fn place(&mut self, times: [f64; 3]) -> bool {
        let (orders, rank, k) = (self.orders, self.order.len(), self.used.len());
        if rank == k {
            self.best = (settle(orders.model.total(times)), Some(self.order.clone()));
            return self.best.0 > self.goal;
        }
        let above = orders.by_phase.rank_matcher().lower(rank).map(|lower| self.order[lower] + 1);
        for device in above.unwrap_or(0)..k {
            if self.used[device] {
                continue;
            }
            if !(self.go_on)() {
                return false;
            }
            let next = self.with(rank, device, times);
            if settle(orders.model.total(next)) >= self.best.0 {
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

    /// What the phases take at least with one more rank placed.
    fn with(&self, rank: usize, device: usize, times: [f64; 3]) -> [f64; 3] {
        let k = self.used.len();
        let mut next = times;
        for (time, floor) in next.iter_mut().zip(self.floors) {
            *time = time.max(floor);
        }
        for &(phase, other) in self.orders.edges.get(rank).into_iter().flatten() {
            next[phase] = next[phase].max(self.seconds[self.order[other] * k + device][phase]);
        }
        next
    }
}
