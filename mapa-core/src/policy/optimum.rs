//! The exact lexicographic optimum: by a table ([`ByTable`]), by islands ([`ByIslands`]), or by looking at everything that can
//! still win, which is here.
//!
//! Where every pair of devices is joined well enough, as on real servers, every set has a match: sets are enumerated,
//! lowest ids first, and rank orders only within sets that are not beaten already, by what the set decides (preserved
//! bandwidth costs C(n, k) evaluations, not C(n, k) k! / |automorphisms|) or by what the links in it allow at best
//! ([`Bounds`]). Otherwise every distinct match is scored, criterion by criterion, and dropped at the first on which it is
//! beaten. Objectives that see the whole placement break no symmetry, so raw matches are scored.
//!
//! Devices that differ in nothing but their ids (instances of one device, devices behind one switch) are told apart only if
//! some criterion may do so: else sets have the lowest ids of such devices, and others that could swap with them are not
//! looked at. What is best among them is best of all, and has the lowest ids.
//!
//! What a requirement sees decides where it acts: what it says of single devices becomes each rank's domain before the search,
//! what it says of links becomes a test of edges within it, the rest is asked of whole placements.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::rc::Rc;

use super::bound::Bounds;
use super::by_component::within_components;
use super::by_islands::ByIslands;
use super::by_table::ByTable;
use super::criterion::{Criterion, Kind, settle};
use super::domains::Domains;
use super::request::Request;
use super::requirement::Requirement;
use super::subsets::Subsets;
use crate::matching::{Few, Limits, MatchConfig, Matcher, Placement, SearchStats, StopReason, without_layout};
use crate::reach::Effort;
use crate::score::{BestOrder, Candidate, EdgeOn, Form, Objective, Seat, Subset};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, Link, LinkClass};
use crate::view::View;

/// How far a search goes before a table is made that takes longer than most searches. It goes so far whether or not the table
/// is there already: what a decision took must not depend on earlier ones.
const TRIAL_NODES: u64 = 200_000;

pub(super) struct Optimum<'o, 'a> {
    pub(super) request: &'o Request,
    pub(super) view: &'o View<'o>,
    pub(super) criteria: &'o [Criterion<'a>],
    pub(super) requirements: &'o [Requirement<'a>],
    pub(super) limits: Limits,
}

/// A placement that may be chosen.
pub(super) struct Entry {
    /// A value per criterion, the higher the better; 0 for the lowest ids, which `set` decides.
    pub(super) keys: Few<f64>,
    pub(super) set: DeviceSet,
    pub(super) placement: Placement,
}

impl Entry {
    pub(super) fn new(keys: Few<f64>, set: DeviceSet, placement: Placement) -> Self {
        Self { keys, set, placement }
    }
}

impl<'o, 'a> Optimum<'o, 'a> {
    /// The best placement and as many runners-up on other sets as the request wants, best first.
    pub(super) fn best(&self) -> (Vec<Entry>, SearchStats) {
        let spent = match within_components(self) {
            Ok(answer) => return answer,
            Err(spent) => spent,
        };
        let (entries, mut stats) = self.after(spent).best_of_all();
        stats.nodes += spent;
        (entries, stats)
    }

    /// The same, wherever they are.
    fn best_of_all(&self) -> (Vec<Entry>, SearchStats) {
        let spent = match ByTable::best(self, Effort::Little) {
            Ok(answer) => return answer,
            Err(spent) => spent,
        };
        if let Some(answer) = ByIslands::best(self) {
            return answer;
        }
        let rest = self.after(spent);
        let (entries, mut stats) = if ByTable::would_take_long(&rest) { rest.tried() } else { rest.best_by_search() };
        stats.nodes += spent;
        (entries, stats)
    }

    /// With so many nodes less.
    fn after(&self, spent: u64) -> Self {
        Self { limits: self.limits.nodes(self.limits.nodes.saturating_sub(spent)), ..*self }
    }

