//! The three kinds of refusal, and their reasons.

use std::borrow::Cow;
use std::fmt;

use crate::error::Error;
use crate::matching::SearchStats;
use crate::pattern::Demand;
use crate::request::Request;
use crate::topology::HardwareGraph;
use crate::view::View;

/// Why a policy made no decision. The three kinds call for different reactions: wait, reject, or
/// search longer.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Not now: devices that the job could get are in use, or must be repartitioned first.
    Busy(Reason),
    /// Never on this machine: the request, the machine's graph and rules that see nothing else
    /// prove it.
    Infeasible(Reason),
    /// Unknown: the search stopped before it found any placement.
    LimitReached(SearchStats),
}

impl Refusal {
    /// The refusal for a decision that could not be committed: `Busy` with [`Reason::Stale`] if
    /// deciding again may help, otherwise with the error's message.
    #[must_use]
    pub fn from_commit(error: Error) -> Self {
        let reason = if error.is_stale() {
            Reason::Stale
        } else {
            Reason::Rule(error.to_string().into())
        };
        Self::Busy(reason)
    }

    /// Ranks refusals by the chance that the request can still be met. 3: the search stopped early
    /// and may find a placement with a higher limit. 2: a repartition may help. 1: waiting may
    /// help. 0: never.
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
                write!(
                    f,
                    "no placement found in {} nodes, and {}",
                    stats.nodes,
                    stats.stopped.because()
                )
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The request has no ranks.
    Empty,
    /// No device or instance of this machine, in any layout, has the kind, size and memory that a
    /// rank demands.
    NothingFits {
        /// The rank.
        rank: usize,
    },
    /// The job wants more devices than the machine has or the request allows.
    TooFewDevices {
        /// Devices wanted.
        wanted: usize,
        /// Devices of the machine that the request allows.
        allowed: usize,
    },
    /// Placements exist, but not on the free devices.
    InUse {
        /// Devices wanted.
        wanted: usize,
        /// Devices free that the request allows.
        free: usize,
        /// Devices of the machine that the request allows.
        allowed: usize,
    },
    /// Placements exist on the free devices after a repartition.
    NeedsRepartition,
    /// The state has changed since the decision was made.
    Stale,
    /// The machine has no placement of the pattern, for instance because links that it needs are
    /// missing.
    NoMatch,
    /// A rule of the policy or a constraint of the request is not met: its name or its text.
    Rule(Cow<'static, str>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the job asks for no device"),
            Self::NothingFits { rank } => {
                write!(f, "nothing on this machine has the kind, size and memory that rank {rank} wants")
            }
            Self::TooFewDevices { wanted, allowed } => {
                write!(f, "{} wanted, the request and the machine allow {allowed}", devices(*wanted))
            }
            Self::InUse { wanted, free, allowed } if free < wanted => {
                write!(f, "{} wanted, {free} of the {allowed} allowed are free", devices(*wanted))
            }
            Self::InUse { free, .. } => {
                write!(f, "the {free} free devices do not meet the request: with others free it can be met")
            }
            Self::NeedsRepartition => f.write_str("what is free must be repartitioned to meet the request"),
            Self::Stale => f.write_str("the decision was not made on the present state: decide again"),
            Self::NoMatch => {
                f.write_str("no set of devices of this machine has the links that the request needs and can exist at once")
            }
            Self::Rule(rule) => write!(f, "not met: {rule}"),
        }
    }
}

fn devices(count: usize) -> String {
    if count == 1 {
        "1 device is".to_owned()
    } else {
        format!("{count} devices are")
    }
}

/// The reason why a request is infeasible on this machine, as far as it can be told without a
/// search.
pub(super) fn never(request: &Request, graph: &HardwareGraph) -> Option<Reason> {
    let wanted = request.pattern.len();
    let candidates = request.candidates(graph);
    let numa_unknown = || graph.devices().iter().all(|device| device.numa.is_none());
    if wanted == 0 {
        Some(Reason::Empty)
    } else if let Some(contradiction) = request.contradiction() {
        Some(Reason::Rule(contradiction.to_string().into()))
    } else if let Some(rank) = request
        .pattern
        .demands()
        .iter()
        .position(|demand| graph.candidates(demand).is_empty())
    {
        Some(no_card_near(request, rank, graph).unwrap_or(Reason::NothingFits { rank }))
    } else if candidates.len() < wanted
        && let Some(demand) = request
            .pattern
            .demands()
            .iter()
            .find(|demand| demand.nics > 0)
        && !request.pattern.may_share()
    {
        Some(Reason::Rule(
            format!(
                "{wanted} devices with {}: the request and the machine allow {}",
                cards(demand),
                candidates.len()
            )
            .into(),
        ))
    } else if candidates.len() < wanted && !request.pattern.may_share() {
        Some(Reason::TooFewDevices {
            wanted,
            allowed: candidates.len(),
        })
    } else if !request.must_include.is_subset(&candidates) {
        Some(Reason::Rule(
            "the devices that must be included are allowed and of a kind that the job wants".into(),
        ))
    } else if request.same_numa && numa_unknown() {
        Some(Reason::Rule(
            "one NUMA node for all devices: the machine's description names no NUMA node".into(),
        ))
    } else {
        None
    }
}

/// The reason why the idle machine has no placement: network cards, if the request could be met
/// without them.
pub(super) fn no_match(request: &Request, graph: &HardwareGraph, without_cards: bool) -> Reason {
    let demands = request.pattern.demands();
    let Some(rank) = demands
        .iter()
        .position(|demand| demand.nics > 0)
        .filter(|_| without_cards)
    else {
        return Reason::NoMatch;
    };
    no_card_near(request, rank, graph).unwrap_or_else(|| {
        Reason::Rule(
            format!(
                "{} for rank {rank}: no set of devices that meets the rest of the request has it",
                cards(&demands[rank])
            )
            .into(),
        )
    })
}

/// That of the devices that the request allows, only network cards near enough are missing, and how
/// near they are.
fn no_card_near(request: &Request, rank: usize, graph: &HardwareGraph) -> Option<Reason> {
    let demand = &request.pattern.demands()[rank];
    let allowed = |demand: &Demand| &request.eligible(graph) & &graph.candidates(demand);
    let others = allowed(&Demand { nics: 0, ..*demand });
    if demand.nics == 0 || others.is_empty() || !allowed(demand).is_empty() {
        return None;
    }
    let last = usize::from(demand.nics) - 1;
    let near = others
        .iter()
        .filter_map(|id| graph.device(id).nics.get(last));
    let some = if request.eligible(graph) == *graph.everything() {
        ""
    } else {
        " that the request allows"
    };
    let found = near
        .max()
        .map_or(format!("no device{some} has that many"), |class| {
            format!("the closest{some} has them at {class}")
        });
    Some(Reason::Rule(
        format!("a device with {}: {found}", cards(demand)).into(),
    ))
}

/// The network cards that a demand wants, in words.
fn cards(demand: &Demand) -> String {
    let plural = if demand.nics == 1 { "" } else { "s" };
    format!(
        "{} network card{plural} at {} or closer",
        demand.nics, demand.nic_within
    )
}

pub(super) fn in_use(request: &Request, view: &View<'_>) -> Reason {
    let (free, allowed) = (
        request.room(view).len(),
        request.candidates(view.graph()).len(),
    );
    Reason::InUse {
        wanted: request.pattern.len(),
        free,
        allowed,
    }
}
