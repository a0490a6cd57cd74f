//! A policy that looks ahead: [`Foresight`] has the definition.
//!
//! What a set of devices is worth to later jobs is an expectation over the orders in which leases can end (`future`),
//! of the best ring of each size within every set of devices, which is worked out once for a machine (`tables`).
//! *Whether* to start is another question: `patience`. A scheduler that shows its queue can have the next jobs tried
//! out: `rollout`.
//!
//! What was tried and left: looking at the free set alone, and at what is lost there without the job's own bandwidth,
//! both of which do worse than preserve; learned values of states, which did no better than the expectation and were
//! noisy.

mod future;
mod patience;
mod rollout;
mod tables;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

pub use patience::{Patience, Wait};
pub use rollout::{Ends, Next, Outlook};

use self::future::Leases;
use self::tables::{Mix, Own, left_over};
use super::Policy;
use super::criterion::settle;
use super::decision::{Decision, Refusal, RunnerUp, Scored};
use super::preserve::{is_sensitive, preserve_with};
use super::request::Request;
use crate::matching::{Few, SearchStats, StopReason};
use crate::reach::{Family, MOST, Mask, Spread, choose, earliness, members, of_size};
use crate::score::{Objective, effective_gbps, preserved_gbps};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};
use crate::view::View;

/// What a placement is worth, as its scores name it.
const WORTH: &str = "foresight_gbps";

/// How often the caller's clock is looked at while sets are gone through.
const ASK_EVERY: u64 = 1 << 10;

/// [`Foresight`] by Eq. 2.
///
/// ```
/// use std::sync::Arc;
/// use mapa_core::{Allocator, Fabric, LinkClass, Pattern, Request, foresight};
///
/// // Two pairs joined by double links, and single links between the pairs.
/// let mut fabric = Fabric::new();
/// let root = fabric.add_numa("cpu0", 0)?;
/// let ids: Vec<_> = (0..4).map(|i| fabric.add_device(format!("GPU{i}")).unwrap()).collect();
/// for (a, b, bricks) in [(0, 1, 2), (2, 3, 2), (1, 2, 1), (3, 0, 1)] {
///     fabric.link(ids[a], ids[b], LinkClass::Direct(bricks), f64::from(bricks) * 25.0)?;
/// }
/// ids.iter().try_for_each(|&id| fabric.attach(id, root, 12.0))?;
/// let mut machine = Allocator::new(Arc::new(fabric.lower()?));
/// let lease = machine.allocate(foresight(), &Request::new(Pattern::ring(2)).sensitive(true))?;
/// assert_eq!(lease.placement.set().to_string(), "0,1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn foresight() -> Foresight {
    Foresight::new(effective_gbps())
}

/// Takes the set of devices that is worth most to the job and to those who come next, as far as the leases now running
/// tell. A set S of k devices is worth
///
/// > own(S) + λ Σₖ pₖ Nₖ,   Nₖ = E\[ best ring of k within F ∪ A \],   GB/s
///
/// - own: the bandwidth that the job has on S; 0 for jobs that are not sensitive and for those on one device.
/// - pₖ: the share of jobs that ask for k devices ([`sizes`](Self::sizes)); one device has no ring.
/// - F: what stays free. A: the leases that have ended, this job's own among those that may, by the first moment at
///   which k devices are free. Any order of ends is as likely as any other, and the expectation over all of them is
///   exact. Nothing is asked of durations, nor of the queue.
///
/// [`preserve`](crate::preserve) gives a sensitive job the best ring that is free. Whether that is wise depends on what
/// is left to those who come next, and under load that is not what is free now, which is less than the next job wants:
/// it is what is free together with whatever ends next.
///
/// The rank order on the set, and the scores, are those of [`preserve_with`] by the same model; `foresight_gbps` is the
/// worth. Ties: the most preserved bandwidth (Eq. 3), lowest ids, then smallest rank order.
///
/// Every constraint of the request holds. Tables are of whole devices, up to sixteen, of jobs whose ranks are alike and
/// share with nobody, in rings, chains, stars or all-to-all of one traffic, and of jobs no larger than the largest of
/// [`sizes`](Self::sizes). All else is placed as preserve would place it: machines of more devices or with devices that
/// can be cut up, other patterns, devices with several tenants. So is a job for which the sets to look at are more than
/// its limit on nodes. What a device's tenant is may be unknown, as on a bare free set: then it counts as a lease of
/// its own.
///
/// Over a fleet, machines are compared by what a placement takes of the future there, not by what it leaves: else an
/// idle machine were always the best. Machines on which it decides as preserve come after those.
///
/// O(C(f, k) Σ C(l, d) l) for k of f free devices and l leases, d as many as can end before the largest job fits; some
/// microseconds on a machine that is in use. Tables are made once per machine: O(2ᵐ m) beside the values of the C(m, k)
/// sets of each size.
#[derive(Clone)]
pub struct Foresight {
    effective: Objective<'static>,
    weight: f64,
    /// Shares by size, ascending, each once; their sum is 1.
    sizes: Vec<(usize, f64)>,
    outlook: Option<Arc<Outlook>>,
    preserve: Arc<dyn Policy>,
}

