//! Models of how long jobs run on their devices.

use mapa_sched::{Fleet, Placed};

use crate::workload::Submission;

mod by_bandwidth;
mod pcie;

pub use by_bandwidth::ByBandwidth;
pub use pcie::{PcieEqualShare, PcieMaxMin};

/// A model of run times: how much slower than at full speed a job runs on its devices.
/// Implementations must be pure functions of their arguments.
pub trait Execution: Send + Sync {
    /// The model's name.
    fn name(&self) -> &str;

    /// The slowdown of a job at this place: its run time over its [work](Submission::work), so 1 is
    /// full speed. It must be at least 2⁻³¹ and at most 2³¹. The fleet has all jobs that run at the
    /// moment, this one among them.
    fn slowdown(&self, job: &Submission, at: &Placed, fleet: &Fleet) -> f64;

    /// The jobs whose slowdown changes when a job starts, ends or moves. Default: that job alone.
    fn coupling(&self) -> Coupling {
        Coupling::None
    }
}

/// Which jobs slow each other down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coupling {
    /// None: a slowdown depends on the job's own place alone.
    #[default]
    None,
    /// Jobs of one machine: at every change there, the slowdowns of all of them are computed again.
    Machine,
}

/// Every job runs for its [work](Submission::work) on any devices, as in MAPA's released simulator.
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
