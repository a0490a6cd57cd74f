//! The exact optimum on up to sixteen devices, from tables of reachable counts. The best value is
//! known before any rank order is built.
//!
//! Links that no criterion distinguishes are of one kind. With at most three kinds, the value of
//! every criterion of links or edges is a function of the number of edges on each kind. A table of
//! [`crate::reach`] holds the counts that the pattern can have on each set of devices. So the value
//! of a set's best rank order is known without a search for the order ([`Valued`]).
//!
//! If no criterion depends on the free set, neither does the order of sets. Then the best set
//! within every subset of the machine is computed once ([`Ranking`]), and a decision is one table
//! lookup. Otherwise every set of free devices is compared (`scan`).
//!
//! In both cases the answer is that of an enumeration, ties included: lowest ids, then the smallest
//! rank order. For chains and rings, that order is read from the table. For other patterns,
//! [`Smallest`] finds it on the chosen set.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use super::criterion::{Criterion, CriterionKind};
use super::domains::Domains;
use super::edge_sums::EdgeSums;
use super::links::{LinkKinds, is_of_counts};
use super::problem::{AlgorithmResult, Problem, RankedPlacement};
use super::requirement::RequirementTest;
use super::smallest::{OrderGoal, Smallest};
use super::valued::{CombinedValue, CountTable, Ranking, Valued};
use crate::ids::{DeviceId, LinkClass};
use crate::matching::{Few, Limits, Placement, SearchStats, StopReason};
use crate::pattern::{Edge, Want};
use crate::reach::{
    Effort, Family, FillResult, KindCounts, MOST, Mask, PairKinds, RankPlan, ReachTable, SubsetMap,
    choose, earliness, members, of_size, place,
};
use crate::score::{Form, Objective, Seat, Subset};
use crate::topology::{DeviceSet, MemoKey};

/// The most edges of a pattern: those of all-to-all on sixteen ranks. Tables number all pairs of
/// counts, so the range of counts is bounded.
const MOST_EDGES: usize = 120;

/// The most nodes of the search for the smallest rank order on a known set.
const NODES_OF_ORDER: u64 = 2_000_000;

/// After how many sets the caller's deadline is checked.
const ASK_EVERY: u32 = 1 << 12;

/// A decision by tables: the problem, and the devices of the tables.
pub(super) struct ByTable<'t, 'o, 'a> {
    pub(super) problem: &'t Problem<'o, 'a>,
    family: Family,
    /// The devices of the table, ascending.
    universe: Few<DeviceId>,
    /// The devices that the job may use, as positions in the universe.
    domain: Mask,
    effort: Effort,
}

/// Why tables have no answer.
enum NoTableAnswer {
    /// Tables cannot express the problem, or take too much effort.
    NotByTable,
    /// The caller's deadline passed.
    Stopped,
}

impl<'t, 'o, 'a> ByTable<'t, 'o, 'a> {
    /// The best entries, best first, as [`Problem::best`] has them, if tables have the answer.
    pub(super) fn best(problem: &'t Problem<'o, 'a>, effort: Effort) -> AlgorithmResult {
        let Some(this) = Self::new(problem, effort) else {
            return AlgorithmResult::NOT_TRIED;
        };
        let mut stats = SearchStats::default();
        let mut top = Vec::new();
        for part in this.parts() {
            match this.best_within(part, &mut top, &mut stats) {
                Ok(()) => {}
                // No placement yet. A search takes over: even after the deadline it returns the
                // first placement that it finds.
                Err(_) if top.is_empty() => return AlgorithmResult::NOT_TRIED,
                Err(_) => {
                    stats.stopped = StopReason::of_time();
                    break;
                }
            }
        }
        let entries: Option<Vec<RankedPlacement>> = top
            .iter()
            .map(|best| this.entry(best, &mut stats))
            .collect();
        let Some(entries) = entries else {
            return AlgorithmResult::Open { spent: stats.nodes };
        };
        stats.matches = entries.len() as u64;
        AlgorithmResult::Settled((entries, stats))
    }

    /// Whether tables with [`Effort::Any`] may solve a problem that [`Effort::Little`] did not.
    pub(super) fn would_take_long(problem: &'t Problem<'o, 'a>) -> bool {
        Self::new(problem, Effort::Any).is_some_and(|this| this.plan().is_some())
    }

