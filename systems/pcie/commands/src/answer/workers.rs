//! The answers of `workers`: real processes in place of GPUs.

use serde::Serialize;

/// Copies that ran side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Copies {
    /// The throughput of each, GB/s of the model.
    pub gbps: Vec<f64>,
}

/// A workload that ran as processes, and as simulations.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replay {
    /// The jobs that ended.
    pub jobs: Vec<Job>,
    /// How simulations follow the processes.
    pub simulated: Vec<Simulated>,
}

/// A job that ran as a process. Times are seconds of the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Job {
    /// Its number.
    pub id: u64,
    /// The name of its task.
    pub task: String,
    /// Its time at full speed.
    pub work_s: f64,
    /// When it arrived.
    pub arrived_s: f64,
    /// When it started.
    pub started_s: f64,
    /// When it ended.
    pub ended_s: f64,
    /// The id of its device.
    pub device: Option<u32>,
}

/// How a simulation follows the processes: Pearson's correlations of completion
/// times; null where there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simulated {
    /// The model of run time.
    pub execution: String,
    /// With the scheduler's own decisions.
    pub correlation: Option<f64>,
    /// With the decisions that were taken for the processes.
    pub retraced_correlation: Option<f64>,
}
