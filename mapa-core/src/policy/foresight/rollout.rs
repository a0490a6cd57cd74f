//! Rollouts: the next jobs are tried out on each candidate set.
//!
//! If the scheduler shows its queue, the worth of a set is own₀ + Σ γⁱ ownᵢ. Here own₀ is the job's
//! bandwidth on the set, and ownᵢ is that of the i-th next job, if each takes the best set that is
//! free at its turn. Between jobs, leases end: in the order of their known ends, or else in random
//! orders, and then the worth is the mean over rollouts. Random numbers are hashes of a named
//! stream and of the state, so the policy has no state. A lease that ends is drawn by its position.
//! The number of devices that it frees is the same for every candidate set, so all sets are
//! compared under the same course of events.
//!
//! A rollout ends with the last job of the queue shown. Inventing further jobs gave worse results.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use super::ahead::{LookAhead, ScoredSet};
use super::future::Leases;
use super::outlook::{Ends, Next, Outlook};
use super::tables::{PreservedSums, SetScores};
use crate::ids::LinkClass;
use crate::matching::Few;
use crate::optimum::settle;
use crate::pattern::Pattern;
use crate::policy::preserve::is_sensitive;
use crate::policy::random::{lot, stream};
use crate::reach::{Mask, SubsetMap, earliness, of_size};
use crate::topology::MemoKey;

/// The number of random orders of ends.
const ROLLOUTS: u32 = 32;

/// The discount γ from each job to the next.
const GAMMA: f64 = 0.9;

impl LookAhead<'_> {
    /// Sorts the best sets by their worth in rollouts. Ties keep their order.
    pub(super) fn roll_out(&self, outlook: &Outlook, top: &mut [ScoredSet]) {
        let graph = self.view.graph();
        let largest = self.policy.largest().min(graph.len());
        let fits = |next: &&Next| (1..=largest).contains(&next.devices);
        let jobs = outlook
            .next
            .iter()
            .filter(fits)
            .map(|next| (*next, Takes::of(self, next.devices)))
            .collect();
        let Leases { free, held, ids } = &self.leases;
        let state = [u64::from(*free)]
            .into_iter()
            .chain(held.iter().map(|lease| u64::from(*lease)));
        let course = Course {
            jobs,
            drawn: stream("foresight, ends of leases", state),
        };
        let ends_of = |ends: &Ends| -> Few<f64> {
            ids.iter()
                .map(|id| ends.running.get(id).copied().unwrap_or(f64::INFINITY))
                .collect()
        };
        let ends = outlook.ends.as_ref().map(|ends| (ends, ends_of(ends)));
        for best in &mut *top {
            let own = self.own.at(best.set).filter(|_| is_sensitive(self.request));
            let free = free & !best.set;
            let later = match &ends {
                Some((known, ends)) => {
                    let lease = |(at, lease): (&f64, &Mask)| (*at, *lease);
                    let mut leases: Few<(f64, Mask)> = ends.iter().zip(held).map(lease).collect();
                    leases.push((known.length(known.seconds, own), best.set));
                    course.known(free, leases, known)
                }
                None => {
                    let leases = || held.iter().copied().chain([best.set]).collect();
                    (0..ROLLOUTS)
                        .map(|rollout| course.drawn(free, leases(), rollout))
                        .sum::<f64>()
                        / f64::from(ROLLOUTS)
                }
            };
            best.worth = settle(own.unwrap_or(0.0) + later);
        }
        top.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    }
}

impl Ends {
    /// The run time of a job with bandwidth `own`, seconds; `seconds` if it is not
    /// bandwidth-sensitive.
    fn length(&self, seconds: f64, own: Option<f64>) -> f64 {
        seconds * own.map_or(1.0, |gbps| self.slowdown.slowdown_at(gbps))
    }
}

/// The events after a job is placed: the next jobs start as leases end.
struct Course {
    jobs: Vec<(Next, Arc<Takes>)>,
    drawn: u64,
}

