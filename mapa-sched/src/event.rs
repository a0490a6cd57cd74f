//! Events that drivers report, and orders that schedulers give.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use mapa_core::mig::Layout;
use mapa_core::{DeviceId, LeaseId, MachineId, Placement, PortId, Refusal, Request};

use crate::job::{Job, JobId, TaskId, Tenant};
use crate::time::Time;

/// An event. Drivers report the state of things, not the outcome of an order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A job has arrived. A job whose start has failed may arrive again under its number.
    Arrived(Job),
    /// A job has ended well; what it and its tasks held is free.
    Finished(JobId),
    /// A job has ended badly; what it and its tasks held is free.
    Failed(JobId),
    /// A job was cancelled by its owner; what it and its tasks held is free.
    Cancelled(JobId),
    /// A task of a running job requests a device.
    TaskBegin {
        /// The running job that the task is a part of.
        job: JobId,
        /// The number of the task, unique within its job.
        task: TaskId,
        /// The device that the task needs. It is blocked until it has one.
        request: Request,
    },
    /// A task is over; what it held is free.
    TaskEnd {
        /// The job, which may go on.
        job: JobId,
        /// The number with which the task began. It may have been blocked until now.
        task: TaskId,
    },
    /// The current MIG layout of a device. Sent after a requested repartition, after a failed one,
    /// and when something else changed the layout.
    LayoutIs {
        /// The machine of the device.
        machine: MachineId,
        /// The id of the device as a whole, not of one of its instances.
        whole: DeviceId,
        /// All instances that the device has now. Instances with a tenant must be among them.
        layout: Layout,
    },
    /// A machine or a device gets no new tenants, or gets some again. Whoever is there stays. A job
    /// that only fits there waits: it is not rejected.
    Cordoned {
        /// The machine that an operator has cordoned, wholly or in part.
        machine: MachineId,
        /// The whole device; `None` for every device of the machine.
        whole: Option<DeviceId>,
        /// Whether it is cordoned from now on.
        cordoned: bool,
    },
    /// A foreign process has begun to use a device, or uses it no longer: one that no scheduler of
    /// this fleet started. Until then the device gets no new tenants. Present tenants stay.
    Occupied {
        /// The machine of the device.
        machine: MachineId,
        /// The whole device, even if the process uses only one of its instances.
        whole: DeviceId,
        /// False if no such process uses the device any more.
        occupied: bool,
    },
    /// A device is unhealthy (an error that its driver reports, or it is lost), or healthy again.
    /// While it is unhealthy, it gets no new tenants. Other events report what becomes of its
    /// tenants.
    Health {
        /// The machine of the device.
        machine: MachineId,
        /// The whole device: a fault withholds all its instances.
        whole: DeviceId,
        /// What is wrong with it, in one sentence; `None` if it is healthy.
        trouble: Option<String>,
    },
    /// A job runs already, on devices that this scheduler did not give it: the driver has
    /// restarted, or another program placed it. From now on it holds a lease there. Its end is
    /// reported like that of any other job.
    Adopted {
        /// The job. Its run time counts from `since`.
        job: Job,
        /// Its place on one machine: the lease in it is not read, the fleet gives it one.
        at: Assignment,
        /// When it began to run, which may be before the scheduler was started.
        since: Time,
    },
    /// An order could not be carried out. What a failed [`Action::Place`] had booked is free, and
    /// its job or task is gone from the scheduler as if it had [failed](Event::Failed). To let a job
    /// wait again, the driver tells [`Event::Arrived`] with its first time of arrival, in a later
    /// instant: whatever made the order fail may still last. Of other failed orders nothing is
    /// booked: [`Event::LayoutIs`] tells the layout that a device has, and a tenant that could not
    /// be moved or stopped is the subject of later events.
    ActionFailed {
        /// The order.
        order: Action,
        /// Why it failed, in one sentence.
        why: String,
    },
    /// How much of a running job's work is done.
    Progress {
        /// A job that runs.
        job: JobId,
        /// The share of its work that is done, from 0 to 1.
        share: f64,
    },
    /// The latency of one request to a tenant.
    Latency(Latency),
    /// What the host of a machine has done in the last window.
    Signals(Signals),
    /// The moment has come that [`Action::Wake`] named.
    Woken(Token),
}

impl Event {
    /// The job that leaves the system by this event: one that has ended, was cancelled, or could not
    /// be started.
    #[must_use]
    pub fn leaves(&self) -> Option<JobId> {
        match self {
            Self::Finished(job) | Self::Failed(job) | Self::Cancelled(job) => Some(*job),
            // Only a failed start ends a job: one that could not be moved, suspended or limited
            // still runs.
            Self::ActionFailed {
                order:
                    Action::Place {
                        tenant: Tenant::Job(job),
                        ..
                    },
                ..
            } => Some(*job),
            _ => None,
        }
    }
}

