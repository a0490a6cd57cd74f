//! Criteria in order of importance.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::Policy;
use super::criterion::Criterion;
use super::decision::{Decision, Reason, Refusal, RunnerUp, Scored};
use super::identity::PolicyId;
use super::optimum::{Entry, Optimum};
use super::request::Request;
use super::requirement::{Requirement, Test};
use crate::matching::SearchStats;
use crate::score::{Candidate, EdgeOn, Objective, Seat, Subset, aggregate_gbps, effective_gbps, preserved_gbps};
use crate::topology::HardwareGraph;
use crate::view::View;

/// A policy made of requirements and criteria in order of importance: of all matches that the request and the
/// requirements admit, the exact lexicographic optimum of the values rounded to twelve digits (so that the order of a sum
/// hardly ever decides); then the lowest ids win, then the smallest rank order.
///
/// On up to sixteen devices, objectives of links, edges, devices and sets are decided by tables, which stay with the
/// [`HardwareGraph`] ([`table_bytes`](HardwareGraph::table_bytes)): the first decision for a shape takes tens of microseconds
/// on eight devices and tens of milliseconds on sixteen, those after it one or two microseconds if nothing depends on what is
/// free. Tables are found again by the objectives they were made for: keep the policy, or its objectives, rather than
/// making them anew. Rings, chains and stars on more devices that fall into islands joined all alike take milliseconds;
/// there the lowest ids are promised still, but not the smallest rank order. For everything else every set of devices is
/// looked at where all are joined, and rank orders only within sets that can still win; otherwise every distinct match.
/// [`Request::limits`] bounds the work.
///
/// ```
/// use mapa_core::{Objective, Rules, aggregate_gbps, lowest_ids, max, min};
///
/// // Few host paths, then high bandwidth, then low ids.
/// let host = Objective::edges("host paths", |e| f64::from(u8::from(e.link.class.is_host())));
/// let policy = Rules::new("few-host-paths").prefer(min(host)).then(max(aggregate_gbps())).then(lowest_ids());
/// # let _ = policy;
/// ```
#[derive(Clone)]
pub struct Rules<'a> {
    /// Another one after every rule that is added.
    id: PolicyId,
    name: Cow<'static, str>,
    requirements: Vec<Requirement<'a>>,
    criteria: Vec<Criterion<'a>>,
    reports: Vec<Objective<'a>>,
}