impl Foresight {
    /// By a model of effective bandwidth, GB/s: one of links, such as [`effective_gbps`], of which the best rank order
    /// of a set counts, or one of sets, such as [`ring_packing_gbps`](crate::ring_packing_gbps).
    #[must_use]
    pub fn new(effective: Objective<'static>) -> Self {
        let preserve = Arc::new(preserve_with(effective.clone(), preserved_gbps()));
        let this = Self { effective, weight: 0.5, sizes: Vec::new(), outlook: None, preserve };
        this.sizes((1..=5).map(|size| (size, 1.0)))
    }

    /// λ: how much the next job counts beside the one that is placed. Default: 0.5; anything from 0.05 to 1 does about
    /// the same. What is not a finite number above 0 counts as 0.
    #[must_use]
    pub fn weight(self, weight: f64) -> Self {
        Self { weight: if weight.is_finite() { weight.max(0.0) } else { 0.0 }, ..self }
    }

    /// How many jobs ask for how many devices: sizes with weights, which are scaled to 1. Default: 1 to 5, all alike.
    /// Sizes beyond sixteen and weights that are not finite numbers above 0 are dropped.
    #[must_use]
    pub fn sizes(self, sizes: impl IntoIterator<Item = (usize, f64)>) -> Self {
        let mut shares = [0.0; MOST + 1];
        for (size, weight) in sizes {
            if (1..=MOST).contains(&size) && weight.is_finite() && weight > 0.0 {
                shares[size] += weight;
            }
        }
        let sum: f64 = shares.iter().sum();
        let sizes = shares.iter().enumerate().filter(|(_, share)| **share > 0.0);
        Self { sizes: sizes.map(|(size, share)| (size, share / sum)).collect(), ..self }
    }

    /// With the jobs that come next, for one decision on one machine: sets are compared by what these jobs will have
    /// rather than by λ N, which only picks the sixteen that are compared. An outlook on nobody changes nothing.
    #[must_use]
    pub fn expecting(&self, outlook: Outlook) -> Self {
        let outlook = Some(outlook).filter(|outlook| !outlook.next.is_empty()).map(Arc::new);
        Self { outlook, ..self.clone() }
    }

    /// The model of effective bandwidth.
    #[must_use]
    pub fn model(&self) -> &Objective<'static> {
        &self.effective
    }

    /// The largest size that is expected.
    fn largest(&self) -> usize {
        self.sizes.last().map_or(0, |(size, _)| *size)
    }

    /// Whether the tables are of such machines and jobs.
    fn applies(&self, request: &Request, graph: &HardwareGraph) -> bool {
        let pattern = &request.pattern;
        graph.has_only_wholes()
            && graph.wholes().len() <= MOST
            && (1..=self.largest()).contains(&pattern.len())
            && pattern.is_uniform()
            && pattern.demands().iter().all(|demand| !demand.is_shared())
            && pattern.traffic().is_some()
            && pattern.family() != Family::Other
    }

    /// The best sets, best first, and what the first makes of the machine; none where preserve decides.
    fn best(&self, request: &Request, view: &View<'_>) -> Option<(Vec<Best>, Few<f64>, SearchStats)> {
        if !self.applies(request, view.graph()) || view.stop().is_some_and(|stop| stop()) {
            return None;
        }
        let ahead = Ahead::new(self, request, view)?;
        let (mut top, stats) = ahead.best()?;
        if let Some(outlook) = &self.outlook {
            ahead.roll_out(outlook, &mut top);
            top.truncate(request.runners_up.saturating_add(1));
        }
        let keys = ahead.keys_across_machines(top.first()?);
        Some((top, keys, stats))
    }

    /// The job on a set, as preserve lays it there.
    fn on(&self, best: &Best, request: &Request, view: &View<'_>) -> Result<Scored, Refusal> {
        let request = request.clone().only(set_of(best.set)).runners_up(0);
        let decision = self.preserve.decide(&request, view)?;
        Ok(decision.best().clone().with_score(WORTH, best.worth))
    }
}

impl Policy for Foresight {
    fn name(&self) -> &str {
        "foresight"
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let answer = self.best(request, view);
        let Some(((best, others), keys, stats)) =
            answer.as_ref().and_then(|(top, keys, stats)| Some((top.split_first()?, keys, stats)))
        else {
            return Ok(self.preserve.decide(request, view)?.renamed("foresight".into()).with_first_key(-1.0));
        };
        let runner_up = |other: &Best| {
            let lost_on = if other.worth < best.worth {
                Some(WORTH.into())
            } else {
                (other.left < best.left).then(|| preserved_gbps().name().to_owned().into())
            };
            Ok(RunnerUp { scored: self.on(other, request, view)?, lost_on })
        };
        let runners_up = others.iter().map(runner_up).collect::<Result<_, Refusal>>()?;
        let scored = self.on(best, request, view)?;
        let decision = Decision::new("foresight".into(), request, view.stamp(), scored, runners_up, *stats);
        Ok(decision.with_keys(keys.clone()).with_first_key(0.0))
    }
}

