//! What no schedule of a file is below.

use mapa_front::Error;
use mapa_sched::bound::Solver;
use mapa_sim::Workload;
use mapa_system_mapa::topology::{Ascent, RingBounds, RingWork};

use super::setting::PlanInputs;

/// Bounds of a file that hold for clairvoyant, preemptive, migrating schedules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FileBounds {
    /// Seconds until the last job ends.
    pub(super) makespan: f64,
    /// Mean seconds from arrival to end.
    pub(super) completion: f64,
}

/// The largest bounds computed for a file; with `quick`, of those that need no linear program and no
/// climb.
pub(super) fn bound(ready: &PlanInputs, jobs: &Workload, quick: bool) -> Result<FileBounds, Error> {
    let works: Vec<RingWork> = jobs
        .jobs
        .iter()
        .map(|job| RingWork {
            arrives: job.job.arrived.0 as f64 / 1e9,
            devices: job.devices(),
            ratio: job.job.link_ratio(),
            seconds: job.work.as_secs_f64(),
        })
        .collect();
    let own = RingBounds::new(&ready.graph, &ready.setting.judge.model(), &works);
    let own = own.map_err(Error::malformed)?;
    let first = works
        .iter()
        .map(|work| work.arrives)
        .fold(f64::INFINITY, f64::min);
    let (mut last, mut sum) = (own.area().value, own.squashed_area().value);
    last = last.max(own.critical_path().value);
    if !quick {
        let packed = own
            .configurations(&Solver::default())
            .map_err(Error::malformed)?;
        let rates = own.rates(&Ascent::default()).map_err(Error::malformed)?;
        (last, sum) = (last.max(packed.value), sum.max(rates.value));
    }
    Ok(FileBounds {
        // Schedules are measured from time 0, bounds from the first arrival.
        makespan: first + last,
        completion: sum / works.len() as f64,
    })
}
