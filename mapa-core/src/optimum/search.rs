//! The optimum by branch and bound: visits every set and rank order that can still win.
//!
//! If every pair of devices is joined well enough, as on real servers, every set has a match. Then
//! sets are enumerated, lowest ids first. The rank orders of a set are searched only if the set is
//! not beaten already, by the criteria that it decides or by the bounds of its links ([`CriteriaBounds`]).
//! So preserved bandwidth costs C(n, k) evaluations, not C(n, k) k! / |automorphisms|.
//!
//! Otherwise every distinct match is scored, criterion by criterion, and dropped at the first
//! criterion on which it is beaten. If an objective sees the whole placement, equal matches may
//! have different scores, so all raw matches are scored.
//!
//! Sets that criteria bound device by device are built and dropped early (`partial_sets`).
//!
//! Some devices differ only in their ids: equal instances of one device, or devices behind one
//! switch. Unless a criterion may distinguish them, only sets with the lowest ids of such devices
//! are visited. The best of these sets is the best of all, and has the lowest ids.
//!
//! A requirement acts according to what it sees. A requirement of single devices narrows each
//! rank's domain before the search. One of links is tested edge by edge within the search. Any
//! other is tested on whole placements.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::rc::Rc;

use super::bound::CriteriaBounds;
use super::by_loss::MOST_STARTS;
use super::criterion::settle;
use super::domains::Domains;
use super::partial_sets::PairSums;
use super::problem::{Problem, RankedAnswer};
use super::requirement::RequirementTest;
use super::subsets::Subsets;
use super::visits::{ASKED_EVERY, SearchRun, VisitPlan};
use crate::ids::DeviceId;
use crate::matching::{Few, MatchConfig, Matcher, SearchStats};
use crate::score::{Form, Seat};
use crate::topology::DeviceSet;

impl<'o, 'a> Problem<'o, 'a> {
    /// The best entries within the limits, by search alone.
    pub(super) fn best_by_search(&self) -> RankedAnswer {
        let domains = Rc::new(Domains::new(self).without_twins(self));
        let bounds = CriteriaBounds::new(self.view, &self.request.pattern, self.criteria);
        // A set counts as one node, and its bounds see every pair of devices.
        let ask_every = (ASKED_EVERY / SearchRun::cost_of_set(&domains.union)).max(1);
        let mut run = SearchRun {
            problem: self,
            domains,
            bounds,
            top: Vec::new(),
            stats: SearchStats::default(),
            // Not at once: after the time, too, there is a first placement to show.
            ask: ask_every,
            ask_every,
        };
        // A device that must be included and has no room leaves no placement.
        if !self.request.must_include.is_subset(&run.domains.union) {
            return (run.top, run.stats);
        }
        let symmetric = self.is_symmetric();
        let matcher = self.matcher(symmetric);
        for part in self.parts(&run.domains.union) {
            if run.domains.are_too_few(self, &part) {
                continue;
            }
            if self.every_set_matches(&part) {
                run.visit_sets(&matcher, &part, symmetric);
            } else {
                run.visit_matches(&matcher, &part, None);
            }
        }
        // The last step may have taken more than was left.
        run.stats.nodes = run.stats.nodes.min(self.limits.nodes);
        (run.top, run.stats)
    }

    /// Whether any placement is admitted.
    ///
    /// # Errors
    /// The statistics of the search, if a limit ended it before it found a placement.
    pub(crate) fn any(&self) -> Result<bool, SearchStats> {
        let matcher = self.matcher(self.is_symmetric());
        let domains = Domains::new(self);
        let mut stats = SearchStats::default();
        let found = self.parts(&domains.union).iter().any(|part| {
            !domains.are_too_few(self, part)
                && self.search(&matcher, part, &domains, &mut stats, |placement| {
                    if self.admits(placement) {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })
        });
        if found || stats.complete() {
            Ok(found)
        } else {
            Err(stats)
        }
    }

    /// A bound on the first criterion for all placements, in its own unit; `None` if none is known.
    pub(crate) fn bound_of_first(&self) -> Option<f64> {
        let bounds = CriteriaBounds::new(self.view, &self.request.pattern, self.criteria);
        let (_, sign) = self.criteria.first()?.exact_sum()?;
        let signed = bounds.within(0, &Domains::new(self).union);
        Some(sign * signed).filter(|bound| bound.is_finite())
    }

    /// Compiles the pattern for distinct matches if the problem is symmetric, else for every rank
    /// order.
    fn matcher(&self, symmetric: bool) -> Cow<'o, Matcher> {
        let pattern = &self.request.pattern;
        if symmetric {
            Cow::Borrowed(pattern.rank_matcher())
        } else {
            Cow::Owned(
                MatchConfig::new()
                    .by_rank(true)
                    .distinct(false)
                    .compile(pattern),
            )
        }
    }

