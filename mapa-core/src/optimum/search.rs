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
//! Some devices differ only in their ids: equal instances of one device, or devices behind one
//! switch. Unless a criterion may distinguish them, only sets with the lowest ids of such devices
//! are visited. The best of these sets is the best of all, and has the lowest ids.
//!
//! A requirement acts according to what it sees. A requirement of single devices narrows each
//! rank's domain before the search. One of links is tested edge by edge within the search. Any
//! other is tested on whole placements.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::rc::Rc;

use super::bound::CriteriaBounds;
use super::criterion::settle;
use super::domains::Domains;
use super::problem::{Problem, RankedAnswer, RankedPlacement};
use super::requirement::RequirementTest;
use super::subsets::Subsets;
use crate::ids::{DeviceId, LinkClass};
use crate::matching::{Few, MatchConfig, Matcher, Placement, SearchStats, StopReason};
use crate::pattern::Edge;
use crate::score::{BestOrder, EdgeOn, Form, Objective, Seat, Subset};
use crate::topology::{DeviceSet, Link};

impl<'o, 'a> Problem<'o, 'a> {
    /// The best entries within the limits, by search alone.
    pub(super) fn best_by_search(&self) -> RankedAnswer {
        let domains = Rc::new(Domains::new(self).without_twins(self));
        let bounds = CriteriaBounds::new(self.view, &self.request.pattern, self.criteria);
        let mut run = SearchRun {
            problem: self,
            domains,
            bounds,
            top: Vec::new(),
            stats: SearchStats::default(),
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

    /// Runs the matcher within `part`, with the limits that are left. Returns true if the visitor
    /// broke off.
    fn search(
        &self,
        matcher: &Matcher,
        part: &DeviceSet,
        domains: &Domains,
        stats: &mut SearchStats,
        f: impl FnMut(&[DeviceId]) -> ControlFlow<()>,
    ) -> bool {
        let tests: Few<_> = self.tests().filter_map(RequirementTest::link).collect();
        let enough = |edge: &Edge, link: Link| {
            let traffic = edge.traffic;
            link.class >= self.request.min_link
                && tests.iter().all(|test| test(EdgeOn { traffic, link }))
        };
        let demands = self.request.pattern.demands();
        let together =
            |id, ranks: &[usize]| self.view.holds(id, ranks.iter().map(|&rank| demands[rank]));
        let mut search = matcher
            .on(self.view.graph())
            .within(part)
            .domains(&domains.per_rank)
            .limits(self.left(stats));
        if self.request.min_link > LinkClass::None || !tests.is_empty() {
            search = search.links(&enough);
        }
        if self.request.pattern.may_share() {
            search = search.sharing(&together);
        }
        if matcher.in_rank_order() && !domains.twin_below.is_empty() {
            search = search.twins(&domains.twin_below);
        }
        if let Some(stop) = self.view.stop() {
            search = search.until(stop);
        }
        let outcome = search.visit(f);
        stats.nodes += outcome.stats.nodes;
        stats.matches += outcome.stats.matches;
        if outcome.broke.is_none() && stats.complete() {
            stats.stopped = outcome.stats.stopped;
        }
        outcome.broke.is_some()
    }
}

/// The state of a search.
struct SearchRun<'r, 'o, 'a> {
    problem: &'r Problem<'o, 'a>,
    domains: Rc<Domains>,
    bounds: CriteriaBounds<'r, 'a>,
    /// The best entries so far, best first; one entry per set.
    top: Vec<RankedPlacement>,
    stats: SearchStats,
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

    /// The number of leading criteria that the set of devices decides.
    fn set_criteria(&self) -> usize {
        let pattern = &self.problem.request.pattern;
        let mut criteria = self.problem.criteria.iter();
        criteria
            .position(|c| c.objective().is_some_and(|o| !o.is_of_set(pattern)))
            .unwrap_or(self.problem.criteria.len())
    }

    /// The cost of looking at the set of a match, in nodes. Its value may depend on every pair of devices, and a
    /// node of the matcher takes as long as some dozens of pairs.
    fn cost_of_set(&self, part: &DeviceSet) -> u64 {
        1 + (part.len() as u64).pow(2) / 64
    }

    /// Whether as many entries are found as are wanted. Then a new one must beat the last.
    fn is_full(&self) -> bool {
        self.top.len() > self.problem.request.runners_up
    }

    /// Enumerates the sets of `part`, lowest ids first, and visits those that can still win.
    fn visit_sets(&mut self, matcher: &Matcher, part: &DeviceSet, symmetric: bool) {
        let Problem {
            request,
            criteria,
            limits,
            ..
        } = *self.problem;
        let must = &request.must_include;
        if !must.is_subset(part) {
            return;
        }
        let (must, part) = &self.narrowed(must, part);
        // Upper bounds for all sets. Once these do not win, no set does.
        let ideal: Few<f64> = (0..criteria.len()).map(|at| self.ideal(at, part)).collect();
        let plan = self.plan(matcher, symmetric);
        if plan.takes_long {
            // A good set found early spares others the long computation of their values.
            for set in self.grown(must, part) {
                // Most of the limit is kept for the enumeration, which alone is complete.
                if self.stats.nodes.saturating_add(plan.dear) > limits.nodes / 8
                    || !self.stats.complete()
                {
                    break;
                }
                self.visit_set(&set, &plan);
            }
        }
        let rest: Vec<DeviceId> = (part - must).iter().collect();
        // A device is only taken with the next lower of its twins: swapping them changes nothing,
        // and lower ids win ties.
        let below = rest
            .iter()
            .map(|id| rest.binary_search(self.domains.twin_below.get(id)?).ok())
            .collect();
        let mut subsets = Subsets::new(below, request.pattern.len() - must.len());
        while let Some(chosen) = subsets.next() {
            if !self.stats.complete() {
                return;
            }
            if self.stats.nodes >= limits.nodes {
                self.stats.stopped = StopReason::NodeLimit;
                return;
            }
            // The caller's deadline is checked as often as the matcher checks it.
            let asked = self.stats.nodes >> 10;
            self.stats.nodes += 1;
            if self.stats.nodes >> 10 != asked
                && self.problem.view.stop().is_some_and(|stop| stop())
            {
                self.stats.stopped = StopReason::Caller;
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

    /// How sets are visited.
    fn plan<'p>(&self, matcher: &'p Matcher, symmetric: bool) -> VisitPlan<'p, 'o, 'a> {
        let request = self.problem.request;
        let takes_long = self
            .problem
            .objectives()
            .any(Objective::is_chosen_and_bounded);
        // The value of a set of up to sixteen devices may need a table over its subsets, and its
        // bound a minimum cut: these are the numbers of steps.
        let k = request.pattern.len() as u64;
        let of_table = if k <= 16 { k << k } else { 64 * k.pow(3) };
        let (dear, glance) = if takes_long {
            (of_table, k.pow(3) / 4)
        } else {
            (0, 0)
        };
        let free = self.problem.view.free().len() as u64;
        let (by_set, own_order) = (self.set_criteria(), self.own_order());
        VisitPlan {
            matcher,
            symmetric,
            by_set,
            own_order,
            takes_long,
            dear,
            glance,
            rest: free.pow(2) / 8,
        }
    }

    /// The cost of a bound on this criterion for one set, in nodes.
    fn cost_of_glance(&self, at: usize, plan: &VisitPlan<'_, 'o, 'a>) -> u64 {
        match self.problem.criteria[at].objective() {
            Some(objective) if objective.is_chosen_and_bounded() => plan.glance,
            Some(objective) if matches!(objective.form(), Form::Rest(_)) => plan.rest,
            _ => 0,
        }
    }

    /// Visits one set, unless it cannot win.
    fn visit_set(&mut self, set: &DeviceSet, plan: &VisitPlan<'_, 'o, 'a>) {
        let Problem {
            request,
            criteria,
            limits,
            ..
        } = *self.problem;
        // Values that take long are computed only for sets that their cheap bounds leave a chance.
        if plan.takes_long && self.is_full() {
            let mut looked = 0;
            let loses = self.loses(set, |at| {
                looked += self.cost_of_glance(at, plan);
                self.at_most_at_a_glance(at, set)
            });
            self.stats.nodes = self.stats.nodes.saturating_add(looked);
            if loses {
                return;
            }
        }
        self.stats.nodes = self.stats.nodes.saturating_add(plan.dear);
        let mut bound: Few<f64> = Few::new();
        let mut looked = 0;
        let loses = self.loses(set, |at| {
            looked += self.cost_of_glance(at, plan);
            bound.push(self.at_most(at, set));
            bound[at]
        });
        self.stats.nodes = self.stats.nodes.saturating_add(looked);
        if loses {
            return;
        }
        for at in bound.len()..criteria.len() {
            bound.push(self.at_most(at, set));
        }
        let keys: Few<f64> = bound[..plan.by_set].iter().copied().collect();
        let known = SetFacts {
            set,
            keys: &keys,
            bound: &bound,
        };
        if plan.symmetric && request.pattern.edges().is_empty() {
            // Equal ranks without edges: the one distinct match has them in the order of ids.
            if self.stats.matches >= limits.matches {
                self.stats.stopped = StopReason::MatchLimit;
                return;
            }
            self.stats.matches += 1;
            let placement: Placement = set.iter().collect();
            self.offer(&placement, Some(known));
        } else if !plan
            .own_order
            .is_some_and(|find| self.offer_best(find, known))
        {
            self.visit_matches(plan.matcher, set, Some(known));
        }
    }

    /// Sets that are likely to be good. Each grows from one device by adding the device with the
    /// best links to those taken. Good sets found early let the search skip others. The order of
    /// visits changes no answer.
    ///
    /// # Complexity
    /// O(m² k²) for sets of k of m devices.
    fn grown(&self, must: &DeviceSet, part: &DeviceSet) -> Vec<DeviceSet> {
        let mut sets: Vec<DeviceSet> = if must.is_empty() {
            let firsts = part
                .iter()
                .filter(|&id| self.is_lowest_twin(id, must, part));
            firsts
                .filter_map(|first| self.grown_from([first].into_iter().collect(), part))
                .collect()
        } else {
            self.grown_from(must.clone(), part).into_iter().collect()
        };
        sets.sort();
        sets.dedup();
        sets
    }

    /// The set that grows from `set`; `None` if `part` has too few devices.
    fn grown_from(&self, mut set: DeviceSet, part: &DeviceSet) -> Option<DeviceSet> {
        let graph = self.problem.view.graph();
        while set.len() < self.problem.request.pattern.len() {
            let mut best: Option<(f64, DeviceId)> = None;
            for id in part.iter() {
                if set.contains(id) || !self.is_lowest_twin(id, &set, part) {
                    continue;
                }
                let joined: f64 = set.iter().map(|other| graph.link(id, other).gbps).sum();
                // Of equals the first stays, which has the lowest id.
                if best.is_none_or(|(most, _)| joined > most) {
                    best = Some((joined, id));
                }
            }
            set.insert(best?.1);
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

    /// The objective's own way to find its best rank order. `None` unless exactly one objective
    /// depends on rank orders, it has such a way, and no requirement tests placements.
    fn own_order(&self) -> Option<&'o BestOrder<'a>> {
        let Problem {
            request,
            criteria,
            requirements,
            ..
        } = *self.problem;
        let mut open = criteria.iter().filter(|criterion| {
            criterion
                .objective()
                .is_some_and(|objective| !objective.is_of_set(&request.pattern))
        });
        let (Some(criterion), None) = (open.next(), open.next()) else {
            return None;
        };
        let (objective, sign) = criterion.exact_sum()?;
        // What is found is the order of the lowest value.
        let minimised = sign < 0.0;
        objective
            .best_order()
            .filter(|_| minimised && requirements.is_empty())
    }

    /// Offers the best rank order on a set, found by the objective itself. Returns false if the
    /// objective finds none, and a search must.
    fn offer_best(&mut self, find: &BestOrder<'a>, known: SetFacts<'_>) -> bool {
        let Problem {
            request,
            limits,
            view,
            ..
        } = *self.problem;
        if self.stats.matches >= limits.matches {
            self.stats.stopped = StopReason::MatchLimit;
            return true;
        }
        let stats = &mut self.stats;
        let mut go_on = || {
            if stats.nodes >= limits.nodes {
                stats.stopped = StopReason::NodeLimit;
            } else if stats.nodes & 1023 == 0 && view.stop().is_some_and(|stop| stop()) {
                stats.stopped = StopReason::Caller;
            }
            stats.nodes = stats.nodes.saturating_add(1).min(limits.nodes);
            stats.complete()
        };
        let found = find(
            &request.pattern,
            Subset {
                graph: view.graph(),
                devices: known.set,
            },
            &mut go_on,
        );
        if let Some(placement) = &found {
            self.stats.matches += 1;
            self.offer(placement, Some(known));
        }
        found.is_some() || !self.stats.complete()
    }

    /// An upper bound on a criterion for all sets within `part`.
    fn ideal(&self, at: usize, part: &DeviceSet) -> f64 {
        self.problem.criteria[at].signed_key(self.bounds.within(at, part))
    }

    /// An upper bound on a criterion for exactly this set.
    fn at_most(&self, at: usize, set: &DeviceSet) -> f64 {
        let criterion = &self.problem.criteria[at];
        self.problem
            .set_key(criterion, set)
            .unwrap_or_else(|| criterion.signed_key(self.bounds.of(at, set)))
    }

    /// An upper bound on a criterion for exactly this set, without computing values that take long.
    /// Their own bound is used instead.
    fn at_most_at_a_glance(&self, at: usize, set: &DeviceSet) -> f64 {
        let criterion = &self.problem.criteria[at];
        if criterion
            .objective()
            .is_some_and(Objective::is_chosen_and_bounded)
        {
            return criterion.signed_key(self.bounds.of(at, set));
        }
        self.at_most(at, set)
    }

    /// Whether no placement on `set` with at most these keys can enter the list, because the list
    /// is full and its last entry is better, or as good with lower ids. The keys are asked for in
    /// order, up to the first that decides: those after it often take longer than the rest.
    fn loses(&self, set: &DeviceSet, mut at_most: impl FnMut(usize) -> f64) -> bool {
        let Some(worst) = self.top.last().filter(|_| self.is_full()) else {
            return false;
        };
        let by_keys = (0..worst.keys.len()).map(|at| {
            self.problem
                .order(at, (at_most(at), worst.keys[at]), (set, &worst.set))
        });
        match { by_keys }.find(|order| order.is_ne()) {
            Some(order) => order.is_lt(),
            None => *set > worst.set,
        }
    }

    /// Offers the matches within `part`. If `known` is given, `part` is a single set.
    fn visit_matches(&mut self, matcher: &Matcher, part: &DeviceSet, known: Option<SetFacts<'_>>) {
        let mut stats = self.stats;
        let by_rank_order = matcher.in_rank_order();
        // If the set is not known, each match also pays for looking at its set.
        let pattern = &self.problem.request.pattern;
        let looks_at_sets =
            known.is_none() && self.problem.objectives().any(|o| o.is_of_set(pattern));
        let cost = if looks_at_sets {
            self.cost_of_set(part)
        } else {
            0
        };
        let mut left = self.problem.left(&stats).nodes;
        let mut spent = false;
        let domains = Rc::clone(&self.domains);
        self.problem
            .search(matcher, part, &domains, &mut stats, |placement| {
                spent = left < cost;
                if spent {
                    return ControlFlow::Break(());
                }
                left -= cost;
                let best = self.offer(placement, known);
                // Matches come by rank order: the first that meets the bound of its set is the
                // smallest of those that do.
                if best && by_rank_order {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
        if spent {
            stats.stopped = StopReason::NodeLimit;
        }
        self.stats = stats;
    }

    /// Inserts a match into the list if it is good enough. Returns true if no match on its set can
    /// be better.
    fn offer(&mut self, placement: &[DeviceId], known: Option<SetFacts<'_>>) -> bool {
        let problem = self.problem;
        // A match that passes over a free twin of lower id is equal to one that has it. For a known
        // set this holds already.
        let passes_over_twin = known.is_none()
            && placement.iter().any(|id| {
                let below = self.domains.twin_below.get(id);
                below.is_some_and(|below| !placement.contains(below))
            });
        if passes_over_twin || !problem.admits(placement) {
            return false;
        }
        let own_set: DeviceSet;
        let (set, mut keys) = match known {
            Some(known) => (known.set, known.keys.clone()),
            None => {
                own_set = placement.iter().copied().collect();
                (&own_set, Few::new())
            }
        };
        // Keys are computed one by one, up to the first that loses to the last entry.
        let worst = self.top.last().filter(|_| self.is_full());
        let mut tied = worst.is_some();
        for (i, criterion) in problem.criteria.iter().enumerate() {
            if keys.len() == i {
                keys.push(
                    problem
                        .set_key(criterion, set)
                        .unwrap_or_else(|| problem.key(criterion, placement)),
                );
            }
            if let Some(worst) = worst.filter(|_| tied) {
                match problem.order(i, (keys[i], worst.keys[i]), (set, &worst.set)) {
                    Ordering::Less => return false,
                    order => tied = order.is_eq(),
                }
            }
        }
        let meets_bound = known.is_some_and(|known| keys[..] == known.bound[..]);
        let entry = RankedPlacement {
            keys,
            set: set.clone(),
            placement: placement.into(),
        };
        // Runners-up are on other sets: of each set only the best rank order stays.
        if let Some(same) = self.top.iter().position(|old| old.set == entry.set) {
            if self.order(&self.top[same], &entry).is_ge() {
                return meets_bound;
            }
            self.top.remove(same);
        }
        let at = self
            .top
            .partition_point(|old| self.order(old, &entry).is_ge());
        self.top.insert(at, entry);
        self.top
            .truncate(problem.request.runners_up.saturating_add(1));
        meets_bound
    }

    /// Compares two entries by keys, then lowest ids, then the smallest rank order; the better is
    /// greater.
    fn order(&self, a: &RankedPlacement, b: &RankedPlacement) -> Ordering {
        let by_keys = (0..a.keys.len()).map(|at| self.problem.compare(at, a, b));
        { by_keys }.find(|order| order.is_ne()).unwrap_or_else(|| {
            b.set
                .cmp(&a.set)
                .then_with(|| b.placement.cmp(&a.placement))
        })
    }
}

/// How sets are visited, the same for all of them.
struct VisitPlan<'p, 'o, 'a> {
    matcher: &'p Matcher,
    symmetric: bool,
    /// The number of leading criteria that the set decides.
    by_set: usize,
    own_order: Option<&'o BestOrder<'a>>,
    /// Whether the value of a set takes longer than its bound.
    takes_long: bool,
    /// The cost of a value, in nodes.
    dear: u64,
    /// The cost of a bound on such a value, in nodes.
    glance: u64,
    /// The cost of a value of the devices that stay free, in nodes: it may depend on every pair of
    /// them, and a node of the matcher takes as long as some dozens of pairs.
    rest: u64,
}

/// What the set of a match determines.
#[derive(Clone, Copy)]
struct SetFacts<'k> {
    set: &'k DeviceSet,
    /// The leading keys, which the set decides.
    keys: &'k Few<f64>,
    /// An upper bound on each key.
    bound: &'k Few<f64>,
}
