//! What the daemon of a machine answers: its state, who holds what, and what the machine lacks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of the form of these queries and answers, and of those of the program `mapa`.
pub const NODE_VERSION: u32 = 2;

/// A query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "query", rename_all = "kebab-case", deny_unknown_fields)]
pub enum NodeQuery {
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
pub enum NodeAnswer {
    /// How the daemon is.
    Status {
        /// Its state.
        status: Box<Status>,
    },
    /// Who holds what.
    Leases {
        /// The leases that hold.
        leases: Vec<LeaseStatus>,
    },
    /// Who waits.
    Queue {
        /// The queue, first come first.
        queue: Vec<TicketStatus>,
    },
    /// All counters.
    Metrics {
        /// In OpenMetrics' text form.
        text: String,
    },
    /// The query was malformed.
    Error {
        /// What is wrong with it, and what was expected.
        error: String,
    },
}

/// A lease.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeaseStatus {
    /// Its number.
    pub lease: i64,
    /// The tenant.
    pub tenant: String,
    /// The user.
    pub uid: u32,
    /// The devices, in rank order.
    pub devices: Vec<String>,
    /// Since when, nanoseconds since 1970.
    pub since_ns: i64,
    /// Until when at the latest, nanoseconds since 1970.
    pub expires_ns: Option<i64>,
    /// The place in the queue that it came from.
    pub ticket: Option<i64>,
    /// The process that does the work.
    pub pid: Option<i32>,
}

/// A place in the queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TicketStatus {
    /// Its number.
    pub ticket: i64,
    /// The tenant.
    pub tenant: String,
    /// Since when, nanoseconds since 1970.
    pub since_ns: i64,
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
    pub result: NodeAnswer,
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
    pub since_ns: i64,
    /// The machine.
    pub machine: String,
    /// The scheduler, with its settings.
    pub scheduler: String,
    /// Whether it applies no change to the machine.
    pub dry_run: bool,
    /// How many turns the scheduler has had.
    pub turns: u64,
    /// How many events it has received.
    pub events: u64,
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
    /// Actions that could not be carried out, by kind.
    pub action_failures: BTreeMap<String, u64>,
    /// What went wrong lately, the latest last.
    pub errors: Vec<RecentError>,
    /// The signals that could not be read last, where counters are read at all.
    pub missing: Vec<UnreadSignal>,
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
pub struct UnreadSignal {
    /// The signal, such as `gpu 3 pcie_retries`.
    pub signal: String,
    /// Why it could not be read.
    pub reason: String,
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecentError {
    /// When, nanoseconds since 1970.
    pub time_ns: i64,
    /// Where: a component of the daemon, such as `ledger`, `drivers` or `levers`.
    pub component: String,
    /// What went wrong.
    pub error: String,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CheckStatus {
    /// As expected.
    Ok,
    /// It is not there: what needs it does not work, all else does.
    Missing,
    /// It is there and will not work.
    Broken,
}

/// A check of a prerequisite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// What was checked.
    pub check: String,
    /// How it is.
    pub status: CheckStatus,
    /// What was found.
    pub detail: String,
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
    /// The checks.
    pub checks: Vec<Check>,
}

impl Diagnosis {
    /// Something is as expected.
    pub fn ok(&mut self, check: &str, detail: impl Into<String>) {
        self.add(check, CheckStatus::Ok, detail, None);
    }

    /// Something is not there.
    pub fn missing(&mut self, check: &str, detail: impl Into<String>, hint: &str) {
        self.add(check, CheckStatus::Missing, detail, Some(hint));
    }

    /// Something is there and will not work.
    pub fn broken(&mut self, check: &str, detail: impl Into<String>, hint: &str) {
        self.add(check, CheckStatus::Broken, detail, Some(hint));
    }

    fn add(
        &mut self,
        check: &str,
        status: CheckStatus,
        detail: impl Into<String>,
        hint: Option<&str>,
    ) {
        self.checks.push(Check {
            check: check.to_owned(),
            status,
            detail: detail.into(),
            hint: hint.map(str::to_owned),
        });
    }
}
