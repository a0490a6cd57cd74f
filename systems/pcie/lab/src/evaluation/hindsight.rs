//! Hindsight: what a physics predicts, given where and when jobs ran. It uses neither schedulers
//! nor events, so it checks both simulations and real processes.

use mapa_core::sharing::{Flow, max_min};
use mapa_core::{DeviceId, MachineId, PCIE_GEN4_GBPS, pcie_slowdown};
use mapa_sched::{Fleet, Time};
use mapa_sim::{Run, Workload};

use super::jobs::Table2Job;
use super::setting::PortSharing;

/// A job that has run.
#[derive(Clone, Copy)]
pub(super) struct RanJob {
    pub(super) kind: Table2Job,
    /// Seconds at full speed.
    pub(super) work: f64,
    gpu: (MachineId, DeviceId),
    from: Time,
    until: Time,
}

/// Groups the jobs that have run by GPU.
pub(super) fn by_gpu(fleet: &Fleet, jobs: &Workload, runs: &[Run]) -> Vec<Vec<RanJob>> {
    let mut all: Vec<RanJob> = runs
        .iter()
        .filter_map(|run| RanJob::of(fleet, jobs, run))
        .collect();
    all.sort_by_key(|ran| ran.gpu);
    all.chunk_by(|a, b| a.gpu == b.gpu)
        .map(<[RanJob]>::to_vec)
        .collect()
}

impl RanJob {
    /// The job of a run; `None` if the run has no device.
    fn of(fleet: &Fleet, jobs: &Workload, run: &Run) -> Option<Self> {
        let at = &run.stays.first()?.at;
        let graph = fleet.machine(at.machine).ok()?.graph();
        let job = &jobs.jobs[run.index];
        Some(Self {
            kind: Table2Job::named(&job.task),
            work: job.work.as_secs_f64(),
            gpu: (at.machine, graph.device(*at.placement.first()?).parent),
            from: run.started(),
            until: run.ended(),
        })
    }

    /// The work, in seconds at full speed, that a physics predicts for the time in which the job
    /// ran, beside all jobs that ran on its GPU. `there` contains the job itself.
    ///
    /// # Complexity
    /// O(n²) for n jobs on the GPU.
    pub(super) fn done(&self, physics: PortSharing, there: &[Self]) -> f64 {
        let beside: Vec<&Self> = there
            .iter()
            .filter(|ran| ran.kind.is_bound() && ran.from < self.until && self.from < ran.until)
            .collect();
        // The speed changes only where a PCIe-bound neighbour starts or ends.
        let mut turns: Vec<Time> = beside
            .iter()
            .flat_map(|ran| [ran.from, ran.until])
            .collect();
        turns.retain(|&at| self.from < at && at < self.until);
        turns.extend([self.from, self.until]);
        turns.sort_unstable();
        turns
            .windows(2)
            .map(|part| {
                let bound: Vec<Table2Job> = beside
                    .iter()
                    .filter(|ran| ran.from <= part[0] && part[0] < ran.until)
                    .map(|ran| ran.kind)
                    .collect();
                (part[1] - part[0]).as_secs_f64() / slowdown(physics, self.kind, &bound)
            })
            .sum()
    }
}

/// The slowdown of a job beside these PCIe-bound jobs, which include the job itself.
pub(super) fn slowdown(physics: PortSharing, kind: Table2Job, bound: &[Table2Job]) -> f64 {
    if physics == PortSharing::EqualShare {
        return pcie_slowdown(kind.gbps, kind.alpha, bound.len() as u32, PCIE_GEN4_GBPS);
    }
    let flows: Vec<Flow> = bound
        .iter()
        .map(|kind| Flow::new([0], kind.wants()))
        .collect();
    let rates = max_min(&[PCIE_GEN4_GBPS], &flows).unwrap_or_default();
    // All jobs of a kind get the same rate.
    let own = bound
        .iter()
        .zip(rates)
        .find(|(candidate, _)| **candidate == kind);
    own.map_or(1.0, |(_, rate)| (kind.wants() / rate).max(1.0))
}

/// The relative error by which rounding of speeds to 32 binary digits may change a time.
pub(super) const ROUNDING: f64 = 1e-6;

/// The number of jobs that took longer than Eq. 2 predicts from the jobs that ran beside them.
pub(super) fn slower(gpus: &[Vec<RanJob>]) -> usize {
    let mut slower = 0;
    for there in gpus {
        for ran in there {
            let done = ran.done(PortSharing::EqualShare, there);
            slower += usize::from(done > ran.work * (1.0 + ROUNDING));
        }
    }
    slower
}

#[cfg(test)]
mod tests {
    use super::super::jobs::{BLOOM7B1, BLOOM560M, RESNET50};
    use super::*;

    fn ran(kind: Table2Job, from: u64, until: u64) -> RanJob {
        let gpu = (MachineId(0), DeviceId(0));
        RanJob {
            kind,
            work: 0.0,
            gpu,
            from: Time::from_secs(from),
            until: Time::from_secs(until),
        }
    }

    #[test]
    fn what_was_done_is_the_sum_over_who_was_there() {
        let there = [
            ran(BLOOM7B1, 0, 50),
            ran(BLOOM7B1, 30, 80),
            ran(RESNET50, 10, 60),
            ran(BLOOM560M, 70, 90),
        ];
        let close =
            |value: f64, other: f64| assert!((value - other).abs() < 1e-9, "{value}, {other}");
        let two = 2.0 * 1.07 * 17.65 / PCIE_GEN4_GBPS;
        close(
            there[0].done(PortSharing::EqualShare, &there),
            30.0 + 20.0 / two,
        );
        close(
            there[1].done(PortSharing::EqualShare, &there),
            20.0 / two + 20.0 + 10.0 / two,
        );
        // Beside one light job a heavy one has all it wants.
        close(
            there[1].done(PortSharing::MaxMin, &there),
            20.0 / two + 30.0,
        );
        close(there[2].done(PortSharing::MaxMin, &there), 50.0);
        close(there[3].done(PortSharing::EqualShare, &there), 20.0);
    }
}