impl fmt::Debug for Foresight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foresight")
            .field("effective", &self.effective)
            .field("weight", &self.weight)
            .field("sizes", &self.sizes)
            .finish_non_exhaustive()
    }
}

/// A set that may be the best.
struct Best {
    set: Mask,
    /// own + λ N, GB/s; or own and what the jobs have that come next, by rollouts.
    worth: f64,
    /// PreservedBW, GB/s.
    left: f64,
}

impl Best {
    /// The better is greater.
    fn compare(&self, other: &Self) -> Ordering {
        let by_value = self.worth.total_cmp(&other.worth).then_with(|| self.left.total_cmp(&other.left));
        by_value.then_with(|| earliness(self.set).cmp(&earliness(other.set)))
    }
}

/// A decision that looks ahead: what it is about.
struct Ahead<'d> {
    policy: &'d Foresight,
    request: &'d Request,
    view: &'d View<'d>,
    leases: Leases,
    own: Arc<Own>,
    mix: Arc<Mix>,
    left: Arc<Box<[f64]>>,
    /// How many sets to keep.
    room: usize,
}

impl<'d> Ahead<'d> {
    fn new(policy: &'d Foresight, request: &'d Request, view: &'d View<'d>) -> Option<Self> {
        let graph = view.graph();
        Some(Self {
            policy,
            request,
            view,
            leases: Leases::of(view)?,
            own: Own::of(graph, &policy.effective, &request.pattern, request.min_link),
            mix: Mix::of(graph, &policy.effective, &policy.sizes),
            left: left_over(graph),
            room: request.runners_up.saturating_add(1).max(if policy.outlook.is_some() { rollout::SETS } else { 1 }),
        })
    }

    /// The best sets, best first; none if they are too many to look at, or there is none.
    fn best(&self) -> Option<(Vec<Best>, SearchStats)> {
        let Self { request, view, .. } = *self;
        let domain = view.room_for(request.pattern.demands().first()?);
        let domain = mask(&(&domain & &request.eligible(view.graph())));
        let must = mask(&request.must_include);
        if must & !domain != 0 || request.must_include.last().is_some_and(|last| last.index() >= MOST) {
            return None;
        }
        let k = request.pattern.len();
        let parts = if request.same_numa {
            view.graph().numa_nodes().iter().map(|(_, node)| mask(node) & domain).collect()
        } else {
            vec![domain]
        };
        let fits = |part: &Mask| must & !part == 0 && part.count_ones() as usize >= k;
        let more = k.checked_sub(must.count_ones() as usize)?;
        let parts: Vec<Mask> = parts.into_iter().filter(fits).collect();
        let nodes = parts.iter().map(|part| choose((part & !must).count_ones() as usize, more)).sum();
        if nodes > request.limits.nodes || request.limits.matches == 0 {
            return None;
        }
        let mut stats = SearchStats { nodes, ..SearchStats::default() };
        let mut top = Vec::new();
        let mut leases = self.leases.held.clone();
        leases.push(0);
        for part in parts {
            let spread = Spread::new(part & !must);
            let open = (part & !must).count_ones() as usize;
            for (looked, chosen) in (1u64..).zip(of_size(open, more)) {
                self.offer(spread.of(chosen) | must, &mut leases, &mut top);
                if looked.is_multiple_of(ASK_EVERY) && view.stop().is_some_and(|stop| stop()) {
                    stats.stopped = StopReason::Caller;
                    break;
                }
            }
        }
        stats.matches = top.len() as u64;
        (!top.is_empty()).then_some((top, stats))
    }

    /// Puts a set where it belongs, if it does.
    fn offer(&self, set: Mask, leases: &mut [Mask], top: &mut Vec<Best>) {
        let Some(own) = self.own.at(set) else { return };
        let own = if is_sensitive(self.request) { own } else { 0.0 };
        let room = self.room;
        let weight = self.policy.weight;
        let worst = top.last().filter(|_| top.len() >= room).map(|worst| worst.worth);
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
        let left = settle(self.left[rest as usize]);
        let best = Best { set, worth, left };
        let at = top.partition_point(|old| old.compare(&best).is_ge());
        top.insert(at, best);
        top.truncate(room);
    }

    /// What the machine was worth before is no merit of the placement.
    fn keys_across_machines(&self, best: &Best) -> Few<f64> {
        let Leases { free, held, .. } = &self.leases;
        let before = self.policy.weight * self.mix.expected(*free, held);
        [best.worth - before, best.left - self.left[*free as usize]].into_iter().map(settle).collect()
    }
}

fn mask(set: &DeviceSet) -> Mask {
    set.words().first().map_or(0, |word| (word & ((1 << MOST) - 1)) as Mask)
}

fn set_of(mask: Mask) -> DeviceSet {
    members(mask).map(|at| DeviceId(at as u32)).collect()
}
