//! The lines of a record.

use serde::{Deserialize, Serialize};

use super::action::ActionLine;
use super::event::EventLine;
use crate::machine::MachineSpec;
use crate::names::{ExecutionSpec, PolicySpec, SchedulerSpec};
#[cfg(feature = "slo")]
use crate::systems::LatencyLine;

/// The version of the form of a record.
// To be raised when lines change their form or meaning: a replay refuses every other version.
pub const RECORD_VERSION: u32 = 2;

/// A line of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "line",
    content = "is",
    rename_all = "kebab-case",
    deny_unknown_fields
)]
pub enum RecordLine {
    /// A daemon has begun: what follows was told to a fresh scheduler.
    Head(Box<RecordHead>),
    /// One turn of the scheduler.
    Turn(TurnLine),
    /// A line of the log of a tenant whose latency is controlled: the settings of its controller, or a decision.
    #[cfg(feature = "slo")]
    Latency(Box<LatencyLine>),
    /// A hash of the lines since the last seal and of that seal: SHA-256 of its 64 hexadecimal digits, if there is one,
    /// and of the lines with their ends. `mapa-node replay` checks it.
    Seal(String),
}

/// What a record begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecordHead {
    /// The version of the form: [`RECORD_VERSION`].
    pub version: u32,
    /// The release of MAPA that wrote it. Another release may decide otherwise.
    pub release: String,
    /// The scheduler, with its settings.
    pub scheduler: SchedulerSpec,
    /// The policy by which it places jobs.
    pub policy: PolicySpec,
    /// The model of run times that it is given.
    pub execution: ExecutionSpec,
    /// The machine, as the text of a machine file.
    // The contents and not a name or a path: where the record is replayed, these may stand for another machine.
    pub machine: String,
    /// What the request has changed of the machine's description.
    #[serde(default)]
    pub changes: MachineSpec,
    /// The moment 0 of the record, nanoseconds since 1970.
    pub began: i64,
}

/// One turn of the scheduler: its events, in the order in which it received them, and its actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnLine {
    /// Its moment, nanoseconds since the beginning.
    pub now: u64,
    /// The events.
    pub events: Vec<EventLine>,
    /// The actions.
    pub actions: Vec<ActionLine>,
}
