//! The exact optimum on up to sixteen devices, from tables of reachable counts: what is best is known before any rank order
//! is looked at.
//!
//! Links that no criterion tells apart are of one kind. With at most three kinds, the value of every criterion of links or
//! edges is a function of how many edges lie on each kind, and [`crate::reach`] knows which counts the pattern can have on
//! each set of devices. So the best rank order of a set is known without looking for it (`Valued`). If no criterion depends
//! on what is free, neither does the order of sets, and the best of every subset of the machine is worked out at once
//! (`Ranking`): a decision is then a look into a table. Else the sets of what is free are gone through (`scan`).
//!
//! Either way the answer is the one that enumeration would give, ties included: lowest ids, then the smallest rank order,
//! which the tables of chains and rings spell out, and [`Smallest`] finds on the one set for other patterns.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use super::criterion::{Criterion, Kind};
use super::domains::Domains;
use super::edge_sums::EdgeSums;
use super::links::{Links, is_of_counts};
use super::optimum::{Entry, Optimum};
use super::requirement::Test;
use super::smallest::{Goal, Smallest};
use super::valued::{Ranking, Value, Valued};
use crate::matching::{Few, Limits, Placement, SearchStats, StopReason};
use crate::pattern::{Edge, Want};
use crate::reach::{
    Counts, Effort, Family, Kinds, MOST, Mask, Plan, Spread, Table, choose, earliness, members, of_size, place,
};
use crate::score::{Form, Objective, Seat, Subset};
use crate::topology::{DeviceId, DeviceSet};

/// The most edges of a pattern: counts of both kinds are numbered. As many as join sixteen ranks.
const MOST_EDGES: usize = 120;

/// The most nodes that the smallest rank order on a known set may take.
const NODES_OF_ORDER: u64 = 2_000_000;

/// How often the caller's clock is looked at while sets are gone through.
const ASK_EVERY: u32 = 1 << 12;

/// A decision by tables: what they are about, and for whom.
pub(super) struct ByTable<'t, 'o, 'a> {
    pub(super) optimum: &'t Optimum<'o, 'a>,
    pub(super) family: Family,
    /// The devices of the table, ascending.
    pub(super) universe: Few<DeviceId>,
    /// Those that the job may have.
    domain: Mask,
    effort: Effort,
}

/// Why tables have no answer.
pub(super) enum Unanswered {
    /// A search must do it.
    NotByTable,
    /// The caller's time was up.
    Stopped,
}

impl<'t, 'o, 'a> ByTable<'t, 'o, 'a> {
    /// The best entries, best first, as [`Optimum::best`] has them; where a search must do it, how many nodes were spent in
    /// vain.
    pub(super) fn best(optimum: &'t Optimum<'o, 'a>, effort: Effort) -> Result<(Vec<Entry>, SearchStats), u64> {
        let Some(this) = Self::new(optimum, effort) else { return Err(0) };
        let mut stats = SearchStats::default();
        let mut top = Vec::new();
        for part in this.parts() {
            match this.best_within(part, &mut top, &mut stats) {
                Ok(()) => {}
                // A search that stops early has something to show at least.
                Err(Unanswered::NotByTable | Unanswered::Stopped) if top.is_empty() => return Err(0),
                Err(_) => {
                    stats.stopped = StopReason::Caller;
                    break;
                }
            }
        }
        let entries: Option<Vec<Entry>> = top.iter().map(|best| this.entry(best, &mut stats)).collect();
        let Some(entries) = entries else { return Err(stats.nodes) };
        stats.matches = entries.len() as u64;
        Ok((entries, stats))
    }

    /// Whether [`Effort::Any`] may do what [`Effort::Little`] did not.
    pub(super) fn would_take_long(optimum: &'t Optimum<'o, 'a>) -> bool {
        Self::new(optimum, Effort::Any).is_some_and(|this| this.plan().is_some())
    }

