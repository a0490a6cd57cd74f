//! Lower bounds: what no schedule of a class is below, and how that was found.
//!
//! A [`Bound`] says what it bounds, for which schedules it holds, and how it was computed. Who
//! holds a schedule against bounds compares it with those whose class [covers](Class::covers) it.
//! Some bounds are linear programs; a [`Solver`] solves them. A linear program that relaxes a
//! problem is a bound only at its optimum. Before that, prices of its rows give one (weak duality),
//! and so do the prices of a solver that stopped at a limit.

mod micro;
mod program;
mod solver;

pub use program::{Program, Row, Sense, Solved};
pub use solver::Solver;

/// The quantity that a bound is on, with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The energy of all GPUs from minute 0 to the last end, watt-minutes.
    Energy,
    /// By how much jobs end after their deadlines, minutes, all jobs together.
    Tardiness,
    /// The time from arrival to end, seconds, all jobs together.
    Completion,
    /// The time from the first arrival to the last end, seconds.
    Makespan,
}

/// The schedules for which a bound holds. In all of them a job runs in one place at a time, not
/// before it arrives: on one slice of a GPU, or on a set of whole devices. It may be preempted,
/// moved, and resumed in another place at no cost: then its progress adds up. A bound holds for
/// schedules that do less, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Every GPU keeps the layout that it has.
    FixedLayouts,
    /// Layouts may change at any moment, at no cost. Slices of a GPU together have at most seven
    /// compute slices; where on the GPU they lie does not matter.
    AnyLayouts,
    /// Each job holds as many whole devices of one machine as it asks for, alone. Which ones may
    /// change at any moment, at no cost.
    WholeDevices,
}

impl Class {
    /// Whether a bound of this class holds for schedules of the other.
    #[must_use]
    pub fn covers(self, schedules: Self) -> bool {
        self == schedules || (self, schedules) == (Self::AnyLayouts, Self::FixedLayouts)
    }
}

/// How the value of a bound was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// By a formula or an algorithm that is exact but for rounding.
    Formula,
    /// The solver says that it is the optimum of a linear program, to the tolerance of the solver.
    Optimum,
    /// The solver stopped at a limit. The value follows from the prices it had by then. It is a
    /// bound, but not the best one of this program.
    Prices,
    /// The solver stopped at a limit and gave no prices. The value is what needs no proof: 0.
    Nothing,
}

/// A number that no schedule of a class is below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The name by which reports list it.
    pub name: &'static str,
    /// The quantity, which also gives the unit of `value`.
    pub measure: Measure,
    /// For which schedules it holds.
    pub class: Class,
    /// The bound, in the unit of the measure.
    pub value: f64,
    /// Why the value is a bound, and how tight.
    pub proof: Proof,
}
