//! What the daemon of a machine answers: its state, who holds what, and what the machine lacks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Decision;
use super::mapa::{
    Audit, Cordoned, Free, LeaseOwner, Ps, Recovered, Released, Tenants, Uncordoned,
};

/// The version of the form of these queries and answers, and of those of the program `mapa`.
pub const NODE_VERSION: u32 = 2;

/// A query. The daemon answers each with one line, but `run` with `queued` first if the job waits, and again whenever that
/// changes. The kernel identifies the process and the user at the other end of the socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "query", rename_all = "kebab-case", deny_unknown_fields)]
pub enum NodeQuery {
    /// How the daemon is.
    Status {},
    /// All counters, as `/metrics` has them.
    Metrics {},
    /// Devices for the process that asks.
    Run {
        /// The job.
        request: Box<RunQuery>,
    },
    /// Devices again, for a process whose connection was lost while it waited.
    Resume {
        /// Its place in the queue.
        ticket: i64,
    },
    /// The process that asks leaves the queue, and gives back what it was given just then.
    Cancel {
        /// Its place in the queue.
        ticket: i64,
        /// Why.
        reason: String,
    },
    /// The command of a lease has a process, which has not begun yet.
    Started {
        /// The lease.
        lease: i64,
        /// The process, as the PID namespace of the process that asks numbers it.
        pid: i32,
        /// When it began, in ticks of the clock since the boot, as `/proc/PID/stat` has it.
        start: i64,
        /// The inode of its PID namespace.
        namespace: i64,
        /// The folder of the control group in which it was born.
        cgroup: Option<String>,
    },
    /// All processes of a lease are in a control group by now.
    Grouped {
        /// The lease.
        lease: i64,
        /// The folder of the group.
        cgroup: String,
    },
    /// The command of a lease has ended, and all that it had started.
    Ended {
        /// The lease.
        lease: i64,
        /// How it ended.
        reason: String,
        /// Its exit status; absent if it never began.
        status: Option<u8>,
    },
    /// As `mapa ps`.
    Ps {},
    /// As `mapa free`.
    Free {},
    /// As `mapa tenants`.
    Tenants {},
    /// As `mapa log`.
    Log {
        /// How many decisions at most.
        last: usize,
        /// Of this lease only.
        lease: Option<i64>,
        /// Whether the hashes are checked.
        verify: bool,
    },
    /// As `mapa release`: for the lease's user and for operators, the users who are root or run the daemon.
    Release {
        /// The lease.
        lease: i64,
        /// Whether it ends although its processes do not.
        force: bool,
    },
    /// As `mapa cordon`: for operators.
    Cordon {
        /// The devices; none stands for the machine.
        devices: Vec<String>,
        /// Why.
        reason: String,
        /// For how long, seconds.
        seconds: Option<u64>,
    },
    /// As `mapa uncordon`: for operators.
    Uncordon {
        /// The devices; none stands for the machine.
        devices: Vec<String>,
        /// Why.
        reason: String,
    },
    /// As `mapa recover`: for operators.
    Recover {},
    /// An owner outside has these devices, which it has chosen itself: for operators.
    Register {
        /// Whose word alone ends the lease.
        owner: LeaseOwner,
        /// The devices, in rank order.
        devices: Vec<String>,
        /// Why.
        reason: String,
    },
    /// Devices that are free now, for an owner outside: for operators.
    Choose {
        /// Whose word alone ends the lease.
        owner: LeaseOwner,
        /// The request, in JSON.
        spec: String,
        /// The policy, in JSON.
        policy: String,
    },
    /// An owner outside says that nothing of its lease computes any more: for operators.
    Unregister {
        /// The owner.
        owner: LeaseOwner,
        /// The lease.
        lease: i64,
    },
    /// The leases of owners of one kind.
    Registered {
        /// The kind, such as `kubernetes`.
        kind: String,
    },
}