impl Course {
    /// The discounted bandwidth of the next jobs if leases end in one random order.
    fn drawn(&self, mut free: Mask, mut leases: Few<Mask>, rollout: u32) -> f64 {
        let (mut sum, mut share, mut draws) = (0.0, 1.0, 0);
        for (next, takes) in &self.jobs {
            share *= GAMMA;
            while (free.count_ones() as usize) < next.devices {
                if leases.is_empty() {
                    return sum;
                }
                let at = (lot(self.drawn, rollout << 16 | draws) * leases.len() as f64) as usize;
                free |= leases.remove(at);
                draws += 1;
            }
            let Some((set, own)) = takes.set(free, next.sensitive) else {
                continue;
            };
            sum += share * own.unwrap_or(0.0);
            free &= !set;
            leases.push(set);
        }
        sum
    }

    /// The discounted bandwidth of the next jobs if leases end at their known times.
    fn known(&self, mut free: Mask, mut leases: Few<(f64, Mask)>, ends: &Ends) -> f64 {
        let (mut sum, mut share, mut now) = (0.0, 1.0, 0.0);
        for (next, takes) in &self.jobs {
            share *= GAMMA;
            while (free.count_ones() as usize) < next.devices {
                // Leases with the same end free their devices together.
                let Some(end) = leases.iter().map(|lease| lease.0).min_by(f64::total_cmp) else {
                    return sum;
                };
                now = f64::max(now, end);
                free |= leases
                    .iter()
                    .filter(|lease| lease.0 <= end)
                    .fold(0, |all, lease| all | lease.1);
                leases.retain(|lease| lease.0 > end);
            }
            let Some((set, own)) = takes.set(free, next.sensitive) else {
                continue;
            };
            sum += share * own.unwrap_or(0.0);
            free &= !set;
            leases.push((now + ends.length(next.seconds, own), set));
        }
        sum
    }
}

/// The set that a ring of one size takes of the free devices. A sensitive job takes the set with
/// the highest bandwidth, then the one that leaves the most preserved bandwidth; other jobs take
/// the one that leaves the most. Sets that were found are cached for the machine.
struct Takes {
    k: usize,
    own: Arc<SetScores>,
    left: Arc<PreservedSums>,
    /// By sensitivity and free set. 0 if no set has been looked for yet, or none exists.
    sets: [Box<[AtomicU16]>; 2],
}

/// The key of a [`Takes`]: a model, and the number of ranks.
#[derive(Clone, PartialEq, Eq, Hash)]
struct TakesKey {
    model: u64,
    ranks: usize,
}

impl MemoKey for TakesKey {
    type Table = Takes;
}

impl Takes {
    fn of(ahead: &LookAhead<'_>, k: usize) -> Arc<Self> {
        let (graph, model) = (ahead.view.graph(), &ahead.policy.effective);
        let key = TakesKey {
            model: model.id(),
            ranks: k,
        };
        graph.memo().get_or_make(&key, || {
            let sets = || {
                (0..1usize << graph.len())
                    .map(|_| AtomicU16::new(0))
                    .collect()
            };
            let scores = SetScores::with(graph, model, &Pattern::ring(k), LinkClass::None);
            let takes = Self {
                k,
                own: scores,
                left: PreservedSums::of(graph),
                sets: [sets(), sets()],
            };
            (4 << graph.len(), takes)
        })
    }

    /// The set that a job takes, and its bandwidth there if it is sensitive.
    fn set(&self, free: Mask, sensitive: bool) -> Option<(Mask, Option<f64>)> {
        let sensitive = sensitive && self.k > 1;
        let known = &self.sets[usize::from(sensitive)][free as usize];
        let set = match known.load(Relaxed) {
            0 => {
                let set = self.best(free, sensitive)?;
                known.store(set as u16, Relaxed);
                set
            }
            set => Mask::from(set),
        };
        Some((set, self.own.at(set).filter(|_| sensitive)))
    }

    fn best(&self, free: Mask, sensitive: bool) -> Option<Mask> {
        let spread = SubsetMap::new(free);
        let sets = of_size(free.count_ones() as usize, self.k).map(|chosen| spread.of(chosen));
        let key = |set: Mask| {
            let own = self.own.at(set)?;
            Some((
                if sensitive { own } else { 0.0 },
                settle(self.left.within(free & !set)),
                earliness(set),
                set,
            ))
        };
        let better = |a: &(f64, f64, u32, Mask), b: &(f64, f64, u32, Mask)| {
            a.0.total_cmp(&b.0)
                .then_with(|| a.1.total_cmp(&b.1))
                .then_with(|| a.2.cmp(&b.2))
        };
        sets.filter_map(key).max_by(better).map(|(.., set)| set)
    }
}
