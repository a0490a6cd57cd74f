//! Criteria in order of importance.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::Policy;
use super::decision::{Decision, Reason, Refusal, RunnerUp, Scored};
use super::optimum::{Entry, Optimum};
use super::request::Request;
use crate::score::{Candidate, Objective, aggregate_gbps, effective_gbps, preserved_gbps};
use crate::topology::{DeviceSet, HardwareGraph};
use crate::view::View;

/// One criterion of [`Rules`]: an objective to maximise or minimise, or the lowest ids.
#[derive(Clone, Debug)]
pub struct Criterion<'a>(pub(super) Kind<'a>);

#[derive(Clone, Debug)]
pub(super) enum Kind<'a> {
    Max(Objective<'a>),
    Min(Objective<'a>),
    LowestIds,
}

impl<'a> Kind<'a> {
    pub(super) fn objective(&self) -> Option<&Objective<'a>> {
        match self {
            Self::Max(objective) | Self::Min(objective) => Some(objective),
            Self::LowestIds => None,
        }
    }
}

/// The higher the better. NaN ranks last.
#[must_use]
pub fn max(objective: Objective<'_>) -> Criterion<'_> {
    Criterion(Kind::Max(objective))
}

/// The lower the better. NaN ranks last.
#[must_use]
pub fn min(objective: Objective<'_>) -> Criterion<'_> {
    Criterion(Kind::Min(objective))
}

/// The set of devices that comes first when sets are compared as sorted lists of ids.
#[must_use]
pub fn lowest_ids() -> Criterion<'static> {
    Criterion(Kind::LowestIds)
}

/// A policy made of requirements and criteria in order of importance: of all matches that the request and the
/// requirements admit, the exact lexicographic optimum of the values rounded to twelve digits (so that the order of a sum
/// hardly ever decides); then the lowest ids win, then the smallest rank order.
///
/// Where all devices in question are joined, every set of them is looked at, and rank orders only within sets that can
/// still win; otherwise every distinct match. [`Request::limits`] bounds the work.
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
    name: Cow<'static, str>,
    floors: Vec<Floor<'a>>,
    criteria: Vec<Criterion<'a>>,
    reports: Vec<Objective<'a>>,
}

/// A score and the values of it that are admitted.
#[derive(Clone)]
pub(super) struct Floor<'a> {
    pub(super) objective: Objective<'a>,
    pub(super) admits: Arc<dyn Fn(f64) -> bool + Send + Sync + 'a>,
}

impl<'a> Rules<'a> {
    /// No rules yet: any match, by lowest ids.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), floors: Vec::new(), criteria: Vec::new(), reports: Vec::new() }
    }

    /// Only matches whose score `admits` accepts.
    #[must_use]
    pub fn require_score(mut self, objective: Objective<'a>, admits: impl Fn(f64) -> bool + Send + Sync + 'a) -> Self {
        self.floors.push(Floor { objective, admits: Arc::new(admits) });
        self
    }

    /// The next criterion.
    #[must_use]
    pub fn prefer(mut self, criterion: Criterion<'a>) -> Self {
        self.criteria.push(criterion);
        self
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
        self
    }

    /// Reports the paper's three scores.
    #[must_use]
    pub fn report_paper_scores(mut self) -> Self {
        self.reports.extend(paper_scores());
        self
    }

    fn scored(&self, view: &View<'_>, request: &Request, entry: &Entry) -> Scored {
        let criteria = self.criteria.iter().filter_map(|criterion| criterion.0.objective());
        let objectives: Vec<_> = criteria.chain(&self.reports).collect();
        let candidate = Candidate { view: *view, pattern: &request.pattern, placement: &entry.placement };
        Scored::new(&candidate, &objectives)
    }

    /// Why nothing was found on the free devices: because they are in use, or for ever.
    fn refusal(&self, request: &Request, view: &View<'_>, eligible: &DeviceSet, free: &DeviceSet) -> Refusal {
        let in_use = || Reason::InUse { wanted: request.pattern.len(), free: free.len(), allowed: eligible.len() };
        let idle = view.as_if_free(eligible);
        let impossible = |floors: &[Floor<'_>]| {
            let search = Optimum { request, view: &idle, criteria: &[], floors }.any(eligible);
            search.map(|found| !found)
        };
        match impossible(&[]) {
            Err(stats) => return Refusal::LimitReached(stats),
            Ok(true) => return Refusal::Infeasible(Reason::NoMatch),
            Ok(false) => {}
        }
        let Some(floor) = self.floors.first() else { return Refusal::Busy(in_use()) };
        let rule = || Reason::Rule(format!("{} of the policy {}", floor.objective.name(), self.name).into());
        if !self.floors.iter().all(|floor| floor.objective.sees_only_the_machine()) {
            return Refusal::Busy(rule());
        }
        match impossible(&self.floors) {
            Err(stats) => Refusal::LimitReached(stats),
            Ok(true) => Refusal::Infeasible(rule()),
            Ok(false) if free.len() < request.pattern.len() => Refusal::Busy(in_use()),
            Ok(false) => Refusal::Busy(rule()),
        }
    }
}

/// The paper's scores, Eq. 1 to 3.
pub(super) fn paper_scores() -> [Objective<'static>; 3] {
    [aggregate_gbps(), effective_gbps(), preserved_gbps()]
}

impl Policy for Rules<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        let eligible = request.eligible(view.graph());
        never(request, view.graph(), &eligible).map_or(Ok(()), |reason| Err(Refusal::Infeasible(reason)))?;
        let free = &eligible & view.free();
        let optimum = Optimum { request, view, criteria: &self.criteria, floors: &self.floors };
        let (entries, stats) = optimum.best(&free);
        let Some((best, others)) = entries.split_first() else {
            return Err(if stats.complete() {
                self.refusal(request, view, &eligible, &free)
            } else {
                Refusal::LimitReached(stats)
            });
        };
        let lost_on = |entry: &Entry| {
            let at = (0..self.criteria.len()).find(|&at| optimum.compare(at, best, entry).is_ne())?;
            Some(Cow::Owned(self.criteria[at].0.objective()?.name().to_owned()))
        };
        let runner_up = |entry| RunnerUp { scored: self.scored(view, request, entry), lost_on: lost_on(entry) };
        let runners_up = others.iter().map(runner_up).collect();
        let best = self.scored(view, request, best);
        Ok(Decision::new(self.name.clone(), request, view.stamp(), best, runners_up, stats))
    }
}

/// What rules a request out on this machine before any search.
fn never(request: &Request, graph: &HardwareGraph, eligible: &DeviceSet) -> Option<Reason> {
    let wanted = request.pattern.len();
    let numa_unknown = || graph.devices().iter().all(|device| device.numa.is_none());
    if wanted == 0 {
        Some(Reason::Empty)
    } else if let Some(contradiction) = request.contradiction() {
        Some(Reason::Rule(contradiction.to_string().into()))
    } else if eligible.len() < wanted || !request.must_include.is_subset(eligible) {
        Some(Reason::TooFewDevices { wanted, allowed: eligible.len() })
    } else if request.same_numa && numa_unknown() {
        Some(Reason::Rule("one NUMA node for all devices, since the machine's description names none".into()))
    } else {
        None
    }
}

impl fmt::Debug for Rules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let floors: Vec<_> = self.floors.iter().map(|floor| floor.objective.name()).collect();
        f.debug_struct("Rules")
            .field("name", &self.name)
            .field("require", &floors)
            .field("prefer", &self.criteria)
            .finish_non_exhaustive()
    }
}
