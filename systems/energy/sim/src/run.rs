//! A day under a rule.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mapa_system_energy::{Rule, SliceJob, State};

use crate::error::{Error, ErrorKind};

/// Jobs that end within this time of each other end together, minutes.
pub(super) const TOGETHER: f64 = 1e-9;

/// What a day came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// The jobs.
    pub jobs: usize,
    /// The jobs that ended after their deadlines.
    pub late: usize,
    /// By how much jobs ended after their deadlines, minutes, all jobs together.
    pub tardiness: f64,
    /// What all GPUs drew from minute 0 to the last end, watt-minutes.
    pub watt_minutes: f64,
    /// The same as the published code adds it up: the time before an end counts at the power
    /// *after* it. That is some 2 % less.
    pub published_watt_minutes: f64,
    /// The last end, minutes.
    pub end: f64,
    /// How often the rule was asked.
    pub decisions: u64,
    /// The instances that were created, where GPUs are repartitioned.
    pub creations: u64,
}

impl Totals {
    /// The share of jobs that ended late; NaN without jobs.
    #[must_use]
    pub fn late_share(&self) -> f64 {
        self.late as f64 / self.jobs as f64
    }

    /// The mean tardiness of all jobs, minutes; NaN without jobs.
    #[must_use]
    pub fn mean_tardiness(&self) -> f64 {
        self.tardiness / self.jobs as f64
    }

    /// A job ends.
    pub(super) fn ended(&mut self, finish: f64, deadline: f64) {
        let late = (finish - deadline).max(0.0);
        self.late += usize::from(late > 0.0);
        self.tardiness += late;
        self.end = self.end.max(finish);
    }

    /// The ET metric of Hisaria et al., (a E + T) / (a + 1), where E is the energy and T the mean
    /// tardiness. Their code has a = 2.25e-5. With a = 2e-7, energy has about half the weight of one
    /// minute of tardiness, as their text intends.
    #[must_use]
    pub fn et(&self, weight: f64) -> f64 {
        (weight * self.watt_minutes + self.mean_tardiness()) / (weight + 1.0)
    }
}

/// Runs jobs under a rule until the last has ended. The jobs are numbered by their positions, and
/// may be in any order. An arrival comes before an end of the same moment.
///
/// # Errors
/// The state has jobs already; the rule starts what is not there, or starts nothing while jobs wait,
/// none runs and none will arrive.
///
/// # Complexity
/// O(n log n) for n jobs, and the rule at every event and start.
pub fn run(jobs: &[SliceJob], state: State, rule: &mut dyn Rule) -> Result<Totals, Error> {
    run_as(jobs, jobs, state, rule)
}

/// As [`run`], where the rule is told other run times than the jobs turn out to have: `told` has the
/// job that the rule sees for each job, in the same order, with the same arrival and deadline.
///
/// # Errors
/// As [`run`]; lists of different lengths, or other arrivals or deadlines.
pub fn run_as(
    jobs: &[SliceJob],
    told: &[SliceJob],
    mut state: State,
    rule: &mut dyn Rule,
) -> Result<Totals, Error> {
    let equal =
        |(a, b): (&SliceJob, &SliceJob)| a.arrives() == b.arrives() && a.deadline() == b.deadline();
    if jobs.len() != told.len() || !jobs.iter().zip(told).all(equal) {
        let what = "jobs and what is told of them: expected lists of one length, with the same arrivals and deadlines";
        return Err(ErrorKind::BadDay(what.to_owned()).into());
    }
    check_empty(&state)?;
    let mut arrivals: Vec<(u32, &SliceJob)> = (0..).zip(told).collect();
    arrivals.sort_by(|a, b| a.1.arrives().total_cmp(&b.1.arrives()));
    let mut arrivals = arrivals.into_iter().peekable();
    // Times are not negative, so their bits are ordered as they are.
    let mut ends: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut totals = Totals {
        jobs: jobs.len(),
        ..Totals::default()
    };
    loop {
        let end = ends.peek().map(|&Reverse((bits, _))| f64::from_bits(bits));
        let (before, from) = (state.watts(), state.now());
        let due = |job: &SliceJob| end.is_none_or(|end| job.arrives() <= end);
        if let Some((id, job)) = arrivals.next_if(|(_, job)| due(job)) {
            state.advance(job.arrives());
            state.arrive(id, *job);
            totals.published_watt_minutes += before * (state.now() - from);
        } else if let Some(at) = end {
            state.advance(at);
            while let Some(&Reverse((bits, slice))) = ends.peek() {
                if f64::from_bits(bits) > at + TOGETHER {
                    break;
                }
                ends.pop();
                if let Some(own) = state.end(slice) {
                    totals.ended(f64::from_bits(bits), own.deadline);
                }
            }
            totals.published_watt_minutes += state.watts() * (state.now() - from);
        } else if state.queue().is_empty() {
            totals.creations = state.creations();
            return Ok(totals);
        } else {
            return Err(stalled(&state, rule));
        }
        totals.watt_minutes += before * (state.now() - from);
        while state.free_count() > 0 && !state.queue().is_empty() {
            totals.decisions += 1;
            let Some(start) = rule.choose(&state) else {
                break;
            };
            let own = state.start(start)?;
            let finish = state.end_from(&jobs[own.id as usize], own.slice, own.begins);
            ends.push(Reverse((finish.to_bits(), own.slice)));
        }
    }
}

/// That nothing waits or runs yet.
pub(super) fn check_empty(state: &State) -> Result<(), Error> {
    let running = state.running().iter().flatten().count();
    if running == 0 && state.queue().is_empty() {
        return Ok(());
    }
    let what = format!(
        "a state with {running} jobs that run and {} that wait: expected none",
        state.queue().len()
    );
    Err(ErrorKind::BadDay(what).into())
}

/// A rule starts nothing although nothing else can happen.
pub(super) fn stalled(state: &State, rule: &dyn Rule) -> Error {
    let what = format!(
        "rule `{}` starts nothing while {} jobs wait and nothing runs: expected a start",
        rule.name(),
        state.queue().len()
    );
    ErrorKind::BadDay(what).into()
}
