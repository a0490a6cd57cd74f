//! The answers: a decision, or one of three ways of saying no.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::optimum::meets_request;
use super::request::Request;
use super::rules::{never, paper_scores};
use crate::error::Error;
use crate::matching::{Few, Placement, SearchStats, verify};
use crate::score::{Candidate, Census, Objective, Tiers};
use crate::topology::{DeviceId, HardwareGraph};
use crate::view::{Stamp, View};

/// A placement with its scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    placement: Placement,
    /// Shared by copies.
    scores: Arc<[(Cow<'static, str>, f64)]>,
    links: Census,
    /// Names of models that do not hold here.
    out_of_domain: Vec<Cow<'static, str>>,
}

impl Scored {
    pub(super) fn new(candidate: &Candidate<'_>, objectives: &[&Objective<'_>]) -> Self {
        let Candidate { view, pattern, placement } = *candidate;
        let mut scores: Vec<(Cow<'static, str>, f64)> = Vec::new();
        for objective in objectives {
            if !scores.iter().any(|(name, _)| name == objective.name()) {
                scores.push((Cow::Owned(objective.name().to_owned()), objective.score(candidate)));
            }
        }
        let outside = objectives.iter().filter(|objective| !objective.in_domain(candidate));
        Self {
            placement: placement.into(),
            scores: scores.into(),
            links: Census::of(pattern, placement, view.graph(), &Tiers::PAPER),
            out_of_domain: outside.map(|objective| Cow::Owned(objective.name().to_owned())).collect(),
        }
    }

    /// With a score before all others.
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

    /// Every score, by name.
    pub fn scores(&self) -> impl Iterator<Item = (&str, f64)> {
        self.scores.iter().map(|(name, value)| (&**name, *value))
    }

    /// The score of this name.
    #[must_use]
    pub fn score(&self, name: &str) -> Option<f64> {
        self.scores().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The pattern's edges by kind of link, as the paper counts them: (double, single, PCIe).
    #[must_use]
    pub fn links(&self) -> &Census {
        &self.links
    }

    /// Whether all scores that are models hold for placements of this kind ([`Objective::domain`]): for the paper's policies,
    /// whether Eq. 2 was fitted to such ([`Coefficients::in_domain`](crate::Coefficients::in_domain)). True if none is a model.
    #[must_use]
    pub fn in_domain(&self) -> bool {
        self.out_of_domain.is_empty()
    }

    /// The names of the scores that are models and do not hold for placements of this kind.
    pub fn out_of_domain(&self) -> impl Iterator<Item = &str> {
        self.out_of_domain.iter().map(|name| &**name)
    }
}

/// The best placement on some other set of devices, and why it is not the first.
#[derive(Clone, Debug, PartialEq)]
pub struct RunnerUp {
    /// It.
    pub scored: Scored,
    /// The name of the first criterion on which it is worse; none if only its ids are higher.
    pub lost_on: Option<Cow<'static, str>>,
}

/// What a policy chose, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    policy: Cow<'static, str>,
    stamp: Stamp,
    pattern: crate::Pattern,
    best: Scored,
    /// A value per criterion, the higher the better.
    keys: Few<f64>,
    runners_up: Vec<RunnerUp>,
    search: SearchStats,
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
        Self { policy, stamp, pattern: request.pattern.clone(), best, keys: Few::new(), runners_up, search }
    }

    pub(super) fn with_keys(self, keys: Few<f64>) -> Self {
        Self { keys, ..self }
    }

    /// With a key before all others: the higher the better.
    pub(super) fn with_first_key(mut self, key: f64) -> Self {
        self.keys.insert(0, key);
        self
    }

    /// After this search.
    pub(super) fn searched(self, search: SearchStats) -> Self {
        Self { search, ..self }
    }

    pub(super) fn renamed(self, policy: Cow<'static, str>) -> Self {
        Self { policy, ..self }
    }

    /// Fills the runners-up up to what the request asks for, from another decision on the same request; all those lose on
    /// `lost_on`.
    pub(super) fn with_runners_up(mut self, request: &Request, other: Self, lost_on: &'static str) -> Self {
        let others = other.runners_up.into_iter().map(|runner_up| runner_up.scored);
        for scored in std::iter::once(other.best).chain(others) {
            let set = scored.placement.set();
            let known = std::iter::once(&self.best).chain(self.runners_up.iter().map(|runner_up| &runner_up.scored));
            let is_new = known.into_iter().all(|known| known.placement.set() != set);
            if is_new && self.runners_up.len() < request.runners_up {
                self.runners_up.push(RunnerUp { scored, lost_on: Some(Cow::Borrowed(lost_on)) });
            }
        }
        self
    }

    /// A decision for a placement found in any way: the door for policies written by hand. It is verified, without
    /// search, and given the paper's three scores.
    ///
    /// # Errors
    /// `Infeasible` if the request alone rules every placement on this machine out, as more devices than it has do. Else `Busy`
    /// if the placement breaks the request or the pattern: the reason names what fails.
    pub fn checked(
        policy: impl Into<Cow<'static, str>>,
        request: &Request,
        view: &View<'_>,
        placement: impl IntoIterator<Item = DeviceId>,
    ) -> Result<Self, Refusal> {
        never(request, view.graph()).map_or(Ok(()), |reason| Err(Refusal::Infeasible(reason)))?;
        let placement: Placement = placement.into_iter().collect();
        let broken = |why: String| Refusal::Busy(Reason::Rule(why.into()));
        verify(&request.pattern, view, &request.eligible(view.graph()), &placement)
            .map_err(|violation| broken(violation.to_string()))?;
        meets_request(request, view.graph(), &placement).map_err(|rule| broken(rule.to_owned()))?;
        let scores = paper_scores();
        let candidate = Candidate { view: *view, pattern: &request.pattern, placement: &placement };
        let best = Scored::new(&candidate, &scores.each_ref());
        Ok(Self::new(policy.into(), request, view.stamp(), best, Vec::new(), SearchStats::default()))
    }

    /// That it is a decision for this request: for its pattern, on devices that it allows and with those that it must have,
    /// over links that it admits. For those who commit what others decided.
    ///
    /// # Errors
    /// `Busy`: what is not met.
    pub fn answers(&self, request: &Request, graph: &HardwareGraph) -> Result<(), Refusal> {
        let placement = self.placement();
        let unmet = if self.pattern != request.pattern {
            Some("a decision for this job, not for another")
        } else if !placement.set().is_subset(&request.eligible(graph)) {
            Some("the devices that the request allows")
        } else {
            meets_request(request, graph, placement).err()
        };
        unmet.map_or(Ok(()), |rule| Err(Refusal::Busy(Reason::Rule(rule.into()))))
    }

    /// The same answer for another machine of the same graph: where its policy promises the same for the states of both
    /// ([`Policy::of_free_set`](crate::Policy::of_free_set)). None for a machine of another graph.
    #[must_use]
    pub fn restated(&self, view: &View<'_>) -> Option<Self> {
        let stamp = view.stamp();
        (stamp.fingerprint == self.stamp.fingerprint).then(|| Self { stamp, ..self.clone() })
    }

    /// The policy that made it.
    #[must_use]
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// The state it was made on.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The job it was made for.
    #[must_use]
    pub fn pattern(&self) -> &crate::Pattern {
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

    /// The best placements on other sets of devices, best first; as many as the request asked for, if there are so many.
    #[must_use]
    pub fn runners_up(&self) -> &[RunnerUp] {
        &self.runners_up
    }

    /// How it compares with a decision of the same policy for the same request on another machine, by the policy's criteria:
    /// the better one is less. Equal where ids alone would decide, and for decisions made by hand. What the second policy
    /// of an [`OrElse`](crate::OrElse) decides is worse than all that the first does.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        let keys = self.keys.iter().zip(&other.keys).map(|(own, others)| others.total_cmp(own));
        { keys }.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// What the search did. Where it is not complete, a better placement may exist.
    #[must_use]
    pub fn search(&self) -> SearchStats {
        self.search
    }
}

/// Why there is no decision: three different answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Not now: devices it could have are in use.
    Busy(Reason),
    /// Never on this machine: proved by the request and the graph alone.
    Infeasible(Reason),
    /// Unknown: the search stopped before it found any placement.
    LimitReached(SearchStats),
}

