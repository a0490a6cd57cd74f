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
use super::by_degree::{DegreeGoal, DirectLinks, Grower, Grown};
use super::by_loss::{Losses, MOST_STARTS, Walker, walk};
use super::criterion::{Criterion, settle};
use super::domains::Domains;
use super::edge_sums::EdgeSums;
use super::links::LinkKinds;
use super::problem::{Problem, RankedAnswer, RankedPlacement};
use super::requirement::RequirementTest;
use super::ring_order::{FEWEST_RANKS, MOST_RANKS, best_ring};
use super::subsets::Subsets;
use crate::ids::{DeviceId, LinkClass};
use crate::matching::{Few, MatchConfig, Matcher, Placement, SearchStats, StopReason};
use crate::pattern::Edge;
use crate::reach::Family;
use crate::score::{BestOrder, DegreeBound, EdgeOn, Form, Objective, PairsOf, Seat, Subset};
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
        let (of_criteria, sums) = self.losses(must, &rest, &below);
        // Upper bounds for all sets. Once these do not win, no set does.
        let mut ideal: Few<f64> = Few::new();
        for (at, criterion) in criteria.iter().enumerate() {
            let sum = of_criteria.iter().position(|of| *of == at);
            ideal.push(match sum {
                Some(sum) => sums[sum].key(criterion, sums[sum].at_least_for_all()),
                None => self.ideal(at, part),
            });
        }
        let undecided = of_criteria.first().copied();
        if undecided == Some(0) {
            self.visit_by_loss((&of_criteria, sums), &ideal, &plan);
            return;
        }
        let is_ideal = |this: &Self| {
            undecided.is_some_and(|at| {
                let worst = this.top.last().filter(|_| this.is_full());
                worst.is_some_and(|worst| worst.keys[..at] == ideal[..at])
            })
        };
        if plan.takes_long {
            self.visit_starts(must, part, &plan, is_ideal);
        }
        let proof = match undecided {
            Some(_) if is_ideal(self) => Proof::OfFirst,
            Some(at) => self.proven_by_degree(at, &sums[0], must, &mut ideal, &plan),
            None => Proof::None,
        };
        match proof {
            Proof::None => {}
            Proof::OfFirst => {
                self.visit_by_loss((&of_criteria, sums), &ideal, &plan);
                return;
            }
            Proof::OfAll => return,
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

    /// Counts nodes. Returns false once the limit on them is reached, or the caller's deadline, which is
    /// checked as often as the matcher checks it.
    fn step(&mut self, nodes: u64) -> bool {
        if !self.stats.complete() {
            return false;
        }
        if self.stats.nodes >= self.problem.limits.nodes {
            self.stats.stopped = StopReason::NodeLimit;
            return false;
        }
        let asked = self.stats.nodes >> 10;
        self.stats.nodes = self.stats.nodes.saturating_add(nodes);
        if self.stats.nodes >> 10 != asked && self.problem.view.stop().is_some_and(|stop| stop()) {
            self.stats.stopped = StopReason::Caller;
        }
        self.stats.complete()
    }

    /// The losses of sets by each criterion that is a sum over pairs, with the number of the criterion: the first
    /// that is over the pairs that stay free, and those after it. Empty if there is no such criterion, or
    /// if one before it sees rank orders.
    fn losses(
        &self,
        must: &DeviceSet,
        rest: &[DeviceId],
        below: &[Option<usize>],
    ) -> (Few<usize>, Vec<Losses>) {
        let Problem {
            request,
            view,
            criteria,
            ..
        } = *self.problem;
        let graph = view.graph();
        let need = request.pattern.len() - must.len();
        if graph.can_be_cut() || need == 0 {
            return Default::default();
        }
        let free = view.free() & &graph.wholes();
        let decided = criteria.iter().take(self.set_criteria()).enumerate();
        let sums = decided.filter_map(|(at, criterion)| {
            let (objective, sign) = criterion.exact_sum()?;
            Some((at, sign, objective.pair_sum()?))
        });
        let from_first = sums.skip_while(|(.., sum)| sum.of == PairsOf::Chosen);
        from_first
            .map(|(at, sign, sum)| {
                let value = |a, b| sign * (sum.value)(graph, a, b);
                let losses = Losses::new(sum.of, value, &free, must, (rest, below), need);
                (at, losses)
            })
            .unzip()
    }

    /// Visits the sets that can still win where no set is better by the criteria before the first sum over
    /// pairs: branch and bound over partial sets. `ideal` has upper bounds for sets that were not visited yet.
    fn visit_by_loss(
        &mut self,
        (of_criteria, mut sums): (&[usize], Vec<Losses>),
        ideal: &[f64],
        plan: &VisitPlan<'_, 'o, 'a>,
    ) {
        let nodes = self.problem.limits.nodes;
        let first = &mut sums[0];
        let steps = (first.ids.len() * self.problem.request.pattern.len() / 64) as u64;
        let mut grown = Vec::new();
        for (loss, set) in first.grown() {
            // The first set is free: there is an answer before any limit can end the search.
            if self.top.is_empty() {
                self.visit_set(&set, plan);
            }
            grown.push((loss, set));
            if !self.step(steps) {
                return;
            }
        }
        // The best first; one of each loss is as good as all for a start.
        grown.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        grown.dedup_by(|b, a| a.0 == b.0);
        for (_, set) in grown
            .iter()
            .take(self.problem.request.runners_up.saturating_add(2))
        {
            self.visit_set(set, plan);
        }
        first.learn(|steps| self.stats.nodes <= nodes / 2 && self.step(steps));
        let mut walker = LossWalker {
            run: self,
            of_criteria,
            ideal,
            plan,
        };
        walk(&sums, &mut walker);
    }

    /// Proves what the best sets have by the criteria before `at`, where each is bounded by the direct links
    /// of single devices, and lowers `ideal` to that.
    fn proven_by_degree(
        &mut self,
        at: usize,
        losses: &Losses,
        must: &DeviceSet,
        ideal: &mut [f64],
        plan: &VisitPlan<'_, 'o, 'a>,
    ) -> Proof {
        let Problem {
            request,
            view,
            criteria,
            ..
        } = *self.problem;
        let graph = view.graph();
        let mut ids = losses.ids.clone();
        ids.extend(must.iter());
        let devices: DeviceSet = ids.iter().copied().collect();
        let part = Subset {
            graph,
            devices: &devices,
        };
        let bound_of = |criterion: &Criterion<'a>| {
            let (objective, sign) = criterion.exact_sum()?;
            let by_degree = objective.foresight()?.by_degree.as_ref()?;
            by_degree(part, request.pattern.len()).filter(|_| sign > 0.0)
        };
        let bounds: Option<Vec<DegreeBound>> = criteria[..at].iter().map(bound_of).collect();
        let Some(bounds) = bounds else {
            return Proof::None;
        };
        let gbps = |a: usize, b: usize| graph.pair(ids[a], ids[b]).direct.gbps;
        let links = DirectLinks::new(ids.len(), gbps);
        let need = request.pattern.len() - must.len();
        let mut walker = DegreeWalker {
            run: self,
            bounds: &bounds,
            phase: 0,
            goals: Few::new(),
            plan,
        };
        // First come the sets that are better by the first criterion, then those that are better by the second
        // among equals, and so on; the last are those that are equal by all, if there are few.
        for phase in 0..=at {
            walker.phase = phase;
            if !walker.raise_goals() {
                return if phase == at {
                    Proof::OfFirst
                } else {
                    Proof::None
                };
            }
            let mut grown = Grown::new(&links, losses, must.len(), need);
            // A limit that ends this ends the whole search.
            if !grown.grow_all(&mut walker) {
                return Proof::OfAll;
            }
            if let Some((ideal, key)) = ideal.get_mut(phase).zip(walker.key()) {
                *ideal = key;
            }
        }
        Proof::OfAll
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
            is_ring: self.is_ring_of_sums(),
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
        // The first set is free: there is an answer before any limit can end the search.
        if !self.top.is_empty() {
            self.stats.nodes = self.stats.nodes.saturating_add(plan.dear);
        }
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
        if self.stats.matches >= limits.matches {
            self.stats.stopped = StopReason::MatchLimit;
        } else if plan.symmetric && request.pattern.edges().is_empty() {
            // Equal ranks without edges: the one distinct match has them in the order of ids.
            self.stats.matches += 1;
            let placement: Placement = set.iter().collect();
            self.offer(&placement, Some(known));
        } else if let Some(placement) = plan.is_ring.then(|| self.ring_order(set)).flatten() {
            let k = placement.len() as u32;
            self.stats.nodes = self.stats.nodes.saturating_add((1 << k) * u64::from(k) / 8);
            self.stats.matches += 1;
            self.offer(&placement, Some(known));
        } else if !plan
            .own_order
            .is_some_and(|find| self.offer_best(find, known))
        {
            self.visit_matches(plan.matcher, set, Some(known));
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

    /// The criteria that depend on rank orders.
    fn order_criteria(&self) -> Few<&'o Criterion<'a>> {
        let pattern = &self.problem.request.pattern;
        let sees_order = |objective: &Objective<'_>| !objective.is_of_set(pattern);
        let criteria = self.problem.criteria.iter();
        criteria
            .filter(|criterion| criterion.objective().is_some_and(sees_order))
            .collect()
    }

    /// Whether the job is a ring whose rank orders are compared by sums over its edges.
    fn is_ring_of_sums(&self) -> bool {
        let Problem {
            request,
            requirements,
            ..
        } = *self.problem;
        let is_sum = |criterion: &&Criterion<'_>| {
            let sum = criterion.exact_sum();
            sum.is_some_and(|(objective, _)| matches!(objective.form(), Form::Edges(_)))
        };
        (FEWEST_RANKS..=MOST_RANKS).contains(&request.pattern.len())
            && request.pattern.family() == Family::Ring
            && request.pattern.traffic().is_some()
            && requirements.is_empty()
            && self.order_criteria().iter().all(is_sum)
    }

    /// The best rank order of a ring on a set, from a table over subsets; `None` if sums over its edges are
    /// no whole numbers of moderate size.
    fn ring_order(&self, set: &DeviceSet) -> Option<Placement> {
        let pattern = &self.problem.request.pattern;
        let devices: Few<DeviceId> = set.iter().collect();
        let kinds = LinkKinds::new(self.problem, &devices);
        let sums = EdgeSums::new(pattern, &kinds, &self.order_criteria())?;
        let edge = pattern.edges().first()?;
        let values: Few<_> = (0..kinds.len()).map(|kind| sums.of(edge, kind)).collect();
        // The first sum decides, then the second: as one number, in the greatest unit that both have.
        let unit = |at: usize| {
            let all = values.iter().map(|value| value[at].unsigned_abs());
            all.fold(0, greatest_common_divisor).max(1) as i64
        };
        let (first, second) = (unit(0), unit(1));
        let most = values
            .iter()
            .map(|value| (value[1] / second).abs())
            .max()
            .unwrap_or(0);
        let step = most.checked_mul(2 * devices.len() as i64)?.checked_add(1)?;
        let mut combined: Few<i64> = Few::new();
        for value in &values {
            let sum = (value[0] / first)
                .checked_mul(step)?
                .checked_add(value[1] / second)?;
            combined.push(Some(sum).filter(|sum| sum.abs() < i64::MAX / 64)?);
        }
        let mut between: Vec<i64> = Vec::with_capacity(devices.len().pow(2));
        for a in 0..devices.len() {
            for b in 0..devices.len() {
                between.push(if a == b {
                    0
                } else {
                    combined[kinds.between(a, b)?]
                });
            }
        }
        let order = best_ring(devices.len(), |a, b| between[a * devices.len() + b]);
        Some(order.into_iter().map(|at| devices[at]).collect())
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
            // The criteria that see the rank order are computed for each match.
            pattern.edges().len() as u64 / 8
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

/// How much is proven before all sets are visited.
enum Proof {
    /// Nothing: any set may be better.
    None,
    /// No set that was not visited is better by the criteria before the first sum over pairs.
    OfFirst,
    /// No set that was not visited is better.
    OfAll,
}

/// Visits the sets that sums over pairs leave a chance.
struct LossWalker<'w, 'p, 'r, 'o, 'a> {
    run: &'w mut SearchRun<'r, 'o, 'a>,
    /// By sum, the number of its criterion.
    of_criteria: &'w [usize],
    /// Upper bounds of all criteria for sets that were not visited yet.
    ideal: &'w [f64],
    plan: &'w VisitPlan<'p, 'o, 'a>,
}

impl Walker for LossWalker<'_, '_, '_, '_, '_> {
    fn cuts(
        &mut self,
        sums: &[Losses],
        least: &dyn Fn(usize) -> f64,
        chosen: &[usize],
        from: usize,
    ) -> bool {
        let run = &*self.run;
        let Some(worst) = run.top.last().filter(|_| run.is_full()) else {
            return false;
        };
        let mut next = self.of_criteria.iter().zip(sums).enumerate().peekable();
        for (at, criterion) in run.problem.criteria.iter().enumerate() {
            let sum = next.next_if(|(_, (of, _))| **of == at);
            let key = sum.map_or(self.ideal[at], |(sum, (_, losses))| {
                losses.key(criterion, least(sum))
            });
            match key.total_cmp(&worst.keys[at]) {
                Ordering::Less => return true,
                Ordering::Greater => return false,
                Ordering::Equal => {}
            }
        }
        // No set is better, and these have higher ids.
        sums[0].lowest(chosen, from) >= worst.set
    }

    fn take(&mut self, sums: &[Losses], _: f64, chosen: &[usize]) {
        let set = sums[0].set(chosen.iter().copied());
        self.run.visit_set(&set, self.plan);
    }

    fn goes_on(&mut self, steps: u64) -> bool {
        self.run.step(steps)
    }
}