    /// The order in which ranks are placed for the table of a pattern of any shape; `None` if every
    /// order takes too long.
    fn plan(&self) -> Option<Arc<RankPlan>> {
        let Problem { request, view, .. } = *self.problem;
        let key = PlanKey {
            ranks: self.k(),
            devices: self.universe.len(),
            edges: ends(request.pattern.edges()),
        };
        let plan = view.graph().memo().get_or_make(&key, || {
            let plan = RankPlan::new(&request.pattern, self.universe.len());
            (1 << 10, plan.map(Arc::new))
        });
        Option::clone(&plan)
    }

    /// The plan, if it is within the effort.
    fn affordable(&self) -> Result<Arc<RankPlan>, NoTableAnswer> {
        self.plan()
            .filter(|plan| self.effort.covers(plan.work))
            .ok_or(NoTableAnswer::NotByTable)
    }

    /// `None` if tables cannot express the problem, or the number of sets would exceed its limits.
    fn new(problem: &'t Problem<'o, 'a>, effort: Effort) -> Option<Self> {
        let Problem {
            request,
            view,
            limits,
            ..
        } = *problem;
        let pattern = &request.pattern;
        let (k, graph) = (pattern.len(), view.graph());
        let demand = pattern
            .demands()
            .first()
            .filter(|_| k <= MOST && pattern.is_uniform() && !pattern.may_share())?;
        // Tables are about whole devices.
        if !graph.has_only_wholes() && demand.want != Want::Whole {
            return None;
        }
        // Edges of different traffic are not interchangeable, so their number on each kind of link
        // does not decide a value.
        let family = match pattern.traffic() {
            Some(_) => pattern.family(),
            None => Family::Other,
        };
        // A test of links may then admit a link for some edges only.
        let tested_by_edge =
            pattern.traffic().is_none() && problem.tests().any(|test| test.link().is_some());
        if tested_by_edge
            || limits.matches < Limits::NONE.matches
            || view.is_of_any_layout()
            || problem.tests().any(RequirementTest::sees_ranks)
            || pattern.edges().len() > MOST_EDGES
            || !problem
                .objectives()
                .chain(problem.tested_objectives())
                .all(|objective| is_of_counts(objective) || objective.is_of_set(pattern))
        {
            return None;
        }
        let domain = Domains::of(problem, demand, &request.eligible(graph));
        if domain
            .last()
            .is_some_and(|last| last.index() >= graph.wholes().len())
        {
            return None;
        }
        // A table of the whole machine serves every later decision. On larger machines it is made
        // for what the job may have now.
        let wholes = graph.wholes();
        let universe: Few<DeviceId> = if wholes.len() <= MOST {
            wholes.iter().collect()
        } else if domain.len() <= MOST {
            domain.iter().collect()
        } else {
            return None;
        };
        let mut this = Self {
            problem,
            family,
            universe,
            domain: 0,
            effort,
        };
        this.domain = this.mask(&domain);
        let must = this.mask(&request.must_include);
        let more = k.saturating_sub(must.count_ones() as usize);
        let work: u64 = this
            .parts()
            .map(|part| choose((part & !must).count_ones() as usize, more))
            .sum();
        (request.must_include.is_subset(&domain) && work <= limits.nodes).then_some(this)
    }

    /// A set of devices as a mask of positions in the universe. Other devices are left out.
    fn mask(&self, set: &DeviceSet) -> Mask {
        let mut mask = 0;
        for (at, &id) in self.universe.iter().enumerate() {
            mask |= Mask::from(set.contains(id)) << at;
        }
        mask
    }

    fn set(&self, mask: Mask) -> DeviceSet {
        members(mask).map(|at| self.universe[at]).collect()
    }

    /// The parts of the domain. A placement must be within one part.
    fn parts(&self) -> impl Iterator<Item = Mask> {
        let Problem { request, view, .. } = *self.problem;
        let parts: Few<Mask> = if request.same_numa {
            view.graph()
                .numa_nodes()
                .iter()
                .map(|(_, node)| self.mask(node) & self.domain)
                .collect()
        } else {
            Few::from_elem(self.domain, 1)
        };
        parts.into_iter()
    }

    /// The number of ranks.
    fn k(&self) -> usize {
        self.problem.request.pattern.len()
    }

