//! The answers of the command `mapa`: leases, the queue, and the audit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Decision;

/// The answer of `mapa run`: printed by `--json` and `--dry-run`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunAnswer {
    /// The lease; none by `--dry-run`.
    pub lease: Option<i64>,
    /// The ids of the devices, in rank order.
    pub devices: Vec<u32>,
    /// The names of the devices, in rank order.
    pub names: Vec<String>,
    /// The decision, with its scores; none if a scheduler made it for the whole queue.
    pub decision: Option<Decision>,
    /// The variables that the command gets.
    pub environment: BTreeMap<String, String>,
    /// The variables that the command does not inherit.
    pub removed: Vec<String>,
    /// The NUMA nodes beside the devices.
    pub numa: Vec<u32>,
    /// The cores to which the command is bound; empty if it is not.
    pub cpus: Vec<usize>,
    /// The NUMA nodes to which the command's memory is bound; empty if it is not.
    pub memory: Vec<u32>,
    /// The nearest network cards.
    pub nics: Vec<String>,
    /// Notes, such as on settings that could not be applied, with the reason.
    pub notes: Vec<String>,
    /// When the lease ends at the latest, nanoseconds since 1970.
    pub expires_ns: Option<i64>,
}

/// The answer of `mapa ps`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ps {
    /// The leases that hold.
    pub leases: Vec<LeaseRow>,
    /// The queue, first come first.
    pub queue: Vec<TicketRow>,
    /// The cordons.
    pub cordons: Vec<Cordon>,
    /// The faults of devices.
    pub health: Vec<DeviceFault>,
}

/// A lease that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeaseRow {
    /// Its number.
    pub lease: i64,
    /// The tenant.
    pub tenant: String,
    /// The process that frees the devices at the end; of an adopted lease, one that still runs. None of a lease with
    /// an `owner`.
    pub pid: Option<i32>,
    /// The owner that ends the lease, if no process holds it.
    pub owner: Option<LeaseOwner>,
    /// The process of the command.
    pub command_pid: Option<i32>,
    /// Whether its requester has died while its processes go on.
    pub adopted: bool,
    /// The devices, in rank order.
    pub devices: Vec<String>,
    /// The faults of its devices, which it keeps.
    pub fault: Vec<String>,
    /// Since when, nanoseconds since 1970.
    pub granted_ns: i64,
    /// Until when at the latest, nanoseconds since 1970.
    pub expires_ns: Option<i64>,
    /// The command.
    pub command: String,
}

/// Whose word alone ends a lease that no process holds, such as a pod of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeaseOwner {
    /// The program that registers it, such as `kubernetes` or `slurm`.
    pub kind: String,
    /// Its name there, such as the UID of a pod.
    pub name: String,
}

/// A waiting job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TicketRow {
    /// The place, from 1.
    pub position: usize,
    /// Its number.
    pub ticket: i64,
    /// The tenant.
    pub tenant: String,
    /// The process that waits.
    pub pid: i32,
    /// The order of the queue.
    pub scheduler: String,
    /// Since when, nanoseconds since 1970.
    pub since_ns: i64,
    /// Why it waits.
    pub reason: String,
    /// The command.
    pub command: String,
}

/// A cordon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cordon {
    /// The device; empty for the machine.
    pub device: String,
    /// Since when, nanoseconds since 1970.
    pub time_ns: i64,
    /// The user who cordoned it.
    pub owner: String,
    /// Why.
    pub reason: String,
    /// Until when, nanoseconds since 1970.
    pub expires_ns: Option<i64>,
}

/// A fault of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceFault {
    /// The device.
    pub device: String,
    /// What kind of fault it is: `lost`, `xid` or `reset_required`; or what its links lack, for which it is not
    /// withheld: `links_down`, `pcie_lanes` or `pcie_generation`.
    pub kind: String,
    /// The fault, in words.
    pub detail: String,
    /// Since when, nanoseconds since 1970.
    pub time_ns: i64,
}

