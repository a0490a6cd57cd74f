//! Which jobs to move so that a wanted placement becomes possible.
//!
//! Jobs come and go, and what is free at the end is seldom what was left on purpose. A job moved gives its devices back and takes
//! others; with few moves chosen well, what is free is worth what it would be on an idle machine. Everything here is a pure
//! function of the state: it proposes, and somebody else moves jobs.

mod order;
mod scores;
mod search;

use std::collections::BTreeSet;

use mapa_core::{Allocator, LeaseId, Limits, MachineId, Objective, Pattern, Placement, StopReason};

use scores::Scores;
use search::Search;

/// The smallest sets of moves that make room, and what room there is.
///
/// A placement is worth what the objective says of the best rank order on its devices; so much is looked for for the wanted
/// pattern, and kept for every job that moves. Objectives that depend on what is free are not meant. Jobs on
/// instances, and such as share devices, stay where they are, as do those that are pinned.
///
/// ```
/// use std::sync::Arc;
/// use mapa_core::{Allocator, Fabric, LinkClass, Pattern, Request, effective_gbps, lowest_id};
/// use mapa_sched::{Defrag, Defragmented};
///
/// // Two pairs of double links; a job on one device of each.
/// let mut fabric = Fabric::new();
/// let root = fabric.add_numa("cpu0", 0)?;
/// let ids: Vec<_> = (0..4).map(|i| fabric.add_device(format!("GPU{i}")).unwrap()).collect();
/// ids.iter().for_each(|&id| fabric.attach(id, root, 12.0).unwrap());
/// fabric.link(ids[0], ids[1], LinkClass::Direct(2), 50.0)?;
/// fabric.link(ids[2], ids[3], LinkClass::Direct(2), 50.0)?;
/// let mut machine = Allocator::new(Arc::new(fabric.lower()?));
/// let single = |only: u32| Request::new(Pattern::ring(1)).only([only].into());
/// machine.allocate(lowest_id(), &single(0))?;
/// machine.allocate(lowest_id(), &single(2))?;
///
/// let defrag = Defrag::new(effective_gbps());
/// let machines = [machine];
/// let reach = defrag.reach(&machines, &Pattern::ring(2));
/// let Defragmented::By(plan) = defrag.plan(&machines, &Pattern::ring(2), reach.idle.unwrap()) else { panic!() };
/// assert_eq!((plan.jobs, plan.moves.len()), (1, 1));
/// assert_eq!(plan.target.score, reach.idle.unwrap());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Defrag<'a> {
    objective: Objective<'a>,
    may_lose: f64,
    pinned: BTreeSet<(MachineId, LeaseId)>,
    limits: Limits,
}

/// What a pattern would get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Now, on the machine where it would get most; none, if it has room on none.
    pub now: Option<f64>,
    /// The same if all machines were idle.
    pub idle: Option<f64>,
}

/// Whether the wanted placement can be had, and how.
#[derive(Clone, Debug, PartialEq)]
pub enum Defragmented {
    /// It can be had now.
    Already(Target),
    /// After these moves.
    By(Plan),
    /// It cannot, under the conditions set.
    Impossible {
        /// Whether it could be had if jobs could exchange their devices: there is no room to move them one by one, only by
        /// suspending some.
        but_for_room: bool,
    },
    /// Unknown: the search stopped before it found any plan.
    LimitReached(StopReason),
}

/// Devices for what is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Their machine.
    pub machine: MachineId,
    /// The device of each rank.
    pub placement: Placement,
    /// What they are worth.
    pub score: f64,
}

/// Moves, one after the other, and where they lead.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// In the order in which they can be made: each job's new devices are free, or its own, when its turn comes.
    pub moves: Vec<Move>,
    /// How many jobs move; fewer than `moves` where one must step aside first.
    pub jobs: usize,
    /// How many devices the jobs that move have in the end that they do not have now.
    pub devices: usize,
    /// What is then free for what is wanted.
    pub target: Target,
    /// Whether no plan with fewer jobs exists, or a better one with as many: not if a limit ended the search.
    pub complete: bool,
}

/// A job that moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// The job's machine and lease at the beginning, which name it through all moves.
    pub job: (MachineId, LeaseId),
    /// Where it is.
    pub from: Target,
    /// Where it goes.
    pub to: Target,
    /// Whether it only steps aside, and moves once more later.
    pub aside: bool,
    /// What the wanted pattern would get once the move is done.
    pub reach: Option<f64>,
}

impl<'a> Defrag<'a> {
    /// Placements by this objective; no job that moves may be worse off; at most ten million sets of devices looked at.
    #[must_use]
    pub fn new(objective: Objective<'a>) -> Self {
        Self { objective, may_lose: 0.0, pinned: BTreeSet::new(), limits: Limits::NONE.nodes(10_000_000) }
    }

    /// A job that moves may be worse off by this share of what its placement is worth, from 0 to 1.
    #[must_use]
    pub fn may_lose(self, share: f64) -> Self {
        Self { may_lose: share, ..self }
    }

    /// This job stays where it is.
    #[must_use]
    pub fn pin(mut self, machine: MachineId, lease: LeaseId) -> Self {
        self.pinned.insert((machine, lease));
        self
    }

    /// How far to search. A node is a set of devices looked at.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// What a pattern would get on these machines, now and if they were idle. One decision a machine and moment.
    #[must_use]
    pub fn reach(&self, machines: &[Allocator], want: &Pattern) -> Reach {
        let scores = Scores::new(&self.objective, machines);
        let best = |idle: bool| {
            let of = |machine| scores.best_on(machine, want, idle).map(|target| target.score);
            (0..machines.len()).filter_map(of).max_by(f64::total_cmp)
        };
        Reach { now: best(false), idle: best(true) }
    }

    /// The moves after which `want` has a placement worth at least `at_least` on one of the machines: of all plans those that
    /// move fewest jobs; then those of fewest moves, then of fewest devices, then that after which what is wanted is worth most.
    ///
    /// On one machine, exact, up to where jobs would have to step aside more than twice each. On several, the jobs that
    /// move are those of the machine that gets the room; such a job may go to another machine, there to the best
    /// free devices for it. Sets of devices are gone through, at most 2^n of n devices and for each those of the jobs that move: machines of
    /// up to 16 devices are meant, 64 are possible.
    #[must_use]
    pub fn plan(&self, machines: &[Allocator], want: &Pattern, at_least: f64) -> Defragmented {
        Search::new(self, machines, want, at_least).run()
    }
}