    /// Adds the best sets within `part` to `top`.
    fn best_within(
        &self,
        part: Mask,
        top: &mut Vec<BestSet>,
        stats: &mut SearchStats,
    ) -> Result<(), NoTableAnswer> {
        let Problem { request, .. } = *self.problem;
        let must = self.mask(&request.must_include);
        let k = self.k();
        if must & !part != 0 || (part.count_ones() as usize) < k {
            return Ok(());
        }
        stats.nodes += choose(
            (part & !must).count_ones() as usize,
            k - must.count_ones() as usize,
        );
        // A ranking has only the best set of each part. It cannot give runners-up, or the best set
        // with some required devices.
        let simple = must == 0 && request.runners_up == 0 && !self.depends_on_more();
        if let Some(ranking) = simple.then(|| self.ranking()).transpose()? {
            if let Some(set) = ranking.best_of(part) {
                self.offer(
                    BestSet {
                        set,
                        keys: self.keys(&ranking.valued, set),
                        valued: Arc::clone(&ranking.valued),
                    },
                    top,
                );
            }
            return Ok(());
        }
        let valued = self.valued()?;
        self.scan(&valued, must, part, top)
    }

    /// Whether the order of sets depends on the free set or on tests that a table's key cannot
    /// identify, or takes too long to compute for every set.
    fn depends_on_more(&self) -> bool {
        let problem = self.problem;
        !problem.tests().all(RequirementTest::is_of_domains)
            || problem.objectives().any(|objective| {
                let form = objective.form();
                !matches!(form, Form::Links(..) | Form::Edges(_) | Form::Chosen(_))
                    || objective.is_chosen_and_bounded()
            })
    }

    /// Everything that the value of a set depends on.
    fn matter(&self, criteria: impl Iterator<Item = &'t Criterion<'a>>) -> Matter
    where
        'o: 't,
    {
        let Problem { request, .. } = *self.problem;
        let pattern = &request.pattern;
        // The edges of a family are known by their number; all have the same traffic.
        let (traffic, edges): (u64, Few<_>) = match self.family {
            Family::Other => {
                let edges = pattern.edges().iter();
                (0, edges.map(|e| (e.a, e.b, e.traffic.to_bits())).collect())
            }
            _ => {
                let first = pattern.edges().first();
                (first.map_or(0, |edge| edge.traffic.to_bits()), Few::new())
            }
        };
        Matter {
            family: self.family,
            ranks: self.k(),
            count: pattern.edges().len(),
            traffic,
            edges,
            min_link: request.min_link,
            universe: self.universe.clone(),
            criteria: criteria.map(Criterion::identity).collect(),
        }
    }

    /// The order of all sets, and the best set within every set.
    fn ranking(&self) -> Result<Arc<Ranking>, NoTableAnswer> {
        let memo = self.problem.view.graph().memo();
        let key = RankingKey(self.matter(self.problem.criteria.iter()));
        if let Some(ranking) = memo.get(&key) {
            return self.if_affordable(ranking.valued.work, ranking);
        }
        let valued = self.valued()?;
        let mut sets: Vec<Mask> = of_size(self.universe.len(), self.k())
            .filter(|&set| valued.at(set).is_some())
            .collect();
        let columns = self.columns();
        if columns
            .iter()
            .all(|column| matches!(column, CriterionColumn::Counts(_)))
        {
            // The rank of the set's value stands for all its keys.
            sets.sort_unstable_by_key(|&set| (valued.best[place(set)], !earliness(set)));
        } else {
            let mut keyed: Vec<(Few<f64>, Mask)> = Vec::with_capacity(sets.len());
            for set in sets {
                let keys = columns
                    .iter()
                    .map(|c| self.value(c, &valued, set))
                    .collect();
                keyed.push((keys, set));
            }
            keyed.sort_by(|a, b| self.compare((&b.0, b.1), (&a.0, a.1)));
            sets = keyed.into_iter().map(|(_, set)| set).collect();
        }
        let ranking = Ranking::new(self.universe.len(), sets, valued);
        Ok(memo.put(&key, ranking.bytes(), ranking))
    }

    /// The criteria that counts of links decide.
    fn criteria_of_counts(&self) -> Vec<&'t Criterion<'a>> {
        let mut criteria: Vec<&Criterion<'a>> = self.problem.criteria.iter().collect();
        criteria.retain(|criterion| criterion.objective().is_some_and(is_of_counts));
        criteria
    }

    /// A table that an earlier decision may have made, if its work is within this decision's
    /// effort. Without this check, answers would depend on earlier decisions.
    fn if_affordable<T>(&self, work: u64, made: T) -> Result<T, NoTableAnswer> {
        if self.effort.covers(work) {
            Ok(made)
        } else {
            Err(NoTableAnswer::NotByTable)
        }
    }

