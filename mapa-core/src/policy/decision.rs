//! A policy's decision: the placement, its scores, and the runners-up.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::refusal::{Reason, Refusal, never};
use crate::ids::DeviceId;
use crate::matching::{Few, Placement, SearchStats, verify};
use crate::pattern::Pattern;
use crate::request::Request;
use crate::score::{
    Candidate, Census, Objective, Tiers, aggregate_gbps, effective_gbps, preserved_gbps,
};
use crate::topology::HardwareGraph;
use crate::view::{Stamp, View};

/// A placement with its scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    placement: Placement,
    /// By name, in the order of criteria and reports. Copies share the list.
    scores: Arc<[(Cow<'static, str>, f64)]>,
    links: Census,
    /// The names of the scores whose models do not hold for this placement.
    out_of_domain: Vec<Cow<'static, str>>,
}

impl Scored {
    pub(super) fn new(candidate: &Candidate<'_>, objectives: &[&Objective<'_>]) -> Self {
        let Candidate {
            view,
            pattern,
            placement,
        } = *candidate;
        let mut scores: Vec<(Cow<'static, str>, f64)> = Vec::new();
        for objective in objectives {
            if !scores.iter().any(|(name, _)| name == objective.name()) {
                scores.push((
                    Cow::Owned(objective.name().to_owned()),
                    objective.score(candidate),
                ));
            }
        }
        let outside = objectives
            .iter()
            .filter(|objective| !objective.in_domain(candidate));
        Self {
            placement: placement.into(),
            scores: scores.into(),
            links: Census::of(pattern, placement, view.graph(), &Tiers::PAPER),
            out_of_domain: outside
                .map(|objective| Cow::Owned(objective.name().to_owned()))
                .collect(),
        }
    }

    /// Inserts a score before all others.
    pub(super) fn with_score(mut self, name: &'static str, value: f64) -> Self {
        let first = std::iter::once((Cow::Borrowed(name), value));
        self.scores = first.chain(self.scores.iter().cloned()).collect();
        self
    }

    /// The device of each rank.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// All scores with their names.
    pub fn scores(&self) -> impl Iterator<Item = (&str, f64)> {
        self.scores.iter().map(|(name, value)| (&**name, *value))
    }

    /// The score with this name, if there is one.
    #[must_use]
    pub fn score(&self, name: &str) -> Option<f64> {
        self.scores()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// The pattern's edges by kind of link, as the paper counts them: (double, single, PCIe).
    #[must_use]
    pub fn links(&self) -> &Census {
        &self.links
    }

    /// Whether every score that is a model is valid for placements of this kind
    /// ([`Objective::domain`]). For the paper's policies: whether Eq. 2 was fitted to such
    /// placements ([`Coefficients::in_domain`](crate::Coefficients::in_domain)). True if no score
    /// is a model.
    #[must_use]
    pub fn in_domain(&self) -> bool {
        self.out_of_domain.is_empty()
    }

    /// The names of the scores that are models and are not valid for placements of this kind.
    pub fn out_of_domain(&self) -> impl Iterator<Item = &str> {
        self.out_of_domain.iter().map(|name| &**name)
    }
}

/// The best placement on some other set of devices, and why it lost.
#[derive(Clone, Debug, PartialEq)]
pub struct RunnerUp {
    /// The placement and its scores.
    pub scored: Scored,
    /// The name of the first criterion on which it is worse; `None` if it lost only by higher ids.
    pub lost_on: Option<Cow<'static, str>>,
}

/// What a policy chose, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    policy: Cow<'static, str>,
    stamp: Stamp,
    pattern: Pattern,
    best: Scored,
    /// A value per criterion, the higher the better.
    keys: Few<f64>,
    runners_up: Vec<RunnerUp>,
    search: SearchStats,
    /// A bound on the first criterion, if the search ended early.
    at_most: Option<f64>,
    /// Whether it tells of devices that are in use already.
    of_use: bool,
}

impl Decision {
    pub(super) fn new(
        policy: Cow<'static, str>,
        request: &Request,
        stamp: Stamp,
        best: Scored,
        runners_up: Vec<RunnerUp>,
        search: SearchStats,
    ) -> Self {
        Self {
            policy,
            stamp,
            pattern: request.pattern.clone(),
            best,
            keys: Few::new(),
            runners_up,
            search,
            at_most: None,
            of_use: false,
        }
    }

    pub(super) fn with_at_most(self, at_most: Option<f64>) -> Self {
        Self { at_most, ..self }
    }

    pub(super) fn with_keys(self, keys: Few<f64>) -> Self {
        Self { keys, ..self }
    }

    /// Inserts a key before all others; the higher the better.
    pub(super) fn with_first_key(mut self, key: f64) -> Self {
        self.keys.insert(0, key);
        self
    }

    /// Replaces the statistics of the search.
    pub(super) fn searched(self, search: SearchStats) -> Self {
        Self { search, ..self }
    }

    pub(super) fn renamed(self, policy: Cow<'static, str>) -> Self {
        Self { policy, ..self }
    }

    /// Adds runners-up from another decision on the same request, up to the number requested. Each
    /// added one is said to lose on `lost_on`.
    pub(super) fn with_runners_up(
        mut self,
        request: &Request,
        other: Self,
        lost_on: &'static str,
    ) -> Self {
        let others = other
            .runners_up
            .into_iter()
            .map(|runner_up| runner_up.scored);
        for scored in std::iter::once(other.best).chain(others) {
            let set = scored.placement.set();
            let known = std::iter::once(&self.best)
                .chain(self.runners_up.iter().map(|runner_up| &runner_up.scored));
            let is_new = known.into_iter().all(|known| known.placement.set() != set);
            if is_new && self.runners_up.len() < request.runners_up {
                self.runners_up.push(RunnerUp {
                    scored,
                    lost_on: Some(Cow::Borrowed(lost_on)),
                });
            }
        }
        self
    }

    /// Makes a decision of a placement that was found in any way. Policies written by hand return
    /// this. The placement is verified without a search and gets the paper's three scores.
    ///
    /// # Errors
    /// `Infeasible` if the request rules out every placement on this machine, for instance by
    /// asking for more devices than the machine has. Otherwise `Busy` if the placement violates the
    /// request or the pattern. The reason names what is violated.
    pub fn checked(
        policy: impl Into<Cow<'static, str>>,
        request: &Request,
        view: &View<'_>,
        placement: impl IntoIterator<Item = DeviceId>,
    ) -> Result<Self, Refusal> {
        let placement: Placement = placement.into_iter().collect();
        let scores = paper_scores();
        let decision =
            Self::verified(policy.into(), request, view, &placement, &scores.each_ref())?;
        request
            .is_met_by(view.graph(), &placement)
            .map_err(|rule| Refusal::Busy(Reason::Rule(rule.into())))?;
        Ok(decision)
    }

    /// Makes a decision of devices that are in use already, so that they are booked whether or
    /// not the machine [offers](HardwareGraph::offers) them together, and of whatever products they are. It has no scores: nobody chose.
    /// All else is verified as by [`checked`](Self::checked).
    ///
    /// # Errors
    /// As [`checked`](Self::checked).
    pub fn of_use(
        policy: impl Into<Cow<'static, str>>,
        request: &Request,
        view: &View<'_>,
        placement: impl IntoIterator<Item = DeviceId>,
    ) -> Result<Self, Refusal> {
        let placement: Placement = placement.into_iter().collect();
        let decision = Self::verified(policy.into(), request, view, &placement, &[])?;
        Ok(Self {
            of_use: true,
            ..decision
        })
    }

    /// Verifies a placement without a search, and gives it these scores.
    fn verified(
        policy: Cow<'static, str>,
        request: &Request,
        view: &View<'_>,
        placement: &Placement,
        objectives: &[&Objective<'_>],
    ) -> Result<Self, Refusal> {
        never(request, view.graph()).map_or(Ok(()), |reason| Err(Refusal::Infeasible(reason)))?;
        let broken = |why: String| Refusal::Busy(Reason::Rule(why.into()));
        let eligible = request.eligible(view.graph());
        verify(&request.pattern, view, &eligible, placement)
            .map_err(|violation| broken(violation.to_string()))?;
        request
            .is_met_by_links(view.graph(), placement)
            .map_err(|rule| broken(rule.to_owned()))?;
        let candidate = Candidate {
            view: *view,
            pattern: &request.pattern,
            placement,
        };
        Ok(Self::new(
            policy,
            request,
            view.stamp(),
            Scored::new(&candidate, objectives),
            Vec::new(),
            SearchStats::default(),
        ))
    }

    /// Whether it tells of devices that are in use already: see [`of_use`](Self::of_use).
    pub(crate) fn is_of_use(&self) -> bool {
        self.of_use
    }

    /// Replaces the runners-up.
    pub(super) fn with_others(self, runners_up: Vec<RunnerUp>) -> Self {
        Self { runners_up, ..self }
    }

    /// Checks that this is a decision for `request`: it has the request's pattern, uses only
    /// allowed devices and links, and has the devices that must be included. Call it before
    /// committing a decision made elsewhere.
    ///
    /// # Errors
    /// `Busy`, with the condition that is not met.
    pub fn answers(&self, request: &Request, graph: &HardwareGraph) -> Result<(), Refusal> {
        let placement = self.placement();
        let unmet = if self.pattern != request.pattern {
            Some("a decision for this job, not for another")
        } else if !placement.set().is_subset(&request.eligible(graph)) {
            Some("the devices that the request allows")
        } else {
            request.is_met_by(graph, placement).err()
        };
        unmet.map_or(Ok(()), |rule| Err(Refusal::Busy(Reason::Rule(rule.into()))))
    }

    /// This decision for another machine with the same graph. Valid if the policy promises the same
    /// answer on both states ([`Policy::of_free_set`](crate::Policy::of_free_set)). `None` if the
    /// other machine has another graph.
    #[must_use]
    pub fn restated(&self, view: &View<'_>) -> Option<Self> {
        let stamp = view.stamp();
        (stamp.fingerprint == self.stamp.fingerprint).then(|| Self {
            stamp,
            ..self.clone()
        })
    }

    /// The name of the policy that made this decision.
    #[must_use]
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// The state on which it was made.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The pattern of the job.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The device of each rank.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.best.placement
    }

    /// The placement with its scores.
    #[must_use]
    pub fn best(&self) -> &Scored {
        &self.best
    }

    /// The best placements on other sets of devices, best first: as many as were requested, or
    /// fewer if no more exist.
    #[must_use]
    pub fn runners_up(&self) -> &[RunnerUp] {
        &self.runners_up
    }

    /// Compares this decision with one of the same policy for the same request on another machine,
    /// by the policy's criteria. The better one is less. Decisions are equal if only ids differ,
    /// and if they were made by hand ([`Decision::checked`]). Each decision of the second policy of
    /// an [`OrElse`](crate::OrElse) is worse than all of the first.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        let keys = self
            .keys
            .iter()
            .zip(&other.keys)
            .map(|(value, others)| others.total_cmp(value));
        { keys }
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Statistics of the search. If it is not complete, a better placement may exist.
    #[must_use]
    pub fn search(&self) -> SearchStats {
        self.search
    }

    /// A bound on the first criterion for any placement, in its own unit: no placement has a higher
    /// value if the criterion is maximised, or a lower one if it is minimised. `None` if the search
    /// is complete, if no bound is known, or if the decision was not made by
    /// [`Rules`](crate::Rules).
    #[must_use]
    pub fn at_most(&self) -> Option<f64> {
        self.at_most
    }
}

/// The policy, the devices in rank order and the first score: `auto: 0, 3; ring_packing_gbps 50`.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.policy, self.placement())?;
        match self.best.scores().next() {
            Some((name, value)) => write!(f, "; {name} {value}"),
            None => Ok(()),
        }
    }
}

/// The paper's scores, Eq. 1 to 3.
pub(super) fn paper_scores() -> [Objective<'static>; 3] {
    [aggregate_gbps(), effective_gbps(), preserved_gbps()]
}
