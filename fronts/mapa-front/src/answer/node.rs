//! What the daemon of a machine answers: its state, who holds what, and what the machine lacks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of the form of these questions and answers.
pub const NODE_VERSION: u32 = 1;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ask {
    /// How the daemon is.
    Status {},
    /// Who holds what.
    Leases {},
    /// Who waits.
    Queue {},
    /// All counters, as `/metrics` has them.
    Metrics {},
}

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// How the daemon is.
    Status {
        /// Its state.
        status: Box<Status>,
    },
    /// Who holds what.
    Leases {
        /// The leases that hold.
        leases: Vec<Holds>,
    },
    /// Who waits.
    Queue {
        /// The queue, first come first.
        queue: Vec<Waits>,
    },
    /// All counters.
    Metrics {
        /// In OpenMetrics' text form.
        text: String,
    },
    /// The question was none.
    Error {
        /// What is wrong with it, and what was expected.
        error: String,
    },
}

/// A lease.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holds {
    /// Its number.
    pub lease: i64,
    /// The tenant.
    pub tenant: String,
    /// The user.
    pub uid: u32,
    /// The devices, in rank order.
    pub devices: Vec<String>,
    /// Since when, nanoseconds since 1970.
    pub since: i64,
    /// Until when at the latest, nanoseconds since 1970.
    pub expires: Option<i64>,
    /// The place in the queue that it came from.
    pub ticket: Option<i64>,
    /// The process that does the work.
    pub pid: Option<i32>,
}

/// A place in the queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waits {
    /// Its number.
    pub ticket: i64,
    /// The tenant.
    pub tenant: String,
    /// Since when, nanoseconds since 1970.
    pub since: i64,
    /// Why.
    pub reason: String,
}

/// An answer of the socket with the version of its form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketAnswer {
    /// The version of the form: [`NODE_VERSION`].
    pub version: u32,
    /// The answer.
    pub is: Answer,
}

/// The state of a daemon: what its socket answers to `status`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// The release of MAPA.
    pub release: String,
    /// Its process.
    pub pid: u32,
    /// Since when it runs, nanoseconds since 1970.
    pub since: i64,
    /// The machine.
    pub machine: String,
    /// The scheduler, with its settings.
    pub scheduler: String,
    /// Whether it does nothing but tell.
    pub dry_run: bool,
    /// How many instants the scheduler has acted at.
    pub instants: u64,
    /// How many facts it was told.
    pub facts: u64,
    /// Leases that hold.
    pub leases: usize,
    /// Jobs that wait.
    pub waiting: usize,
    /// Whole devices that are free and not withheld.
    pub free: usize,
    /// Whole devices.
    pub devices: usize,
    /// The share of free devices outside the largest group that direct links join.
    pub fragmentation: f64,
    /// Orders that could not be carried out, by kind.
    pub failed_orders: BTreeMap<String, u64>,
    /// What went wrong lately, the latest last.
    pub troubles: Vec<Mishap>,
    /// The signals that could not be read last, where counters are read at all.
    pub missing: Vec<Gap>,
    /// The tenants whose latency is controlled by `[slo]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<TenantLatency>,
}

/// A tenant whose latency is controlled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TenantLatency {
    /// The tenant.
    pub tenant: String,
    /// The latency that its requests are promised, ms.
    pub latency_slo_ms: f64,
    /// The requests that it has told of.
    pub requests: u64,
    /// Of them, those that took longer.
    pub late: u64,
    /// Its place, of those that it can run at.
    pub place: u32,
    /// Whether its neighbours are throttled.
    pub throttling: bool,
    /// Whether its neighbours are inferred from counters, and not the named ones.
    pub inferred: bool,
}

/// A signal that could not be read. It is never told as zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// The signal, such as `gpu 3 pcie_retries`.
    pub what: String,
    /// Why.
    pub why: String,
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mishap {
    /// When, nanoseconds since 1970.
    pub at: i64,
    /// Where.
    pub place: String,
    /// What.
    pub what: String,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// As expected.
    Fine,
    /// It is not there: what needs it does not work, all else does.
    Missing,
    /// It is there and will not work.
    Broken,
}

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// What.
    pub what: String,
    /// How it is.
    pub is: Finding,
    /// What was found.
    pub found: String,
    /// What to do; none if nothing need be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The answer of `mapa-node doctor`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// The version of the form: [`NODE_VERSION`].
    pub version: u32,
    /// What was looked at.
    pub checks: Vec<Check>,
}

impl Diagnosis {
    /// Something is as expected.
    pub fn fine(&mut self, what: &str, found: impl Into<String>) {
        self.add(what, Finding::Fine, found, None);
    }

    /// Something is not there.
    pub fn missing(&mut self, what: &str, found: impl Into<String>, hint: &str) {
        self.add(what, Finding::Missing, found, Some(hint));
    }

    /// Something is there and will not work.
    pub fn broken(&mut self, what: &str, found: impl Into<String>, hint: &str) {
        self.add(what, Finding::Broken, found, Some(hint));
    }

    fn add(&mut self, what: &str, is: Finding, found: impl Into<String>, hint: Option<&str>) {
        self.checks.push(Check {
            what: what.to_owned(),
            is,
            found: found.into(),
            hint: hint.map(str::to_owned),
        });
    }
}
