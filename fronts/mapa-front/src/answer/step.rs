//! The communication time of a job at its devices.

use std::collections::BTreeMap;

use serde::Serialize;

/// The communication time of a job whose bytes are known; no key for any other job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepTimes {
    /// Seconds of a training job's step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_seconds: Option<f64>,
    /// Seconds of each phase of the step, by dimension of parallelism.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_seconds: Option<BTreeMap<String, f64>>,
    /// Seconds of the slowest edge of a pattern in bytes, if all edges send at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edges_seconds: Option<f64>,
}
