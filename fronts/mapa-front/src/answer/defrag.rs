//! The answer of `defrag`: the loss to fragmentation, and which jobs to move.

use mapa_core::{Allocator, LeaseId, MachineId};
use mapa_sched::{Defragmented, Plan, Reach};
use serde::Serialize;

use super::Refusal;

/// Half of the last printed digit, GB/s. With this tolerance, a rounded score that a user copies
/// from an answer still accepts the placement that had it.
const SHOWN: f64 = 0.005;

/// What running jobs leave of a machine's best scores, and the moves that make room for a pattern.
/// The keys from `wanted` on are present if a pattern is wanted. There is a plan, or a refusal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Defrag {
    /// The name of the score; a name ends in the unit.
    pub score: String,
    /// How many servers there are.
    pub servers: u32,
    /// The best scores of a ring of each number of devices, from 2 on.
    pub rings: Vec<RingReach>,
    /// The placement to make room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Wanted>,
    /// The moves, one after the other; none if the placement is possible already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<MovedJob>>,
    /// Where the wanted placement is possible after the moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ScoredPlace>,
    /// How many jobs move; absent if the placement is possible already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs_moved: Option<usize>,
    /// How many devices jobs have in the end that they do not have now, in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices_moved: Option<usize>,
    /// What each move adds to the score of the wanted placement. Having no room counts as 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain_per_move: Option<f64>,
    /// Whether the search was complete, so that no better plan exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// The kind of refusal, if there is no plan: `infeasible` or `limit_reached`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Why there is no plan, in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The best scores of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RingReach {
    /// How many devices it has.
    pub devices: usize,
    /// The best score on the devices that are free now; null if there is no room.
    pub now: Option<f64>,
    /// The best score on the idle machine; null if there is no room.
    pub idle: Option<f64>,
}

/// A placement to make room for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wanted {
    /// The pattern in words, such as `ring of 4`.
    pub pattern: String,
    /// The score that it must reach.
    pub at_least: f64,
    /// The best score on the devices that are free now; null if there is no room.
    pub now: Option<f64>,
    /// The best score on the idle machine; null if there is no room.
    pub idle: Option<f64>,
}

/// A move of a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MovedJob {
    /// The job's name.
    pub id: String,
    /// Where it runs before.
    pub from: ScoredPlace,
    /// Where it runs after.
    pub to: ScoredPlace,
    /// Whether it only steps aside, and moves once more later.
    pub aside: bool,
    /// The best score of the wanted pattern once this move is done; null if there is no room yet.
    pub then: Option<f64>,
}

/// A placement with its score.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoredPlace {
    /// The number of the server.
    pub server: u32,
    /// The ids of the devices, in rank order.
    pub devices: Vec<u32>,
    /// The score of the placement.
    pub score: f64,
}

impl Wanted {
    /// A pattern in words that must reach a score, and the scores that it reaches.
    pub fn new(pattern: impl Into<String>, at_least: f64, reach: Reach) -> Self {
        Self {
            pattern: pattern.into(),
            at_least,
            now: reach.now,
            idle: reach.idle,
        }
    }

    /// The least score that counts as reached: that of a placement whose rounded score is wanted.
    pub fn least(&self) -> f64 {
        self.at_least - SHOWN
    }
}

impl Defrag {
    /// The best scores of rings now and on idle machines, by a score of this name.
    pub fn new(
        score: impl Into<String>,
        servers: u32,
        rings: impl IntoIterator<Item = (usize, Reach)>,
    ) -> Self {
        let rings = rings.into_iter().map(|(devices, reach)| RingReach {
            devices,
            now: reach.now,
            idle: reach.idle,
        });
        Self {
            score: score.into(),
            servers,
            rings: rings.collect(),
            wanted: None,
            moves: None,
            target: None,
            jobs_moved: None,
            devices_moved: None,
            gain_per_move: None,
            complete: None,
            refusal: None,
            reason: None,
        }
    }

