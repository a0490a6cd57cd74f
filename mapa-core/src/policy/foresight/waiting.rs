//! Whether a job should wait, by an optimal stopping rule. [`Patience`] defines it.

use super::definition::Foresight;
use super::future::Leases;
use super::patience::Patience;
use super::sets::mask;
use super::tables::Rings;
use crate::ids::LinkClass;
use crate::pattern::Pattern;
use crate::policy::decision::Decision;
use crate::policy::preserve::is_sensitive;
use crate::reach::Mask;
use crate::request::Request;
use crate::score::Candidate;
use crate::view::View;

/// The costs of starting and of waiting, for a job that should wait. The unit is one device for the
/// time that the job takes at full speed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Wait {
    /// The cost of starting now, on the devices decided.
    pub starting: f64,
    /// The cost of waiting for at least one lease to end; less than `starting`.
    pub waiting: f64,
}

impl Foresight {
    /// The costs if the job should wait instead of starting by `decision`, which any policy may
    /// have made; `None` if it should start.
    ///
    /// A job waits only if it is a bandwidth-sensitive ring of at least two devices and a running
    /// lease could give it a better ring. On an idle machine no job waits. The answer is also
    /// `None` if the policy's tables do not cover the job or the machine, and for jobs that must
    /// include devices, have a least class of link, or must stay on one NUMA node.
    ///
    /// # Complexity
    /// O(2ˡ l) for l leases. O(l) if even the best ring of all devices would not make up for the
    /// wait until the next lease ends.
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
        let free_to_choose = request.must_include.is_empty()
            && request.min_link == LinkClass::None
            && !request.same_numa;
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
        let now = decision
            .best()
            .score(self.effective.name())
            .unwrap_or_else(|| {
                let all = graph.all();
                let candidate = Candidate {
                    view: graph.with_free(&all),
                    pattern: &request.pattern,
                    placement: decision.placement(),
                };
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

    /// The cost of the devices `there` that idle until one of `left` leases ends.
    fn idle(&self, there: Mask, left: usize) -> f64 {
        self.patience.kappa.max(0.0) * f64::from(there.count_ones()) / left as f64
    }

    /// The least cost of waiting for at least one end; `None` if it is known not to be less than
    /// `starting`.
    fn least_of_waiting(&self, starting: f64) -> Option<f64> {
        let Leases { free, held, .. } = self.leases;
        let l = held.len();
        let all = held.iter().fold(*free, |all, lease| all | lease);
        if l == 0 || self.idle(*free, l) + self.start(all) >= starting {
            return None;
        }
        // By set of ended leases, as a mask: the devices free then, and the least cost from then
        // on. A set with one more lease has a higher mask, so costs are computed from the highest
        // mask down.
        let mut there = vec![*free; 1 << l];
        for ended in 1usize..1 << l {
            there[ended] = there[ended & (ended - 1)] | held[ended.trailing_zeros() as usize];
        }
        let mut least = vec![0.0; 1 << l];
        for ended in (0..1usize << l).rev() {
            let left = l - ended.count_ones() as usize;
            let start = if ended == 0 {
                f64::INFINITY
            } else {
                self.start(there[ended])
            };
            let others = (0..l).filter(|at| ended >> at & 1 == 0);
            let sum = others
                .map(|at| least[ended | 1 << at])
                .fold(0.0, |sum: f64, cost| sum + cost);
            let wait = if left == 0 {
                f64::INFINITY
            } else {
                self.idle(there[ended], left) + sum / left as f64
            };
            least[ended] = start.min(wait);
        }
        Some(least[0])
    }
}
