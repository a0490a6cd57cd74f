//! The results of a search: the wanted devices, the moves, or why there are none.

use mapa_core::{LeaseId, MachineId, Placement, StopReason};

/// The best score that a pattern can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// The best score on the devices that are free now; `None` if no machine has room.
    pub now: Option<f64>,
    /// The best score if all machines were idle; `None` if even then none has room.
    pub idle: Option<f64>,
}

/// Whether the wanted placement is possible, and by which moves.
#[derive(Clone, Debug, PartialEq)]
pub enum Defragmented {
    /// It is possible without any move.
    Already(Target),
    /// It is possible after these moves.
    By(Plan),
    /// It is impossible under the given conditions.
    Impossible {
        /// Whether only the room to move jobs one by one is missing. Then the placement would be
        /// possible if some jobs were suspended while others move.
        but_for_room: bool,
    },
    /// Unknown: the search stopped before it found any plan.
    LimitReached(StopReason),
}

/// A placement of a pattern on a machine, with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The machine on which the pattern lies.
    pub machine: MachineId,
    /// The device of each rank.
    pub placement: Placement,
    /// The score of the placement.
    pub score: f64,
}

/// Moves to be made one after the other, and their result.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The moves, in an order in which they can be made: when a job moves, its new devices are free
    /// or its own.
    pub moves: Vec<Move>,
    /// How many jobs move. There are more moves than jobs if a job must step aside first.
    pub jobs: usize,
    /// How many devices jobs have in the end that they do not have now, in all.
    pub devices: usize,
    /// The placement of the wanted pattern that is free after the moves.
    pub target: Target,
    /// Whether the search was complete. If so, no plan moves fewer jobs, and none with as many jobs
    /// is better. False if a limit ended the search.
    pub complete: bool,
}

/// A move of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// The job's machine and lease at the beginning, which name it through all moves.
    pub job: (MachineId, LeaseId),
    /// Its placement before the move.
    pub from: Target,
    /// Its placement after the move.
    pub to: Target,
    /// Whether it only steps aside, and moves once more later.
    pub aside: bool,
    /// The best score of the wanted pattern once this move is done; `None` if it has no room yet.
    pub reach: Option<f64>,
}
