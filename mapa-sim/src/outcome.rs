//! The outcome of a workload: which jobs ran, where and when.

use std::time::Duration;

use mapa_core::Refusal;
use mapa_sched::{JobId, Placed, Time};

/// A period that a job spent on the same devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub until: Time,
    /// The machine and the devices.
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
    /// Where it ran, in order of time. Several stays if it was moved or suspended. Never empty.
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

    /// How long it waited, from its arrival to its start.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.started() - self.arrived
    }

    /// How long it ran, without the times during which it was suspended.
    #[must_use]
    pub fn ran(&self) -> Duration {
        self.stays.iter().map(|stay| stay.until - stay.from).sum()
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
    /// When the last event happened.
    pub end: Time,
    /// How many events the scheduler received.
    pub events: u64,
    /// At how many instants the scheduler acted.
    pub instants: u64,
}
