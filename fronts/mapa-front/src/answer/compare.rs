//! The answer of `compare`: the choices of all policies for one job.

use serde::Serialize;

use super::{Bandwidth, Decision, Refusal, StepTimes};

/// The choices of all policies for one job.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// A choice, or a refusal, for each policy.
    pub policies: Vec<Compared>,
}

/// The choice of one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Compared {
    /// The policy chose devices.
    Chosen(Box<Chosen>),
    /// The policy found none.
    Refused {
        /// The name of the policy.
        policy: String,
        /// The kind and the reason.
        #[serde(flatten)]
        refusal: Refusal,
    },
}

/// The devices that a policy chose.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Chosen {
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
    /// What the devices carry.
    #[serde(flatten)]
    pub bandwidth: Bandwidth,
    /// The bandwidth of a packing of rings on these devices, GB/s; null for one device.
    pub ring_packing_gbps: Option<f64>,
    /// The prediction of the model that the request names, GB/s; null for one device, absent if the
    /// request names no model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_gbps: Option<Option<f64>>,
    /// The communication time of a job whose bytes are known.
    #[serde(flatten)]
    pub times: StepTimes,
}
