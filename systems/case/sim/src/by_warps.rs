//! Run times of tasks that share an instance's multiprocessors.

use mapa_core::{DeviceId, DeviceSet, HardwareGraph};
use mapa_sched::{Assignment, Fleet, JobLimitTable};
use mapa_sim::{Coupling, Execution, Submission, computing};

/// Tasks that share an instance slow each other down once they want more warps in flight than it
/// holds: each then runs as much slower as all of them want too much. Assumed; the evaluation of CASE
/// publishes mean slowdowns of kernels only.
///
/// An instance holds a number of warps for each of its compute slices, by default
/// [`SLICE`](Self::SLICE). A device without a partition table counts as one slice. A job without a
/// demand for warps is neither slowed down nor counted. A job is as slow as its slowest rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByWarps {
    slice: f64,
}

impl ByWarps {
    /// Warps that a compute slice of an A100 or A30 holds: 14 multiprocessors of 64 warps each.
    pub const SLICE: f64 = 896.0;

    /// The model for compute slices that hold `slice` warps.
    #[must_use]
    pub fn new(slice: f64) -> Self {
        Self { slice }
    }
}

impl Default for ByWarps {
    fn default() -> Self {
        Self::new(Self::SLICE)
    }
}

impl Execution for ByWarps {
    fn name(&self) -> &str {
        "by-warps"
    }

    fn slowdown(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        let mut worst = 1.0f64;
        for (ranks, machine, placement) in at.parts() {
            // A place that does not belong to the job and the fleet has no slowdown, which is an error.
            let demands = job.job.request.pattern.demands().get(ranks);
            let (Ok(machine), Some(demands)) = (fleet.machine(machine), demands) else {
                return f64::NAN;
            };
            for (demand, &id) in demands.iter().zip(placement.iter()) {
                if machine.graph().check(id).is_err() {
                    return f64::NAN;
                }
                if demand.warps == 0 {
                    continue;
                }
                let size = machine.graph().device(id).size;
                let slices = size.map_or(1.0, |size| f64::from(size.compute.max(1)));
                let wanted = machine.view().usage(id).warps as f64;
                worst = worst.max(wanted / (slices * self.slice));
            }
        }
        worst
    }

    fn slowdown_under(
        &self,
        guards: &JobLimitTable,
        job: &Submission,
        at: &Assignment,
        fleet: &Fleet,
    ) -> f64 {
        self.slowdown(job, at, fleet) * computing(guards, job)
    }

    fn coupling(&self) -> Coupling {
        Coupling::Machine
    }

    /// Tasks share an instance, which is on one device.
    fn felt_on(&self, _: &HardwareGraph, whole: DeviceId) -> Option<DeviceSet> {
        Some(std::iter::once(whole).collect())
    }
}