/// A job that asks for devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunQuery {
    /// The tenant; the user, if absent.
    pub tenant: Option<String>,
    /// The command, for people.
    pub command: String,
    /// The machine whose devices it can use.
    pub machine: String,
    /// The policy, in JSON as `--json` writes it.
    pub policy: String,
    /// The request, in JSON.
    pub spec: String,
    /// The order of the queue that it expects.
    pub scheduler: String,
    /// How long it runs at most, seconds.
    pub seconds: Option<u64>,
    /// Whether it waits.
    pub wait: bool,
    /// Whether devices are chosen only to be shown.
    pub dry_run: bool,
    /// Whether the drivers are asked who uses the devices.
    pub check_drivers: bool,
    /// Whether the process, which has one job, has asked before and lost the connection before it was answered: then it gets
    /// the place in the queue, or the devices, that it has.
    #[serde(default)]
    pub again: bool,
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
    /// All counters.
    Metrics {
        /// In OpenMetrics' text form.
        text: String,
    },
    /// The job has a place in the queue.
    Queued {
        /// Its number.
        ticket: i64,
        /// The place, from 1.
        position: usize,
        /// How many wait.
        length: usize,
        /// Why it waits.
        reason: String,
    },
    /// The job has devices.
    Granted {
        /// Which.
        grant: Box<Grant>,
    },
    /// The job gets none.
    Refused {
        /// `busy`, `infeasible` or `limit_reached`.
        kind: String,
        /// Why.
        reason: String,
    },
    /// The devices that `dry_run` has chosen.
    Chosen {
        /// Their names in the ledger, in rank order.
        devices: Vec<GrantedDevice>,
        /// The decision.
        decision: Box<Decision>,
    },
    /// The ledger has what the query said.
    Noted {},
    /// A warning for the owner of a lease.
    Notice {
        /// For people.
        text: String,
    },
    /// The leases and the queue.
    Ps {
        /// As `mapa ps`.
        ps: Box<Ps>,
    },
    /// Which devices are free.
    Free {
        /// As `mapa free`.
        free: Free,
    },
    /// All tenants.
    Tenants {
        /// As `mapa tenants`.
        tenants: Tenants,
    },
    /// The audit.
    Log {
        /// As `mapa log`.
        log: Audit,
    },
    /// A lease has ended.
    Release {
        /// As `mapa release`.
        released: Released,
    },
    /// Devices are cordoned.
    Cordon {
        /// As `mapa cordon`.
        cordoned: Cordoned,
    },
    /// Cordons are lifted.
    Uncordon {
        /// As `mapa uncordon`.
        uncordoned: Uncordoned,
    },
    /// The result of a recovery.
    Recover {
        /// As `mapa recover`.
        recovered: Recovered,
    },
    /// Leases that no process holds.
    Registered {
        /// By number.
        leases: Vec<OutsideRow>,
    },
    /// Whether a lease that no process held has ended just now.
    Unregistered {
        /// False if it had ended before.
        ended: bool,
    },
    /// There is no answer.
    Error {
        /// The error, with the form that was expected.
        error: String,
        /// Whether the query makes no sense, or something on the machine has failed.
        #[serde(default)]
        failed: bool,
    },
}

/// The devices that a job got.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grant {
    /// The lease.
    pub lease: i64,
    /// The name of the ledger: with the lease's number it makes the mark of its processes, `LEDGER:LEASE`.
    pub ledger: String,
    /// The devices, in rank order.
    pub devices: Vec<GrantedDevice>,
    /// Since when, nanoseconds since 1970.
    pub since_ns: i64,
    /// Until when at the latest, nanoseconds since 1970.
    pub expires_ns: Option<i64>,
    /// Until when at the latest, nanoseconds since the boot.
    pub deadline_ns: Option<i64>,
    /// The place in the queue that it came from.
    pub ticket: Option<i64>,
    /// The decision; absent if a scheduler made it for the whole queue.
    pub decision: Option<Decision>,
}

/// A lease that no process holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutsideRow {
    /// Its number.
    pub lease: i64,
    /// Whose word alone ends it.
    pub owner: LeaseOwner,
    /// The user who registered it.
    pub uid: u32,
    /// The devices, in rank order.
    pub devices: Vec<GrantedDevice>,
    /// Since when, nanoseconds since 1970.
    pub since_ns: i64,
}

/// A device as the ledger names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrantedDevice {
    /// The whole device: its UUID, else its PCI address, else its name.
    pub whole: String,
    /// Profile and start of an instance; empty for the whole device.
    pub part: String,
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
