//! Copies side by side: Fig. 1 of Tang et al.

use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, Pattern, Request, lowest_id};
use mapa_sched::{Fifo, Fleet, Job, JobId};
use mapa_sim::{Submission, Workload};

use super::{Settings, replay};
use crate::failure::Failure;

/// GB/s of each of some copies from host to device that start at once, one on an instance of each of these sizes, of so many gigabytes.
/// One such copy takes a port for itself as long as it is alone.
///
/// Instances are the first of their size that are free: on one device, if it has all of them. What a port splits is not asked for
/// sizes, so equal figures confirm the workers, not the paper. At a [pace](Settings::pace) of several seconds a copy is long enough to
/// be told apart from its start.
///
/// # Errors
/// As [`replay`](replay()); a size of which no instance is free.
pub(crate) fn copy_throughput(
    fleet: &Fleet,
    sizes: &[Size],
    gigabytes: f64,
    settings: &Settings,
) -> Result<Vec<f64>, Failure> {
    let alone = Duration::try_from_secs_f64(gigabytes / settings.max_gbps).map_err(Failure::malformed)?;
    let copy = |(id, &size): (u64, &Size)| {
        let demand = Demand::slice(size).pcie_gbps(settings.max_gbps);
        Submission::new(Job::new(JobId(id), Request::new(Pattern::single(demand))), alone)
    };
    let workload = Workload::new("copies from host to device", (0..).zip(sizes).map(copy));
    let outcome = replay(&workload, fleet.clone(), &mut Fifo::new(lowest_id()), settings)?;
    if outcome.runs.len() < sizes.len() {
        let lacking = sizes.len() - outcome.runs.len();
        let all = sizes.len();
        return Err(Failure::malformed(format_args!("{lacking} of {all} copies found no instance of their size")));
    }
    Ok(outcome.runs.iter().map(|run| gigabytes / run.ran().as_secs_f64()).collect())
}