/// Visits the sets that the direct links of each device leave a chance.
struct DegreeWalker<'w, 'p, 'r, 'o, 'a> {
    run: &'w mut SearchRun<'r, 'o, 'a>,
    /// By criterion before the first sum over pairs.
    bounds: &'w [DegreeBound],
    /// The number of the criterion by which better sets are sought; after the last, equal ones.
    phase: usize,
    goals: Few<DegreeGoal>,
    plan: &'w VisitPlan<'p, 'o, 'a>,
}

impl DegreeWalker<'_, '_, '_, '_, '_> {
    fn worst(&self) -> Option<&RankedPlacement> {
        self.run.top.last().filter(|_| self.run.is_full())
    }

    /// The key of the last entry by the criterion in question.
    fn key(&self) -> Option<f64> {
        self.worst()?.keys.get(self.phase).copied()
    }

    /// Sets the goals: more than the last entry has by the criterion in question, and as much by those before.
    /// Returns false if other ways than direct links may carry that.
    fn raise_goals(&mut self) -> bool {
        let Some(keys) = self.worst().map(|worst| worst.keys.clone()) else {
            return false;
        };
        self.goals.clear();
        for (at, (&bound, &value)) in self
            .bounds
            .iter()
            .zip(&keys)
            .enumerate()
            .take(self.phase + 1)
        {
            let more = at == self.phase;
            let otherwise = settle(bound.otherwise);
            if value > otherwise || more && value == otherwise {
                self.goals.push(DegreeGoal { bound, value, more });
            } else if more || self.phase == self.bounds.len() {
                return false;
            }
        }
        true
    }
}

impl Grower for DegreeWalker<'_, '_, '_, '_, '_> {
    fn goals(&self) -> &[DegreeGoal] {
        &self.goals
    }

    fn cuts(&mut self, losses: &Losses, loss: f64) -> bool {
        // Before, a set that leaves less may be better by the criterion in question.
        let at = self.bounds.len();
        self.phase == at
            && self.worst().is_some_and(|worst| {
                losses.key(&self.run.problem.criteria[at], loss) < worst.keys[at]
            })
    }

    fn take(&mut self, losses: &Losses, chosen: &[usize]) {
        if !losses.has_lower_twins(chosen) {
            return;
        }
        let set = losses.set(chosen.iter().copied());
        self.run.visit_set(&set, self.plan);
        self.raise_goals();
    }

    fn goes_on(&mut self, steps: u64) -> bool {
        self.run.step(steps)
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// How sets are visited, the same for all of them.
struct VisitPlan<'p, 'o, 'a> {
    matcher: &'p Matcher,
    symmetric: bool,
    /// The number of leading criteria that the set decides.
    by_set: usize,
    own_order: Option<&'o BestOrder<'a>>,
    /// Whether a table over subsets may find the rank order of a set.
    is_ring: bool,
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
