//! What the ledger keeps, as types.

use std::time::SystemTime;

use mapa_live::Identity;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::owner::OutsideOwner;
use crate::memory::user_of;

/// A moment: nanoseconds since 1970, as the ledger keeps it.
pub type UnixNanos = i64;

/// Now, as the ledger counts.
#[must_use]
pub fn now() -> UnixNanos {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        UnixNanos::try_from(since.as_nanos()).unwrap_or(UnixNanos::MAX)
    })
}

/// Nanoseconds since the boot, with the time that the machine was suspended. No program can set this clock.
pub(crate) fn since_boot() -> i64 {
    let up = clock_gettime(ClockId::Boottime);
    (up.tv_sec.saturating_mul(1_000_000_000)).saturating_add(up.tv_nsec)
}

/// The file of a ledger, when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LedgerFile {
    /// Device and inode.
    pub place: (u64, u64),
    /// Whether nobody but its owner can open it: it is the daemon's, which knows by the kernel who asks.
    pub is_private: bool,
}

/// A device by names that last: ids are positions in a description, and change with it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct DeviceKey {
    /// The whole device: its UUID, else its PCI address, else its name.
    pub whole: String,
    /// Profile and start of an instance; empty for the whole device.
    pub part: String,
}

impl DeviceKey {
    /// A whole device, by its name.
    #[must_use]
    pub fn whole(name: &str) -> Self {
        Self {
            whole: name.to_owned(),
            part: String::new(),
        }
    }
}

impl std::fmt::Display for DeviceKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.whole)?;
        if self.part.is_empty() {
            return Ok(());
        }
        write!(f, "/{}", self.part)
    }
}

/// What a decision was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditKind {
    /// Devices were given.
    Grant,
    /// Devices were released.
    Release,
    /// A lease goes on though the program that held it is gone.
    Adopt,
    /// A job began to wait.
    Enqueue,
    /// A job left the queue without devices.
    Cancel,
    /// A device gets no new tenants.
    Cordon,
    /// A device gets new tenants again.
    Uncordon,
    /// A device has another layout.
    Layout,
    /// The ledger was bound to a machine.
    Machine,
    /// A daemon began to order the queue, or no longer does.
    Leader,
    /// A change was applied, reverted, or failed.
    Lever,
    /// A device has a fault: it gets no new tenants.
    Unhealthy,
    /// A device is healthy again.
    Healthy,
    /// A process of a lease computes on a device that the lease does not have.
    Stray,
    /// The time of a lease is up, and others end its processes.
    Expire,
    /// A user asks for the end of a lease.
    Terminate,
    /// The links of a device lack something. It gets new tenants nevertheless.
    Degraded,
    /// They lack it no more.
    Restored,
}

impl AuditKind {
    /// The word in the ledger.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Grant => "grant",
            Self::Release => "release",
            Self::Adopt => "adopt",
            Self::Enqueue => "enqueue",
            Self::Cancel => "cancel",
            Self::Cordon => "cordon",
            Self::Uncordon => "uncordon",
            Self::Layout => "layout",
            Self::Machine => "machine",
            Self::Leader => "leader",
            Self::Lever => "lever",
            Self::Unhealthy => "unhealthy",
            Self::Healthy => "healthy",
            Self::Stray => "stray",
            Self::Expire => "expire",
            Self::Terminate => "terminate",
            Self::Degraded => "degraded",
            Self::Restored => "restored",
        }
    }
}

/// A decision that is about to be noted.
#[derive(Clone, Copy, Debug)]
pub struct AuditEntry<'a> {
    /// The kind of change that was made with it.
    pub kind: AuditKind,
    /// The user or daemon that decided, as `mapa log` prints it. A tenant's name where a job decided for itself.
    pub owner: &'a str,
    /// The lease that it is about; `None` if it is about none, or the lease has no number yet.
    pub lease: Option<i64>,
    /// The ticket that it is about, also where the job has left the queue since.
    pub ticket: Option<i64>,
    /// The devices that it is about, as their [`DeviceKey`]s are printed. Empty stands for the machine, or for no
    /// device.
    pub devices: &'a [String],
    /// Why, in a sentence for people.
    pub reason: &'a str,
    /// When a lease or cordon ends by itself; `None` if it does not.
    pub expires: Option<UnixNanos>,
    /// The command of the job that it is about.
    pub command: Option<&'a str>,
    /// How that command has ended: its exit status, or 128 and the number of a signal.
    pub status: Option<i32>,
}

impl<'a> AuditEntry<'a> {
    /// A note on no lease, place or device, which does not lapse.
    #[must_use]
    pub fn new(kind: AuditKind, owner: &'a str, reason: &'a str) -> Self {
        Self {
            kind,
            owner,
            lease: None,
            ticket: None,
            devices: &[],
            reason,
            expires: None,
            command: None,
            status: None,
        }
    }
}