/// The answer of `mapa tenants`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tenants {
    /// The tenants, by name.
    pub tenants: Vec<Tenant>,
}

/// A tenant that has asked for devices at some time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tenant {
    /// The name.
    pub name: String,
    /// The user who used the name first.
    pub uid: u32,
    /// Since when, nanoseconds since 1970.
    pub since_ns: i64,
    /// How many leases it holds.
    pub leases: i64,
    /// How many devices and instances it holds.
    pub devices: i64,
    /// How many of its jobs wait.
    pub waiting: i64,
}

/// The answer of `mapa free`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Free {
    /// How many devices and instances are free.
    pub free: usize,
    /// How many there are.
    pub total: usize,
    /// Devices and instances.
    pub devices: Vec<DeviceAvailability>,
}

/// A device or an instance, and whether it is free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceAvailability {
    /// Its name.
    pub device: String,
    /// Whether it is free.
    pub free: bool,
    /// The lease that holds it.
    pub lease: Option<i64>,
    /// The owner that ends that lease, if no process holds it.
    pub owner: Option<LeaseOwner>,
    /// Why it is not free, if no lease explains it.
    pub withheld: Option<String>,
    /// The faults of its links, which do not withhold it. Decisions take that into account.
    pub degraded: Option<String>,
}

/// The answer of `mapa release LEASE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Released {
    /// The lease that has ended.
    pub released: i64,
    /// Why it was ended by force; absent if its processes have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced: Option<String>,
}

/// The answer of `mapa cordon`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cordoned {
    /// The devices; an empty name is the machine.
    pub cordoned: Vec<String>,
}

/// The answer of `mapa uncordon`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Uncordoned {
    /// The devices; an empty name is the machine.
    pub uncordoned: Vec<String>,
}

/// The answer of `mapa log`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Audit {
    /// The decisions, latest last.
    pub decisions: Vec<AuditRow>,
    /// The result of `--verify`; null without it.
    pub verified: Option<VerifiedAudit>,
}

/// An audit in which no row was changed, or removed from among the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifiedAudit {
    /// How many rows have a hash. Those of earlier releases have none.
    pub rows: u64,
    /// The hash of the last row, SHA-256 in hexadecimal: kept elsewhere, it tells later whether rows were removed at the
    /// end, or all were written anew.
    pub hash: String,
}

/// A row of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditRow {
    /// Its number.
    pub id: i64,
    /// When it was made, nanoseconds since 1970.
    pub time_ns: i64,
    /// The kind of decision.
    pub kind: String,
    /// The user who decided, by name or number.
    pub owner: String,
    /// The lease that it is about.
    pub lease: Option<i64>,
    /// The place in the queue that it is about.
    pub ticket: Option<i64>,
    /// The devices that it is about, in rank order.
    pub devices: Vec<String>,
    /// Why.
    pub reason: String,
    /// When it lapses by itself, nanoseconds since 1970.
    pub expires_ns: Option<i64>,
    /// The user whose process wrote it, as the kernel knows it. Null in rows of earlier releases.
    pub uid: Option<u32>,
    /// The command of the job that it is about.
    pub command: Option<String>,
    /// The exit status of that command, or 128 and the number of the signal that ended it.
    pub exit_status: Option<i32>,
}

/// The answer of `mapa recover`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recovered {
    /// The released leases.
    pub released: Vec<ReleasedLease>,
    /// The leases that were adopted.
    pub adopted: Vec<AdoptedLease>,
    /// The tickets whose process is gone.
    pub cancelled: Vec<i64>,
    /// The leases that hold.
    pub leases: Vec<i64>,
}

/// A lease that was released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReleasedLease {
    /// Its number.
    pub lease: i64,
    /// Whose it was.
    pub tenant: String,
    /// Why.
    pub reason: String,
}

/// A lease whose requester has died, and whose processes go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdoptedLease {
    /// Its number.
    pub lease: i64,
    /// Whose it is.
    pub tenant: String,
    /// A process of it that runs.
    pub pid: i32,
}
