//! Jobs as they will be submitted, and lists of them.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::Request;
use mapa_sched::{Job, RunTime, Time};

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
    /// Job files have no column for them.
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
        if self.jobs.iter().any(|own| own.job.arrived != Time::ZERO) {
            self.notes
                .push("arrivals were set to 0: all jobs arrive at the beginning".to_owned());
        }
        for own in &mut self.jobs {
            own.job.arrived = Time::ZERO;
        }
        self
    }
}
