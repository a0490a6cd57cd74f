//! Policies made of requirements and criteria in order of importance.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::alike::among_sets;
use super::answer_memo::remembered;
use super::api::Policy;
use super::decision::{Decision, RunnerUp, Scored, paper_scores};
use super::refusal::{Reason, Refusal, in_use, never, no_match};
use crate::ids::PolicyId;
use crate::matching::SearchStats;
use crate::optimum::{Criterion, Problem, RankedPlacement, Requirement, RequirementTest};
use crate::pattern::Demand;
use crate::request::Request;
use crate::score::{Candidate, EdgeOn, Objective, Seat, Subset};
use crate::topology::Device;
use crate::view::View;

/// A policy made of requirements and criteria in order of importance.
///
/// Of all matches that the request and the requirements admit, it takes the exact lexicographic
/// optimum of the criteria. Ties: the lowest ids, then the smallest rank order. Values are rounded
/// to twelve digits before they are compared, so that the order in which a sum was added up hardly
/// ever decides.
///
/// # Complexity
/// The time of a decision depends on the machine and the objectives. [`Request::limits`] bounds the
/// work.
///
/// - On up to sixteen devices, objectives of links, edges, devices and sets are decided by tables,
///   which stay with the [`HardwareGraph`](crate::HardwareGraph)
///   ([`table_bytes`](crate::HardwareGraph::table_bytes)). The first decision for a shape takes tens
///   of microseconds on eight devices and tens of milliseconds on sixteen. Later ones take one or two microseconds if nothing depends on the free set. A table
///   is found again by the objectives for which it was made, so keep the policy or its objectives
///   instead of making them anew.
/// - For instances of partitioned devices, numbers of ranks by device decide, if criteria see no links,
///   links of one kind, or nothing but links of two kinds that divide the devices into islands: O(m² + m k²)
///   for k ranks on m devices, microseconds on eight devices and some hundred on 128.
/// - Rings, chains and stars on more devices, in islands that are all joined alike, take
///   milliseconds. Ties still end in the lowest ids, but then not always in the smallest rank
///   order.
/// - Otherwise, if all devices are joined, sets are built device by device, and a partial set is
///   dropped once no set with it can win: by the sum of what stays free, or by the direct links that a
///   packing needs at each device. Other objectives are computed for every set that is left, and
///   rank orders only within sets that can still win.
/// - Otherwise every distinct match is visited.
///
/// The machine keeps what was answered without reaching a limit, if the rules see only links, edges and sets
/// ([`Policy::of_free_set`]). The same request on the same free devices then takes a fraction of a
/// microsecond.
///
/// # Examples
/// ```
/// use mapa_core::{Objective, Rules, aggregate_gbps, criteria::{lowest_ids, max, min}};
///
/// // Few host paths, then high bandwidth, then low ids.
/// let host = Objective::edges("host paths", |e| f64::from(u8::from(e.link.class.is_host())));
/// let policy = Rules::new("few-host-paths").prefer(min(host)).then(max(aggregate_gbps())).then(lowest_ids());
/// # let _ = policy;
/// ```
#[derive(Clone)]
pub struct Rules<'a> {
    /// Changes with every rule added, since the policy is then another one.
    id: PolicyId,
    name: Cow<'static, str>,
    requirements: Vec<Requirement<'a>>,
    criteria: Vec<Criterion<'a>>,
    reports: Vec<Objective<'a>>,
}

