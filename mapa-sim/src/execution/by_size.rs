//! Run times by the size of instances.

use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{DeviceId, HardwareGraph, Want};
use mapa_sched::{Assignment, Fleet, JobLimitTable, RunTime};

use super::{Execution, computing};
use crate::workload::Submission;

/// Every job runs as long as its [run times by size](RunTime::BySize) say; jobs without such run
/// times run for their [work](Submission::work) on any devices, as under [`Fixed`](super::Fixed).
///
/// The run times give the shape, and the work gives the scale: the slowdown on an instance is its
/// run time there over that at which the job has its work. That is the size that it requests, and
/// for jobs that request any size, the one on which it is fastest. So if a job's work is its
/// estimate for that size, estimates are exact; otherwise the owner was wrong by one factor on every
/// size. A size without a run time is read by [`RunTime::about`]. On several instances a job is as
/// slow as on the slowest.
#[derive(Clone, Copy, Debug, Default)]
pub struct BySize;

impl Execution for BySize {
    fn name(&self) -> &str {
        "by-size"
    }

    fn slowdown(&self, job: &Submission, at: &Assignment, fleet: &Fleet) -> f64 {
        let Some(full) = at_full_speed(job) else {
            return 1.0;
        };
        let mut slowest = Duration::ZERO;
        for (_, machine, placement) in at.parts() {
            for &id in placement.iter() {
                let machine = fleet.machine(machine).ok();
                let there =
                    machine.and_then(|allocator| on(&job.job.run_time, allocator.graph(), id));
                // Where nothing says how long it runs there is no slowdown, which is an error.
                let Some(there) = there else {
                    return f64::NAN;
                };
                slowest = slowest.max(there);
            }
        }
        never_longer(full, slowest)
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
}

/// The slowdown by which work of `full` takes `there`. A simulation has rates of 32 binary digits.
/// So that no job is late for the rounding of its rate alone, the rate is rounded up: such a job
/// ends at most a few parts in 10⁹ early.
fn never_longer(full: Duration, there: Duration) -> f64 {
    const FULL: u128 = 1 << 32;
    let rate = (full.as_nanos() * FULL).div_ceil(there.as_nanos().max(1));
    FULL as f64 / rate as f64
}

/// The run time on a device.
fn on(run_time: &RunTime, graph: &HardwareGraph, id: DeviceId) -> Option<Duration> {
    // A device that cannot be partitioned has no size: it is as fast as the largest instance.
    let largest = Size::new(u8::MAX, u8::MAX);
    run_time.about(graph.device(id).size.unwrap_or(largest))
}

/// The run time by size at which a job has its work; `None` if its run time does not depend on
/// size.
fn at_full_speed(job: &Submission) -> Option<Duration> {
    let RunTime::BySize(lengths) = &job.job.run_time else {
        return None;
    };
    let wanted = match job.job.request.pattern.demands().first()?.want {
        Want::Slice(size) => job.job.run_time.about(size),
        _ => None,
    };
    let full = wanted.or(lengths.values().min().copied())?;
    (!full.is_zero()).then_some(full)
}