    /// The order in which ranks are placed for a table of any pattern; none if that is too much.
    fn plan(&self) -> Option<Arc<Option<Plan>>> {
        let Optimum { request, view, .. } = *self.optimum;
        let mut key: Few<u64> = Few::new();
        key.extend([6, self.k() as u64, self.universe.len() as u64]);
        key.extend(request.pattern.edges().iter().map(|edge| u64::from(edge.a) << 32 | u64::from(edge.b)));
        let memo = view.graph().memo();
        let fresh = || memo.put(&key, 1 << 10, Plan::new(&request.pattern, self.universe.len()));
        Some(memo.get(&key).unwrap_or_else(fresh)).filter(|plan: &Arc<Option<Plan>>| plan.is_some())
    }

    /// The plan, if it is within the effort.
    pub(super) fn affordable(&self) -> Result<Arc<Option<Plan>>, Unanswered> {
        let covered =
            |plan: &Arc<Option<Plan>>| plan.as_ref().as_ref().is_some_and(|plan| self.effort.covers(plan.work));
        self.plan().filter(covered).ok_or(Unanswered::NotByTable)
    }

    fn new(optimum: &'t Optimum<'o, 'a>, effort: Effort) -> Option<Self> {
        let Optimum { request, view, criteria, requirements, limits } = *optimum;
        let pattern = &request.pattern;
        let (k, graph) = (pattern.len(), view.graph());
        let demand = pattern.demands().first().filter(|_| k <= MOST && pattern.is_uniform() && !pattern.may_share())?;
        // Tables are about whole devices.
        if !graph.has_only_wholes() && demand.want != Want::Whole {
            return None;
        }
        let family = pattern.traffic().map_or(Family::Other, |_| pattern.family());
        let placement_test = |requirement: &super::requirement::Requirement<'_>| requirement.test.sees_ranks();
        let floors = requirements.iter().filter_map(|requirement| requirement.test.objective());
        // A link may then be good enough for some edges only.
        let by_edge =
            pattern.traffic().is_none() && requirements.iter().any(|requirement| requirement.test.link().is_some());
        if by_edge
            || limits.matches < Limits::NONE.matches
            || view.is_of_any_layout()
            || requirements.iter().any(placement_test)
            || pattern.edges().len() > MOST_EDGES
            || !{ floors }.all(|objective| is_by_table(objective, optimum))
            || !criteria.iter().all(|criterion| criterion.kind.objective().is_none_or(|o| is_by_table(o, optimum)))
        {
            return None;
        }
        let domain = Domains::of(optimum, demand, &request.eligible(graph));
        if domain.last().is_some_and(|last| last.index() >= graph.wholes().len()) {
            return None;
        }
        let wholes = graph.wholes();
        let universe: Few<DeviceId> = if wholes.len() <= MOST {
            wholes.iter().collect()
        } else if domain.len() <= MOST {
            domain.iter().collect()
        } else {
            return None;
        };
        let mut this = Self { optimum, family, universe, domain: 0, effort };
        this.domain = this.mask(&domain);
        let must = this.mask(&request.must_include);
        let sets =
            |part: Mask| choose((part & !must).count_ones() as usize, k.saturating_sub(must.count_ones() as usize));
        let work: u64 = this.parts().map(sets).sum();
        (request.must_include.is_subset(&domain) && work <= limits.nodes).then_some(this)
    }

    fn mask(&self, set: &DeviceSet) -> Mask {
        let has = |(at, &id): (usize, &DeviceId)| if set.contains(id) { 1 << at } else { 0 };
        self.universe.iter().enumerate().map(has).sum()
    }

    fn set(&self, mask: Mask) -> DeviceSet {
        members(mask).map(|at| self.universe[at]).collect()
    }

    /// What a placement must stay within.
    fn parts(&self) -> impl Iterator<Item = Mask> {
        let Optimum { request, view, .. } = *self.optimum;
        let nodes = if request.same_numa { view.graph().numa_nodes() } else { Vec::new() };
        let all = (!request.same_numa).then_some(self.domain);
        let parts: Vec<Mask> = nodes.iter().map(|(_, node)| self.mask(node) & self.domain).collect();
        all.into_iter().chain(parts)
    }

