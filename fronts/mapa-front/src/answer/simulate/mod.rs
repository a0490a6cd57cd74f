//! The answer of `simulate`: how a workload fared under each policy.

use mapa_sim::{Rejected, Table, Workload};
use serde::Serialize;
use serde_json::Value;

use super::number::finite;
use super::table::{Record, record, records};
use super::{Refusal, Streamed, Versioned};

mod jobs;
mod remarks;
mod run;
mod tasks;

pub use run::{PolicyRun, Simulated};
pub use tasks::{SimulatedTask, TaskStay};

/// How a workload fared under each policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simulate {
    /// The machine or the servers, in words.
    pub machine: String,
    /// The fleet of servers; null for a single machine.
    pub servers: Option<Servers>,
    /// The jobs.
    pub workload: Jobs,
    /// The scheduler's name, with its settings.
    pub scheduler: String,
    /// The name of the model of run times.
    pub execution: String,
    /// The simulation under each policy, in the order in which they were named.
    pub policies: Vec<SimulatedPolicy>,
    /// The files written.
    pub written: Vec<String>,
}

/// A fleet of servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Servers {
    /// The words that name them.
    pub words: Vec<String>,
    /// How many there are.
    pub count: usize,
    /// The bandwidth of each server's network, GB/s; null if jobs do not span servers.
    pub network_gbps: Option<f64>,
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Jobs {
    /// Where it comes from.
    pub source: String,
    /// How many jobs it has.
    pub jobs: usize,
    /// What was assumed or left out when it was read.
    pub notes: Vec<String>,
}

/// The simulation under one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SimulatedPolicy {
    /// The policy's name.
    pub policy: String,
    /// The counts and numbers of the summary, by the names of measures, which end in the unit; null
    /// where there is no number.
    #[serde(flatten)]
    pub summary: Record,
    /// Jobs per hour over those of the first policy; null if that finished none.
    pub relative_throughput: Option<f64>,
    /// The share of bandwidth lost by the best ring of 2 to 5 free devices, mean over time; null if
    /// it was never defined.
    pub mean_fragmentation: Option<f64>,
    /// The largest such share; null if it was never defined.
    pub max_fragmentation: Option<f64>,
    /// Bandwidths by sensitivity and size of jobs.
    pub groups: Vec<Record>,
    /// A row for each job, whatever its outcome.
    pub jobs: Vec<Record>,
    /// The tasks of the jobs that finished: by the job's place in the workload, then by number.
    pub tasks: Vec<SimulatedTask>,
    /// A row for each moment at which anything changed.
    pub series: Vec<Record>,
    /// How many decisions reached the limit of the search, so that better placements may exist.
    pub search_limit_reached: usize,
    /// Reasons to doubt the numbers.
    pub remarks: Vec<String>,
    /// The jobs that were rejected.
    pub rejections: Vec<Rejection>,
    /// The numbers of the jobs that never started or never ended.
    pub never_ended: Vec<Option<u64>>,
}

/// A job that was rejected, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rejection {
    /// Its place in the workload, counted from 0.
    pub index: usize,
    /// Its number.
    pub job: u64,
    /// The kind of refusal: `busy`, `infeasible` or `limit_reached`.
    pub refusal: String,
    /// Why, in one sentence.
    pub reason: String,
}

impl Simulate {
    /// The answer of these simulations.
    ///
    /// # Errors
    /// A measure of jobs is called `status`.
    pub fn new(
        what: Simulated<'_>,
        runs: &[PolicyRun],
        written: &[String],
    ) -> Result<Self, mapa_sim::Error> {
        let mut answer = Self::without_lists(what, runs, written);
        for (policy, run) in answer.policies.iter_mut().zip(runs) {
            policy.jobs = records(&run.jobs_table(what)?);
            policy.tasks = run.tasks(what).collect();
            policy.series = records(&run.over_time.table());
        }
        Ok(answer)
    }

