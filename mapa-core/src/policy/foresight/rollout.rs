//! The next jobs tried out.
//!
//! Where the queue is seen, a set is worth what the job has on it and what the next jobs will have, if each takes the
//! best set that is free when its turn comes: own₀ + Σ γⁱ ownᵢ. In between leases end, in the order of known ends or in
//! orders that are drawn: then the worth is the mean over rollouts. Draws are hashes of a named stream and of what is
//! seen, so the policy has no state. Which leases end next is drawn by their positions; how many devices that frees is
//! the same whatever set is tried, so that all sets are tried under the same course of events.
//!
//! The horizon is the end of the queue that is shown. Inventing a job beyond it is worse than stopping there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use super::future::Leases;
use super::patience::Patience;
use super::tables::{Own, left_over};
use super::{Ahead, Best};
use crate::allocator::LeaseId;
use crate::matching::Few;
use crate::pattern::Pattern;
use crate::policy::criterion::settle;
use crate::policy::preserve::is_sensitive;
use crate::policy::random::{lot, stream};
use crate::reach::{Mask, Spread, earliness, of_size};
use crate::topology::LinkClass;

/// How many of the best sets by λ N are compared.
pub(super) const SETS: usize = 16;

/// How many orders of ends are drawn.
const ROLLOUTS: u32 = 32;

/// How much less each job counts than the one before it.
const GAMMA: f64 = 0.9;

/// A job that comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    /// How many devices it asks for.
    pub devices: usize,
    /// Whether its speed depends on the links it gets.
    pub sensitive: bool,
    /// How long it runs at full speed, seconds; looked at where ends are known.
    pub seconds: f64,
}

/// What is known of what comes next on a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// The jobs that follow, in order. Each is taken for a ring; those larger than any that the policy expects, or
    /// than the machine, are passed over. More than six or eight are not worth their time.
    pub next: Vec<Next>,
    /// When leases will end, where that is known.
    pub ends: Option<Ends>,
}

/// When leases end: those that run, and those of the jobs that come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ends {
    /// By lease, in how many seconds; others last longer than all.
    pub running: BTreeMap<LeaseId, f64>,
    /// How long the job that is placed runs at full speed, seconds.
    pub seconds: f64,
    /// How slow links make sensitive jobs.
    pub slowdown: Patience,
}

impl Ahead<'_> {
    /// Puts the best sets in the order of what rollouts say; ties stay as they were.
    pub(super) fn roll_out(&self, outlook: &Outlook, top: &mut [Best]) {
        let graph = self.view.graph();
        let largest = self.policy.largest().min(graph.len());
        let fits = |next: &&Next| (1..=largest).contains(&next.devices);
        let jobs = outlook.next.iter().filter(fits).map(|next| (*next, Takes::of(self, next.devices))).collect();
        let Leases { free, held, ids } = &self.leases;
        let state = [u64::from(*free)].into_iter().chain(held.iter().map(|lease| u64::from(*lease)));
        let course = Course { jobs, drawn: stream("foresight, ends of leases", state) };
        let ends_of = |ends: &Ends| -> Few<f64> {
            ids.iter().map(|id| ends.running.get(id).copied().unwrap_or(f64::INFINITY)).collect()
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
                    (0..ROLLOUTS).map(|rollout| course.drawn(free, leases(), rollout)).sum::<f64>()
                        / f64::from(ROLLOUTS)
                }
            };
            best.worth = settle(own.unwrap_or(0.0) + later);
        }
        top.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    }
}

impl Ends {
    /// How long a job lasts on its links, seconds.
    fn length(&self, seconds: f64, own: Option<f64>) -> f64 {
        seconds * own.map_or(1.0, |gbps| self.slowdown.slowdown_at(gbps))
    }
}

/// What happens after a job is placed.
struct Course {
    jobs: Vec<(Next, Arc<Takes>)>,
    drawn: u64,
}

impl Course {
    /// What the next jobs have in one order of ends, discounted.
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
            let Some((set, own)) = takes.set(free, next.sensitive) else { continue };
            sum += share * own.unwrap_or(0.0);
            free &= !set;
            leases.push(set);
        }
        sum
    }

    /// The same in the order of known ends.
    fn known(&self, mut free: Mask, mut leases: Few<(f64, Mask)>, ends: &Ends) -> f64 {
        let (mut sum, mut share, mut now) = (0.0, 1.0, 0.0);
        for (next, takes) in &self.jobs {
            share *= GAMMA;
            while (free.count_ones() as usize) < next.devices {
                // All that end at one moment end together.
                let Some(end) = leases.iter().map(|lease| lease.0).min_by(f64::total_cmp) else { return sum };
                now = f64::max(now, end);
                free |= leases.iter().filter(|lease| lease.0 <= end).fold(0, |all, lease| all | lease.1);
                leases.retain(|lease| lease.0 > end);
            }
            let Some((set, own)) = takes.set(free, next.sensitive) else { continue };
            sum += share * own.unwrap_or(0.0);
            free &= !set;
            leases.push((now + ends.length(next.seconds, own), set));
        }
        sum
    }
}

/// Which set a ring of one size takes of what is free: a sensitive one the set of the highest bandwidth, then whichever
/// leaves most, the others whichever leaves most. What was found once is kept for the machine.
struct Takes {
    k: usize,
    own: Arc<Own>,
    left: Arc<Box<[f64]>>,
    /// By sensitivity and by what is free; 0 where nobody has looked yet, or there is none.
    sets: [Box<[AtomicU16]>; 2],
}

impl Takes {
    fn of(ahead: &Ahead<'_>, k: usize) -> Arc<Self> {
        let (graph, model) = (ahead.view.graph(), &ahead.policy.effective);
        let (memo, key) = (graph.memo(), [12, model.id(), k as u64]);
        memo.get(&key).unwrap_or_else(|| {
            let sets = || (0..1usize << graph.len()).map(|_| AtomicU16::new(0)).collect();
            let own = Own::of(graph, model, &Pattern::ring(k), LinkClass::None);
            memo.put(&key, 4 << graph.len(), Self { k, own, left: left_over(graph), sets: [sets(), sets()] })
        })
    }

    /// The set, and what a sensitive job has on it.
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
        let spread = Spread::new(free);
        let sets = of_size(free.count_ones() as usize, self.k).map(|chosen| spread.of(chosen));
        let key = |set: Mask| {
            let own = self.own.at(set)?;
            Some((if sensitive { own } else { 0.0 }, settle(self.left[(free & !set) as usize]), earliness(set), set))
        };
        let better = |a: &(f64, f64, u32, Mask), b: &(f64, f64, u32, Mask)| {
            a.0.total_cmp(&b.0).then_with(|| a.1.total_cmp(&b.1)).then_with(|| a.2.cmp(&b.2))
        };
        sets.filter_map(key).max_by(better).map(|(.., set)| set)
    }
}