    /// The answer with a plan for a pattern of `ranks`, or with the reason why there is none. `name`
    /// gives the name of a job.
    #[must_use]
    pub fn wanting<'n>(
        mut self,
        wanted: Wanted,
        ranks: usize,
        found: &Defragmented,
        machines: &[Allocator],
        name: impl Fn((MachineId, LeaseId)) -> &'n str,
    ) -> Self {
        match found {
            Defragmented::Already(there) => {
                self.moves = Some(Vec::new());
                self.target = Some(there.into());
            }
            Defragmented::By(plan) => {
                self.gain_per_move = Some(gain(plan, &wanted));
                self.take(plan, name);
            }
            other => {
                let Refusal { refusal, reason } = no_plan(other, &wanted, ranks, machines);
                (self.refusal, self.reason) = (Some(refusal), Some(reason));
            }
        }
        self.wanted = Some(wanted);
        self
    }

    fn take<'n>(&mut self, plan: &Plan, name: impl Fn((MachineId, LeaseId)) -> &'n str) {
        let moves = plan.moves.iter().map(|step| MovedJob {
            id: name(step.job).to_owned(),
            from: (&step.from).into(),
            to: (&step.to).into(),
            aside: step.aside,
            then: step.reach,
        });
        self.moves = Some(moves.collect());
        self.target = Some((&plan.target).into());
        self.jobs_moved = Some(plan.jobs);
        self.devices_moved = Some(plan.devices);
        self.complete = Some(plan.complete);
    }

    /// Why there is no plan; `None` if there is one, or none is wanted.
    pub fn refused(&self) -> Option<Refusal> {
        let (kind, reason) = self.refusal.as_ref().zip(self.reason.as_ref())?;
        Some(Refusal::new(kind, reason))
    }
}

/// What each move adds to the score of the wanted placement.
fn gain(plan: &Plan, wanted: &Wanted) -> f64 {
    // A plan has a move at least: without one, the answer is that the placement is possible already.
    // Where there is no room now, all of the score is gained.
    (plan.target.score - wanted.now.unwrap_or(0.0)) / plan.moves.len() as f64
}

/// Why there is no plan.
fn no_plan(found: &Defragmented, wanted: &Wanted, ranks: usize, machines: &[Allocator]) -> Refusal {
    // Only whole devices count: moves are of whole devices.
    let free = |machine: &Allocator| (&machine.graph().wholes() & machine.view().free()).len();
    let all: usize = machines.iter().map(free).sum();
    let infeasible = |reason: &str| Refusal::new("infeasible", reason);
    let limit_reached = |reason: &str| Refusal::new("limit_reached", reason);
    // The order matters: the first reason that holds is the one to tell.
    match found {
        Defragmented::Impossible { .. } if wanted.idle.is_none_or(|idle| idle < wanted.least()) => {
            infeasible("not even the idle machine has such a placement")
        }
        Defragmented::Impossible { .. } if all < ranks => infeasible(&format!(
            "{ranks} devices are wanted and {all} are free; moving jobs frees no devices"
        )),
        // With several servers, the search moves jobs within one server at a time. So it has not shown that
        // there is no plan.
        Defragmented::Impossible { .. } if machines.len() > 1 => limit_reached(
            "no plan was found that moves jobs of one server only and lowers no job's score by \
             more than it may lose; plans over several servers were not searched",
        ),
        Defragmented::Impossible { but_for_room: true } => infeasible(
            "jobs would have to exchange devices, and too few are free to move one job at a time",
        ),
        Defragmented::LimitReached(stopped) => {
            limit_reached(&format!("no plan was found, and {}", stopped.because()))
        }
        _ => infeasible(
            "no moves of the jobs that may move make room without lowering a job's score by more \
             than it may lose",
        ),
    }
}

impl From<&mapa_sched::Target> for ScoredPlace {
    fn from(target: &mapa_sched::Target) -> Self {
        Self {
            server: target.machine.0,
            devices: target.placement.iter().map(|id| id.0).collect(),
            score: target.score,
        }
    }
}