/// Who asks for devices, and what for: what a lease and a place in the queue have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Requester {
    /// The name under which its leases are accounted: `--tenant`, else the user.
    pub tenant: String,
    /// The effective user of its process, as the kernel knows it.
    pub uid: u32,
    /// The process whose life keeps the lease or the ticket valid.
    pub process: Identity,
    /// The command line in one string, for people: its parts cannot be told apart again.
    pub command: String,
    /// The policy in JSON, so that another program can decide by it; the name of a manager of shared instances.
    pub policy: String,
    /// The request in JSON; for a manager of shared instances, the file of their tasks.
    pub spec: String,
}

impl Requester {
    /// The requester in the audit: the user, and `--tenant` if it is another name.
    #[must_use]
    pub fn audited(&self) -> String {
        let user = user_of(self.uid);
        if user == self.tenant {
            user
        } else {
            format!("{user} as {}", self.tenant)
        }
    }
}

/// A lease.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    /// Its number. No other lease of the ledger ever has it.
    pub id: i64,
    /// Who holds it. The process is the one that frees the devices at the end: see [`process`](Self::process).
    pub asker: Requester,
    /// Whose word alone ends it, if no process holds it.
    pub owner: Option<OutsideOwner>,
    /// The process that does the work, and its start.
    pub child: Option<Identity>,
    /// Whether the process that held it is gone, and what it had started goes on.
    pub adopted: bool,
    /// The devices, in rank order.
    pub devices: Vec<DeviceKey>,
    /// When it was given.
    pub granted: UnixNanos,
    /// When it ends at the latest, for people.
    pub expires: Option<UnixNanos>,
    /// When it ends at the latest, nanoseconds since the boot.
    pub deadline: Option<i64>,
    /// The place in the queue that it came from.
    pub ticket: Option<i64>,
    /// The folder of the control group that its processes were put into, if the kernel let us.
    pub cgroup: Option<String>,
    /// The folder of the control group into which a daemon moves them to limit them, if they leave the other for it.
    pub limited: Option<String>,
}

impl Lease {
    /// The process whose life keeps the lease valid; none if its owner is outside.
    #[must_use]
    pub fn process(&self) -> Option<&Identity> {
        self.owner.is_none().then_some(&self.asker.process)
    }
}

/// What can be wrong with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// It has fallen off the bus, or does nothing before a reset.
    Lost,
    /// Its driver reported an error that is not a program's.
    Xid,
    /// Its driver requires a reset or a reboot.
    ResetRequired,
    /// Some of its direct links are down.
    LinksDown,
    /// Its PCIe link has fewer lanes than device and slot have.
    PcieLanes,
    /// Its PCIe link runs at a lower generation than device and slot have, though it computes.
    PcieGeneration,
}

impl FaultKind {
    /// The kinds that concern links: they withhold no device.
    pub const OF_LINKS: [Self; 3] = [Self::LinksDown, Self::PcieLanes, Self::PcieGeneration];

    /// Whether a word of the ledger stands for a kind that concerns links.
    #[must_use]
    pub fn is_of_links(name: &str) -> bool {
        Self::OF_LINKS.iter().any(|kind| kind.name() == name)
    }

    /// The word in the ledger.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Xid => "xid",
            Self::ResetRequired => "reset_required",
            Self::LinksDown => "links_down",
            Self::PcieLanes => "pcie_lanes",
            Self::PcieGeneration => "pcie_generation",
        }
    }
}

/// A place in the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticket {
    /// Its number. The lower, the earlier: numbers are never used twice.
    pub id: i64,
    /// The job that waits. Its program fetches the answer.
    pub asker: Requester,
    /// The scheduler that orders the queue, or `first-come`. The same for all who wait.
    pub scheduler: String,
    /// How long the job will run at most, if its owner says so, seconds.
    pub seconds: Option<u64>,
    /// When it came to the queue.
    pub since: UnixNanos,
    /// Why it does not start yet, as of the last poll.
    pub reason: String,
    /// The lease that it was given.
    pub lease: Option<i64>,
    /// Why it will never get one: the refusal's kind, a colon, the reason.
    pub refusal: Option<String>,
}

/// The daemon that orders the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueLeader {
    /// The daemon's process. It may be dead, or stopped.
    pub process: Identity,
    /// The scheduler by which it orders the queue.
    pub scheduler: String,
    /// Since when it does.
    pub since: UnixNanos,
    /// When it last wrote that it is there: at the beginning of each of its changes.
    pub heartbeat: UnixNanos,
}
