//! Who runs where, what is left of it, and when it will end: stage 1.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_core::pcie_slowdown;

use super::gpus::Gpu;
use crate::job::JobId;
use crate::time::Time;

/// A job that runs: Table 1's symbols, in seconds at full speed where the paper has tokens. Tokens over tokens/s are seconds.
#[derive(Clone, Debug)]
struct Record {
    /// Of each rank.
    gpus: Vec<Gpu>,
    gbps: f64,
    alpha: f64,
    /// `remain_work / base_throughput` at `since`, seconds; infinite if nobody knows.
    left: f64,
    since: Time,
    slowdown: f64,
}

impl Record {
    /// `remain_work -= elapsed x base_throughput / slowdown`.
    fn advance(&mut self, now: Time) {
        self.left = (self.left - now.since(self.since).as_secs_f64() / self.slowdown).max(0.0);
        self.since = now;
    }

    /// Eq. 3, from `since` on.
    fn until(&self) -> Time {
        self.since + seconds(self.left * self.slowdown)
    }
}

/// So many seconds; for ever, if that is no length of time.
pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// A job that starts.
pub(super) struct Start {
    pub(super) job: JobId,
    pub(super) gpus: Vec<Gpu>,
    /// 0 for a job that is not PCIe-bound.
    pub(super) gbps: f64,
    pub(super) alpha: f64,
    /// How long it runs at full speed; none if nobody knows.
    pub(super) length: Option<Duration>,
}

/// The jobs that run, as their scheduler started them.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    jobs: BTreeMap<JobId, Record>,
    on: BTreeMap<Gpu, Vec<JobId>>,
}

impl Records {
    pub(super) fn start(&mut self, start: Start, now: Time) {
        let Start { job, gpus, gbps, alpha, length } = start;
        for &gpu in &gpus {
            self.on.entry(gpu).or_default().push(job);
        }
        let left = length.map_or(f64::INFINITY, |length| length.as_secs_f64());
        self.jobs.insert(job, Record { gpus, gbps, alpha, left, since: now, slowdown: 1.0 });
    }

    /// Takes a job out; the GPUs that it was on.
    pub(super) fn end(&mut self, job: JobId) -> Vec<Gpu> {
        let Some(record) = self.jobs.remove(&job) else { return Vec::new() };
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

    /// Brings the jobs of a GPU up to date, whose PCIe-bound tenants have changed: they go on by Eq. 2.
    pub(super) fn settle(&mut self, gpu: Gpu, now: Time, max_gbps: f64, bound: impl Fn(Gpu) -> u32) {
        for job in self.on.get(&gpu).into_iter().flatten() {
            let Some(record) = self.jobs.get_mut(job) else { continue };
            record.advance(now);
            let on = |&gpu: &Gpu| pcie_slowdown(record.gbps, record.alpha, bound(gpu), max_gbps);
            record.slowdown = record.gpus.iter().map(on).fold(1.0, f64::max);
        }
    }

    /// When the last of the jobs on a GPU is expected to end; that of an idle one was at the beginning. What is late is expected at
    /// any moment. None, if there are tenants that are not known of.
    pub(super) fn until(&self, gpu: Gpu, tenants: u32) -> Option<Time> {
        let there = self.on.get(&gpu).map_or(&[][..], Vec::as_slice);
        let last = there.iter().filter_map(|job| self.jobs.get(job)).map(Record::until).max();
        (there.len() >= tenants as usize).then(|| last.unwrap_or(Time::ZERO))
    }

    /// How slow a job is expected to be, and when it will end.
    pub(super) fn of(&self, job: JobId) -> Option<(f64, Time)> {
        self.jobs.get(&job).map(|record| (record.slowdown, record.until()))
    }
}
