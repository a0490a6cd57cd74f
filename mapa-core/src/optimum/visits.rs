//! What a search does with one set of devices: compares it, finds its best rank order, and keeps it if it is
//! among the best.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::rc::Rc;

use super::bound::CriteriaBounds;
use super::domains::Domains;
use super::problem::{Problem, RankedPlacement};
use super::requirement::RequirementTest;
use crate::ids::{DeviceId, LinkClass};
use crate::matching::{Few, Matcher, Placement, SearchStats, StopReason};
use crate::pattern::Edge;
use crate::reach::Family;
use crate::score::{BestOrder, EdgeOn, Form, Objective, Subset};
use crate::topology::{DeviceSet, Link};

impl Problem<'_, '_> {
    /// Runs the matcher within `part`, with the limits that are left. Returns true if the visitor
    /// broke off.
    pub(super) fn search(
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
pub(super) struct SearchRun<'r, 'o, 'a> {
    pub(super) problem: &'r Problem<'o, 'a>,
    pub(super) domains: Rc<Domains>,
    pub(super) bounds: CriteriaBounds<'r, 'a>,
    /// The best entries so far, best first; one entry per set.
    pub(super) top: Vec<RankedPlacement>,
    pub(super) stats: SearchStats,
    /// At this many nodes the time is looked at again.
    pub(super) ask: u64,
    /// How many nodes pass between two looks.
    pub(super) ask_every: u64,
}

/// How many nodes of a matcher pass between two looks at the time.
pub(super) const ASKED_EVERY: u64 = 1024;

impl<'o, 'a> SearchRun<'_, 'o, 'a> {
    /// The cost of looking at the set of a match, in nodes. Its value may depend on every pair of devices, and a
    /// node of the matcher takes as long as some dozens of pairs.
    pub(super) fn cost_of_set(part: &DeviceSet) -> u64 {
        1 + (part.len() as u64).pow(2) / 64
    }

    /// Whether as many entries are found as are wanted. Then a new one must beat the last.
    pub(super) fn is_full(&self) -> bool {
        self.top.len() > self.problem.request.runners_up
    }

    /// Counts nodes. Returns false once the limit on them is reached, or the caller's deadline, which is
    /// checked as often as the matcher checks it.
    pub(super) fn step(&mut self, nodes: u64) -> bool {
        if !self.stats.complete() {
            return false;
        }
        if self.stats.nodes >= self.problem.limits.nodes {
            self.stats.stopped = StopReason::NodeLimit;
            return false;
        }
        self.stats.nodes = self.stats.nodes.saturating_add(nodes);
        if self.stats.nodes >= self.ask {
            self.ask = self.stats.nodes.saturating_add(self.ask_every);
            if self.problem.view.is_out_of_time() {
                self.stats.stopped = StopReason::of_time();
            }
        }
        self.stats.complete()
    }

    /// How sets are visited.
    pub(super) fn plan<'p>(&self, matcher: &'p Matcher, symmetric: bool) -> VisitPlan<'p, 'o, 'a> {
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
        let (by_set, own_order) = (self.problem.set_criteria(), self.own_order());
        // Ranks without communication, or with equal traffic between all pairs, are interchangeable.
        let is_alike = match request.pattern.family() {
            Family::Independent => true,
            Family::Pair | Family::AllToAll => request.pattern.traffic().is_some(),
            _ => false,
        };
        VisitPlan {
            matcher,
            is_of_one_match: symmetric && is_alike,
            by_set,
            own_order,
            is_ring: self.problem.is_ring_of_sums(),
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
    pub(super) fn visit_set(&mut self, set: &DeviceSet, plan: &VisitPlan<'_, 'o, 'a>) {
        let Problem {
            criteria, limits, ..
        } = *self.problem;
        // A start is met again by the search, and its value may take long.
        if self.top.iter().any(|entry| entry.set == *set) {
            return;
        }
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
        } else if plan.is_of_one_match {
            // The one distinct match has the ranks in the order of ids.
            self.stats.matches += 1;
            let placement: Placement = set.iter().collect();
            self.offer(&placement, Some(known));
        } else if let Some(placement) = plan.is_ring.then(|| self.problem.ring_order(set)).flatten()
        {
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
            } else if stats.nodes.is_multiple_of(ASKED_EVERY) && view.is_out_of_time() {
                stats.stopped = StopReason::of_time();
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
    pub(super) fn loses(&self, set: &DeviceSet, mut at_most: impl FnMut(usize) -> f64) -> bool {
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
    pub(super) fn visit_matches(
        &mut self,
        matcher: &Matcher,
        part: &DeviceSet,
        known: Option<SetFacts<'_>>,
    ) {
        let mut stats = self.stats;
        let by_rank_order = matcher.in_rank_order();
        // If the set is not known, each match also pays for looking at its set.
        let pattern = &self.problem.request.pattern;
        let looks_at_sets =
            known.is_none() && self.problem.objectives().any(|o| o.is_of_set(pattern));
        let cost = if looks_at_sets {
            Self::cost_of_set(part)
        } else {
            // The criteria that see the rank order are computed for each match.
            pattern.edges().len() as u64 / 8
        };
        let mut left = self.problem.left(&stats).nodes;
        let mut ask = left.saturating_sub(ASKED_EVERY);
        let (mut spent, mut is_late) = (false, false);
        let domains = Rc::clone(&self.domains);
        self.problem
            .search(matcher, part, &domains, &mut stats, |placement| {
                spent = left < cost;
                if spent {
                    return ControlFlow::Break(());
                }
                left -= cost;
                // The meter counts a match as one node, whatever it costs here.
                if left <= ask {
                    ask = left.saturating_sub(ASKED_EVERY);
                    is_late = self.problem.view.is_out_of_time();
                    if is_late {
                        return ControlFlow::Break(());
                    }
                }
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
        } else if is_late {
            stats.stopped = StopReason::of_time();
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
pub(super) struct VisitPlan<'p, 'o, 'a> {
    matcher: &'p Matcher,
    /// Whether every set has one distinct match: without this, a search after the first match would try
    /// all ascending lists of ranks, 2ᵏ of them.
    is_of_one_match: bool,
    /// The number of leading criteria that the set decides.
    by_set: usize,
    own_order: Option<&'o BestOrder<'a>>,
    /// Whether a table over subsets may find the rank order of a set.
    is_ring: bool,
    /// Whether the value of a set takes longer than its bound.
    pub(super) takes_long: bool,
    /// The cost of a value, in nodes.
    pub(super) dear: u64,
    /// The cost of a bound on such a value, in nodes.
    glance: u64,
    /// The cost of a value of the devices that stay free, in nodes: it may depend on every pair of
    /// them, and a node of the matcher takes as long as some dozens of pairs.
    rest: u64,
}

/// What the set of a match determines.
#[derive(Clone, Copy)]
pub(super) struct SetFacts<'k> {
    set: &'k DeviceSet,
    /// The leading keys, which the set decides.
    keys: &'k Few<f64>,
    /// An upper bound on each key.
    bound: &'k Few<f64>,
}