impl Refusal {
    /// What a decision that could not be committed amounts to: [`Reason::Stale`] if deciding again may help, else the error.
    #[must_use]
    pub fn from_commit(error: Error) -> Self {
        let reason = if error.is_stale() { Reason::Stale } else { Reason::Rule(error.to_string().into()) };
        Self::Busy(reason)
    }

    /// How much can still come of the request, for choosing among refusals: a search that stopped early (3) may find
    /// something, a re-partition (2) or waiting (1) may help, and what can never be (0) cannot.
    #[must_use]
    pub fn hope(&self) -> u8 {
        match self {
            Self::LimitReached(_) => 3,
            Self::Busy(Reason::NeedsRepartition) => 2,
            Self::Busy(_) => 1,
            Self::Infeasible(_) => 0,
        }
    }

    /// `busy`, `infeasible` or `limit_reached`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Busy(_) => "busy",
            Self::Infeasible(_) => "infeasible",
            Self::LimitReached(_) => "limit_reached",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(reason) | Self::Infeasible(reason) => reason.fmt(f),
            Self::LimitReached(stats) => {
                write!(f, "no placement found in {} nodes, and {}", stats.nodes, stats.stopped.because())
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It asks for no device.
    Empty,
    /// Nothing on this machine is of the kind, size and memory that a rank wants, in any layout.
    NothingFits {
        /// The rank.
        rank: usize,
    },
    /// More devices are wanted than may be used.
    TooFewDevices {
        /// Devices wanted.
        wanted: usize,
        /// Devices of the machine that the request allows.
        allowed: usize,
    },
    /// Placements exist, but not on the devices that are free.
    InUse {
        /// Devices wanted.
        wanted: usize,
        /// Devices free that the request allows.
        free: usize,
        /// Devices of the machine that the request allows.
        allowed: usize,
    },
    /// Placements exist on what is free if it is cut up anew.
    NeedsRepartition,
    /// The state has changed since the decision was made.
    Stale,
    /// The pattern does not lie on these devices: links it needs are missing.
    NoMatch,
    /// A rule of the policy, or a constraint of the request, is not met; its name or what it says.
    Rule(Cow<'static, str>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the job asks for no device"),
            Self::NothingFits { rank } => {
                write!(f, "nothing on this machine is of the kind, size and memory that rank {rank} wants")
            }
            Self::TooFewDevices { wanted, allowed } => {
                write!(f, "{} wanted, the request and the machine allow {allowed}", devices(*wanted))
            }
            Self::InUse { wanted, free, allowed } if free < wanted => {
                write!(f, "{} wanted, {free} of the {allowed} allowed are free", devices(*wanted))
            }
            Self::InUse { free, .. } => {
                write!(f, "the {free} devices that are free do not meet the request; with others it can be met")
            }
            Self::NeedsRepartition => f.write_str("what is free must be cut up anew to meet the request"),
            Self::Stale => f.write_str("the decision was not made on the present state: decide again"),
            Self::NoMatch => {
                f.write_str("no devices of this machine are joined, or can be there at once, as the request needs")
            }
            Self::Rule(rule) => write!(f, "not met: {rule}"),
        }
    }
}

fn devices(count: usize) -> String {
    if count == 1 { "1 device is".to_owned() } else { format!("{count} devices are") }
}