    /// Whether every set of k devices, for k ranks, has a match, and every match is on such a set.
    fn every_set_matches(&self, part: &DeviceSet) -> bool {
        let graph = self.view.graph();
        let pattern = &self.request.pattern;
        if !pattern.is_uniform() || pattern.may_share() {
            return false;
        }
        if graph.can_be_cut() && !part.iter().all(|id| graph.overlap(id).is_disjoint(part)) {
            return false;
        }
        if pattern.edges().is_empty() {
            return true;
        }
        // A test of links may admit a link for one edge and not for another.
        if self.tests().any(|test| test.link().is_some()) {
            return false;
        }
        part.iter().all(|a| {
            part.iter().take_while(|b| *b < a).all(|b| {
                let link = graph.link(a, b);
                link.exists() && link.class >= self.request.min_link
            })
        })
    }
}

impl<'o, 'a> SearchRun<'_, 'o, 'a> {
    /// Narrows the sets by the leading criteria that are sums over devices. Returns the devices
    /// that every best set has, and those that a best set may have. A sum is highest for the
    /// devices with the highest values, and only devices that tie for the last places are left to
    /// the next criterion. Without this, a random choice of eight of 56 devices would visit 1.4
    /// billion sets.
    fn narrowed(&self, must: &DeviceSet, part: &DeviceSet) -> (DeviceSet, DeviceSet) {
        let Problem {
            request,
            view,
            criteria,
            ..
        } = *self.problem;
        let (mut must, mut part) = (must.clone(), part.clone());
        // A test that rejects the sets of highest sums may admit one of a lower sum.
        let filtered = !self.problem.tests().all(RequirementTest::is_of_domains);
        let Some(demand) = request
            .pattern
            .demands()
            .first()
            .filter(|_| request.runners_up == 0 && !filtered)
        else {
            return (must, part);
        };
        for criterion in criteria {
            let Some((objective, sign)) = criterion.exact_sum() else {
                break;
            };
            let Form::Devices(f) = objective.form() else {
                break;
            };
            let view = *view;
            let value = |id| settle(sign * f(&Seat { view, demand, id }));
            let mut values: Vec<(f64, DeviceId)> =
                (&part - &must).iter().map(|id| (value(id), id)).collect();
            values.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            let open = request.pattern.len().saturating_sub(must.len());
            // The value of the last place. Devices above it are in every best set, devices below it
            // in none.
            let Some(&(last, _)) = open.checked_sub(1).and_then(|at| values.get(at)) else {
                break;
            };
            let above = values.partition_point(|(value, _)| *value > last);
            let at_least = values.partition_point(|(value, _)| *value >= last);
            let sum: f64 = must
                .iter()
                .map(value)
                .chain(values[..open].iter().map(|(value, _)| *value))
                .sum();
            // The least difference to another set. If sums are infinite, or if rounding swallows
            // the difference, other sets are equal and nothing is ruled out.
            let down = values.get(at_least).map(|(next, _)| last - next);
            let up = above.checked_sub(1).map(|least| values[least].0 - last);
            let gap = down.into_iter().chain(up).fold(f64::INFINITY, f64::min);
            if !sum.is_finite() || settle(sum - gap) == settle(sum) {
                break;
            }
            part = &must | &values[..at_least].iter().map(|(_, id)| *id).collect();
            must.extend(values[..above].iter().map(|(_, id)| *id));
        }
        (must, part)
    }

    /// Enumerates the sets of `part`, lowest ids first, and visits those that can still win.
    fn visit_sets(&mut self, matcher: &Matcher, part: &DeviceSet, symmetric: bool) {
        let Problem {
            request, criteria, ..
        } = *self.problem;
        let must = &request.must_include;
        if !must.is_subset(part) {
            return;
        }
        let (must, part) = &self.narrowed(must, part);
        let plan = self.plan(matcher, symmetric);
        let rest: Vec<DeviceId> = (part - must).iter().collect();
        // A device is only taken with the next lower of its twins: swapping them changes nothing,
        // and lower ids win ties.
        let below: Vec<Option<usize>> = rest
            .iter()
            .map(|id| rest.binary_search(self.domains.twin_below.get(id)?).ok())
            .collect();
        let sums = PairSums::new(self.problem, must, &rest, &below);
        // Upper bounds for all sets. Once these do not win, no set does.
        let mut ideal: Few<f64> = (criteria.iter().enumerate())
            .map(|(at, criterion)| {
                let of_sum = sums.at_most(at, criterion);
                of_sum.unwrap_or_else(|| self.ideal(at, part))
            })
            .collect();
        if plan.takes_long && sums.first() != Some(0) {
            self.visit_starts(must, part, &plan, |run| run.is_decided(&sums, &ideal));
        }
        if self.visit_partial_sets(sums, must, &mut ideal, &plan) {
            return;
        }
        let mut subsets = Subsets::new(below, request.pattern.len() - must.len());
        while let Some(chosen) = subsets.next() {
            if !self.step(1) {
                return;
            }
            let mut set = must.clone();
            set.extend(chosen.iter().map(|&i| rest[i]));
            if self.loses(&set, |at| ideal[at]) {
                // Sets come by lowest ids: what follows can be no better, and has higher ids.
                return;
            }
            self.visit_set(&set, &plan);
        }
    }

    /// Visits sets that are likely to be good, until `is_enough`. Each grows from one device by adding the device
    /// with the best links to those taken. A good set found early spares others the long computation of
    /// their values. The order of visits changes no answer.
    ///
    /// # Complexity
    /// O(m k) for each set of k of m devices, and at most [`MOST_STARTS`] of them.
    fn visit_starts(
        &mut self,
        must: &DeviceSet,
        part: &DeviceSet,
        plan: &VisitPlan<'_, 'o, 'a>,
        is_enough: impl Fn(&Self) -> bool,
    ) {
        let Problem {
            request, limits, ..
        } = *self.problem;
        let firsts: Vec<DeviceSet> = if must.is_empty() {
            let firsts = part
                .iter()
                .filter(|&id| self.is_lowest_twin(id, must, part));
            firsts.map(|first| [first].into_iter().collect()).collect()
        } else {
            vec![must.clone()]
        };
        let step = firsts.len().div_ceil(MOST_STARTS).max(1);
        let steps = (part.len() * request.pattern.len() / 64) as u64;
        let mut seen: Vec<DeviceSet> = Vec::new();
        for first in firsts.into_iter().step_by(step) {
            let Some(set) = self
                .grown_from(first, part)
                .filter(|set| !seen.contains(set))
            else {
                continue;
            };
            // Most of the limit is kept for the enumeration, which alone is complete. The first set is
            // free: there is an answer before any limit can end the search.
            let spent = self.stats.nodes.saturating_add(plan.dear) > limits.nodes / 8;
            if spent && !self.top.is_empty() {
                return;
            }
            self.visit_set(&set, plan);
            if is_enough(self) || !self.step(steps) {
                return;
            }
            seen.push(set);
        }
    }

    /// The set that grows from `set`; `None` if `part` has too few devices.
    fn grown_from(&self, mut set: DeviceSet, part: &DeviceSet) -> Option<DeviceSet> {
        let graph = self.problem.view.graph();
        let others: Vec<DeviceId> = part.iter().collect();
        let joins = |id: DeviceId, other: DeviceId| {
            if id == other {
                0.0
            } else {
                graph.link(id, other).gbps
            }
        };
        let sum = |&id: &DeviceId| set.iter().map(|other| joins(id, other)).sum();
        let mut joined: Vec<f64> = others.iter().map(sum).collect();
        while set.len() < self.problem.request.pattern.len() {
            let mut best: Option<(f64, DeviceId)> = None;
            for (&id, &joined) in others.iter().zip(&joined) {
                // Of equals the first stays, which has the lowest id.
                if best.is_none_or(|(most, _)| joined > most)
                    && !set.contains(id)
                    && self.is_lowest_twin(id, &set, part)
                {
                    best = Some((joined, id));
                }
            }
            let (_, added) = best?;
            set.insert(added);
            for (&id, joined) in others.iter().zip(&mut joined) {
                *joined += joins(id, added);
            }
        }
        Some(set)
    }

    /// Whether no equivalent device with a lower id is still free to take.
    fn is_lowest_twin(&self, id: DeviceId, taken: &DeviceSet, part: &DeviceSet) -> bool {
        self.domains
            .twin_below
            .get(&id)
            .is_none_or(|below| taken.contains(*below) || !part.contains(*below))
    }

    /// An upper bound on a criterion for all sets within `part`.
    fn ideal(&self, at: usize, part: &DeviceSet) -> f64 {
        self.problem.criteria[at].signed_key(self.bounds.within(at, part))
    }
}
