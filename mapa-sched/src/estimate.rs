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
use crate::fleet::Fleet;
use crate::job::{Job, JobId, RunTime};
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
    /// The moment of the last wake-up that was ordered.
    asked: Option<Time>,
}

impl RunningEstimates {
    /// Notes that a job has started.
    pub(crate) fn start(&mut self, job: JobId, now: Time, length: Duration) {
        self.jobs.insert(job, EstimatedRun::new(now, length));
    }

    /// Notes that a job has ended. Returns whether it ended earlier than expected.
    pub(crate) fn end(&mut self, job: JobId, now: Time) -> bool {
        self.jobs.remove(&job).is_some_and(|stay| stay.until > now)
    }

    /// When a running job is expected to end.
    pub(crate) fn until(&self, job: JobId) -> Option<Time> {
        self.jobs.get(&job).map(|stay| stay.until)
    }

    /// Brings the record up to date with the tenants of the fleet, including those that another
    /// program placed, and with expected ends that have passed. Returns whether anything was not as
    /// expected. O(t log t) for t tenants.
    pub(crate) fn refresh(&mut self, now: Time, fleet: &Fleet) -> bool {
        let mut surprised = false;
        // Nearly always nothing differs, and comparing two sorted sequences allocates nothing.
        if !fleet
            .tenants()
            .map(|(tenant, ..)| tenant.job())
            .eq(self.jobs.keys().copied())
        {
            let there: BTreeSet<JobId> = fleet.tenants().map(|(tenant, ..)| tenant.job()).collect();
            let before = self.jobs.len();
            self.jobs.retain(|job, _| there.contains(job));
            let kept = self.jobs.len();
            surprised = kept < before || kept < there.len();
            for job in there {
                // Another program has placed it, so nothing is known of its run time.
                self.jobs
                    .entry(job)
                    .or_insert(EstimatedRun::new(now, UNKNOWN));
            }
        }
        for stay in self.jobs.values_mut() {
            surprised |= stay.go_on(now);
        }
        surprised
    }

    /// The jobs by their expected ends, all that end at one moment together.
    pub(crate) fn ends(&self) -> BTreeMap<Time, Vec<JobId>> {
        let mut ends: BTreeMap<Time, Vec<JobId>> = BTreeMap::new();
        for (&job, stay) in &self.jobs {
            ends.entry(stay.until).or_default().push(job);
        }
        ends
    }

    /// Orders a wake-up for the moment at which the next job should have ended, because plans
    /// change if it has not; or for the `planned` moment, if that is earlier.
    pub(crate) fn wake(&mut self, planned: Option<Time>, turn: &mut Turn<'_>) {
        let next = self
            .jobs
            .values()
            .map(|stay| stay.until)
            .chain(planned)
            .min();
        // One wake-up for each moment is enough: drivers keep those that were asked for.
        // Backfilling does not read the token; the moment only makes it unique.
        if let Some(at) = next.filter(|&at| self.asked != Some(at) && at < Time(u64::MAX)) {
            self.asked = Some(at);
            turn.wake(at, Token(at.0));
        }
    }
}
