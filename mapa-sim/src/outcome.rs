//! The outcome of a workload: which jobs ran, where and when.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use mapa_core::Refusal;
use mapa_sched::{DepartedJob, JobEnd, JobHistory, JobId, Record, Residency, TaskId, Time};

use crate::workload::Workload;

/// A job that has finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its place in the workload's jobs.
    pub index: usize,
    /// Its number.
    pub job: JobId,
    /// When it arrived.
    pub arrived: Time,
    /// Where it ran, in order of time. Several stays if it was moved or suspended. Empty only for a
    /// job that was launched without a device.
    pub stays: Vec<Residency>,
    /// When its process ran, if it was launched without a device.
    pub launched: Option<Range<Time>>,
    /// Its tasks, in the order in which they began.
    pub tasks: Vec<TaskRun>,
}

/// A task of a job that has finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRun {
    /// Its number.
    pub task: TaskId,
    /// When it requested a device. Until its first stay it was blocked.
    pub begun: Time,
    /// Where it ran, in order of time. Several stays if it was moved or suspended.
    pub stays: Vec<Residency>,
}

impl Run {
    /// When it started.
    #[must_use]
    pub fn started(&self) -> Time {
        let launched = self.launched.as_ref().map(|ran| ran.start);
        let placed = self.stays.first().map(|stay| stay.from);
        launched.or(placed).unwrap_or(self.arrived)
    }

    /// When it ended.
    #[must_use]
    pub fn ended(&self) -> Time {
        let launched = self.launched.as_ref().map(|ran| ran.end);
        let placed = self.stays.last().map(|stay| stay.until);
        launched.or(placed).unwrap_or(self.arrived)
    }

    /// How long it waited, from its arrival to its start.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.started() - self.arrived
    }

    /// How long it ran, without the times during which it was suspended.
    #[must_use]
    pub fn ran(&self) -> Duration {
        match &self.launched {
            Some(ran) => ran.end - ran.start,
            None => self.stays.iter().map(|stay| stay.until - stay.from).sum(),
        }
    }
}

/// A job that was rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// Its place in the workload's jobs.
    pub index: usize,
    /// Its number.
    pub job: JobId,
    /// When it was rejected.
    pub at: Time,
    /// Why it was rejected.
    pub why: Refusal,
}

/// The outcome of a workload. It is a function of the workload, the fleet, the scheduler and the
/// execution model.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The scheduler's name.
    pub scheduler: String,
    /// The execution model's name.
    pub execution: String,
    /// The jobs that have finished, by their place in the workload.
    pub runs: Vec<Run>,
    /// The jobs that were rejected, by their place in the workload.
    pub rejected: Vec<Rejected>,
    /// The places in the workload of the jobs that had arrived and not finished at the end. They
    /// waited for devices that never became free, or for a moment after
    /// [`Simulation::until`](crate::Simulation::until).
    pub waiting: Vec<usize>,
    /// The places in the workload of the jobs that failed or were cancelled.
    pub failed: Vec<usize>,
    /// When the last event happened.
    pub end: Time,
    /// How many events the scheduler received.
    pub events: u64,
    /// At how many instants the scheduler acted.
    pub instants: u64,
}

impl Outcome {
    /// The outcome of a workload by the record of its run, which ended at this moment under this
    /// scheduler and this execution model.
    ///
    /// # Complexity
    /// O(n log n) for n jobs.
    #[must_use]
    pub fn of(
        mut record: Record,
        workload: &Workload,
        end: Time,
        scheduler: &str,
        execution: &str,
    ) -> Self {
        let mut growing = GrowingOutcome::new(workload);
        growing.take_left(&mut record);
        growing.finish(&record, end, scheduler, execution)
    }
}

/// An outcome that is made while its run goes on, so that the record need not keep what has left.
pub(crate) struct GrowingOutcome<'a> {
    places: Places<'a>,
    outcome: Outcome,
}

impl<'a> GrowingOutcome<'a> {
    pub(crate) fn new(workload: &'a Workload) -> Self {
        let outcome = Outcome {
            // Room for all at once: a list that grows by doubling is there twice when it moves.
            runs: Vec::with_capacity(workload.jobs.len()),
            ..Outcome::default()
        };
        Self {
            places: Places::of(workload),
            outcome,
        }
    }

    /// Takes the jobs that have left out of the record.
    pub(crate) fn take_left(&mut self, record: &mut Record) {
        for DepartedJob { life, at, how } in record.take_left() {
            let Some(index) = self.places.find(life.job) else {
                continue;
            };
            match how {
                JobEnd::Finished => self.outcome.runs.push(run(index, life, at)),
                JobEnd::Rejected(why) => self.outcome.rejected.push(Rejected {
                    index,
                    job: life.job,
                    at,
                    why,
                }),
                JobEnd::Failed | JobEnd::Cancelled => self.outcome.failed.push(index),
            }
        }
    }

    /// The outcome at the end, when all that has left was taken.
    pub(crate) fn finish(
        self,
        record: &Record,
        end: Time,
        scheduler: &str,
        execution: &str,
    ) -> Outcome {
        let Self {
            places,
            mut outcome,
        } = self;
        outcome.scheduler = scheduler.to_owned();
        outcome.execution = execution.to_owned();
        outcome.end = end;
        (outcome.events, outcome.instants) = (record.events(), record.instants());
        let waiting = record.present();
        outcome.waiting = waiting.filter_map(|life| places.find(life.job)).collect();
        outcome.runs.sort_unstable_by_key(|run| run.index);
        outcome.rejected.sort_by_key(|rejected| rejected.index);
        outcome.waiting.sort_unstable();
        outcome.failed.sort_unstable();
        outcome
    }
}

/// The places of jobs in a workload.
struct Places<'a> {
    workload: &'a Workload,
    /// The places of jobs whose number is not that of their place, as it mostly is.
    others: HashMap<JobId, usize>,
}

impl<'a> Places<'a> {
    fn of(workload: &'a Workload) -> Self {
        let jobs = workload.jobs.iter().enumerate();
        let jobs = jobs.map(|(place, submission)| (submission.job.id, place));
        let others = jobs.filter(|&(job, place)| job.0 != place as u64).collect();
        Self { workload, others }
    }

    fn find(&self, job: JobId) -> Option<usize> {
        if let Some(&place) = self.others.get(&job) {
            return Some(place);
        }
        let place = usize::try_from(job.0).ok()?;
        let there = self.workload.jobs.get(place)?;
        (there.job.id == job).then_some(place)
    }
}

fn run(index: usize, life: JobHistory, ended: Time) -> Run {
    let tasks = life.tasks.into_iter().map(|task| TaskRun {
        task: task.task,
        begun: task.begun,
        stays: task.stays.into_list(),
    });
    Run {
        index,
        job: life.job,
        arrived: life.arrived,
        stays: life.stays.into_list(),
        launched: life.launched.map(|from| from..ended),
        tasks: tasks.collect(),
    }
}