    /// A search that is given some time, and then a table.
    fn tried(&self) -> (Vec<Entry>, SearchStats) {
        let trial = Self { limits: self.limits.nodes(self.limits.nodes.min(TRIAL_NODES)), ..*self };
        let (entries, stats) = trial.best_by_search();
        let rest = self.after(stats.nodes);
        // With fewer nodes than the trial had, no search gets as far.
        if stats.stopped != StopReason::NodeLimit || rest.limits.nodes <= stats.nodes {
            return (entries, stats);
        }
        let (better, mut more) = ByTable::best(&rest, Effort::Any).unwrap_or_else(|spent| {
            let (entries, mut stats) = rest.after(spent).best_by_search();
            stats.nodes += spent;
            (entries, stats)
        });
        more.nodes += stats.nodes;
        let kept = more.stopped == StopReason::Caller && !entries.is_empty();
        let entries = if kept { entries } else { better };
        (entries, more)
    }

    fn best_by_search(&self) -> (Vec<Entry>, SearchStats) {
        let domains = Rc::new(Domains::new(self).without_twins(self));
        let bounds = Bounds::new(self.view, &self.request.pattern, self.criteria);
        let mut run = Run { optimum: self, domains, bounds, top: Vec::new(), stats: SearchStats::default() };
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

    /// Whether any placement is admitted; the search so far if it did not get to know.
    pub(super) fn any(&self) -> Result<bool, SearchStats> {
        let matcher = self.matcher(self.is_symmetric());
        let domains = Domains::new(self);
        let mut stats = SearchStats::default();
        let found = self.parts(&domains.union).iter().any(|part| {
            !domains.are_too_few(self, part)
                && self.search(&matcher, part, &domains, &mut stats, |placement| {
                    if self.admits(placement) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })
        });
        if found || stats.complete() { Ok(found) } else { Err(stats) }
    }

    /// Whether placements equal up to an automorphism of the pattern are equal to all criteria and requirements.
    fn is_symmetric(&self) -> bool {
        let objectives = self.criteria.iter().filter_map(|criterion| criterion.kind.objective());
        let floors = self.requirements.iter().filter_map(|requirement| requirement.test.objective());
        !self.requirements.iter().any(|requirement| requirement.test.sees_ranks())
            && objectives.chain(floors).all(Objective::is_symmetric)
    }

    /// For distinct matches if they will do, else for every rank order.
    fn matcher(&self, symmetric: bool) -> Cow<'o, Matcher> {
        let pattern = &self.request.pattern;
        if symmetric {
            Cow::Borrowed(pattern.rank_matcher())
        } else {
            Cow::Owned(MatchConfig::new().by_rank(true).distinct(false).compile(pattern))
        }
    }

    /// The sets within which a placement must stay.
    fn parts(&self, free: &DeviceSet) -> Vec<DeviceSet> {
        if !self.request.same_numa {
            return vec![free.clone()];
        }
        self.view.graph().numa_nodes().iter().map(|(_, node)| node & free).collect()
    }

    /// Whether every set of as many devices as there are ranks has a match, and matches have no other sets.
    fn every_set_matches(&self, part: &DeviceSet) -> bool {
        let graph = self.view.graph();
        let pattern = &self.request.pattern;
        if !pattern.is_uniform() || pattern.may_share() {
            return false;
        }
        if graph.can_be_cut() && !part.iter().all(|id| graph.overlap(id).is_disjoint(part)) {
            return false;
        }
        pattern.edges().is_empty()
            || self.requirements.iter().all(|requirement| requirement.test.link().is_none())
                && part.iter().all(|a| {
                    let enough = |b| graph.link(a, b).exists() && graph.link(a, b).class >= self.request.min_link;
                    part.iter().take_while(|b| *b < a).all(enough)
                })
    }

    fn admits(&self, placement: &[DeviceId]) -> bool {
        includes(placement, &self.request.must_include)
            && without_layout(self.view, placement).is_none()
            && (self.requirements.is_empty() || {
                let candidate = self.candidate(placement);
                self.requirements.iter().all(|requirement| requirement.test.admits(&candidate))
            })
    }

