//! Jobs that will arrive: read from files, drawn, or made by hand.
//!
//! Three ways lead to a [`Workload`]: [`read_jobs`] for job files, [`read_trace`] for logs of real clusters, and a
//! [`Generator`]. What a file does not say and must be assumed is in [`Workload::notes`], so that it can be shown beside
//! results.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mapa_sched::{Job, RunTime, Time};

use crate::error::{Error, ErrorKind};

mod generate;
mod job_file;
mod numbers;
mod patterns;
mod profiles;
mod sheet;
mod tasks;
mod trace;

pub use generate::{Arrivals, Generator, RunTimes, Sizes, Task};
pub use job_file::{read_jobs, write_jobs};
pub use profiles::{Profile, read_profiles, write_profiles};
pub use trace::{Selection, Shared, TraceKind, read_run_times, read_trace, read_trace_part};

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

    /// The same jobs, all there from the beginning, as MAPA's released simulator takes every job file. Deadlines stay.
    #[must_use]
    pub fn all_at_once(mut self) -> Self {
        if self.jobs.iter().any(|own| own.job.arrived != Time::ZERO) {
            self.notes.push("arrivals were set to 0: all jobs are there from the beginning".to_owned());
        }
        for own in &mut self.jobs {
            own.job.arrived = Time::ZERO;
        }
        self
    }
}

/// What a note about the order of arrivals begins with.
const UNORDERED: &str = "arrivals are not in order";

/// What a note about deadlines begins with that nobody can keep.
const TOO_EARLY: &str = "deadlines before arrivals";

/// Whether a note names lines of the file that was read: it is made anew by whoever reads a file, and never written.
fn names_lines(note: &str) -> bool {
    [UNORDERED, TOO_EARLY].iter().any(|own| note.starts_with(own))
}

/// Notes the first job whose deadline is before its arrival; `lines` has a line for each job.
fn note_deadlines(workload: &mut Workload, lines: &[usize]) {
    let is_early = |own: &Submission| own.job.deadline.is_some_and(|deadline| deadline < own.job.arrived);
    if let Some(at) = workload.jobs.iter().position(is_early) {
        let line = lines.get(at).copied().unwrap_or_default();
        workload.notes.push(format!("{TOO_EARLY}, first on line {line}: nobody can keep them"));
    }
}

/// Notes the first job that arrives before the one above it; `lines` has a line for each job.
fn note_order(workload: &mut Workload, lines: &[usize]) {
    let first = workload.jobs.windows(2).position(|pair| pair[1].job.arrived < pair[0].job.arrived);
    if let Some(at) = first {
        let line = lines.get(at + 1).copied().unwrap_or_default();
        let note = format!("{UNORDERED}, first on line {line}: jobs are taken by arrival, those of one moment by line");
        workload.notes.push(note);
    }
}

/// An error of a line, counted from 1.
fn bad_line(line: usize, what: impl fmt::Display) -> Error {
    ErrorKind::BadLine { line, what: what.to_string() }.into()
}

/// An error of no line.
fn bad_workload(what: impl fmt::Display) -> Error {
    ErrorKind::BadWorkload(what.to_string()).into()
}
