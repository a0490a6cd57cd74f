//! A row per finished job: its times, its devices, and the scores of these devices.

use std::sync::Arc;
use std::time::Duration;

use mapa_sched::{Assignment, Fleet, JobId, Time};

use super::scores::{Scorer, Scores};
use crate::outcome::{Outcome, Run};
use crate::workload::{Submission, Workload};

/// The least work that a bounded slowdown divides by: ten seconds, as in Feitelson and Rudolph
/// (1998).
pub const BOUND: Duration = Duration::from_secs(10);

fn ratio(of: Duration, to: Duration) -> Option<f64> {
    (!to.is_zero()).then(|| of.as_secs_f64() / to.as_secs_f64())
}

/// A job that has finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The job's place in the workload.
    pub index: usize,
    /// Its number.
    pub job: JobId,
    /// What it runs.
    pub task: Arc<str>,
    /// How many devices it has.
    pub devices: usize,
    /// Whether its speed depends on its links.
    pub sensitive: bool,
    /// When it arrived.
    pub arrived: Time,
    /// When it should have ended, if it has a deadline.
    pub deadline: Option<Time>,
    /// When it started.
    pub started: Time,
    /// When it ended.
    pub ended: Time,
    /// How long it would run alone and at full speed, with its tasks.
    pub work: Duration,
    /// How long it ran.
    pub ran: Duration,
    /// The machine and the devices on which it ended; for a job that was launched without a device,
    /// those of its last task.
    pub at: Assignment,
    /// The scores of these devices.
    pub scores: Scores,
}

impl Row {
    /// The rows of an outcome, by place in the workload. The fleet is the one of the simulation;
    /// only its machines matter. A job that was launched without a device, and has no task, has no
    /// row.
    #[must_use]
    pub fn of(
        outcome: &Outcome,
        workload: &Workload,
        fleet: &Fleet,
        scorer: &mut Scorer,
    ) -> Vec<Self> {
        let runs = outcome.runs.iter();
        runs.filter_map(|run| Self::of_run(run, workload, fleet, scorer))
            .collect()
    }

    /// The row of a run; `None` if the workload or the fleet is not that of the run.
    fn of_run(run: &Run, workload: &Workload, fleet: &Fleet, scorer: &mut Scorer) -> Option<Self> {
        let submission = workload.jobs.get(run.index)?;
        let Submission { job, task, .. } = submission;
        let last = run.tasks.last().and_then(|task| task.stays.last());
        let at = &run.stays.last().or(last)?.at;
        Some(Self {
            index: run.index,
            job: run.job,
            task: task.clone(),
            devices: job.request.pattern.len(),
            sensitive: job.request.is_sensitive(),
            arrived: run.arrived,
            deadline: job.deadline,
            started: run.started(),
            ended: run.ended(),
            work: submission.alone(run.launched.is_some()),
            ran: run.ran(),
            at: at.clone(),
            scores: scorer.scores_at(fleet, &job.request.pattern, at)?,
        })
    }

    /// How long it waited, from its arrival to its start.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.started - self.arrived
    }

    /// The time from its arrival to its end.
    #[must_use]
    pub fn completion(&self) -> Duration {
        self.ended - self.arrived
    }

    /// The completion time over the work: how many times as long it took as alone and at full
    /// speed. `None` if it has no work.
    #[must_use]
    pub fn slowdown(&self) -> Option<f64> {
        ratio(self.completion(), self.work)
    }

    /// The slowdown with [`BOUND`] in place of shorter work, at least 1. So jobs of nearly no
    /// length do not outweigh all others. Feitelson and Rudolph (1998) divide by the time a job
    /// ran. Here the divisor is the work, because the time a job ran depends on the policy, and
    /// this number is used to compare policies.
    #[must_use]
    pub fn bounded_slowdown(&self) -> f64 {
        ratio(self.completion(), self.work.max(BOUND))
            .unwrap_or(1.0)
            .max(1.0)
    }

    /// The run time over the work: how much slower its links made it. `None` if it has no work.
    #[must_use]
    pub fn execution_slowdown(&self) -> Option<f64> {
        ratio(self.ran, self.work)
    }

    /// By how much it ended after its deadline; zero if it was in time, `None` without a deadline.
    #[must_use]
    pub fn tardiness(&self) -> Option<Duration> {
        Some(self.ended - self.deadline?)
    }

    /// Its aggregated bandwidth over the highest that it could have on the idle machine, as in Fig. 4.
    /// `None` for one device, and where the highest is not known.
    #[must_use]
    pub fn share_of_ideal(&self) -> Option<f64> {
        self.scores
            .ideal_aggregate_gbps
            .filter(|&ideal| ideal > 0.0)
            .map(|ideal| self.scores.aggregate_gbps / ideal)
    }

    /// The names of its devices in rank order; their numbers if the fleet is another one. For a job
    /// on several machines, the devices of each follow the machine's number and a colon.
    pub(super) fn device_names(&self, fleet: &Fleet) -> String {
        let mut parts = Vec::new();
        for (_, machine, placement) in self.at.parts() {
            let graph = fleet.machine(machine).ok().map(|machine| machine.graph());
            let mut names = Vec::new();
            for &id in placement.iter() {
                let graph = graph.filter(|graph| id.index() < graph.devices().len());
                names.push(match graph {
                    Some(graph) => graph.device(id).name.clone(),
                    None => id.to_string(),
                });
            }
            let names = names.join(" ");
            parts.push(if self.at.rest.is_empty() {
                names
            } else {
                format!("{machine}: {names}")
            });
        }
        parts.join(", ")
    }
}
