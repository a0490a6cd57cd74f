//! Whether to wait: an optimal stopping rule. [`Patience`] has it.

use super::future::Leases;
use super::tables::Rings;
use super::{Foresight, mask};
use crate::pattern::Pattern;
use crate::policy::decision::Decision;
use crate::policy::preserve::is_sensitive;
use crate::policy::request::Request;
use crate::reach::Mask;
use crate::score::Candidate;
use crate::topology::LinkClass;
use crate::view::View;

/// How much a bandwidth-sensitive job gains by links, and what it costs to wait for them.
///
/// A sensitive job that takes a slow ring holds its devices for longer; one that waits for a lease to end leaves
/// devices idle until then. With leases that end in random order, and costs in device-times of a job at full speed, the
/// least cost from the moment on at which the leases A of l have ended is
///
/// > V(A) = min( k f(best ring of k within F ∪ A),  κ |F ∪ A| / (l − |A|) + mean over j of V(A ∪ {j}) )
///
/// To start costs k devices for f times their time, f being the [slowdown](Self::slowdown_at); to wait costs what idles
/// until the next end, κ / (l − |A|) of a job's time. A job waits if waiting for at least one end costs less than to
/// start where it would lie now ([`Foresight::worth_waiting`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// κ: the mean time that a running lease still lasts, over the mean time that leases last: 1 if ends are
    /// memoryless, 0.58 for run times uniform in 5..24. The lower, the more patient. Default: 0.35.
    pub kappa: f64,
    /// How many times as long a sensitive job takes at the floor as at full speed. Default: 2.1. At 1 or below nobody
    /// ever waits: right where run times do not depend on bandwidth.
    pub slowdown: f64,
    /// No job has less, GB/s. Default: 10.
    pub floor_gbps: f64,
    /// More makes no job faster, GB/s. Default: 50.
    pub full_gbps: f64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { kappa: 0.35, slowdown: 2.1, floor_gbps: 10.0, full_gbps: 50.0 }
    }
}

impl Patience {
    /// f: how many times as long as at full speed a job takes, linear in 1 / bandwidth; 1 if the floor is not below the
    /// full bandwidth.
    #[must_use]
    pub fn slowdown_at(&self, gbps: f64) -> f64 {
        let Self { slowdown, floor_gbps: floor, full_gbps: full, .. } = *self;
        let gains = floor > 0.0 && floor < full && slowdown > 1.0;
        if !gains {
            return 1.0;
        }
        let inverse = 1.0 / gbps.max(floor).min(full);
        1.0 + (slowdown - 1.0) * (inverse - 1.0 / full) / (1.0 / floor - 1.0 / full)
    }
}

/// Why a job had better wait: what both ways cost, in device-times of a job at full speed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Wait {
    /// To start now, where it would lie.
    pub starting: f64,
    /// To wait for at least one lease to end; less than `starting`.
    pub waiting: f64,
}

impl Foresight {
    /// Whether a job had better wait than take what was decided for it, by any policy; none if it had not. Only
    /// bandwidth-sensitive rings of two devices or more ever had, only where a running lease could give them a better
    /// one, and never on an idle machine. Where the policy's tables are not made for the job or the machine, and for
    /// jobs that must include devices, have a least class of link or stay on a NUMA node, the answer is none.
    ///
    /// O(2ˡ l) for l leases, and only if the best ring that any of them could make possible would pay at all.
    #[must_use]
    pub fn worth_waiting(
        &self,
        request: &Request,
        view: &View<'_>,
        decision: &Decision,
        patience: &Patience,
    ) -> Option<Wait> {
        let graph = view.graph();
        let k = request.pattern.len();
        let is_ring = request.pattern.family() == Pattern::ring(k).family();
        let free_to_choose =
            request.must_include.is_empty() && request.min_link == LinkClass::None && !request.same_numa;
        if !free_to_choose || !is_sensitive(request) || !is_ring || !self.applies(request, graph) {
            return None;
        }
        let leases = Leases::of(view)?;
        let allowed = mask(&request.eligible(graph));
        let stopping = Stopping {
            rings: &Rings::of(graph, &self.effective, k),
            devices: k as f64,
            allowed,
            patience: *patience,
            leases: &leases,
        };
        let now = decision.best().score(self.effective.name()).unwrap_or_else(|| {
            let all = graph.all();
            let candidate =
                Candidate { view: graph.with_free(&all), pattern: &request.pattern, placement: decision.placement() };
            self.effective.score(&candidate)
        });
        let starting = stopping.devices * patience.slowdown_at(now);
        let waiting = stopping.least_of_waiting(starting)?;
        (waiting < starting).then_some(Wait { starting, waiting })
    }
}

struct Stopping<'s> {
    rings: &'s Rings,
    devices: f64,
    allowed: Mask,
    patience: Patience,
    leases: &'s Leases,
}

impl Stopping<'_> {
    fn start(&self, there: Mask) -> f64 {
        let there = there & self.allowed;
        if f64::from(there.count_ones()) < self.devices {
            return f64::INFINITY;
        }
        self.devices * self.patience.slowdown_at(self.rings.within(there))
    }

    /// What idles until one of so many leases ends.
    fn idle(&self, there: Mask, left: usize) -> f64 {
        self.patience.kappa.max(0.0) * f64::from(there.count_ones()) / left as f64
    }

    /// The least cost of waiting once at least; none if it is known not to be less than `starting`.
    fn least_of_waiting(&self, starting: f64) -> Option<f64> {
        let Leases { free, held, .. } = self.leases;
        let l = held.len();
        let all = held.iter().fold(*free, |all, lease| all | lease);
        if l == 0 || self.idle(*free, l) + self.start(all) >= starting {
            return None;
        }
        // What is free once these leases have ended, and the least cost from then on; more leases have higher numbers.
        let mut there = vec![*free; 1 << l];
        for ended in 1usize..1 << l {
            there[ended] = there[ended & (ended - 1)] | held[ended.trailing_zeros() as usize];
        }
        let mut least = vec![0.0; 1 << l];
        for ended in (0..1usize << l).rev() {
            let left = l - ended.count_ones() as usize;
            let start = if ended == 0 { f64::INFINITY } else { self.start(there[ended]) };
            let others = (0..l).filter(|at| ended >> at & 1 == 0);
            let sum = others.map(|at| least[ended | 1 << at]).fold(0.0, |sum: f64, cost| sum + cost);
            let wait = if left == 0 { f64::INFINITY } else { self.idle(there[ended], left) + sum / left as f64 };
            least[ended] = start.min(wait);
        }
        Some(least[0])
    }
}
