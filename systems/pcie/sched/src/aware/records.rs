//! Records of running jobs: their GPUs, their remaining work and their expected end. Stage 1.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_core::pcie_slowdown;

use super::gpus::FleetGpu;
use mapa_sched::JobId;
use mapa_sched::{Time, duration};

/// A job that runs, with the quantities of the paper's Table 1. The paper counts work in tokens.
/// Here it is in seconds at full speed: tokens over tokens a second.
#[derive(Clone, Debug)]
struct RunningPcieJob {
    /// The GPU of each rank.
    gpus: Vec<FleetGpu>,
    gbps: f64,
    alpha: f64,
    /// `remain_work / base_throughput` at `since`, seconds; infinite if it is unknown.
    left: f64,
    since: Time,
    slowdown: f64,
}

impl RunningPcieJob {
    /// `remain_work -= elapsed x base_throughput / slowdown`.
    fn advance(&mut self, now: Time) {
        self.left = (self.left - now.since(self.since).as_secs_f64() / self.slowdown).max(0.0);
        self.since = now;
    }

    /// The expected end, by Eq. 3 from `since` on.
    fn until(&self) -> Time {
        self.since + duration(self.left * self.slowdown)
    }
}

/// A job that starts.
pub(super) struct StartingJob {
    pub(super) job: JobId,
    pub(super) gpus: Vec<FleetGpu>,
    /// 0 for a job that is not PCIe-bound.
    pub(super) gbps: f64,
    pub(super) alpha: f64,
    /// How long it runs at full speed; `None` if that is unknown.
    pub(super) length: Option<Duration>,
}

/// The jobs that run, as their scheduler started them.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningPcieJobs {
    jobs: BTreeMap<JobId, RunningPcieJob>,
    on: BTreeMap<FleetGpu, Vec<JobId>>,
}

impl RunningPcieJobs {
    pub(super) fn start(&mut self, start: StartingJob, now: Time) {
        let StartingJob {
            job,
            gpus,
            gbps,
            alpha,
            length,
        } = start;
        for &gpu in &gpus {
            self.on.entry(gpu).or_default().push(job);
        }
        let left = length.map_or(f64::INFINITY, |length| length.as_secs_f64());
        self.jobs.insert(
            job,
            RunningPcieJob {
                gpus,
                gbps,
                alpha,
                left,
                since: now,
                slowdown: 1.0,
            },
        );
    }

    /// Removes a job. Returns the GPUs that it was on.
    pub(super) fn end(&mut self, job: JobId) -> Vec<FleetGpu> {
        let Some(record) = self.jobs.remove(&job) else {
            return Vec::new();
        };
        for gpu in &record.gpus {
            if let Some(there) = self.on.get_mut(gpu) {
                there.retain(|other| *other != job);
                if there.is_empty() {
                    self.on.remove(gpu);
                }
            }
        }
        record.gpus
    }

    /// Brings the records of a GPU's jobs up to date after its PCIe-bound tenants have changed.
    /// From now on they run at the speed that Eq. 2 gives. `bound` returns the number of PCIe-bound
    /// tenants of a GPU.
    pub(super) fn settle(
        &mut self,
        gpu: FleetGpu,
        now: Time,
        max_gbps: f64,
        bound: impl Fn(FleetGpu) -> u32,
    ) {
        for job in self.on.get(&gpu).into_iter().flatten() {
            let Some(record) = self.jobs.get_mut(job) else {
                continue;
            };
            record.advance(now);
            let on =
                |&gpu: &FleetGpu| pcie_slowdown(record.gbps, record.alpha, bound(gpu), max_gbps);
            record.slowdown = record.gpus.iter().map(on).fold(1.0, f64::max);
        }
    }

    /// The moment at which the last job on a GPU is expected to end; [`Time::ZERO`] for an idle
    /// GPU. For a job that is late the moment has passed. `None` if the GPU has tenants without a
    /// record.
    pub(super) fn until(&self, gpu: FleetGpu, tenants: u32) -> Option<Time> {
        let there = self.on.get(&gpu).map_or(&[][..], Vec::as_slice);
        let last = there
            .iter()
            .filter_map(|job| self.jobs.get(job))
            .map(RunningPcieJob::until)
            .max();
        (there.len() >= tenants as usize).then(|| last.unwrap_or(Time::ZERO))
    }

    /// The slowdown of a job and its expected end.
    pub(super) fn of(&self, job: JobId) -> Option<(f64, Time)> {
        self.jobs
            .get(&job)
            .map(|record| (record.slowdown, record.until()))
    }
}
