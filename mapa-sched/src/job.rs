//! Jobs as schedulers know them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use mapa_core::{Patience, Request, mig};

use crate::time::Time;

/// The number of a job. The driver numbers jobs; no two jobs in the system at one time have the
/// same number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a task. A task is a part of a job that requests a device while the job runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskId(pub u64);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The holder of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Tenant {
    /// A job as a whole.
    Job(JobId),
    /// One of its tasks.
    Task(JobId, TaskId),
}

impl Tenant {
    /// The job itself, or the job of the task.
    #[must_use]
    pub fn job(self) -> JobId {
        match self {
            Self::Job(job) | Self::Task(job, _) => job,
        }
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(job) => write!(f, "job {job}"),
            Self::Task(job, task) => write!(f, "task {task} of job {job}"),
        }
    }
}

/// A job that arrives. A scheduler uses only the fields that it needs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Job {
    /// The number that the driver gave it.
    pub id: JobId,
    /// The devices that it requests.
    pub request: Request,
    /// When it arrived. Default: [`Time::ZERO`].
    pub arrived: Time,
    /// How long it runs. Default: unknown.
    pub run_time: RunTime,
    /// When it should have finished. Default: no deadline.
    pub deadline: Option<Time>,
    /// Its priority, the higher the more important. Only some schedulers use it. Default: 0.
    pub priority: i64,
    /// Whether it must be alone on its instance. Default: no.
    pub isolated: bool,
    /// Whether its process may ask for more memory while it holds some, for managers of shared
    /// instances. Default: no.
    pub grows: bool,
    /// The slope of Eq. 1 of Tang et al., for schedulers that weigh PCIe contention.
    /// Default: 1.
    pub pcie_alpha: f64,
    /// The latency that its requests should meet. Default: none.
    pub slo: Option<Duration>,
    /// How much longer it runs over slow links: its run time where its devices exchange data at 10
    /// GB/s or less, over that at 50 GB/s or more, from a profile. Default: unknown, see
    /// [`link_ratio`](Self::link_ratio).
    pub link_ratio: Option<f64>,
}

impl Job {
    /// A job with this request, and the defaults for all else.
    #[must_use]
    pub fn new(id: JobId, request: Request) -> Self {
        Self {
            id,
            request,
            arrived: Time::ZERO,
            run_time: RunTime::Unknown,
            deadline: None,
            priority: 0,
            isolated: false,
            grows: false,
            pcie_alpha: 1.0,
            slo: None,
            link_ratio: None,
        }
    }

    /// The ratio of a sensitive job over slow links, where its own is unknown, and that of a job
    /// which is not. Assumed: the lesser of those of the paper's networks, and little.
    pub const LINK_RATIOS: [f64; 2] = [1.6, 1.1];

    /// Its run time over slow links, over that at full speed: that of its profile, or one of
    /// [`LINK_RATIOS`](Self::LINK_RATIOS). 1 for a job on one device.
    #[must_use]
    pub fn link_ratio(&self) -> f64 {
        let [sensitive, other] = Self::LINK_RATIOS;
        match self.link_ratio {
            _ if self.request.pattern.len() < 2 => 1.0,
            // A measured ratio may be below 1 by noise. Slower links never make a job faster here.
            Some(told) => told.max(1.0),
            None if self.request.is_sensitive() => sensitive,
            None => other,
        }
    }

    /// Its run time where its devices exchange data at this bandwidth, GB/s, over that at full
    /// speed: linear in 1 / bandwidth between 50 and 10 GB/s, as for a program that computes for a
    /// while and then sends a fixed number of bytes.
    #[must_use]
    pub fn slowdown_at(&self, gbps: f64) -> f64 {
        let by = Patience {
            slowdown: self.link_ratio(),
            ..Patience::default()
        };
        by.slowdown_at(gbps)
    }
}

/// How long a job runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunTime {
    /// No estimate. Schedulers that plan count it as [ten years](crate::length).
    #[default]
    Unknown,
    /// This long, on any devices.
    Fixed(Duration),
    /// By the size of its instance.
    BySize(BTreeMap<mig::Size, Duration>),
}

impl RunTime {
    /// How long it runs on an instance of this size, if that is known.
    #[must_use]
    pub fn on(&self, size: Option<mig::Size>) -> Option<Duration> {
        match self {
            Self::Unknown => None,
            Self::Fixed(length) => Some(*length),
            Self::BySize(lengths) => lengths.get(&size?).copied(),
        }
    }

    /// How long it runs on an instance of this size, or of about this size: if the size has no run
    /// time, that of the next smaller number of compute slices counts, as no job runs longer on a
    /// larger instance. Of several sizes with equally many, the longest counts. `None` if only
    /// larger sizes have run times. O(sizes).
    #[must_use]
    pub fn about(&self, size: mig::Size) -> Option<Duration> {
        let Self::BySize(lengths) = self else {
            return self.on(Some(size));
        };
        let at_most = |limit: &mig::Size| limit.compute <= size.compute;
        let known = lengths.iter().filter(|(size, _)| at_most(size));
        let nearest = known.max_by_key(|(size, length)| (size.compute, **length));
        lengths
            .get(&size)
            .or(nearest.map(|(_, length)| length))
            .copied()
    }
}
