//! Models of how long jobs run on their devices.

use mapa_core::{DeviceId, DeviceSet, HardwareGraph};
use mapa_sched::{Assignment, Fleet, JobLimitTable};

use crate::workload::Submission;

mod by_bandwidth;
mod by_size;
mod row;

pub use by_bandwidth::ByBandwidth;
pub use by_size::BySize;
pub use row::{ExecutionRow, executions};

/// A model of run times: how much slower than at full speed a job runs on its devices.
/// Implementations must be pure functions of their arguments.
pub trait Execution: Send + Sync {
    /// The model's name.
    fn name(&self) -> &str;

    /// The slowdown of a job at this place: its run time over its [work](Submission::work), so 1 is
    /// full speed. It must be at least 2⁻³¹ and at most 2³¹. The fleet has all jobs that run at the
    /// moment, this one among them. A task of a job is passed as a job with the number of its job
    /// and the request and work of the task.
    fn slowdown(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64;

    /// The slowdown under the limits on all jobs. Default: limits change nothing.
    ///
    /// Of the limits the models here know two. How they act is MAPA's own assumption, as no source
    /// gives run times under limits:
    ///
    /// [`BySize`] is as [`Fixed`]: its slowdown is multiplied.
    ///
    /// | limit | [`Fixed`] | [`ByBandwidth`] | models of shared PCIe |
    /// |---|---|---|---|
    /// | p % of the multiprocessors | slowdown 100 / p | 100 / p − 1 is added: computing takes longer, sending does not | at least 100 / p: copies and computing overlap |
    /// | c MB/s of PCIe | none | none | a PCIe-bound rank gets no more than its part of c; by max-min fairness, neighbours share the rest |
    ///
    /// The part of a rank is c over the number of PCIe-bound ranks of the job and its tasks. Limits
    /// on block I/O and on cores change no speed. A limit of 0 on what a job needs gives an infinite
    /// slowdown, which is an error.
    fn slowdown_under(
        &self,
        _: &JobLimitTable,
        job: &Submission,
        at: &Assignment,
        fleet: &Fleet,
    ) -> f64 {
        self.slowdown(job, at, fleet)
    }

    /// The slowdowns of several jobs at one moment, in their order. Default: one by one. A model that computes something for
    /// all jobs of a machine together does so once here.
    fn slowdowns_under(
        &self,
        guards: &JobLimitTable,
        jobs: &[(&Submission, &Assignment)],
        fleet: &Fleet,
    ) -> Vec<f64> {
        let jobs = jobs.iter();
        jobs.map(|(job, at)| self.slowdown_under(guards, job, at, fleet))
            .collect()
    }

    /// The jobs whose slowdown changes when a job starts, ends or moves. Default: that job alone.
    fn coupling(&self) -> Coupling {
        Coupling::None
    }

    /// Under [`Coupling::Machine`]: the devices on which the slowdown of jobs changes when a job comes to a device or leaves
    /// it, by whole devices. `None`, the default: all devices of the machine. While any job has a limit, all are asked
    /// whatever this says.
    fn felt_on(&self, _: &HardwareGraph, _whole: DeviceId) -> Option<DeviceSet> {
        None
    }
}

/// Which jobs slow each other down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coupling {
    /// None: a slowdown depends on the job's own place alone.
    #[default]
    None,
    /// Jobs of one machine: at every change there, the slowdowns of all of them are computed again, or of those on the
    /// devices where it is [felt](Execution::felt_on).
    Machine,
}

/// Every job runs for its [work](Submission::work) on any devices, as in MAPA's released simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed;

impl Execution for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }

    fn slowdown(&self, _: &Submission, _: &Assignment, _: &Fleet) -> f64 {
        1.0
    }

    fn slowdown_under(
        &self,
        guards: &JobLimitTable,
        job: &Submission,
        _: &Assignment,
        _: &Fleet,
    ) -> f64 {
        computing(guards, job)
    }
}

/// How many times as long a job computes under the limits on it: the share of the multiprocessors
/// that it has is taken as its speed.
#[must_use]
pub fn computing(guards: &JobLimitTable, job: &Submission) -> f64 {
    let limit = guards.on(job.job.id).mps_percent;
    limit.map_or(1.0, |percent| 100.0 / f64::from(percent))
}
