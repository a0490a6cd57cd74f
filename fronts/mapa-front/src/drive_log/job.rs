//! Jobs, as they are written.

use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{DeviceSet, HardwareGraph, Request};
use mapa_sched::{Job, JobId, RunTime, Time};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct JobLine {
    /// Its number.
    pub id: u64,
    /// Its request.
    pub request: Request,
    /// When it arrived, nanoseconds since the beginning.
    pub arrived: u64,
    /// How long it runs.
    pub run_time: RunTimeLine,
    /// When it should have finished, nanoseconds since the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<u64>,
    /// Its priority.
    #[serde(default)]
    pub priority: i64,
    /// Whether it must be alone on its instance.
    #[serde(default)]
    pub isolated: bool,
    /// Whether it may ask for more memory while it holds some.
    #[serde(default)]
    pub grows: bool,
    /// The slope of Eq. 1 of Tang et al.
    pub pcie_alpha: f64,
    /// The latency that is promised, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo_ns: Option<u64>,
    /// How much longer it runs over slow links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_ratio: Option<f64>,
}

/// How long a job runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunTimeLine {
    /// Unknown.
    Unknown,
    /// So many nanoseconds.
    Fixed(u64),
    /// Nanoseconds by size of its instance.
    BySize(Vec<(Size, u64)>),
}

impl JobLine {
    /// The job as it is written.
    #[must_use]
    pub fn of(job: &Job) -> Self {
        Self {
            id: job.id.0,
            request: job.request.clone(),
            arrived: job.arrived.0,
            run_time: match &job.run_time {
                RunTime::Unknown => RunTimeLine::Unknown,
                RunTime::Fixed(length) => RunTimeLine::Fixed(nanos(*length)),
                RunTime::BySize(lengths) => {
                    let times = lengths.iter().map(|(size, length)| (*size, nanos(*length)));
                    RunTimeLine::BySize(times.collect())
                }
            },
            deadline: job.deadline.map(|time| time.0),
            priority: job.priority,
            isolated: job.isolated,
            grows: job.grows,
            pcie_alpha: job.pcie_alpha,
            slo_ns: job.slo.map(nanos),
            link_ratio: job.link_ratio,
        }
    }

    /// The job on this machine.
    ///
    /// # Errors
    /// As [`EventLine::event`](super::EventLine::event).
    pub fn job(&self, graph: &HardwareGraph) -> Result<Job, Error> {
        let mut job = Job::new(JobId(self.id), checked(&self.request, graph)?);
        // Keys that `Job` may get later keep their defaults: a record without them is older.
        job.arrived = Time(self.arrived);
        job.run_time = match &self.run_time {
            RunTimeLine::Unknown => RunTime::Unknown,
            RunTimeLine::Fixed(ns) => RunTime::Fixed(Duration::from_nanos(*ns)),
            RunTimeLine::BySize(lengths) => {
                let times = lengths
                    .iter()
                    .map(|(size, ns)| (*size, Duration::from_nanos(*ns)));
                RunTime::BySize(times.collect())
            }
        };
        job.deadline = self.deadline.map(Time);
        job.priority = self.priority;
        job.isolated = self.isolated;
        job.grows = self.grows;
        job.pcie_alpha = self.pcie_alpha;
        job.slo = self.slo_ns.map(Duration::from_nanos);
        job.link_ratio = self.link_ratio;
        Ok(job)
    }
}

/// A request whose devices this machine has.
pub(super) fn checked(request: &Request, graph: &HardwareGraph) -> Result<Request, Error> {
    let sets = [
        Some(&request.must_include),
        Some(&request.avoid),
        request.only.as_ref(),
    ];
    // A machine that has the highest id of a set has all of them.
    for last in sets.into_iter().flatten().filter_map(DeviceSet::last) {
        graph.check(last)?;
    }
    Ok(request.clone())
}

pub(super) fn nanos(length: Duration) -> u64 {
    // These are 584 years at most. What takes longer than that is cut to it.
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
