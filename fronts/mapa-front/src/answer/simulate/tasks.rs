//! A row for each task of the jobs that finished.

use mapa_core::Demand;
use mapa_sched::{Fleet, JobId, Residency, Time};
use mapa_sim::{Ask, TaskRun};
use serde::Serialize;

use super::run::{PolicyRun, Simulated};

/// A request that a job made while it ran: a task, or growth of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SimulatedTask {
    /// The number of the job.
    pub job: u64,
    /// Its number, counted from 0 in each job.
    pub task: u64,
    /// The number of the task that grows by it; null for the request with which a task begins.
    pub grows: Option<u64>,
    /// When it was made, seconds. Until its first stay it waited.
    pub begun_s: f64,
    /// When it ended, seconds; null if it never had a place.
    pub ended_s: Option<f64>,
    /// The memory that it requests, bytes.
    pub bytes: u64,
    /// The warps in flight that it states.
    pub warps: u64,
    /// Where it was, in order of time. Several stays if it was moved or suspended.
    pub stays: Vec<TaskStay>,
}

/// A stay of a task on one or several devices.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskStay {
    /// The number of the machine of its first rank.
    pub machine: u32,
    /// The names of its devices or instances, by rank.
    pub devices: Vec<String>,
    /// When it came, seconds.
    pub from_s: f64,
    /// When it left, seconds.
    pub until_s: f64,
}

fn seconds(at: Time) -> f64 {
    (at - Time::ZERO).as_secs_f64()
}

impl TaskStay {
    fn new(stay: &Residency, fleet: &Fleet) -> Self {
        let mut devices = Vec::new();
        // A job that spans servers has a part on each.
        for (_, machine, placement) in stay.at.parts() {
            if let Ok(machine) = fleet.machine(machine) {
                let graph = machine.graph();
                let names = placement.iter().map(|&id| graph.device(id).name.clone());
                devices.extend(names);
            }
        }
        Self {
            machine: stay.at.machine.0,
            devices,
            from_s: seconds(stay.from),
            until_s: seconds(stay.until),
        }
    }
}

impl PolicyRun {
    /// The tasks of the jobs that finished: by the job's place in the workload, then by number. Each is made when it is
    /// asked for.
    pub fn tasks<'a>(&'a self, what: Simulated<'a>) -> impl Iterator<Item = SimulatedTask> + 'a {
        self.outcome.runs.iter().flat_map(move |run| {
            let submission = what.workload.jobs.get(run.index).into_iter();
            // Both are in the order of numbers.
            let asked = submission.flat_map(|submission| submission.asks().zip(&run.tasks));
            asked.map(move |(ask, ran)| SimulatedTask::new(run.job, ask, ran, what.fleet))
        })
    }
}

impl SimulatedTask {
    fn new(job: JobId, ask: Ask<'_>, ran: &TaskRun, fleet: &Fleet) -> Self {
        let demands = ask.request.pattern.demands();
        // A request is for all its ranks.
        let sum = |of: fn(&Demand) -> u64| demands.iter().map(of).sum();
        Self {
            job: job.0,
            task: ran.task.0,
            grows: ask.grows.map(|task| task.0),
            begun_s: seconds(ran.begun),
            // A task ends with its last stay.
            ended_s: ran.stays.last().map(|stay| seconds(stay.until)),
            bytes: sum(|demand| demand.memory_bytes),
            warps: sum(|demand| u64::from(demand.warps)),
            stays: ran
                .stays
                .iter()
                .map(|stay| TaskStay::new(stay, fleet))
                .collect(),
        }
    }
}