    /// The value of each set by the criteria of links and edges.
    fn valued(&self) -> Result<Arc<Valued>, NoTableAnswer> {
        let memo = self.problem.view.graph().memo();
        // A test is a function without a name that a key could hold: values that depend on one are
        // not kept.
        let nameless = !self.problem.tests().all(RequirementTest::is_of_domains);
        let criteria = self.criteria_of_counts();
        let key = ValuedKey(self.matter(criteria.iter().copied()));
        if let Some(valued) = memo.get(&key).filter(|_| !nameless) {
            return self.if_affordable(valued.work, valued);
        }
        let links = LinkKinds::new(self.problem, &self.universe);
        let valued = match links.kinds().zip(self.problem.request.pattern.traffic()) {
            Some((kinds, traffic)) => {
                let (table, work) = self.table(&kinds)?;
                let counted = CountTable {
                    family: self.family,
                    devices: self.universe.len(),
                    table,
                    traffic,
                };
                Valued {
                    work,
                    ..Valued::by_counts(self.problem, &links, &criteria, counted)
                }
            }
            None => self.valued_by_sums(&links, &criteria)?,
        };
        Ok(if nameless {
            Arc::new(valued)
        } else {
            memo.put(&key, valued.bytes(), valued)
        })
    }

    /// The value of each set by criteria that are sums over edges.
    fn valued_by_sums(
        &self,
        links: &LinkKinds,
        criteria: &[&Criterion<'_>],
    ) -> Result<Valued, NoTableAnswer> {
        let Problem { request, view, .. } = *self.problem;
        // A requirement of counts would have to be tested on every way to lie on a set, and of
        // these only the best is known.
        if self.problem.tested_objectives().any(is_of_counts) {
            return Err(NoTableAnswer::NotByTable);
        }
        let sums =
            EdgeSums::new(&request.pattern, links, criteria).ok_or(NoTableAnswer::NotByTable)?;
        let plan = self.affordable()?;
        if view.is_out_of_time() {
            return Err(NoTableAnswer::Stopped);
        }
        let devices = self.universe.len();
        Ok(Valued::by_sums(
            &request.pattern,
            devices,
            &plan,
            links,
            criteria,
            &sums,
        ))
    }

    /// The table of reachable counts, filled as far as the pattern needs, and the work of its plan.
    fn table(&self, kinds: &PairKinds) -> Result<(Arc<ReachTable>, u64), NoTableAnswer> {
        // Checked before the memo is read: see `if_affordable`.
        let plan = if self.family == Family::Other {
            Some(self.affordable()?)
        } else {
            None
        };
        let plan = plan.as_deref();
        let Problem { request, view, .. } = *self.problem;
        let pattern = &request.pattern;
        let key = TableKey {
            family: self.family,
            ranks_and_edges: (self.family == Family::Other)
                .then(|| (self.k(), ends(pattern.edges()))),
            kinds: kinds.words().collect(),
        };
        let table = view.graph().memo().get_or_make(&key, || {
            (
                ReachTable::bytes(self.family, kinds.len()),
                ReachTable::new(self.family, kinds.clone()),
            )
        });
        match table.build(pattern, plan, &|| view.is_out_of_time()) {
            FillResult::Filled => Ok((table, plan.map_or(0, |plan| plan.work))),
            FillResult::TooMuch => Err(NoTableAnswer::NotByTable),
            FillResult::Stopped => Err(NoTableAnswer::Stopped),
        }
    }

    /// Adds the best sets of `part` that contain `must`, by comparing every one.
    fn scan(
        &self,
        valued: &Arc<Valued>,
        must: Mask,
        part: Mask,
        top: &mut Vec<BestSet>,
    ) -> Result<(), NoTableAnswer> {
        let Problem { request, view, .. } = *self.problem;
        let columns = self.columns();
        if columns
            .iter()
            .any(|column| matches!(column, CriterionColumn::Bounded { .. }))
        {
            return self.scan_by_bounds(&columns, valued, (must, part), top);
        }
        // Subsets of 0.. are spread over the devices of `part`, and `must` is added to each.
        let spread = SubsetMap::new(part & !must);
        let open = (part & !must).count_ones() as usize;
        let room = request.runners_up.saturating_add(1);
        for (looked, chosen) in (0u32..).zip(of_size(open, self.k() - must.count_ones() as usize)) {
            if looked % ASK_EVERY == ASK_EVERY - 1 && view.is_out_of_time() {
                return Err(NoTableAnswer::Stopped);
            }
            let set = spread.of(chosen) | must;
            if valued.at(set).is_none() {
                continue;
            }
            // Keys are computed one by one, up to the first that loses to the last of a full list.
            let worst = top.last().filter(|_| top.len() >= room);
            let mut keys: Few<f64> = Few::new();
            let mut tied = worst.is_some();
            let loses = columns.iter().enumerate().any(|(at, column)| {
                let key = self.value(column, valued, set);
                keys.push(key);
                let Some(worst) = worst.filter(|_| tied) else {
                    return false;
                };
                let order = self.compare_at(at, (key, set), (worst.keys[at], worst.set));
                tied = order.is_eq();
                order.is_lt()
            });
            if loses || tied && worst.is_some_and(|worst| earliness(set) < earliness(worst.set)) {
                continue;
            }
            if self.problem.tests().all(|test| self.admits(test, set)) {
                self.offer(
                    BestSet {
                        set,
                        keys,
                        valued: Arc::clone(valued),
                    },
                    top,
                );
            }
        }
        Ok(())
    }

    /// Like [`Self::scan`], for criteria whose values take long and whose bounds do not. Sets are
    /// visited in the order of their bounds, until the list is full and its last entry is better
    /// than the next bound.
    fn scan_by_bounds(
        &self,
        columns: &[CriterionColumn<'t, 'a>],
        valued: &Arc<Valued>,
        (must, part): (Mask, Mask),
        top: &mut Vec<BestSet>,
    ) -> Result<(), NoTableAnswer> {
        let Problem { request, view, .. } = *self.problem;
        let spread = SubsetMap::new(part & !must);
        let open = (part & !must).count_ones() as usize;
        // Bounds of all criteria are made for the sets that are equal by a bound of the first, when their
        // turn comes: most sets lose by the first alone, and its links tell that soonest.
        let by_degree = columns.first().and_then(|column| self.by_degree(column));
        let mut firsts: Vec<(f64, Mask)> = Vec::new();
        for chosen in of_size(open, self.k() - must.count_ones() as usize) {
            let set = spread.of(chosen) | must;
            if valued.at(set).is_some() {
                let first = match (&by_degree, columns.first()) {
                    (Some(bound), _) => bound(set),
                    (None, Some(column)) => self.at_most(column, valued, set),
                    (None, None) => 0.0,
                };
                firsts.push((first, set));
            }
        }
        firsts.sort_unstable_by(|&a, &b| self.compare_at(0, b, a));
        let room = request.runners_up.saturating_add(1);
        for group in firsts.chunk_by(|&a, &b| self.compare_at(0, a, b).is_eq()) {
            let worst = top.last().filter(|_| top.len() >= room);
            if worst.is_some_and(|worst| {
                self.compare_at(0, group[0], (worst.keys[0], worst.set))
                    .is_lt()
            }) {
                break;
            }
            let bounded = group.iter().map(|&(_, set)| {
                let bounds = columns.iter().map(|c| self.at_most(c, valued, set));
                (bounds.collect::<Few<f64>>(), set)
            });
            let mut sets: Vec<(Few<f64>, Mask)> = bounded.collect();
            sets.sort_unstable_by(|a, b| self.compare((&b.0, b.1), (&a.0, a.1)));
            for (bounds, set) in sets {
                let worst = top.last().filter(|_| top.len() >= room);
                if worst.is_some_and(|worst| {
                    self.compare((&bounds, set), (&worst.keys, worst.set))
                        .is_lt()
                }) {
                    // So do the others of this group.
                    break;
                }
                if view.is_out_of_time() {
                    return Err(NoTableAnswer::Stopped);
                }
                if self.problem.tests().all(|test| self.admits(test, set)) {
                    let keys = columns
                        .iter()
                        .map(|column| self.value(column, valued, set))
                        .collect();
                    self.offer(
                        BestSet {
                            set,
                            keys,
                            valued: Arc::clone(valued),
                        },
                        top,
                    );
                }
            }
        }
        Ok(())
    }

    /// Whether a test admits a set. Tests of seats, links and counts were applied to domains, edges
    /// and values before.
    fn admits(&self, test: &RequirementTest<'_>, set: Mask) -> bool {
        let Problem { request, view, .. } = *self.problem;
        match test {
            RequirementTest::Seat { .. }
            | RequirementTest::Link(_)
            | RequirementTest::Placement(_) => true,
            RequirementTest::Set(test) => test(Subset {
                graph: view.graph(),
                devices: &self.set(set),
            }),
            RequirementTest::Score(objective, _) if is_of_counts(objective) => true,
            RequirementTest::Score(objective, admits) => objective
                .score_set(view, &request.pattern, &self.set(set))
                .is_some_and(|value| admits(value)),
        }
    }

    /// Puts a set into the list if it is among the best.
    fn offer(&self, best: BestSet, top: &mut Vec<BestSet>) {
        let room = self.problem.request.runners_up.saturating_add(1);
        let at = top.partition_point(|old| {
            self.compare((&old.keys, old.set), (&best.keys, best.set))
                .is_ge()
        });
        top.insert(at, best);
        top.truncate(room);
    }

    /// Compares two sets on one criterion; the better is greater.
    fn compare_at(&self, at: usize, a: (f64, Mask), b: (f64, Mask)) -> Ordering {
        match self.problem.criteria[at].kind {
            CriterionKind::LowestIds => earliness(a.1).cmp(&earliness(b.1)),
            _ => a.0.total_cmp(&b.0),
        }
    }

    /// Compares two sets by keys, then lowest ids; the better is greater.
    fn compare(&self, a: (&[f64], Mask), b: (&[f64], Mask)) -> Ordering {
        let by_keys = (0..a.0.len()).map(|at| self.compare_at(at, (a.0[at], a.1), (b.0[at], b.1)));
        { by_keys }
            .find(|order| order.is_ne())
            .unwrap_or_else(|| earliness(a.1).cmp(&earliness(b.1)))
    }

    /// For each criterion, where its values come from.
    fn columns(&self) -> Few<CriterionColumn<'t, 'a>> {
        let Problem {
            request,
            view,
            criteria,
            ..
        } = *self.problem;
        let mut columns = Few::new();
        let mut counted = 0;
        for criterion in criteria {
            let Some(objective) = criterion.objective() else {
                columns.push(CriterionColumn::LowestIds);
                continue;
            };
            if is_of_counts(objective) {
                columns.push(CriterionColumn::Counts(counted));
                counted += 1;
                continue;
            }
            columns.push(
                match (objective.form(), request.pattern.demands().first()) {
                    (Form::Devices(f), Some(demand)) => {
                        let mut values: Few<f64> = Few::from_elem(0.0, self.universe.len());
                        for at in members(self.domain) {
                            let (view, id) = (*view, self.universe[at]);
                            values[at] = f(&Seat { view, demand, id });
                        }
                        CriterionColumn::Devices(criterion, values)
                    }
                    (Form::Rest(f), _) => match self.rest(objective) {
                        Some((free, values)) => CriterionColumn::Rest(
                            criterion,
                            Box::new(move |subset| f(subset)),
                            free,
                            values,
                        ),
                        None => CriterionColumn::Set(criterion, objective),
                    },
                    _ if objective.is_chosen_and_bounded() => CriterionColumn::Bounded {
                        criterion,
                        objective,
                        values: self.chosen(objective),
                    },
                    _ => CriterionColumn::Set(criterion, objective),
                },
            );
        }
        columns
    }

    /// The free set as a mask, and a slot for the value of each set that may stay free; `None`
    /// unless all free devices are in the table.
    fn rest(&self, objective: &Objective<'_>) -> Option<(Mask, Arc<SetValues>)> {
        let view = self.problem.view;
        let graph = view.graph();
        if !graph.has_only_wholes() || self.universe.len() < graph.len() {
            return None;
        }
        let free = self.mask(view.free());
        let values = graph.memo().get_or_make(&RestKey(objective.id()), || {
            let values = no_values(self.universe.len());
            (size_of_val(&*values), values)
        });
        Some((free, values))
    }

    /// Two slots for each set: for its value and for its bound.
    fn chosen(&self, objective: &Objective<'_>) -> Arc<[SetValues; 2]> {
        let key = ChosenKey {
            objective: objective.id(),
            universe: self.universe.clone(),
        };
        self.problem.view.graph().memo().get_or_make(&key, || {
            let values = [(); 2].map(|()| no_values(self.universe.len()));
            (2 * size_of_val(&*values[0]), values)
        })
    }

    /// An upper bound on the key of a criterion for a set.
    fn at_most(&self, column: &CriterionColumn<'_, '_>, valued: &Valued, set: Mask) -> f64 {
        let CriterionColumn::Bounded {
            criterion,
            objective,
            values,
        } = column
        else {
            return self.value(column, valued, set);
        };
        if values[0][set as usize].get().is_some() {
            return self.value(column, valued, set);
        }
        let graph = self.problem.view.graph();
        let bound = *values[1][set as usize].get_or_init(|| {
            let devices = &self.set(set);
            let bound = objective.best_on(Subset { graph, devices });
            bound.unwrap_or(f64::NAN)
        });
        // A bound that is not a number bounds nothing.
        if bound.is_nan() {
            f64::INFINITY
        } else {
            criterion.key(bound)
        }
    }

    /// A bound on the key of a criterion for a set of the job's size by the direct links of its devices alone,
    /// which is made sooner than [`at_most`](Self::at_most) and is often as low; `None` where there is none.
    fn by_degree(
        &self,
        column: &CriterionColumn<'t, 'a>,
    ) -> Option<impl Fn(Mask) -> f64 + use<'t, 'a>> {
        let CriterionColumn::Bounded {
            criterion,
            objective,
            ..
        } = *column
        else {
            return None;
        };
        let graph = self.problem.view.graph();
        let part = Subset {
            graph,
            devices: &self.set(self.domain),
        };
        let bound = (objective.foresight()?.by_degree.as_ref()?)(part, self.k())?;
        let n = self.universe.len();
        let gbps = |a: usize, b: usize| graph.pair(self.universe[a], self.universe[b]).direct.gbps;
        let links: Vec<f64> = (0..n * n).map(|at| gbps(at / n, at % n)).collect();
        Some(move |set: Mask| {
            let around = |a: usize| {
                let links = members(set).map(|b| links[a * n + b]);
                let (all, widest) = links.fold((0.0, 0.0f64), |(all, widest), gbps| {
                    (all + gbps, widest.max(gbps))
                });
                bound.at_most(all, widest)
            };
            let least = members(set).map(around).fold(f64::INFINITY, f64::min);
            criterion.key(least.max(bound.otherwise))
        })
    }

    /// The key of a criterion for a set.
    fn value(&self, column: &CriterionColumn<'_, '_>, valued: &Valued, set: Mask) -> f64 {
        let Problem { request, view, .. } = *self.problem;
        match column {
            CriterionColumn::Counts(at) => valued
                .at(set)
                .map_or(f64::NEG_INFINITY, |best| best.keys[*at]),
            CriterionColumn::LowestIds => 0.0,
            CriterionColumn::Devices(criterion, values) => criterion.key(
                members(set)
                    .map(|at| values[at])
                    .fold(0.0, |sum, value| sum + value),
            ),
            CriterionColumn::Rest(criterion, f, free, values) => {
                let rest = free & !set;
                criterion.key(*values[rest as usize].get_or_init(|| {
                    f(Subset {
                        graph: view.graph(),
                        devices: &self.set(rest),
                    })
                }))
            }
            CriterionColumn::Bounded {
                criterion,
                objective,
                values,
            } => criterion.key(*values[0][set as usize].get_or_init(|| {
                objective
                    .score_set(view, &request.pattern, &self.set(set))
                    .unwrap_or(f64::NAN)
            })),
            CriterionColumn::Set(criterion, objective) => {
                let value = objective.score_set(view, &request.pattern, &self.set(set));
                criterion.key(value.unwrap_or(f64::NAN))
            }
        }
    }

    fn keys(&self, valued: &Valued, set: Mask) -> Few<f64> {
        self.columns()
            .iter()
            .map(|column| self.value(column, valued, set))
            .collect()
    }

    /// The entry of a set, with the smallest of its best rank orders; `None` if finding it takes
    /// too many nodes.
    fn entry(&self, best: &BestSet, stats: &mut SearchStats) -> Option<RankedPlacement> {
        let value = best.valued.at(best.set)?;
        let table = best.valued.table.as_ref();
        let order = table.and_then(|table| table.smallest(self.family, best.set, &value.counts));
        let order = match order {
            Some(order) => order,
            None => self.found(best, value, stats)?,
        };
        let placement: Placement = order.into_iter().map(|at| self.universe[at]).collect();
        Some(RankedPlacement {
            keys: best.keys.clone(),
            set: self.set(best.set),
            placement,
        })
    }

    /// The smallest rank order, as positions in the universe, found by search.
    fn found(
        &self,
        best: &BestSet,
        value: &CombinedValue,
        stats: &mut SearchStats,
    ) -> Option<Vec<usize>> {
        let pattern = &self.problem.request.pattern;
        let links = LinkKinds::new(self.problem, &self.universe);
        let set: Few<usize> = members(best.set).collect();
        let criteria = self.criteria_of_counts();
        // Without a table of counts, sets were valued by sums.
        let sums = if best.valued.table.is_none() {
            Some(EdgeSums::new(pattern, &links, &criteria)?)
        } else {
            None
        };
        let of_edge = |at: usize, kind: usize| {
            sums.as_ref()
                .map_or([0; 2], |sums| sums.of(&pattern.edges()[at], kind))
        };
        let goal = if sums.is_some() {
            OrderGoal::Sum(value.sums, &of_edge)
        } else {
            let edges = pattern.edges().len() as u32;
            let counts = value.counts.iter();
            OrderGoal::Counts(
                counts
                    .map(|&KindCounts { x, y }| [x, y, edges - x - y].into_iter().collect())
                    .collect(),
            )
        };
        let left = self
            .problem
            .limits
            .nodes
            .saturating_sub(stats.nodes)
            .min(NODES_OF_ORDER);
        let (order, nodes) = Smallest::new(pattern, &links, &set, goal).find(left);
        stats.nodes += nodes;
        order
    }
}

/// A candidate set.
struct BestSet {
    set: Mask,
    keys: Few<f64>,
    valued: Arc<Valued>,
}

/// By set, its value once it is computed.
type SetValues = Box<[OnceLock<f64>]>;

/// Empty slots for the value of each set of `devices` devices.
fn no_values(devices: usize) -> SetValues {
    (0..1 << devices).map(|_| OnceLock::new()).collect()
}

/// The two ranks of each edge.
fn ends(edges: &[Edge]) -> Few<(u16, u16)> {
    edges.iter().map(|edge| (edge.a, edge.b)).collect()
}

/// Everything that the value of a set depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Matter {
    family: Family,
    ranks: usize,
    /// The number of edges.
    count: usize,
    /// For a family: the bits of the traffic, which is the same on every edge.
    traffic: u64,
    /// For other patterns: the edges with the bits of their traffic.
    edges: Few<(u16, u16, u64)>,
    min_link: LinkClass,
    universe: Few<DeviceId>,
    criteria: Few<[u64; 2]>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct RankingKey(Matter);

impl MemoKey for RankingKey {
    type Table = Ranking;
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ValuedKey(Matter);

impl MemoKey for ValuedKey {
    type Table = Valued;
}

/// The key of a [`RankPlan`]. The entry is `None` if the plan would take too long.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PlanKey {
    ranks: usize,
    devices: usize,
    edges: Few<(u16, u16)>,
}

impl MemoKey for PlanKey {
    type Table = Option<Arc<RankPlan>>;
}

/// The key of a [`Table`] of reachable counts.
#[derive(Clone, PartialEq, Eq, Hash)]
struct TableKey {
    family: Family,
    /// `None` for patterns of a family, which share one table.
    ranks_and_edges: Option<(usize, Few<(u16, u16)>)>,
    /// See [`PairKinds::words`].
    kinds: Few<u64>,
}

impl MemoKey for TableKey {
    type Table = ReachTable;
}

/// The key of the values of an objective of the devices that stay free: its id.
#[derive(Clone, PartialEq, Eq, Hash)]
struct RestKey(u64);

impl MemoKey for RestKey {
    type Table = SetValues;
}

/// The key of the values and bounds of an objective of the chosen devices.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ChosenKey {
    objective: u64,
    universe: Few<DeviceId>,
}

impl MemoKey for ChosenKey {
    type Table = [SetValues; 2];
}

/// Where the values of a criterion come from.
enum CriterionColumn<'c, 'a> {
    /// The best counts of the set decide. The number is the position among such criteria.
    Counts(usize),
    LowestIds,
    /// The sum of these values, by position in the universe.
    Devices(&'c Criterion<'a>, Few<f64>),
    /// The devices that stay free decide: the function, the free set, and the values by the devices
    /// that stay free. Each value is computed once for the machine.
    Rest(
        &'c Criterion<'a>,
        Box<dyn Fn(Subset<'_>) -> f64 + 'c>,
        Mask,
        Arc<SetValues>,
    ),
    /// The set decides, and the value is computed for each decision.
    Set(&'c Criterion<'a>, &'c Objective<'a>),
    /// The chosen set decides, and its bound is cheaper than its value. Both are computed once for
    /// the machine.
    Bounded {
        criterion: &'c Criterion<'a>,
        objective: &'c Objective<'a>,
        values: Arc<[SetValues; 2]>,
    },
}
