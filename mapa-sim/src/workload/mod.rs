//! Jobs that will arrive: read from files, drawn, or made by hand.

use std::sync::Arc;
use std::time::Duration;

use mapa_sched::{Job, RunTime};

mod generate;

pub use generate::Generator;

/// A job as it will be submitted, and what its owner does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The job as the scheduler is told of it: what it asks for, when it arrives, how long its owner thinks it runs.
    pub job: Job,
    /// How long it runs at full speed. An [`Execution`](crate::Execution) says how much longer where it lies.
    pub work: Duration,
    /// What it runs, such as the network it trains: what execution models know sensitivities by. Empty, if nobody says.
    pub task: Arc<str>,
}

impl Submission {
    /// A job that runs for so long at full speed, and whose owner knows it.
    #[must_use]
    pub fn new(mut job: Job, work: Duration) -> Self {
        job.run_time = RunTime::Fixed(work);
        Self { job, work, task: Arc::default() }
    }

    /// What it runs.
    #[must_use]
    pub fn task(self, task: impl Into<Arc<str>>) -> Self {
        Self { task: task.into(), ..self }
    }

    /// How many devices it asks for.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.job.request.pattern.len()
    }
}

/// Some jobs, by the order in which their scheduler hears of those that arrive at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Workload {
    /// Where it is from: a file, or a generator with its seed and the name of its random numbers.
    pub source: String,
    /// The jobs. Their numbers differ; simulations keep to the order of arrival, then to this.
    pub jobs: Vec<Submission>,
    /// What was assumed or left out while it was read.
    pub notes: Vec<String>,
}

impl Workload {
    /// These jobs.
    #[must_use]
    pub fn new(source: impl Into<String>, jobs: impl IntoIterator<Item = Submission>) -> Self {
        Self { source: source.into(), jobs: jobs.into_iter().collect(), notes: Vec::new() }
    }
}
