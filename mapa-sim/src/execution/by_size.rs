//! Run times by the size of instances.

use mapa_core::mig::Size;
use mapa_core::{DeviceId, HardwareGraph, Want};
use mapa_sched::{Fleet, Guards, Placed, RunTime};

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

    fn slowdown(&self, job: &Submission, at: &Placed, fleet: &Fleet) -> f64 {
        let Some(full) = at_full_speed(job) else {
            return 1.0;
        };
        let mut slowest = 0.0_f64;
        for (_, machine, placement) in at.parts() {
            let Ok(machine) = fleet.machine(machine) else {
                return f64::NAN;
            };
            for &id in placement.iter() {
                // Where nothing says how long it runs, there is no slowdown, which is an error.
                let there = seconds_on(&job.job.run_time, machine.graph(), id);
                let there = there.unwrap_or(f64::NAN);
                slowest = if there.is_nan() {
                    f64::NAN
                } else {
                    slowest.max(there)
                };
            }
        }
        slowest / full
    }

    fn slowdown_under(&self, guards: &Guards, job: &Submission, at: &Placed, fleet: &Fleet) -> f64 {
        self.slowdown(job, at, fleet) * computing(guards, job)
    }
}

/// The run time on a device, seconds.
fn seconds_on(run_time: &RunTime, graph: &HardwareGraph, id: DeviceId) -> Option<f64> {
    // A device that cannot be partitioned has no size: it is as fast as the largest instance.
    let largest = Size::new(u8::MAX, u8::MAX);
    let size = graph.device(id).size.unwrap_or(largest);
    Some(run_time.about(size)?.as_secs_f64())
}

/// The run time by size at which a job has its work, seconds; `None` if its run time does not
/// depend on size.
fn at_full_speed(job: &Submission) -> Option<f64> {
    let RunTime::BySize(lengths) = &job.job.run_time else {
        return None;
    };
    let wanted = job.job.request.pattern.demands().first()?.want;
    let wanted = match wanted {
        Want::Slice(size) => job.job.run_time.about(size),
        _ => None,
    };
    let full = wanted.or(lengths.values().min().copied())?;
    (!full.is_zero()).then(|| full.as_secs_f64())
}