    pub(super) fn k(&self) -> usize {
        self.optimum.request.pattern.len()
    }

    fn best_within(&self, part: Mask, top: &mut Vec<Best>, stats: &mut SearchStats) -> Result<(), Unanswered> {
        let Optimum { request, .. } = *self.optimum;
        let must = self.mask(&request.must_include);
        let k = self.k();
        if must & !part != 0 || (part.count_ones() as usize) < k {
            return Ok(());
        }
        stats.nodes += choose((part & !must).count_ones() as usize, k - must.count_ones() as usize);
        let simple = must == 0 && request.runners_up == 0 && !self.depends_on_more();
        if let Some(ranking) = simple.then(|| self.ranking()).transpose()? {
            if let Some(set) = ranking.best_of(part) {
                self.offer(
                    Best { set, keys: self.keys(&ranking.valued, set), valued: Arc::clone(&ranking.valued) },
                    top,
                );
            }
            return Ok(());
        }
        let valued = self.valued()?;
        self.scan(&valued, must, part, top)
    }

    /// Whether what is best depends on what is free, or on tests that no key can name.
    fn depends_on_more(&self) -> bool {
        let Optimum { criteria, requirements, .. } = *self.optimum;
        // What takes long to compute is not computed of every set.
        let of_machine = |o: &Objective<'_>| {
            matches!(o.form(), Form::Links(..) | Form::Edges(_) | Form::Chosen(_)) && !o.is_chosen_and_bounded()
        };
        !criteria.iter().filter_map(|criterion| criterion.kind.objective()).all(of_machine)
            || requirements.iter().any(|requirement| !requirement.test.is_of_domains())
    }

    /// A key that tells apart everything that the value of a set depends on.
    fn key(&self, tag: u64, criteria: impl Iterator<Item = &'t Criterion<'a>>) -> Few<u64>
    where
        'o: 't,
    {
        let Optimum { request, .. } = *self.optimum;
        let pattern = &request.pattern;
        let traffic = pattern.edges().first().map_or(0, |edge| edge.traffic.to_bits());
        let mut key: Few<u64> = Few::new();
        key.extend([tag, self.family as u64, self.k() as u64, pattern.edges().len() as u64, traffic]);
        key.push(request.min_link.code());
        key.extend(self.universe.iter().map(|id| u64::from(id.0)));
        if self.family == Family::Other {
            let edge = |edge: &Edge| [u64::from(edge.a) << 32 | u64::from(edge.b), edge.traffic.to_bits()];
            key.extend(pattern.edges().iter().flat_map(edge));
        }
        key.push(u64::MAX);
        criteria.for_each(|criterion| key.extend(criterion.identity()));
        key
    }

    /// The order of all sets, and the best within every set.
    fn ranking(&self) -> Result<Arc<Ranking>, Unanswered> {
        let memo = self.optimum.view.graph().memo();
        let key = self.key(1, self.optimum.criteria.iter());
        if let Some(ranking) = memo.get::<Ranking>(&key) {
            return if self.effort.covers(ranking.valued.work) { Ok(ranking) } else { Err(Unanswered::NotByTable) };
        }
        let valued = self.valued()?;
        let mut sets: Vec<Mask> =
            of_size(self.universe.len(), self.k()).filter(|&set| valued.at(set).is_some()).collect();
        let columns = self.columns();
        let only_counts = columns.iter().all(|column| matches!(column, Column::Counts(_)));
        if only_counts {
            sets.sort_unstable_by_key(|&set| (valued.best[place(set)], !earliness(set)));
        } else {
            let keys =
                |set: Mask| -> Few<f64> { columns.iter().map(|column| self.value(column, &valued, set)).collect() };
            let mut keyed: Vec<(Few<f64>, Mask)> = sets.iter().map(|&set| (keys(set), set)).collect();
            keyed.sort_by(|a, b| self.compare((&b.0, b.1), (&a.0, a.1)));
            sets = keyed.into_iter().map(|(_, set)| set).collect();
        }
        let ranking = Ranking::new(self.universe.len(), sets, valued);
        Ok(memo.put(&key, ranking.bytes(), ranking))
    }

    /// What each set is worth to the criteria of links and edges.
    fn valued(&self) -> Result<Arc<Valued>, Unanswered> {
        let Optimum { criteria, requirements, view, .. } = *self.optimum;
        let memo = view.graph().memo();
        let by_counts = || criteria.iter().filter(|criterion| criterion.kind.objective().is_some_and(is_of_counts));
        let nameless = requirements.iter().any(|requirement| !requirement.test.is_of_domains());
        let key = self.key(2, by_counts());
        if let Some(valued) = memo.get::<Valued>(&key).filter(|_| !nameless) {
            return if self.effort.covers(valued.work) { Ok(valued) } else { Err(Unanswered::NotByTable) };
        }
        let links = Links::new(self.optimum, &self.universe);
        let criteria: Vec<&Criterion<'_>> = by_counts().collect();
        let valued = match links.kinds().zip(self.optimum.request.pattern.traffic()) {
            Some((kinds, traffic)) => {
                let (table, work) = self.table(&kinds)?;
                Valued { work, ..Valued::by_counts(self, &links, &criteria, (table, traffic)) }
            }
            None => Valued::by_sums(self, &links, &criteria)?,
        };
        Ok(if nameless { Arc::new(valued) } else { memo.put(&key, valued.bytes(), valued) })
    }

    /// The table of reachable counts, filled as far as the pattern needs, and the work of its plan.
    fn table(&self, kinds: &Kinds) -> Result<(Arc<Table>, u64), Unanswered> {
        // What is too much effort is so whether or not someone else has made it: answers do not depend on it.
        let plan = if self.family == Family::Other { Some(self.affordable()?) } else { None };
        let plan = plan.as_ref().and_then(|plan| plan.as_ref().as_ref());
        let Optimum { request, view, .. } = *self.optimum;
        let pattern = &request.pattern;
        let memo = view.graph().memo();
        let mut key: Few<u64> = Few::new();
        key.extend([3, self.family as u64]);
        if self.family == Family::Other {
            key.push(self.k() as u64);
            key.extend(pattern.edges().iter().map(|edge| u64::from(edge.a) << 32 | u64::from(edge.b)));
        }
        key.push(u64::MAX);
        key.extend(kinds.words());
        let fresh = || memo.put(&key, Table::bytes(self.family, kinds.len()), Table::new(self.family, kinds.clone()));
        let table: Arc<Table> = memo.get(&key).unwrap_or_else(fresh);
        match table.build(pattern, plan, &|| view.stop().is_some_and(|stop| stop())) {
            Some(true) => Ok((table, plan.map_or(0, |plan| plan.work))),
            Some(false) => Err(Unanswered::NotByTable),
            None => Err(Unanswered::Stopped),
        }
    }

    /// Goes through the sets of `part`.
    fn scan(&self, valued: &Arc<Valued>, must: Mask, part: Mask, top: &mut Vec<Best>) -> Result<(), Unanswered> {
        let Optimum { request, view, requirements, .. } = *self.optimum;
        let columns = self.columns();
        if columns.iter().any(|column| matches!(column, Column::Bounded { .. })) {
            return self.scan_by_bounds(&columns, valued, (must, part), top);
        }
        let spread = Spread::new(part & !must);
        let open = (part & !must).count_ones() as usize;
        let room = request.runners_up.saturating_add(1);
        for (looked, chosen) in (0u32..).zip(of_size(open, self.k() - must.count_ones() as usize)) {
            if looked % ASK_EVERY == ASK_EVERY - 1 && view.stop().is_some_and(|stop| stop()) {
                return Err(Unanswered::Stopped);
            }
            let set = spread.of(chosen) | must;
            if valued.at(set).is_none() {
                continue;
            }
            let worst = top.last().filter(|_| top.len() >= room);
            let mut keys: Few<f64> = Few::new();
            let mut tied = worst.is_some();
            let loses = columns.iter().enumerate().any(|(at, column)| {
                let key = self.value(column, valued, set);
                keys.push(key);
                let Some(worst) = worst.filter(|_| tied) else { return false };
                let order = self.compare_at(at, (key, set), (worst.keys[at], worst.set));
                tied = order.is_eq();
                order.is_lt()
            });
            if loses || tied && worst.is_some_and(|worst| earliness(set) < earliness(worst.set)) {
                continue;
            }
            if requirements.iter().all(|requirement| self.admits(&requirement.test, set)) {
                self.offer(Best { set, keys, valued: Arc::clone(valued) }, top);
            }
        }
        Ok(())
    }

    /// The same in the order of what sets can be worth at most, until the best that was found is as good.
    fn scan_by_bounds(
        &self,
        columns: &[Column<'t, 'a>],
        valued: &Arc<Valued>,
        (must, part): (Mask, Mask),
        top: &mut Vec<Best>,
    ) -> Result<(), Unanswered> {
        let Optimum { request, view, requirements, .. } = *self.optimum;
        let spread = Spread::new(part & !must);
        let open = (part & !must).count_ones() as usize;
        let sets = of_size(open, self.k() - must.count_ones() as usize).map(|chosen| spread.of(chosen) | must);
        let at_most =
            |set: Mask| -> Few<f64> { columns.iter().map(|column| self.at_most(column, valued, set)).collect() };
        let mut sets: Vec<(Few<f64>, Mask)> =
            sets.filter(|&set| valued.at(set).is_some()).map(|set| (at_most(set), set)).collect();
        sets.sort_unstable_by(|a, b| self.compare((&b.0, b.1), (&a.0, a.1)));
        let room = request.runners_up.saturating_add(1);
        for (bounds, set) in sets {
            let worst = top.last().filter(|_| top.len() >= room);
            if worst.is_some_and(|worst| self.compare((&bounds, set), (&worst.keys, worst.set)).is_lt()) {
                break;
            }
            if view.stop().is_some_and(|stop| stop()) {
                return Err(Unanswered::Stopped);
            }
            if requirements.iter().all(|requirement| self.admits(&requirement.test, set)) {
                let keys = columns.iter().map(|column| self.value(column, valued, set)).collect();
                self.offer(Best { set, keys, valued: Arc::clone(valued) }, top);
            }
        }
        Ok(())
    }

    /// What requirements say of a set; of links and counts they were asked before.
    fn admits(&self, test: &Test<'_>, set: Mask) -> bool {
        let Optimum { request, view, .. } = *self.optimum;
        match test {
            Test::Seat(_) | Test::Link(_) | Test::Placement(_) => true,
            Test::Set(test) => test(Subset { graph: view.graph(), devices: &self.set(set) }),
            Test::Score(objective, _) if is_of_counts(objective) => true,
            Test::Score(objective, admits) => {
                objective.score_set(view, &request.pattern, &self.set(set)).is_some_and(|value| admits(value))
            }
        }
    }

    fn offer(&self, best: Best, top: &mut Vec<Best>) {
        let room = self.optimum.request.runners_up.saturating_add(1);
        let at = top.partition_point(|old| self.compare((&old.keys, old.set), (&best.keys, best.set)).is_ge());
        top.insert(at, best);
        top.truncate(room);
    }

    fn compare_at(&self, at: usize, a: (f64, Mask), b: (f64, Mask)) -> Ordering {
        match self.optimum.criteria[at].kind {
            Kind::LowestIds => earliness(a.1).cmp(&earliness(b.1)),
            _ => a.0.total_cmp(&b.0),
        }
    }

    /// The better is greater.
    fn compare(&self, a: (&[f64], Mask), b: (&[f64], Mask)) -> Ordering {
        let by_keys = (0..a.0.len()).map(|at| self.compare_at(at, (a.0[at], a.1), (b.0[at], b.1)));
        { by_keys }.find(|order| order.is_ne()).unwrap_or_else(|| earliness(a.1).cmp(&earliness(b.1)))
    }

    /// How each criterion gets its value.
    fn columns(&self) -> Few<Column<'t, 'a>> {
        let Optimum { request, view, criteria, .. } = *self.optimum;
        let mut counted = 0;
        let column = |criterion: &'t Criterion<'a>| {
            let Some(objective) = criterion.kind.objective() else { return Column::LowestIds };
            if is_of_counts(objective) {
                counted += 1;
                return Column::Counts(counted - 1);
            }
            match (objective.form(), request.pattern.demands().first()) {
                (Form::Devices(f), Some(demand)) => {
                    let seat = |&id: &DeviceId| f(&Seat { view: *view, demand, id });
                    let seats = (0u32..).zip(&self.universe);
                    Column::Devices(criterion, {
                        seats.map(|(at, id)| if self.domain >> at & 1 == 1 { seat(id) } else { 0.0 }).collect()
                    })
                }
                (Form::Rest(f), _) => match self.rest(objective) {
                    Some((free, values)) => Column::Rest(criterion, Box::new(move |subset| f(subset)), free, values),
                    None => Column::Set(criterion, objective),
                },
                _ if objective.is_chosen_and_bounded() => {
                    Column::Bounded { criterion, objective, values: self.chosen(objective) }
                }
                _ => Column::Set(criterion, objective),
            }
        };
        criteria.iter().map(column).collect()
    }

    /// What is free, as a mask, and a place for the value of each set that may stay so; where the table holds it all.
    fn rest(&self, objective: &Objective<'_>) -> Option<(Mask, Arc<Values>)> {
        let view = self.optimum.view;
        let graph = view.graph();
        if !graph.has_only_wholes() || self.universe.len() < graph.len() {
            return None;
        }
        let free = self.mask(view.free());
        let key = [4, objective.id()];
        let fresh = || {
            let values: Values = (0..1 << self.universe.len()).map(|_| OnceLock::new()).collect();
            graph.memo().put(&key, values.len() * size_of::<OnceLock<f64>>(), values)
        };
        Some((free, graph.memo().get(&key).unwrap_or_else(fresh)))
    }

    /// A place for the value of each set, and for its bound.
    fn chosen(&self, objective: &Objective<'_>) -> Arc<[Values; 2]> {
        let memo = self.optimum.view.graph().memo();
        let mut key: Few<u64> = Few::new();
        key.extend([7, objective.id()]);
        key.extend(self.universe.iter().map(|id| u64::from(id.0)));
        let fresh = || {
            let values = || -> Values { (0..1 << self.universe.len()).map(|_| OnceLock::new()).collect() };
            memo.put(&key, (2 * size_of::<OnceLock<f64>>()) << self.universe.len(), [values(), values()])
        };
        memo.get(&key).unwrap_or_else(fresh)
    }

    /// The most that a criterion can be on a set.
    fn at_most(&self, column: &Column<'_, '_>, valued: &Valued, set: Mask) -> f64 {
        let Column::Bounded { criterion, objective, values } = column else { return self.value(column, valued, set) };
        if values[0][set as usize].get().is_some() {
            return self.value(column, valued, set);
        }
        let graph = self.optimum.view.graph();
        let bound = || objective.best_on(Subset { graph, devices: &self.set(set) }).unwrap_or(f64::NAN);
        let bound = *values[1][set as usize].get_or_init(bound);
        // A bound that is not a number bounds nothing.
        if bound.is_nan() { f64::INFINITY } else { criterion.key(bound) }
    }

    fn value(&self, column: &Column<'_, '_>, valued: &Valued, set: Mask) -> f64 {
        let Optimum { request, view, .. } = *self.optimum;
        match column {
            Column::Counts(at) => valued.at(set).map_or(f64::NEG_INFINITY, |best| best.keys[*at]),
            Column::LowestIds => 0.0,
            Column::Devices(criterion, values) => {
                criterion.key(members(set).map(|at| values[at]).fold(0.0, |sum, value| sum + value))
            }
            Column::Rest(criterion, f, free, values) => {
                let rest = free & !set;
                let value = || f(Subset { graph: view.graph(), devices: &self.set(rest) });
                criterion.key(*values[rest as usize].get_or_init(value))
            }
            Column::Bounded { criterion, objective, values } => {
                let value = || objective.score_set(view, &request.pattern, &self.set(set)).unwrap_or(f64::NAN);
                criterion.key(*values[0][set as usize].get_or_init(value))
            }
            Column::Set(criterion, objective) => {
                let value = objective.score_set(view, &request.pattern, &self.set(set));
                criterion.key(value.unwrap_or(f64::NAN))
            }
        }
    }

    fn keys(&self, valued: &Valued, set: Mask) -> Few<f64> {
        self.columns().iter().map(|column| self.value(column, valued, set)).collect()
    }

    /// With the rank order: the smallest of those that are as good.
    fn entry(&self, best: &Best, stats: &mut SearchStats) -> Option<Entry> {
        let value = best.valued.at(best.set)?;
        let table = best.valued.table.as_ref();
        let order = table.and_then(|table| table.smallest(self.family, best.set, &value.counts));
        let order = match order {
            Some(order) => order,
            None => self.found(best, value, stats)?,
        };
        let placement: Placement = order.into_iter().map(|at| self.universe[at]).collect();
        Some(Entry::new(best.keys.clone(), self.set(best.set), placement))
    }

    /// The same looked for.
    fn found(&self, best: &Best, value: &Value, stats: &mut SearchStats) -> Option<Vec<usize>> {
        let pattern = &self.optimum.request.pattern;
        let links = Links::new(self.optimum, &self.universe);
        let set: Few<usize> = members(best.set).collect();
        let by_counts = |criterion: &&Criterion<'_>| criterion.kind.objective().is_some_and(is_of_counts);
        let criteria: Vec<&Criterion<'_>> = self.optimum.criteria.iter().filter(by_counts).collect();
        let sums = if best.valued.table.is_none() { Some(EdgeSums::new(pattern, &links, &criteria)?) } else { None };
        let of_edge = |at: usize, kind: usize| sums.as_ref().map_or([0; 2], |sums| sums.of(&pattern.edges()[at], kind));
        let goal = if sums.is_some() {
            Goal::Sum(value.sums, &of_edge)
        } else {
            let edges = pattern.edges().len() as u32;
            let by_kind = |counts: &Counts| [counts.x, counts.y, edges - counts.x - counts.y].into_iter().collect();
            Goal::Counts(value.counts.iter().map(by_kind).collect())
        };
        let left = self.optimum.limits.nodes.saturating_sub(stats.nodes).min(NODES_OF_ORDER);
        let (order, nodes) = Smallest::new(pattern, &links, &set, goal).find(left);
        stats.nodes += nodes;
        order
    }
}

fn is_by_table(objective: &Objective<'_>, optimum: &Optimum<'_, '_>) -> bool {
    is_of_counts(objective) || objective.is_of_set(&optimum.request.pattern)
}

/// A set that may be the best.
struct Best {
    set: Mask,
    keys: Few<f64>,
    valued: Arc<Valued>,
}

/// By set of what stays free.
type Values = Box<[OnceLock<f64>]>;

/// Where the values of a criterion come from.
enum Column<'c, 'a> {
    /// The best counts of the set; the position among criteria of this kind.
    Counts(usize),
    LowestIds,
    Devices(&'c Criterion<'a>, Few<f64>),
    /// What stays free decides; every value is computed once for the machine.
    Rest(&'c Criterion<'a>, Box<dyn Fn(Subset<'_>) -> f64 + 'c>, Mask, Arc<Values>),
    Set(&'c Criterion<'a>, &'c Objective<'a>),
    /// The chosen set decides, and a bound is cheaper than the value; each is computed once for the machine.
    Bounded {
        criterion: &'c Criterion<'a>,
        objective: &'c Objective<'a>,
        values: Arc<[Values; 2]>,
    },
}
