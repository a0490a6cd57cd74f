//! The answer on tenants with promised latencies: a simulation.

use serde::Serialize;

/// A simulation of tenants with promised latencies.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SimulatedTenants {
    /// The words of the scheduler.
    pub scheduler: String,
    /// The seed of the requests.
    pub seed: u64,
    /// The tenants that serve requests.
    pub tenants: Vec<SimulatedTenant>,
    /// The files that were written.
    pub written: Vec<String>,
}

/// One tenant under a controller, and beside it without one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SimulatedTenant {
    /// Its name.
    pub tenant: String,
    /// What is promised, ms.
    pub promise_ms: f64,
    /// Under the controller.
    pub controlled: TenantRun,
    /// Without any controller.
    pub uncontrolled: TenantRun,
    /// What was done.
    pub actions: Vec<TenantAction>,
}

/// What requests came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TenantRun {
    /// The requests.
    pub requests: usize,
    /// Of all, the share that was late or shed, percent.
    pub fail_percent: f64,
    /// Of those answered, the share that was late, percent.
    pub miss_percent: f64,
    /// The 95th percentile, ms; null if no request was answered.
    pub p95_ms: Option<f64>,
    /// The 99th percentile, ms.
    pub p99_ms: Option<f64>,
    /// The 99.9th percentile, ms.
    pub p999_ms: Option<f64>,
    /// Relaunches an hour.
    pub relaunches_per_hour: f64,
    /// The share of time with throttled neighbours, percent.
    pub throttled_percent: f64,
    /// The mean number of compute slices in use.
    pub slices: f64,
}

/// Something that a controller did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TenantAction {
    /// When, s.
    pub at_s: f64,
    /// What: throttle, move, enlarge, shrink or rollback.
    pub what: String,
}
