//! Computes the worth of every candidate set: the job's own bandwidth plus the expected bandwidth
//! of the next job.

use std::cmp::Ordering;
use std::sync::Arc;

use super::definition::Foresight;
use super::future::Leases;
use super::sets::mask;
use super::tables::{PreservedSums, RingMix, SetScores};
use crate::matching::{Few, SearchStats, StopReason};
use crate::optimum::settle;
use crate::policy::preserve::is_sensitive;
use crate::reach::{MOST, Mask, SubsetMap, choose, earliness, of_size};
use crate::request::Request;
use crate::view::View;

/// After how many sets the caller's deadline is checked.
const ASK_EVERY: u64 = 1 << 10;

/// How many sets rollouts compare: the best by own + λ N.
const SETS_TO_ROLL_OUT: usize = 16;

/// A candidate set.
pub(super) struct ScoredSet {
    pub(super) set: Mask,
    /// own + λ N, GB/s. After rollouts: own plus the discounted bandwidths of the next jobs.
    pub(super) worth: f64,
    /// PreservedBW (Eq. 3) of the devices that stay free, GB/s.
    pub(super) left: f64,
}

impl ScoredSet {
    /// Compares by worth, then preserved bandwidth, then lowest ids; the better is greater.
    fn compare(&self, other: &Self) -> Ordering {
        let by_value = self
            .worth
            .total_cmp(&other.worth)
            .then_with(|| self.left.total_cmp(&other.left));
        by_value.then_with(|| earliness(self.set).cmp(&earliness(other.set)))
    }
}

/// The data of one decision: the request, the state, and the machine's tables.
pub(super) struct LookAhead<'d> {
    pub(super) policy: &'d Foresight,
    pub(super) request: &'d Request,
    pub(super) view: &'d View<'d>,
    pub(super) leases: Leases,
    pub(super) own: Arc<SetScores>,
    mix: Arc<RingMix>,
    left: Arc<PreservedSums>,
    /// The number of sets to keep.
    room: usize,
}

impl<'d> LookAhead<'d> {
    pub(super) fn new(
        policy: &'d Foresight,
        request: &'d Request,
        view: &'d View<'d>,
    ) -> Option<Self> {
        let graph = view.graph();
        Some(Self {
            policy,
            request,
            view,
            leases: Leases::of(view)?,
            own: SetScores::with(graph, &policy.effective, &request.pattern, request.min_link),
            mix: RingMix::of(graph, &policy.effective, &policy.sizes),
            left: PreservedSums::of(graph),
            room: request
                .runners_up
                .saturating_add(1)
                .max(if policy.outlook.is_some() {
                    SETS_TO_ROLL_OUT
                } else {
                    1
                }),
        })
    }

    /// The best sets, best first. `None` if no set is admitted, or if there are more than the
    /// request's limit on nodes.
    ///
    /// # Complexity
    /// C(f, k) sets for k of f free devices. Each takes O(Σ C(l, d) l) for l leases, of which d end
    /// before the largest job fits.
    pub(super) fn best(&self) -> Option<(Vec<ScoredSet>, SearchStats)> {
        let Self { request, view, .. } = *self;
        let domain = view.room_for(request.pattern.demands().first()?);
        let domain = mask(&(&domain & &request.eligible(view.graph())));
        let must = mask(&request.must_include);
        if must & !domain != 0
            || request
                .must_include
                .last()
                .is_some_and(|last| last.index() >= MOST)
        {
            return None;
        }
        let k = request.pattern.len();
        let parts = if request.same_numa {
            view.graph()
                .numa_nodes()
                .iter()
                .map(|(_, node)| mask(node) & domain)
                .collect()
        } else {
            vec![domain]
        };
        let fits = |part: &Mask| must & !part == 0 && part.count_ones() as usize >= k;
        let more = k.checked_sub(must.count_ones() as usize)?;
        let parts: Vec<Mask> = parts.into_iter().filter(fits).collect();
        let nodes = parts
            .iter()
            .map(|part| choose((part & !must).count_ones() as usize, more))
            .sum();
        if nodes > request.limits.nodes || request.limits.matches == 0 {
            return None;
        }
        let mut stats = SearchStats {
            nodes,
            ..SearchStats::default()
        };
        let mut top = Vec::new();
        let mut leases = self.leases.held.clone();
        leases.push(0);
        for part in parts {
            let spread = SubsetMap::new(part & !must);
            let open = (part & !must).count_ones() as usize;
            for (looked, chosen) in (1u64..).zip(of_size(open, more)) {
                self.offer(spread.of(chosen) | must, &mut leases, &mut top);
                if looked.is_multiple_of(ASK_EVERY) && view.is_out_of_time() {
                    stats.stopped = StopReason::of_time();
                    break;
                }
            }
        }
        stats.matches = top.len() as u64;
        (!top.is_empty()).then_some((top, stats))
    }

    /// Inserts a set into `top` if it is among the best. `leases` are the machine's, with a last
    /// entry for this job's own.
    fn offer(&self, set: Mask, leases: &mut [Mask], top: &mut Vec<ScoredSet>) {
        let Some(own) = self.own.at(set) else { return };
        let own = if is_sensitive(self.request) { own } else { 0.0 };
        let room = self.room;
        let weight = self.policy.weight;
        let worst = top
            .last()
            .filter(|_| top.len() >= room)
            .map(|worst| worst.worth);
        if worst.is_some_and(|worst| settle(own + weight * self.mix.most()) < worst) {
            return;
        }
        if let Some(last) = leases.last_mut() {
            *last = set;
        }
        let rest = self.leases.free & !set;
        let worth = settle(own + weight * self.mix.expected(rest, leases));
        if worst.is_some_and(|worst| worth < worst) {
            return;
        }
        let left = settle(self.left.within(rest));
        let best = ScoredSet { set, worth, left };
        let at = top.partition_point(|old| old.compare(&best).is_ge());
        top.insert(at, best);
        top.truncate(room);
    }

    /// The keys that compare this machine with others: by how much the placement changes the worth
    /// and the preserved bandwidth. The machine's worth before the placement is subtracted, as the
    /// placement did not cause it.
    pub(super) fn keys_across_machines(&self, best: &ScoredSet) -> Few<f64> {
        let Leases { free, held, .. } = &self.leases;
        let before = self.policy.weight * self.mix.expected(*free, held);
        [best.worth - before, best.left - self.left.within(*free)]
            .into_iter()
            .map(settle)
            .collect()
    }
}