/// How long one request to a tenant has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The tenant that answered the request.
    pub tenant: Tenant,
    /// The time from the arrival of the request to the answer.
    pub took: Duration,
}

/// What a machine's host has done in the last window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// The machine whose host was sampled.
    pub machine: MachineId,
    /// Block I/O by NUMA node, MB/s.
    pub block_io_mb_s: BTreeMap<u32, u32>,
    /// Interrupts that the CPUs of each NUMA node have served.
    pub interrupts: BTreeMap<u32, u32>,
    /// PCIe traffic by root complex, MB/s.
    pub pcie_mb_s: BTreeMap<PortId, u32>,
}

/// The name that a scheduler gives to a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// The place of a tenant: its machines, leases and devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The machine of the first ranks.
    pub machine: MachineId,
    /// The lease that the tenant holds there.
    pub lease: LeaseId,
    /// The device of each of these ranks, in their order.
    pub placement: Placement,
    /// The places of further ranks, machine by machine; empty for a tenant on one machine.
    pub rest: Vec<AssignmentPart>,
}

/// Some consecutive ranks of a tenant that is on several machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignmentPart {
    /// The machine. No other part of the tenant is on it.
    pub machine: MachineId,
    /// The lease that the tenant holds there.
    pub lease: LeaseId,
    /// The device of each of these ranks.
    pub placement: Placement,
}

impl Assignment {
    /// The parts of a tenant by rank: the ranks, their machine, and the device of each rank.
    pub fn parts(&self) -> impl Iterator<Item = (Range<usize>, MachineId, &Placement)> {
        let rest = self.rest.iter().map(|part| (part.machine, &part.placement));
        let mut from = 0;
        std::iter::once((self.machine, &self.placement))
            .chain(rest)
            .map(move |(machine, placement)| {
                // Ranks are numbered through all parts: the first rank of a part follows the last
                // of the part before.
                let ranks = from..from + placement.len();
                from = ranks.end;
                (ranks, machine, placement)
            })
    }

    /// The machines of the tenant.
    pub fn machines(&self) -> impl Iterator<Item = MachineId> + '_ {
        std::iter::once(self.machine).chain(self.rest.iter().map(|part| part.machine))
    }

    /// The number of different devices of the tenant.
    #[must_use]
    pub fn devices(&self) -> usize {
        // No set: an event may name any device, and a set has a bit for each lower id.
        let is_first = |placement: &Placement, at: usize| !placement[..at].contains(&placement[at]);
        let of_part = |placement: &Placement| {
            let ranks = 0..placement.len();
            ranks.filter(|&at| is_first(placement, at)).count()
        };
        self.parts().map(|(.., placement)| of_part(placement)).sum()
    }
}

/// An order. Leases are booked before the order is given. A task that gets no `Place` is blocked. A
/// rollback is a `Move`, or a [`JobLimit`] that is lifted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// Start a job's process without a device; its tasks will request theirs.
    Launch {
        /// The job, which holds no lease of its own.
        job: JobId,
    },
    /// Start a tenant on the devices of its lease.
    Place {
        /// The tenant.
        tenant: Tenant,
        /// Its place.
        at: Assignment,
    },
    /// Move a running tenant to other devices.
    Move {
        /// The job or task, which runs.
        tenant: Tenant,
        /// Where it goes on. Its old devices are booked as free already.
        at: Assignment,
    },
    /// Stop a tenant; what it held is free.
    Suspend {
        /// The job or task, which runs.
        tenant: Tenant,
    },
    /// Change the MIG layout of a device.
    Repartition {
        /// The machine of the device.
        machine: MachineId,
        /// The id of the device as a whole.
        whole: DeviceId,
        /// All instances that the device shall have. Those that it has already stay.
        layout: Layout,
    },
    /// Limit a job, or lift a limit.
    Throttle {
        /// The job whose processes are limited.
        job: JobId,
        /// One kind of limit; the others on the job stay as they are.
        guard: JobLimit,
    },
    /// Reject a job, and report that to its owner.
    Reject {
        /// The job, which leaves the system by this.
        job: JobId,
        /// Why it is refused for good, for its owner.
        why: Refusal,
    },
    /// Report [`Event::Woken`] at that moment. If it is past, report it in an instant of its own
    /// right after this one.
    Wake {
        /// When to report it, at the earliest.
        at: Time,
        /// The token that the event carries back.
        token: Token,
    },
}

/// A limit on a job; `None` lifts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobLimit {
    /// The most block I/O, MB/s (10^6 bytes), each for reads and for writes.
    BlockIoMbPerS(Option<u32>),
    /// The most PCIe traffic, MB/s, of all devices of the job together.
    PcieMbPerS(Option<u32>),
    /// The share of the multiprocessors, percent.
    MpsPercent(Option<u8>),
    /// Whether the job must stay off the cores that serve interrupts.
    AvoidInterruptCores(bool),
}
