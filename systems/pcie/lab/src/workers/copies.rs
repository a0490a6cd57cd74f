//! Copies side by side: Fig. 1 of Tang et al.

use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, Pattern, Request, lowest_id};
use mapa_sched::{Fifo, Fleet, Job, JobId};
use mapa_sim::{Submission, Workload};

use super::{Settings, replay};
use mapa_front::Error;

/// Measures copies from host to device that start at once, one on an instance of each of these
/// sizes. Each copies `gigabytes`. Returns the bandwidth of each, GB/s. A copy that runs alone uses
/// a whole port.
///
/// Each copy takes the first free instance of its size, so all are on one device if it has them.
/// The port does not know sizes: equal figures confirm the workers, not the paper. With a
/// [pace](Settings::pace) of several seconds, the start of a process is short against its copy.
///
/// # Errors
/// Those of [`replay`](replay()); a size of which no instance is free.
pub fn copy_throughput(
    fleet: &Fleet,
    sizes: &[Size],
    gigabytes: f64,
    settings: &Settings,
) -> Result<Vec<f64>, Error> {
    let alone =
        Duration::try_from_secs_f64(gigabytes / settings.max_gbps).map_err(Error::malformed)?;
    let copies = (0..).zip(sizes).map(|(id, &size)| {
        let demand = Demand::slice(size).pcie_gbps(settings.max_gbps);
        let request = Request::new(Pattern::single(demand));
        Submission::new(Job::new(JobId(id), request), alone)
    });
    let workload = Workload::new("copies from host to device", copies);
    let outcome = replay(
        &workload,
        fleet.clone(),
        &mut Fifo::new(lowest_id()),
        settings,
    )?;
    if outcome.runs.len() < sizes.len() {
        let lacking = sizes.len() - outcome.runs.len();
        let all = sizes.len();
        return Err(Error::malformed(format_args!(
            "{lacking} of {all} copies found no instance of their size"
        )));
    }
    Ok(outcome
        .runs
        .iter()
        .map(|run| gigabytes / run.ran().as_secs_f64())
        .collect())
}