impl<'a> Rules<'a> {
    /// No rules yet: any match, by lowest ids.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        let (requirements, criteria, reports) = Default::default();
        Self { id: PolicyId::unique(), name: name.into(), requirements, criteria, reports }
    }

    fn requiring(mut self, name: Cow<'static, str>, test: Test<'a>) -> Self {
        self.requirements.push(Requirement { name, test });
        Self { id: PolicyId::unique(), ..self }
    }

    /// Only devices that pass `test` for the rank that would be put there. The name is what a refusal says.
    #[must_use]
    pub fn require(
        self,
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(&Seat<'_>) -> bool + Send + Sync + 'a,
    ) -> Self {
        self.requiring(name.into(), Test::Seat(Arc::new(test)))
    }

    /// Only links that pass `test` for the edge that would lie there. It must see nothing but the machine: a refusal may
    /// then say "never".
    #[must_use]
    pub fn require_link(
        self,
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(EdgeOn) -> bool + Send + Sync + 'a,
    ) -> Self {
        self.requiring(name.into(), Test::Link(Arc::new(test)))
    }

    /// Only sets of devices that pass `test`. It must see nothing but the machine: a refusal may then say "never".
    #[must_use]
    pub fn require_set(
        self,
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(Subset<'_>) -> bool + Send + Sync + 'a,
    ) -> Self {
        self.requiring(name.into(), Test::Set(Arc::new(test)))
    }

    /// Only placements that pass `test`. Nothing is assumed of it, so every rank order is tried.
    #[must_use]
    pub fn require_placement(
        self,
        name: impl Into<Cow<'static, str>>,
        test: impl Fn(&Candidate<'_>) -> bool + Send + Sync + 'a,
    ) -> Self {
        self.requiring(name.into(), Test::Placement(Arc::new(test)))
    }

    /// Only matches whose score `admits` accepts.
    #[must_use]
    pub fn require_score(self, objective: Objective<'a>, admits: impl Fn(f64) -> bool + Send + Sync + 'a) -> Self {
        let name = objective.name().to_owned().into();
        self.requiring(name, Test::Score(objective, Arc::new(admits)))
    }

    /// The next criterion.
    #[must_use]
    pub fn prefer(mut self, criterion: Criterion<'a>) -> Self {
        self.criteria.push(criterion);
        Self { id: PolicyId::unique(), ..self }
    }

    /// The same as [`Rules::prefer`], for reading aloud.
    #[must_use]
    pub fn then(self, criterion: Criterion<'a>) -> Self {
        self.prefer(criterion)
    }

    /// A score to report that does not take part in the choice.
    #[must_use]
    pub fn report(mut self, objective: Objective<'a>) -> Self {
        self.reports.push(objective);
        Self { id: PolicyId::unique(), ..self }
    }

    /// Reports the paper's three scores.
    #[must_use]
    pub fn report_paper_scores(mut self) -> Self {
        self.reports.extend(paper_scores());
        Self { id: PolicyId::unique(), ..self }
    }

    fn scored(&self, view: &View<'_>, request: &Request, entry: &Entry) -> Scored {
        let criteria = self.criteria.iter().filter_map(|criterion| criterion.kind.objective());
        let objectives: Vec<_> = criteria.chain(&self.reports).collect();
        let candidate = Candidate { view: *view, pattern: &request.pattern, placement: &entry.placement };
        Scored::new(&candidate, &objectives)
    }

    /// Why nothing was found: because of what is in use, or for ever.
    fn refusal(&self, request: &Request, view: &View<'_>) -> Refusal {
        self.why_not(request, view).unwrap_or_else(Refusal::LimitReached)
    }

    fn why_not(&self, request: &Request, view: &View<'_>) -> Result<Refusal, SearchStats> {
        let possible = |view: &View<'_>, requirements: &[Requirement<'_>]| {
            Optimum { request, view, criteria: &[], requirements, limits: request.limits }.any()
        };
        let rule = |name: &str| Reason::Rule(format!("{name} of the policy {}", self.name).into());
        let idle = view.as_if_free(view.graph().everything());
        if !possible(&idle, &[])? {
            return Ok(Refusal::Infeasible(Reason::NoMatch));
        }
        let of_machine = |requirement: &&Requirement<'a>| requirement.test.sees_only_the_machine();
        let lasting: Vec<Requirement<'a>> = self.requirements.iter().filter(of_machine).cloned().collect();
        for some in 1..=lasting.len() {
            if !possible(&idle, &lasting[..some])? {
                return Ok(Refusal::Infeasible(rule(&lasting[some - 1].name)));
            }
        }
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
        // Only a search with other limits found nothing.
        Ok(Refusal::Busy(in_use(request, view)))
    }
}

fn in_use(request: &Request, view: &View<'_>) -> Reason {
    let (free, allowed) = (request.room(view).len(), request.candidates(view.graph()).len());
    Reason::InUse { wanted: request.pattern.len(), free, allowed }
}

/// The paper's scores, Eq. 1 to 3.
pub(super) fn paper_scores() -> [Objective<'static>; 3] {
    [aggregate_gbps(), effective_gbps(), preserved_gbps()]
}

impl Policy for Rules<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn of_free_set(&self) -> Option<PolicyId> {
        let mut criteria = self.criteria.iter().filter_map(|criterion| criterion.kind.objective());
        let mut tests = self.requirements.iter().map(|requirement| &requirement.test);
        let promised = criteria.all(Objective::sees_only_the_free_set)
            && self.reports.iter().all(Objective::sees_only_the_free_set)
            && tests.all(Test::sees_only_the_free_set);
        promised.then_some(self.id)
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        never(request, view.graph()).map_or(Ok(()), |reason| Err(Refusal::Infeasible(reason)))?;
        let (criteria, requirements) = (&self.criteria, &self.requirements);
        let optimum = Optimum { request, view, criteria, requirements, limits: request.limits };
        let (entries, stats) = optimum.best();
        let Some((best, others)) = entries.split_first() else {
            let stopped = !stats.complete();
            return Err(if stopped { Refusal::LimitReached(stats) } else { self.refusal(request, view) });
        };
        let lost_on = |entry: &Entry| {
            let at = (0..self.criteria.len()).find(|&at| optimum.compare(at, best, entry).is_ne())?;
            Some(Cow::Owned(self.criteria[at].kind.objective()?.name().to_owned()))
        };
        let runner_up = |entry| RunnerUp { scored: self.scored(view, request, entry), lost_on: lost_on(entry) };
        let runners_up = others.iter().map(runner_up).collect();
        let keys = optimum.keys_across_machines(best);
        let best = self.scored(view, request, best);
        Ok(Decision::new(self.name.clone(), request, view.stamp(), best, runners_up, stats).with_keys(keys))
    }
}

/// What rules a request out on this machine before any search.
pub(super) fn never(request: &Request, graph: &HardwareGraph) -> Option<Reason> {
    let wanted = request.pattern.len();
    let candidates = request.candidates(graph);
    let numa_unknown = || graph.devices().iter().all(|device| device.numa.is_none());
    if wanted == 0 {
        Some(Reason::Empty)
    } else if let Some(contradiction) = request.contradiction() {
        Some(Reason::Rule(contradiction.to_string().into()))
    } else if let Some(rank) = request.pattern.demands().iter().position(|demand| graph.candidates(demand).is_empty()) {
        Some(Reason::NothingFits { rank })
    } else if candidates.len() < wanted && !request.pattern.may_share() {
        Some(Reason::TooFewDevices { wanted, allowed: candidates.len() })
    } else if !request.must_include.is_subset(&candidates) {
        Some(Reason::Rule("the devices that must be included are allowed, and of a kind that is asked for".into()))
    } else if request.same_numa && numa_unknown() {
        Some(Reason::Rule("one NUMA node for all devices, since the machine's description names none".into()))
    } else {
        None
    }
}

impl fmt::Debug for Rules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirements: Vec<_> = self.requirements.iter().map(|requirement| &requirement.name).collect();
        f.debug_struct("Rules")
            .field("name", &self.name)
            .field("require", &requirements)
            .field("prefer", &self.criteria)
            .finish_non_exhaustive()
    }
}
