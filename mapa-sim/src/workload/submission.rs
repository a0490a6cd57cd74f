//! Jobs as they will be submitted, and lists of them.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::Request;
use mapa_sched::{Job, RunTime, TaskId, Time};

use crate::workload::ratios::ratio_of;

/// A job as it will be submitted, with its true work. The scheduler sees only the owner's estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The job as the scheduler sees it: what it requests, when it arrives, how long its owner
    /// expects it to run.
    pub job: Job,
    /// How long it runs at full speed. An [`Execution`](crate::Execution) says how much longer it
    /// takes on its devices.
    pub work: Duration,
    /// What it runs, such as the network that it trains. Execution models have a ratio for some of
    /// these names. Empty if it is not known.
    pub task: Arc<str>,
    /// The tasks for which it requests devices while it runs, in this order. Most jobs have none.
    /// In job files, the column `tasks`.
    pub tasks: Vec<TaskPlan>,
}

/// A task that a job will have.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskPlan {
    /// The time that the job spends on the host before the task begins: from the job's start, or
    /// from the end of the task before.
    pub pause: Duration,
    /// The devices that it requests.
    pub request: Request,
    /// How long it runs at full speed.
    pub work: Duration,
    /// What it requests in addition while it keeps what it has, in this order. Most tasks request
    /// nothing more.
    pub grows: Vec<Growth>,
}

/// A further request of a task that holds a device already. To schedulers it is a task of its own,
/// which begins while the first still runs. The work of the task stands still until the request is
/// granted. All that a task has ends with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// How much of the task's work is done when it makes the request. Not more than the task's
    /// work, and not less than that of the growth before.
    pub after: Duration,
    /// The devices that it requests in addition.
    pub request: Request,
}

/// A request that a job makes while it runs: of a task, or of a task that grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask<'a> {
    /// The number that schedulers know it by.
    pub task: TaskId,
    /// What it requests.
    pub request: &'a Request,
    /// The task that grows by it; `None` for the request with which a task begins.
    pub grows: Option<TaskId>,
}

impl TaskPlan {
    /// A task that begins after a pause, requests devices and works on them for so long.
    #[must_use]
    pub fn new(pause: Duration, request: Request, work: Duration) -> Self {
        Self {
            pause,
            request,
            work,
            grows: Vec::new(),
        }
    }

    /// The task with a further request, made when so much of its work is done.
    #[must_use]
    pub fn grow(mut self, after: Duration, request: Request) -> Self {
        self.grows.push(Growth { after, request });
        self
    }

    /// What is wrong with the moments at which it grows, if anything is.
    pub(crate) fn wrong_growth(&self) -> Option<&'static str> {
        if !self.grows.is_sorted_by_key(|grow| grow.after) {
            return Some("a task's growths are not in order: expected each after the one before");
        }
        let last = self.grows.last().map(|grow| grow.after);
        last.is_some_and(|last| last > self.work)
            .then_some("a task grows after its work is done: expected growth within its work")
    }
}

impl Submission {
    /// A job that runs for this long at full speed. This also becomes its estimate
    /// ([`Job::run_time`]).
    #[must_use]
    pub fn new(mut job: Job, work: Duration) -> Self {
        job.run_time = RunTime::Fixed(work);
        Self {
            job,
            work,
            task: Arc::default(),
            tasks: Vec::new(),
        }
    }

    /// The job with this task. If the task's [ratio](crate::ByBandwidth::RATIOS) is known, so it is
    /// to the scheduler ([`Job::link_ratio`]), but for a ratio that the job has already.
    #[must_use]
    pub fn task(mut self, task: impl Into<Arc<str>>) -> Self {
        self.task = task.into();
        let known = ratio_of(&self.task);
        self.job.link_ratio = self.job.link_ratio.or(known);
        self
    }

    /// The job with these tasks. A job that is launched without a device does its own
    /// [work](Self::work) after them, on the host.
    #[must_use]
    pub fn tasks(self, tasks: impl IntoIterator<Item = TaskPlan>) -> Self {
        Self {
            tasks: tasks.into_iter().collect(),
            ..self
        }
    }

    /// What it requests while it runs, in the order of the numbers that the simulator gives: each
    /// task, followed by its growths.
    pub fn asks(&self) -> impl Iterator<Item = Ask<'_>> {
        let parts = self.tasks.iter().flat_map(|plan| {
            let grown = plan.grows.iter().map(|grow| &grow.request);
            std::iter::once(&plan.request).chain(grown).enumerate()
        });
        (0..).zip(parts).map(|(number, (part, request))| Ask {
            task: TaskId(number),
            request,
            grows: (part > 0).then(|| TaskId(number - part as u64)),
        })
    }

    /// How long it takes if it runs alone and at full speed: pauses, tasks, and its own work. A job
    /// with devices of its own works while its tasks run, so it takes as long as the longer of both.
    #[must_use]
    pub fn alone(&self, is_launched: bool) -> Duration {
        let tasks = self.tasks.iter();
        let tasks = tasks.fold(Duration::ZERO, |sum, plan| {
            sum.saturating_add(plan.pause).saturating_add(plan.work)
        });
        if is_launched {
            tasks.saturating_add(self.work)
        } else {
            tasks.max(self.work)
        }
    }

    /// How many devices it requests.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.job.request.pattern.len()
    }
}

/// A list of jobs. Jobs that arrive at one moment arrive in this order.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Workload {
    /// The source: a file, or a generator with its seed and the name of the random number
    /// generator.
    pub source: String,
    /// The jobs. Their numbers differ. Simulations sort them by arrival; of one moment, by this
    /// order.
    pub jobs: Vec<Submission>,
    /// Notes on what was assumed or left out while the workload was read.
    pub notes: Vec<String>,
}

impl Workload {
    /// A workload of these jobs, without notes.
    #[must_use]
    pub fn new(source: impl Into<String>, jobs: impl IntoIterator<Item = Submission>) -> Self {
        Self {
            source: source.into(),
            jobs: jobs.into_iter().collect(),
            notes: Vec::new(),
        }
    }

    /// The workload with all arrivals at the beginning, as MAPA's released simulator reads every
    /// job file. Deadlines stay.
    #[must_use]
    pub fn all_at_once(mut self) -> Self {
        if self.jobs.iter().any(|job| job.job.arrived != Time::ZERO) {
            self.notes
                .push("arrivals were set to 0: all jobs arrive at the beginning".to_owned());
        }
        for job in &mut self.jobs {
            job.job.arrived = Time::ZERO;
        }
        self
    }
}