    fn candidate<'c>(&'c self, placement: &'c [DeviceId]) -> Candidate<'c> {
        Candidate { view: *self.view, pattern: &self.request.pattern, placement }
    }

    /// Runs the matcher within `part`, with what is left of the limits; true if the visitor broke off.
    fn search(
        &self,
        matcher: &Matcher,
        part: &DeviceSet,
        domains: &Domains,
        stats: &mut SearchStats,
        f: impl FnMut(&[DeviceId]) -> ControlFlow<()>,
    ) -> bool {
        let tests = || self.requirements.iter().filter_map(|requirement| requirement.test.link());
        let enough = |edge: &crate::Edge, link: Link| {
            link.class >= self.request.min_link && tests().all(|test| test(EdgeOn { traffic: edge.traffic, link }))
        };
        let demands = self.request.pattern.demands();
        let together = |id, ranks: &[usize]| self.view.holds(id, ranks.iter().map(|&rank| demands[rank]));
        let mut search = matcher.on(self.view.graph()).within(part).domains(&domains.per_rank).limits(self.left(stats));
        if self.request.min_link > LinkClass::None || tests().next().is_some() {
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

    fn left(&self, stats: &SearchStats) -> Limits {
        let Limits { matches, nodes } = self.limits;
        Limits { matches: matches.saturating_sub(stats.matches), nodes: nodes.saturating_sub(stats.nodes) }
    }

    /// The key of a criterion that needs the rank order (or is asked for it anyway).
    fn key(&self, criterion: &Criterion<'_>, placement: &[DeviceId]) -> f64 {
        let objective = criterion.kind.objective();
        objective.map_or(0.0, |objective| criterion.key(objective.score(&self.candidate(placement))))
    }

    /// The key of a criterion that the set decides.
    fn set_key(&self, criterion: &Criterion<'_>, set: &DeviceSet) -> Option<f64> {
        match criterion.kind.objective() {
            Some(objective) => {
                objective.score_set(self.view, &self.request.pattern, set).map(|value| criterion.key(value))
            }
            None => Some(0.0),
        }
    }

    /// The keys by which an entry is compared with one on another machine. There what stays free is what is lost: the
    /// bandwidth left on an idle machine is no merit of the placement.
    pub(super) fn keys_across_machines(&self, entry: &Entry) -> Few<f64> {
        let key = |(criterion, &key): (&Criterion<'_>, &f64)| {
            let value = |objective: &Objective<'_>, set: &DeviceSet| {
                objective
                    .score_set(self.view, &self.request.pattern, set)
                    .filter(|_| matches!(objective.form(), Form::Rest(_)))
            };
            let change = criterion
                .kind
                .objective()
                .and_then(|objective| Some(value(objective, &entry.set)? - value(objective, &DeviceSet::new())?));
            change.map_or(key, |change| criterion.key(change))
        };
        self.criteria.iter().zip(&entry.keys).map(key).collect()
    }

    /// How entry `a` compares with entry `b` on one criterion.
    pub(super) fn compare(&self, at: usize, a: &Entry, b: &Entry) -> Ordering {
        self.order(at, (a.keys[at], b.keys[at]), (&a.set, &b.set))
    }

    fn order(&self, at: usize, keys: (f64, f64), sets: (&DeviceSet, &DeviceSet)) -> Ordering {
        match self.criteria[at].kind {
            Kind::LowestIds => sets.1.cmp(sets.0),
            _ => keys.0.total_cmp(&keys.1),
        }
    }
}

struct Run<'r, 'o, 'a> {
    optimum: &'r Optimum<'o, 'a>,
    domains: Rc<Domains>,
    bounds: Bounds<'r, 'a>,
    /// Best first; one entry a set.
    top: Vec<Entry>,
    stats: SearchStats,
}