    /// The same answer, with the version of its form, to be written without being held: a row is made when the one before
    /// it is written.
    ///
    /// # Errors
    /// A measure of jobs is called `status`.
    pub fn streamed<'a>(
        what: Simulated<'a>,
        runs: &'a [PolicyRun],
        written: &[String],
    ) -> Result<Streamed<'a>, mapa_sim::Error> {
        let mut answer = Self::without_lists(what, runs, written);
        let mut policies = Vec::new();
        for (policy, run) in std::mem::take(&mut answer.policies).iter().zip(runs) {
            // What could be wrong with the rows is said before the first line is written.
            drop(run.jobs_tables(what)?);
            let mut fields = Streamed::object(value(policy));
            let lists = [
                (
                    "jobs",
                    Streamed::long(move || rows(run.jobs_tables(what).into_iter().flatten())),
                ),
                (
                    "tasks",
                    Streamed::long(move || run.tasks(what).map(|task| value(&task))),
                ),
                (
                    "series",
                    Streamed::long(move || rows(run.over_time.tables())),
                ),
            ];
            fields.extend(lists.map(|(key, list)| (key.to_owned(), list)));
            policies.push(Streamed::Object(fields));
        }
        let mut fields = Streamed::object(value(&Versioned::new(answer)));
        fields.insert("policies".to_owned(), Streamed::List(policies));
        Ok(Streamed::Object(fields))
    }

    /// The answer, without the rows of jobs, of tasks and over time.
    fn without_lists(what: Simulated<'_>, runs: &[PolicyRun], written: &[String]) -> Self {
        let servers = (!what.servers.is_empty()).then(|| Servers {
            words: what.servers.to_vec(),
            count: what.fleet.machines().len(),
            network_gbps: what.fleet.network_gbps(),
        });
        // If the first policy finished no job, the quotient below is NaN, which `finite` turns into null.
        let first = runs.first().map_or(f64::NAN, PolicyRun::jobs_per_hour);
        let policies = runs.iter().map(|run| run.without_lists(what, first));
        Self {
            machine: what.machine.to_owned(),
            servers,
            workload: what.workload.into(),
            scheduler: what.scheduler.to_owned(),
            execution: what.execution.to_owned(),
            policies: policies.collect(),
            written: written.to_vec(),
        }
    }
}

/// A part of an answer as JSON. All have keys that are texts, so it never fails.
fn value(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap_or_default()
}

/// The rows of tables, one after another.
fn rows<'a>(tables: impl Iterator<Item = Table> + 'a) -> impl Iterator<Item = Value> + 'a {
    tables.flat_map(|table| match table.to_json() {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    })
}

impl From<&Workload> for Jobs {
    fn from(workload: &Workload) -> Self {
        Self {
            source: workload.source.clone(),
            jobs: workload.jobs.len(),
            notes: workload.notes.clone(),
        }
    }
}

impl From<&Rejected> for Rejection {
    fn from(rejected: &Rejected) -> Self {
        let Refusal { refusal, reason } = (&rejected.why).into();
        Self {
            index: rejected.index,
            job: rejected.job.0,
            refusal,
            reason,
        }
    }
}

impl PolicyRun {
    /// Jobs per hour; NaN if none finished.
    fn jobs_per_hour(&self) -> f64 {
        self.summary.number("jobs_per_hour").unwrap_or(f64::NAN)
    }

    /// The answer, with throughput relative to `first` jobs per hour, without the rows of jobs, of tasks and over time.
    fn without_lists(&self, what: Simulated<'_>, first: f64) -> SimulatedPolicy {
        let number = |index: &usize| what.workload.jobs.get(*index).map(|job| job.job.id.0);
        SimulatedPolicy {
            policy: self.policy.clone(),
            summary: record(&self.summary.table(), 0),
            relative_throughput: finite(self.jobs_per_hour() / first),
            mean_fragmentation: self.over_time.mean_fragmentation(),
            max_fragmentation: self.over_time.max_fragmentation(),
            groups: records(&self.summary.groups_table()),
            jobs: Vec::new(),
            tasks: Vec::new(),
            series: Vec::new(),
            search_limit_reached: self.cut,
            remarks: self.remarks(what),
            rejections: self.outcome.rejected.iter().map(Rejection::from).collect(),
            never_ended: self.outcome.waiting.iter().map(number).collect(),
        }
    }
}
