//! What the answer of `simulate` is made from.

use mapa_sched::Fleet;
use mapa_sim::{Occupancy, Outcome, OverTime, Row, Summary, Workload};

/// What was simulated.
#[derive(Clone, Copy, Debug)]
pub struct Simulated<'a> {
    /// The machine or the servers, in words.
    pub machine: &'a str,
    /// The words that name the servers; none for a single machine.
    pub servers: &'a [String],
    /// The scheduler's name, with its settings.
    pub scheduler: &'a str,
    /// The name of the model of run times.
    pub execution: &'a str,
    /// The fleet before the simulation.
    pub fleet: &'a Fleet,
    /// The jobs, the same under every policy.
    pub workload: &'a Workload,
    /// Whether the scheduler keeps jobs waiting because PCIe is shared, which the model of run times
    /// ignores.
    pub waits_in_vain: bool,
    /// Whether the scheduler plans by run times by size of instance, which the model of run times
    /// ignores.
    pub ignores_sizes: bool,
    /// Whether the scheduler places the tasks of jobs.
    pub places_tasks: bool,
    /// The names of all schedulers that do.
    pub task_schedulers: &'a [&'a str],
}

/// The simulation of a workload under one policy.
#[derive(Clone, Debug)]
pub struct PolicyRun {
    /// The policy's name.
    pub policy: String,
    /// The outcome of every job.
    pub outcome: Outcome,
    /// A row for each job that finished.
    pub rows: Vec<Row>,
    /// The summary of the rows.
    pub summary: Summary,
    /// The fleet over time.
    pub over_time: OverTime,
    /// Who was on which device or instance when, if it was to be recorded.
    pub occupancy: Option<Occupancy>,
    /// How many decisions reached the limit of the search.
    pub cut: usize,
}
