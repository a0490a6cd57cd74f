//! How long waiting jobs are expected to run, and when running jobs are expected to end.
//!
//! Estimates are [`Job::run_time`]; an unknown run time counts as ten years. A job that outlives
//! its estimate is expected to run as long again as it has run by then, and so on: the estimate
//! doubles. Users' estimates are mostly far too long, but predictions that replace them are as
//! often too short, and a plan must not wait for an end that has passed (Tsafrir, Etsion and
//! Feitelson, "Backfilling using system-generated predictions rather than user runtime estimates",
//! IEEE TPDS 18(6), 2007).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mapa_core::{HardwareGraph, Placement};

use crate::event::Token;
use crate::fleet::{Fleet, hash_of_tenant};
use crate::job::{Job, JobId, RunTime, Tenant};
use crate::time::Time;
use crate::turn::Turn;

/// What an unknown run time counts as: ten years. With a finite number, jobs behind such a job can
/// be planned like any others.
const UNKNOWN: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// How long a waiting job is expected to run, whichever devices it will get.
pub fn length(job: &Job) -> Duration {
    match &job.run_time {
        RunTime::Unknown => UNKNOWN,
        RunTime::Fixed(length) => *length,
        // The longest: a plan that is too careful still keeps its promises, one that is too short
        // breaks them.
        RunTime::BySize(lengths) => lengths.values().max().copied().unwrap_or(UNKNOWN),
    }
}

/// The shortest time that a waiting job can be expected to run, whichever devices it will get.
pub(crate) fn shortest(job: &Job) -> Duration {
    match &job.run_time {
        RunTime::BySize(lengths) => lengths.values().min().copied().unwrap_or(UNKNOWN),
        _ => length(job),
    }
}

/// How long a job is expected to run on these devices: as long as on the slowest of them.
pub(crate) fn length_at(job: &Job, graph: &HardwareGraph, placement: &Placement) -> Duration {
    match &job.run_time {
        RunTime::BySize(_) => {
            let on = |&id| job.run_time.on(graph.device(id).size).unwrap_or(UNKNOWN);
            placement.iter().map(on).max().unwrap_or(UNKNOWN)
        }
        _ => length(job),
    }
}

#[derive(Clone, Copy, Debug)]
struct EstimatedRun {
    from: Time,
    length: Duration,
    until: Time,
}

impl EstimatedRun {
    fn new(from: Time, length: Duration) -> Self {
        Self {
            from,
            length,
            until: from + length,
        }
    }

    /// Doubles the estimate until the expected end is after `now`. Returns whether that was
    /// necessary.
    fn go_on(&mut self, now: Time) -> bool {
        let over = self.until <= now;
        while self.until <= now && self.until < Time(u64::MAX) {
            // At least a nanosecond, as 0 would never double to anything.
            let length = self.length.max(Duration::from_nanos(1)).saturating_mul(2);
            *self = Self::new(self.from, length);
        }
        over
    }
}

/// The jobs that run, with their expected ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningEstimates {
    jobs: BTreeMap<JobId, EstimatedRun>,
    /// The jobs by their expected ends.
    ends: BTreeSet<(Time, JobId)>,
    /// [`Fleet::tenants_hash`], as it is if the tenants are the jobs noted here.
    hash: u64,
    /// The moment of the last wake-up that was ordered.
    asked: Option<Time>,
}

/// Differences from expectation that [`RunningEstimates::refresh`] found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Surprises {
    /// Tenants came or went unannounced.
    pub(crate) tenants: bool,
    /// The jobs that run for longer than expected.
    pub(crate) overdue: Vec<JobId>,
}

impl Surprises {
    /// Whether there is any.
    pub(crate) fn is_any(&self) -> bool {
        self.tenants || !self.overdue.is_empty()
    }
}

impl RunningEstimates {
    /// Notes that a job has started.
    pub(crate) fn start(&mut self, job: JobId, now: Time, length: Duration) {
        self.put(job, EstimatedRun::new(now, length));
    }

    fn put(&mut self, job: JobId, run: EstimatedRun) {
        self.ends.insert((run.until, job));
        match self.jobs.insert(job, run) {
            Some(before) if before.until != run.until => {
                self.ends.remove(&(before.until, job));
            }
            Some(_) => {}
            None => self.hash ^= hash_of_tenant(Tenant::Job(job)),
        }
    }

    fn forget(&mut self, job: JobId) -> Option<EstimatedRun> {
        let run = self.jobs.remove(&job)?;
        self.ends.remove(&(run.until, job));
        self.hash ^= hash_of_tenant(Tenant::Job(job));
        Some(run)
    }

    /// Notes that a job has ended. Returns whether it ended earlier than expected.
    pub(crate) fn end(&mut self, job: JobId, now: Time) -> bool {
        self.forget(job).is_some_and(|run| run.until > now)
    }

    /// When a running job is expected to end.
    pub(crate) fn until(&self, job: JobId) -> Option<Time> {
        self.jobs.get(&job).map(|run| run.until)
    }

    /// Brings the record up to date with the tenants of the fleet, including those that another
    /// program placed, and with expected ends that have passed. Returns what was not as expected.
    ///
    /// # Complexity
    /// O(1) if the fleet's tenants are the jobs noted here; O(t log t) for t tenants if not. O(log t)
    /// more for each job that is overdue.
    pub(crate) fn refresh(&mut self, now: Time, fleet: &Fleet) -> Surprises {
        let mut surprises = Surprises {
            tenants: self.hash != fleet.tenants_hash() && self.compare(now, fleet),
            overdue: Vec::new(),
        };
        while let Some(&(until, job)) = self.ends.first()
            && until <= now
            && let Some(mut run) = self.jobs.get(&job).copied()
            && run.go_on(now)
            && run.until > until
        {
            self.put(job, run);
            surprises.overdue.push(job);
        }
        surprises
    }

    /// Compares the record with the tenants one by one. Returns whether they differ.
    fn compare(&mut self, now: Time, fleet: &Fleet) -> bool {
        let there: BTreeSet<JobId> = fleet.tenants().map(|(tenant, ..)| tenant.job()).collect();
        let gone: Vec<JobId> = self
            .jobs
            .keys()
            .filter(|job| !there.contains(job))
            .copied()
            .collect();
        let new: Vec<JobId> = there
            .into_iter()
            .filter(|job| !self.jobs.contains_key(job))
            .collect();
        let differs = !gone.is_empty() || !new.is_empty();
        for job in gone {
            self.forget(job);
        }
        for job in new {
            // Another program has placed it, so nothing is known of its run time.
            self.start(job, now, UNKNOWN);
        }
        // Tasks are tenants of their own, so their jobs have another hash.
        self.hash = fleet.tenants_hash();
        differs
    }

    /// Orders a wake-up for the moment at which the next job should have ended, because plans
    /// change if it has not; or for the `planned` moment, if that is earlier.
    pub(crate) fn wake(&mut self, planned: Option<Time>, turn: &mut Turn<'_>) {
        let next = self.ends.first().map(|&(until, _)| until);
        let next = next.into_iter().chain(planned).min();
        // One wake-up for each moment is enough: drivers keep those that were asked for.
        // Backfilling does not read the token; the moment only makes it unique.
        if let Some(at) = next.filter(|&at| self.asked != Some(at) && at < Time(u64::MAX)) {
            self.asked = Some(at);
            turn.wake(at, Token(at.0));
        }
    }
}
