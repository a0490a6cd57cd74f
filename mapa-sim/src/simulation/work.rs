//! The work of a job or a task, and its speed.

use std::ops::Deref;
use std::time::Duration;

use mapa_sched::{EventKey, Time};

use crate::error::ErrorKind;
use crate::workload::Submission;

/// The rate of full speed.
pub(super) const FULL: u64 = 1 << 32;

/// What a tenant works on.
pub(super) enum OwnSubmission<'a> {
    /// A job of the workload.
    Job(&'a Submission),
    /// A task: a job of the task's request and work. Apart, as most tenants are jobs and a submission takes some hundred
    /// bytes.
    Task(Box<Submission>),
}

impl Deref for OwnSubmission<'_> {
    type Target = Submission;

    fn deref(&self) -> &Submission {
        match self {
            Self::Job(job) => job,
            Self::Task(task) => task,
        }
    }
}

/// The work of a tenant that has arrived or begun, and is not over.
pub(super) struct TenantWork<'a> {
    pub(super) own: OwnSubmission<'a>,
    /// The work left at `since`, in units of 2⁻³² ns.
    left: u128,
    /// The work that is left when it next does something: 0 for its end, more for a request that it
    /// makes before.
    stop: u128,
    since: Time,
    /// The rate, in units of 2⁻³² of full speed; 0 while the tenant waits or is suspended.
    rate: u64,
    /// Whether its end depends on nothing but its work: a job with tasks to come does not end.
    pub(super) may_end: bool,
    /// Its end in the timeline.
    pub(super) end: Option<EventKey>,
    /// The next report of its progress in the timeline.
    pub(super) report: Option<EventKey>,
}

impl<'a> TenantWork<'a> {
    pub(super) fn new(submission: OwnSubmission<'a>, may_end: bool, now: Time) -> Self {
        let left = submission.work.as_nanos() << 32;
        Self {
            own: submission,
            left,
            stop: 0,
            since: now,
            rate: 0,
            may_end,
            end: None,
            report: None,
        }
    }

    /// Sets what it does next: a request when so much of its work is done, or its end.
    pub(super) fn stop_after(&mut self, done: Option<Duration>) {
        let all = self.own.work.as_nanos();
        self.stop = done.map_or(0, |done| all.saturating_sub(done.as_nanos()) << 32);
    }

    pub(super) fn rate(&self) -> u64 {
        self.rate
    }

    /// The share of the work that is done at a moment, from 0 to 1; 1 if there is no work.
    pub(super) fn share_done(&self, now: Time) -> f64 {
        let passed = u128::from(now.0.saturating_sub(self.since.0));
        let left = self.left.saturating_sub(passed * u128::from(self.rate));
        let all = self.own.work.as_nanos() << 32;
        if all == 0 {
            return 1.0;
        }
        1.0 - left as f64 / all as f64
    }

    /// Goes on at another rate.
    pub(super) fn set_rate(&mut self, rate: u64, now: Time) {
        let passed = u128::from(now.0 - self.since.0);
        self.left = self.left.saturating_sub(passed * u128::from(self.rate));
        (self.since, self.rate) = (now, rate);
    }

    /// The moment at which it ends or makes its next request, at the present rate, but not before
    /// `now`. `None` if it stands still.
    pub(super) fn ends(&self, now: Time) -> Result<Option<Time>, ErrorKind> {
        if self.rate == 0 || !self.may_end {
            return Ok(None);
        }
        // Rounded up: in the nanosecond before there is still something left.
        let left = self.left.saturating_sub(self.stop);
        let takes = u64::try_from(left.div_ceil(u128::from(self.rate))).ok();
        let end = takes.and_then(|takes| self.since.0.checked_add(takes));
        let end = end.ok_or_else(|| ErrorKind::BadJob {
            job: self.own.job.id.0,
            what: "it would end after more than 584 years: expected shorter jobs, as no later \
                moment can be represented"
                .to_owned(),
        })?;
        Ok(Some(Time(end).max(now)))
    }
}

/// The rate under a slowdown.
pub(super) fn rate(slowdown: f64, submission: &Submission) -> Result<u64, ErrorKind> {
    let full = FULL as f64;
    let rate = (full / slowdown).round();
    // Below two units rounding would change a rate too much; above 2⁶³ it would not fit 64 bits. A
    // NaN is in no range.
    if !(2.0..=full * full / 2.0).contains(&rate) {
        let what = format!("a slowdown of {slowdown}: expected a number between 2^-31 and 2^31");
        let job = submission.job.id.0;
        return Err(ErrorKind::BadJob { job, what });
    }
    Ok(rate as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_of_a_tenant_takes_less_than_the_submission_that_it_works_on() {
        // There is one for every job that waits.
        let size = size_of::<TenantWork<'_>>();
        assert!(size <= 208, "{size} bytes");
        assert!(size < size_of::<Submission>());
    }
}