impl<'o, 'a> Run<'_, 'o, 'a> {
    /// What the leading criteria that are sums over devices leave open: the devices that every best set has, and those that a
    /// best set may have. A sum is highest for the devices of highest value; only those that tie for the last places are
    /// open to the next criterion. Without this, a baseline that draws eight of 56 lots would look at 1.4 billion sets.
    fn narrowed(&self, must: &DeviceSet, part: &DeviceSet) -> (DeviceSet, DeviceSet) {
        let Optimum { request, view, criteria, requirements, .. } = *self.optimum;
        let (mut must, mut part) = (must.clone(), part.clone());
        let filtered = requirements.iter().any(|requirement| !requirement.test.is_of_domains());
        let Some(demand) = request.pattern.demands().first().filter(|_| request.runners_up == 0 && !filtered) else {
            return (must, part);
        };
        for criterion in criteria {
            let Some((objective, sign)) = criterion.exact_sum() else { break };
            let Form::Devices(f) = objective.form() else { break };
            let value = |id| settle(sign * f(&Seat { view: *view, demand, id }));
            let mut values: Vec<(f64, DeviceId)> = (&part - &must).iter().map(|id| (value(id), id)).collect();
            values.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            let open = request.pattern.len().saturating_sub(must.len());
            let Some(&(last, _)) = open.checked_sub(1).and_then(|at| values.get(at)) else { break };
            let above = values.partition_point(|(value, _)| *value > last);
            let at_least = values.partition_point(|(value, _)| *value >= last);
            let sum: f64 = must.iter().map(value).chain(values[..open].iter().map(|(value, _)| *value)).sum();
            // The least by which another set is worse: infinities, and what rounding the sum swallows, make sets equal.
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

    /// How many of the first criteria the set decides.
    fn set_criteria(&self) -> usize {
        let pattern = &self.optimum.request.pattern;
        let of_set = |c: &&Criterion<'_>| c.kind.objective().is_none_or(|objective| objective.is_of_set(pattern));
        self.optimum.criteria.iter().take_while(of_set).count()
    }

    /// What a set is worth may depend on every pair of devices; a node of the matcher takes as long as some dozens.
    fn cost_of_set(&self, part: &DeviceSet) -> u64 {
        1 + (part.len() as u64).pow(2) / 64
    }

    fn is_full(&self) -> bool {
        self.top.len() > self.optimum.request.runners_up
    }

    fn visit_sets(&mut self, matcher: &Matcher, part: &DeviceSet, symmetric: bool) {
        let Optimum { request, criteria, limits, .. } = *self.optimum;
        let must = &request.must_include;
        if !must.is_subset(part) {
            return;
        }
        let (must, part) = &self.narrowed(must, part);
        let ideal: Few<f64> = (0..criteria.len()).map(|at| self.ideal(at, part)).collect();
        let plan = self.plan(matcher, symmetric);
        let cost = self.cost_of_set(part);
        if plan.takes_long {
            for set in self.grown(must, part) {
                // A part of the limit, lest nothing be left for all the others.
                if self.stats.nodes.saturating_add(plan.dear) > limits.nodes / 8 || !self.stats.complete() {
                    break;
                }
                self.visit_set(&set, &plan);
            }
        }
        let rest: Vec<DeviceId> = (part - must).iter().collect();
        let below = |id: &DeviceId| rest.binary_search(self.domains.twin_below.get(id)?).ok();
        let below = rest.iter().map(below).collect();
        let mut subsets = Subsets::new(below, request.pattern.len() - must.len());
        while let Some(chosen) = subsets.next() {
            if !self.stats.complete() {
                return;
            }
            if limits.nodes.saturating_sub(self.stats.nodes) < cost {
                self.stats.stopped = StopReason::NodeLimit;
                return;
            }
            // As often as the matcher asks.
            let asked = self.stats.nodes >> 10;
            self.stats.nodes += cost;
            if self.stats.nodes >> 10 != asked && self.optimum.view.stop().is_some_and(|stop| stop()) {
                self.stats.stopped = StopReason::Caller;
                return;
            }
            let mut set = must.clone();
            set.extend(chosen.iter().map(|&i| rest[i]));
            if self.loses(&ideal, &set) {
                // Sets come by lowest ids: what follows can be no better, and has higher ids.
                return;
            }
            self.visit_set(&set, &plan);
        }
    }

    /// How sets are looked at.
    fn plan<'p>(&self, matcher: &'p Matcher, symmetric: bool) -> Plan<'p, 'o, 'a> {
        let Optimum { request, criteria, .. } = *self.optimum;
        let takes_long = |c: &Criterion<'_>| c.kind.objective().is_some_and(Objective::is_chosen_and_bounded);
        let takes_long = criteria.iter().any(takes_long);
        // A table over the subsets of a set may be needed up to sixteen, and a minimum cut for its bound: so many steps.
        let k = request.pattern.len() as u64;
        let of_table = if k <= 16 { k << k } else { 64 * k.pow(3) };
        let (dear, glance) = if takes_long { (of_table, k.pow(3) / 4) } else { (0, 0) };
        let (by_set, own_order) = (self.set_criteria(), self.own_order());
        Plan { matcher, symmetric, by_set, own_order, takes_long, dear, glance }
    }

    /// Looks at one set, unless it cannot win.
    fn visit_set(&mut self, set: &DeviceSet, plan: &Plan<'_, 'o, 'a>) {
        let Optimum { request, criteria, limits, .. } = *self.optimum;
        // What takes long to compute is computed of sets that can still win.
        if plan.takes_long && self.is_full() {
            self.stats.nodes = self.stats.nodes.saturating_add(plan.glance);
            let bound: Few<f64> = (0..criteria.len()).map(|at| self.at_most_at_a_glance(at, set)).collect();
            if self.loses(&bound, set) {
                return;
            }
        }
        self.stats.nodes = self.stats.nodes.saturating_add(plan.dear);
        let keys: Few<f64> =
            criteria[..plan.by_set].iter().filter_map(|criterion| self.optimum.set_key(criterion, set)).collect();
        let bound: Few<f64> =
            keys.iter().copied().chain((plan.by_set..criteria.len()).map(|at| self.at_most(at, set))).collect();
        if self.loses(&bound, set) {
            return;
        }
        let known = Known { set, keys: &keys, bound: &bound };
        if plan.symmetric && request.pattern.edges().is_empty() {
            // Ranks that are alike and do not talk: the one distinct match has them in the order of ids.
            if self.stats.matches >= limits.matches {
                self.stats.stopped = StopReason::MatchLimit;
                return;
            }
            self.stats.matches += 1;
            let placement: Placement = set.iter().collect();
            self.offer(&placement, Some(known));
        } else if !plan.own_order.is_some_and(|find| self.offer_best(find, known)) {
            self.visit_matches(plan.matcher, set, Some(known));
        }
    }

    /// Sets that are likely to be good: from each device, always the next that is joined best to those taken. Whoever comes
    /// first, they only spare others a closer look. O(m² k) for sets of k of m devices.
    fn grown(&self, must: &DeviceSet, part: &DeviceSet) -> Vec<DeviceSet> {
        let Optimum { request, view, .. } = *self.optimum;
        let graph = view.graph();
        let is_lowest = |id: &DeviceId, set: &DeviceSet| {
            self.domains.twin_below.get(id).is_none_or(|below| set.contains(*below) || !part.contains(*below))
        };
        let from = |first: Option<DeviceId>| {
            let mut set: DeviceSet = must.iter().chain(first).collect();
            while set.len() < request.pattern.len() {
                let joined = |id: DeviceId| set.iter().map(|other| graph.link(id, other).gbps).sum::<f64>();
                let next = part.iter().filter(|id| !set.contains(*id) && is_lowest(id, &set));
                let best = next.map(|id| (joined(id), id)).reduce(|a, b| if b.0 > a.0 { b } else { a });
                set.insert(best?.1);
            }
            Some(set)
        };
        let mut sets: Vec<DeviceSet> = if must.is_empty() {
            part.iter().filter(|id| is_lowest(id, must)).filter_map(|first| from(Some(first))).collect()
        } else {
            from(None).into_iter().collect()
        };
        sets.sort();
        sets.dedup();
        sets
    }

    /// How the only objective that asks for rank orders finds the best on a set, if nothing else is asked of them.
    fn own_order(&self) -> Option<&'o BestOrder<'a>> {
        let Optimum { request, criteria, requirements, .. } = *self.optimum;
        let objective = |criterion: &'o Criterion<'a>| Some((criterion, criterion.kind.objective()?));
        let mut open = criteria.iter().filter_map(objective).filter(|(_, o)| !o.is_of_set(&request.pattern));
        let (Some((criterion, objective)), None) = (open.next(), open.next()) else { return None };
        let minimised = criterion.exact_sum().is_some_and(|(_, sign)| sign < 0.0);
        objective.best_order().filter(|_| minimised && requirements.is_empty())
    }

    /// Puts the best rank order on a set where it belongs, if it is found so.
    fn offer_best(&mut self, find: &BestOrder<'a>, known: Known<'_>) -> bool {
        let Optimum { request, limits, view, .. } = *self.optimum;
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
        let found = find(&request.pattern, Subset { graph: view.graph(), devices: known.set }, &mut go_on);
        if let Some(placement) = &found {
            self.stats.matches += 1;
            self.offer(placement, Some(known));
        }
        found.is_some() || !self.stats.complete()
    }

    /// The most that a criterion can be on any set within `part`.
    fn ideal(&self, at: usize, part: &DeviceSet) -> f64 {
        self.optimum.criteria[at].signed_key(self.bounds.within(at, part))
    }

    /// The most that a criterion can be on exactly this set.
    fn at_most(&self, at: usize, set: &DeviceSet) -> f64 {
        let criterion = &self.optimum.criteria[at];
        self.optimum.set_key(criterion, set).unwrap_or_else(|| criterion.signed_key(self.bounds.of(at, set)))
    }

    /// The same, without values of sets that a bound is stated of.
    fn at_most_at_a_glance(&self, at: usize, set: &DeviceSet) -> f64 {
        let criterion = &self.optimum.criteria[at];
        if criterion.kind.objective().is_some_and(Objective::is_chosen_and_bounded) {
            return criterion.signed_key(self.bounds.of(at, set));
        }
        self.at_most(at, set)
    }

    /// Whether nothing on `set` with at most these keys can enter the list: its worst is better, or as good with lower ids.
    fn loses(&self, at_most: &[f64], set: &DeviceSet) -> bool {
        let Some(worst) = self.top.last().filter(|_| self.is_full()) else { return false };
        let by_keys = (0..at_most.len()).map(|i| self.optimum.order(i, (at_most[i], worst.keys[i]), (set, &worst.set)));
        match { by_keys }.find(|order| order.is_ne()) {
            Some(order) => order.is_lt(),
            None => *set > worst.set,
        }
    }

    fn visit_matches(&mut self, matcher: &Matcher, part: &DeviceSet, known: Option<Known<'_>>) {
        let mut stats = self.stats;
        let by_rank_order = matcher.in_rank_order();
        // Without its set known, a match has to be worth its nodes and what its set costs.
        let pattern = &self.optimum.request.pattern;
        let of_set = |c: &Criterion<'_>| c.kind.objective().is_some_and(|objective| objective.is_of_set(pattern));
        let looks_at_sets = known.is_none() && self.optimum.criteria.iter().any(of_set);
        let cost = if looks_at_sets { self.cost_of_set(part) } else { 0 };
        let mut left = self.optimum.left(&stats).nodes;
        let mut spent = false;
        let domains = Rc::clone(&self.domains);
        self.optimum.search(matcher, part, &domains, &mut stats, |placement| {
            spent = left < cost;
            if spent {
                return ControlFlow::Break(());
            }
            left -= cost;
            let best = self.offer(placement, known);
            // The first to meet the bound of its set has the smallest rank order of those that do.
            if best && by_rank_order { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if spent {
            stats.stopped = StopReason::NodeLimit;
        }
        self.stats = stats;
    }

    /// Puts a match where it belongs, if it does; whether it is as good as its set allows.
    fn offer(&mut self, placement: &[DeviceId], known: Option<Known<'_>>) -> bool {
        let optimum = self.optimum;
        let passes_over = |id| self.domains.twin_below.get(id).is_some_and(|below| !placement.contains(below));
        if known.is_none() && placement.iter().any(passes_over) || !optimum.admits(placement) {
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
        let worst = self.top.last().filter(|_| self.is_full());
        let mut tied = worst.is_some();
        for (i, criterion) in optimum.criteria.iter().enumerate() {
            if keys.len() == i {
                keys.push(optimum.set_key(criterion, set).unwrap_or_else(|| optimum.key(criterion, placement)));
            }
            if let Some(worst) = worst.filter(|_| tied) {
                match optimum.order(i, (keys[i], worst.keys[i]), (set, &worst.set)) {
                    Ordering::Less => return false,
                    order => tied = order.is_eq(),
                }
            }
        }
        let meets_bound = known.is_some_and(|known| keys[..] == known.bound[..]);
        let entry = Entry { keys, set: set.clone(), placement: placement.into() };
        if let Some(same) = self.top.iter().position(|old| old.set == entry.set) {
            if self.order(&self.top[same], &entry).is_ge() {
                return meets_bound;
            }
            self.top.remove(same);
        }
        let at = self.top.partition_point(|old| self.order(old, &entry).is_ge());
        self.top.insert(at, entry);
        self.top.truncate(optimum.request.runners_up.saturating_add(1));
        meets_bound
    }

    fn order(&self, a: &Entry, b: &Entry) -> Ordering {
        let by_keys = (0..a.keys.len()).map(|at| self.optimum.compare(at, a, b));
        { by_keys }
            .find(|order| order.is_ne())
            .unwrap_or_else(|| b.set.cmp(&a.set).then_with(|| b.placement.cmp(&a.placement)))
    }
}

/// How sets are looked at.
struct Plan<'p, 'o, 'a> {
    matcher: &'p Matcher,
    symmetric: bool,
    /// So many of the first criteria are decided by the set.
    by_set: usize,
    own_order: Option<&'o BestOrder<'a>>,
    /// Whether a value of a set is dearer than a bound of it.
    takes_long: bool,
    /// What a value costs, in nodes.
    dear: u64,
    /// What a bound costs.
    glance: u64,
}

/// What is known of a match by its set.
#[derive(Clone, Copy)]
struct Known<'k> {
    set: &'k DeviceSet,
    /// The leading keys that the set decides.
    keys: &'k Few<f64>,
    /// The most that each key can be.
    bound: &'k Few<f64>,
}

fn includes(placement: &[DeviceId], must: &DeviceSet) -> bool {
    must.iter().all(|device| placement.contains(&device))
}

/// That a match meets the request's constraints beyond the devices it allows; what is not met.
pub(super) fn meets_request(
    request: &Request,
    graph: &HardwareGraph,
    placement: &[DeviceId],
) -> Result<(), &'static str> {
    let link = |a: u16, b: u16| graph.link_of_ranks(placement[usize::from(a)], placement[usize::from(b)]).class;
    let numa = |device: &DeviceId| graph.device(*device).numa;
    if !includes(placement, &request.must_include) {
        Err("the devices that must be included")
    } else if !request.pattern.edges().iter().all(|edge| link(edge.a, edge.b) >= request.min_link) {
        Err("the least class of link")
    } else if request.same_numa && !placement.iter().all(|d| numa(d).is_some() && numa(d) == numa(&placement[0])) {
        Err("one NUMA node for all devices")
    } else {
        Ok(())
    }
}
