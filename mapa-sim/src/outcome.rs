//! What came of a workload.

use std::time::Duration;

use mapa_core::Refusal;
use mapa_sched::{JobId, Placed, Time};

/// A time that a job spent at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// Where.
    pub at: Placed,
}

/// A job that has finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its place in the workload's jobs.
    pub index: usize,
    /// Its number.
    pub job: JobId,
    /// When it arrived.
    pub arrived: Time,
    /// Where it ran, in order of time; several stays if it was moved or suspended. Never empty.
    pub stays: Vec<Stay>,
}

impl Run {
    /// When it started.
    #[must_use]
    pub fn started(&self) -> Time {
        self.stays.first().map_or(self.arrived, |stay| stay.from)
    }

    /// When it ended.
    #[must_use]
    pub fn ended(&self) -> Time {
        self.stays.last().map_or(self.arrived, |stay| stay.until)
    }

    /// From its arrival to its start.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.started() - self.arrived
    }

    /// How long it ran, without the times for which it was suspended.
    #[must_use]
    pub fn ran(&self) -> Duration {
        self.stays.iter().map(|stay| stay.until - stay.from).sum()
    }
}

/// A job that was told no.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// Its place in the workload's jobs.
    pub index: usize,
    /// Its number.
    pub job: JobId,
    /// When.
    pub at: Time,
    /// Why.
    pub why: Refusal,
}

/// What came of a workload: a function of the workload, the fleet, the scheduler and the execution model.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The scheduler's name.
    pub scheduler: String,
    /// The execution model's name.
    pub execution: String,
    /// The jobs that have finished, by their place in the workload.
    pub runs: Vec<Run>,
    /// The jobs that were told no, by their place in the workload.
    pub rejected: Vec<Rejected>,
    /// Places in the workload of the jobs that had arrived and not finished at the end: they waited for what never came, or for a time after
    /// [`Simulation::until`](crate::Simulation::until).
    pub waiting: Vec<usize>,
    /// When the last thing happened.
    pub end: Time,
    /// How many facts were told.
    pub events: u64,
    /// At how many instants the scheduler acted.
    pub instants: u64,
}
