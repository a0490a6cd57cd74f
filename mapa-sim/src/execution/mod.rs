//! How long jobs run where they lie.

use mapa_sched::{Fleet, Placed};

use crate::workload::Submission;

mod by_bandwidth;
mod pcie;

pub use by_bandwidth::ByBandwidth;
pub use pcie::{PcieEqualShare, PcieMaxMin};

/// How much slower than at full speed jobs run where they lie. A pure function of what it is shown.
pub trait Execution: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// How many times its [work](Submission::work) a job takes there, at least 2⁻³¹ and at most 2³¹: 1 is full speed. The fleet shows
    /// who else runs at the moment, this job among them.
    fn slowdown(&self, job: &Submission, at: &Placed, fleet: &Fleet) -> f64;

    /// Whose slowdown changes when a job starts, ends or moves. Default: nobody's but its own.
    fn coupling(&self) -> Coupling {
        Coupling::None
    }
}

/// Whose slowdown depends on whose presence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coupling {
    /// Jobs do not notice each other.
    #[default]
    None,
    /// Jobs of one machine do: all of them are asked for anew at every change there.
    Machine,
}

/// Every job runs for its [work](Submission::work), wherever it lies: as the released simulator has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed;

impl Execution for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }

    fn slowdown(&self, _: &Submission, _: &Placed, _: &Fleet) -> f64 {
        1.0
    }
}
