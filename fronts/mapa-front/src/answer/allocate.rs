//! The answer of `allocate`: one decision, or a stream of them.

use mapa_core::HardwareGraph;
use serde::Serialize;
use serde_json::Value;

use super::{Bandwidth, Decision, Refusal, Scored, StepTimes, Withheld};

/// The devices that a job gets, with what a reader must know about the choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Allocation {
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
    /// What the devices carry.
    #[serde(flatten)]
    pub bandwidth: Bandwidth,
    /// Better devices that the job does not get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// Reasons to doubt the decision, and hints.
    pub notes: Vec<String>,
    /// The communication time of a job whose bytes are known.
    #[serde(flatten)]
    pub times: StepTimes,
    /// The best placements on other sets of devices, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runners_up: Option<Vec<RunnerUp>>,
    /// In a stream of requests: the id of the request, a string or a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
}

/// A placement that was not chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunnerUp {
    /// The placement.
    #[serde(flatten)]
    pub scored: Scored,
    /// The first score on which it lost; `ids` if only its ids are higher.
    pub lost_on: String,
}

impl RunnerUp {
    /// The answers for the runners-up of a decision, best first.
    #[must_use]
    pub fn of(decision: &mapa_core::Decision, graph: &HardwareGraph) -> Vec<Self> {
        let runner_up = |other: &mapa_core::RunnerUp| Self {
            scored: Scored::new(&other.scored, graph),
            // A placement that loses on no score has higher ids, by which every policy decides last.
            lost_on: other.lost_on.as_deref().unwrap_or("ids").to_owned(),
        };
        decision.runners_up().iter().map(runner_up).collect()
    }
}

/// The answer to one line of a stream of requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Line {
    /// Devices.
    Allocation(Box<Allocation>),
    /// Something else that was asked for.
    Done(StreamEvent),
    /// Why the line could not be carried out.
    NotDone(NotDone),
}

/// The answer to a line of a stream that asks for no devices.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum StreamEvent {
    /// A lease was released.
    Release {
        /// Always true.
        ok: bool,
        /// The id of the request that had the lease.
        id: Value,
        /// The ids of the devices that are free again, in rank order.
        released: Vec<u32>,
    },
    /// Everything was released.
    Reset {
        /// Always true.
        ok: bool,
    },
    /// The state of the machine.
    Show {
        /// Always true.
        ok: bool,
        /// The ids of the free devices.
        free: Vec<u32>,
        /// The leases.
        held: Vec<Held>,
    },
}

/// A lease in a stream of requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Held {
    /// The id of the request that has it.
    pub id: Value,
    /// The ids of its devices, in rank order.
    pub placement: Option<Vec<u32>>,
}

/// The answer to a line that could not be carried out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum NotDone {
    /// The request was refused.
    Refused {
        /// The kind and the reason.
        #[serde(flatten)]
        refusal: Refusal,
        /// The id of the request, if the line has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Value>,
    },
    /// The line is malformed.
    Malformed {
        /// What the line asks for, if that can be read.
        op: Option<Value>,
        /// Always false.
        ok: bool,
        /// What is wrong, with the number of the line.
        error: String,
        /// The id of the request, if the line has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Value>,
    },
}