impl<'a> Rules<'a> {
    /// A policy without rules: it takes the match with the lowest ids.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        let (requirements, criteria, reports) = Default::default();
        Self {
            id: PolicyId::unique(),
            name: name.into(),
            requirements,
            criteria,
            reports,
        }
    }

    /// The same rules under another name.
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            id: PolicyId::unique(),
            name: name.into(),
            ..self
        }
    }

    fn requiring(mut self, name: Cow<'static, str>, test: RequirementTest<'a>) -> Self {
        self.requirements.push(Requirement { name, test });
        Self {
            id: PolicyId::unique(),
            ..self
        }
    }

    /// Admits only devices that pass `test` for the rank that would be placed on them. A refusal
    /// gives the name of the requirement that is not met.
    #[must_use]
    pub fn require(
        self,
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(&Seat<'_>) -> bool + Send + Sync + 'a,
    ) -> Self {
        let test = RequirementTest::Seat {
            test: Arc::new(test),
            of_device: false,
        };
        self.requiring(name.into(), test)
    }

    /// Admits only devices that pass `test`, which sees nothing but the device: its memory, its
    /// product, its name. If nothing passes it on the idle machine, the request is refused as
    /// infeasible.
    ///
    /// # Examples
    /// ```
    /// use mapa_core::{Fabric, Pattern, Policy, Refusal, Request, Rules};
    ///
    /// let mut fabric = Fabric::new();
    /// fabric.add_device("GPU0")?;
    /// let graph = fabric.lower()?;
    /// let large = Rules::new("large").require_device("80 GB", |device| device.memory_bytes >= Some(80_000_000_000));
    /// let refusal = large.decide(&Request::new(Pattern::ring(1)), &graph.with_free(&graph.all()));
    /// assert!(matches!(refusal, Err(Refusal::Infeasible(_))));
    /// # Ok::<(), mapa_core::Error>(())
    /// ```
    #[must_use]
    pub fn require_device(
        self,
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(&Device) -> bool + Send + Sync + 'a,
    ) -> Self {
        let test = RequirementTest::Seat {
            test: Arc::new(move |seat| test(seat.device())),
            of_device: true,
        };
        self.requiring(name.into(), test)
    }

    /// Admits only links that pass `test` for the edge that would use them. The test may depend
    /// only on its argument: if nothing passes it on the idle machine, the request is refused as
    /// infeasible.
    #[must_use]
    pub fn require_link(
        self,
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(EdgeOn) -> bool + Send + Sync + 'a,
    ) -> Self {
        self.requiring(name.into(), RequirementTest::Link(Arc::new(test)))
    }

    /// Admits only sets of devices that pass `test`. The test may depend only on its argument: if
    /// nothing passes it on the idle machine, the request is refused as infeasible.
    #[must_use]
    pub fn require_set(
        self,
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(Subset<'_>) -> bool + Send + Sync + 'a,
    ) -> Self {
        self.requiring(name.into(), RequirementTest::Set(Arc::new(test)))
    }

    /// Admits only placements that pass `test`. Nothing is assumed about the test, so every rank
    /// order is tried.
    #[must_use]
    pub fn require_placement(
        self,
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(&Candidate<'_>) -> bool + Send + Sync + 'a,
    ) -> Self {
        self.requiring(name.into(), RequirementTest::Placement(Arc::new(test)))
    }

    /// Admits only matches whose score by `objective` passes `admits`.
    #[must_use]
    pub fn require_score(
        self,
        objective: Objective<'a>,
        admits: impl Fn(f64) -> bool + Send + Sync + 'a,
    ) -> Self {
        let name = objective.name().to_owned().into();
        self.requiring(name, RequirementTest::Score(objective, Arc::new(admits)))
    }

    /// Adds the next criterion, less important than those before.
    #[must_use]
    pub fn prefer(mut self, criterion: Criterion<'a>) -> Self {
        self.criteria.push(criterion);
        Self {
            id: PolicyId::unique(),
            ..self
        }
    }

    /// Adds the next criterion, as [`Rules::prefer`] does: `prefer(a).then(b)` reads as a sentence.
    #[must_use]
    pub fn then(self, criterion: Criterion<'a>) -> Self {
        self.prefer(criterion)
    }

    /// Adds a score that is reported but does not take part in the choice.
    #[must_use]
    pub fn report(mut self, objective: Objective<'a>) -> Self {
        self.reports.push(objective);
        Self {
            id: PolicyId::unique(),
            ..self
        }
    }

    /// Reports the paper's three scores (Eq. 1 to 3).
    #[must_use]
    pub fn report_paper_scores(mut self) -> Self {
        self.reports.extend(paper_scores());
        Self {
            id: PolicyId::unique(),
            ..self
        }
    }

    fn scored(&self, view: &View<'_>, request: &Request, entry: &RankedPlacement) -> Scored {
        let criteria = self
            .criteria
            .iter()
            .filter_map(|criterion| criterion.objective());
        let objectives: Vec<_> = criteria.chain(&self.reports).collect();
        let candidate = Candidate {
            view: *view,
            pattern: &request.pattern,
            placement: &entry.placement,
        };
        Scored::new(&candidate, &objectives)
    }

    /// The refusal if no placement was found: busy, infeasible, or unknown because a limit was
    /// reached.
    fn refusal(&self, request: &Request, view: &View<'_>) -> Refusal {
        self.why_not(request, view)
            .unwrap_or_else(Refusal::LimitReached)
    }

    fn why_not(&self, request: &Request, view: &View<'_>) -> Result<Refusal, SearchStats> {
        let possible_for =
            |request: &Request, view: &View<'_>, requirements: &[Requirement<'_>]| {
                Problem {
                    request,
                    view,
                    criteria: &[],
                    requirements,
                    limits: request.limits,
                }
                .any()
            };
        let possible = |view: &View<'_>, requirements: &[Requirement<'_>]| {
            possible_for(request, view, requirements)
        };
        let rule = |name: &str| Reason::Rule(format!("{name} of the policy {}", self.name).into());
        let idle = view.as_if_free(view.graph().everything());
        // First the machine: infeasible if even the idle machine has no placement.
        if !possible(&idle, &[])? {
            let has_cards = request.pattern.demands().iter().any(|d| d.nics > 0);
            let without_cards = has_cards && possible_for(&without_cards(request), &idle, &[])?;
            return Ok(Refusal::Infeasible(no_match(
                request,
                view.graph(),
                without_cards,
            )));
        }
        let lasting: Vec<Requirement<'a>> = self
            .requirements
            .iter()
            .filter(|requirement| requirement.test.sees_only_the_machine())
            .cloned()
            .collect();
        // Then requirements that see only the machine, one more at a time: the last one added is
        // the reason.
        for some in 1..=lasting.len() {
            if !possible(&idle, &lasting[..some])? {
                return Ok(Refusal::Infeasible(rule(&lasting[some - 1].name)));
            }
        }
        // Then the present state, first without and then with the requirements.
        for some in 0..=self.requirements.len() {
            if !possible(view, &self.requirements[..some])? {
                return Ok(Refusal::Busy(match some.checked_sub(1) {
                    Some(last) => rule(&self.requirements[last].name),
                    None if view.knows_layouts() && possible(&view.as_if_repartitioned(), &[])? => {
                        Reason::NeedsRepartition
                    }
                    None => in_use(request, view),
                }));
            }
        }
        // A placement exists after all. The search with criteria had other limits and missed it.
        Ok(Refusal::Busy(in_use(request, view)))
    }

    /// Decides without the answers that the machine keeps.
    pub(super) fn decide_afresh(
        &self,
        request: &Request,
        view: &View<'_>,
    ) -> Result<Decision, Refusal> {
        let plain = |inside: &Request| self.decide_afresh(inside, view);
        if let Some(answer) = among_sets(request, view, &plain) {
            return answer;
        }
        never(request, view.graph()).map_or(Ok(()), |reason| Err(Refusal::Infeasible(reason)))?;
        let (criteria, requirements) = (&self.criteria, &self.requirements);
        let problem = Problem {
            request,
            view,
            criteria,
            requirements,
            limits: request.limits,
        };
        let (entries, stats) = problem.best();
        let Some((best, others)) = entries.split_first() else {
            let stopped = !stats.complete();
            return Err(if stopped {
                Refusal::LimitReached(stats)
            } else {
                self.refusal(request, view)
            });
        };
        let lost_on = |entry: &RankedPlacement| {
            let at =
                (0..self.criteria.len()).find(|&at| problem.compare(at, best, entry).is_ne())?;
            Some(Cow::Owned(self.criteria[at].objective()?.name().to_owned()))
        };
        let runner_up = |entry| RunnerUp {
            scored: self.scored(view, request, entry),
            lost_on: lost_on(entry),
        };
        let runners_up = others.iter().map(runner_up).collect();
        let keys = problem.keys_across_machines(best);
        let at_most = (!stats.complete())
            .then(|| problem.bound_of_first())
            .flatten();
        let best = self.scored(view, request, best);
        Ok(Decision::new(
            self.name.clone(),
            request,
            view.stamp(),
            best,
            runners_up,
            stats,
        )
        .with_keys(keys)
        .with_at_most(at_most))
    }
}

/// The request without its demands for network cards.
fn without_cards(request: &Request) -> Request {
    let demands = request.pattern.demands().to_vec();
    let plain = demands
        .into_iter()
        .map(|demand| Demand { nics: 0, ..demand });
    let pattern = plain
        .enumerate()
        .fold(request.pattern.clone(), |pattern, (rank, demand)| {
            pattern.with_demand(rank, demand)
        });
    Request {
        pattern,
        ..request.clone()
    }
}

impl Policy for Rules<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn of_free_set(&self) -> Option<PolicyId> {
        let mut criteria = self
            .criteria
            .iter()
            .filter_map(|criterion| criterion.objective());
        let mut tests = self
            .requirements
            .iter()
            .map(|requirement| &requirement.test);
        let promised = criteria.all(Objective::sees_only_the_free_set)
            && self.reports.iter().all(Objective::sees_only_the_free_set)
            && tests.all(RequirementTest::sees_only_the_free_set);
        promised.then_some(self.id)
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        remembered(self.of_free_set(), request, view, || {
            self.decide_afresh(request, view)
        })
    }
}

impl fmt::Debug for Rules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirements: Vec<_> = self
            .requirements
            .iter()
            .map(|requirement| &requirement.name)
            .collect();
        f.debug_struct("Rules")
            .field("name", &self.name)
            .field("require", &requirements)
            .field("prefer", &self.criteria)
            .finish_non_exhaustive()
    }
}
