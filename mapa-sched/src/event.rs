//! Facts that drivers tell, and orders that schedulers give.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use mapa_core::mig::Layout;
use mapa_core::{DeviceId, LeaseId, MachineId, Placement, PortId, Refusal, Request};

use crate::job::{Job, JobId, TaskId, Tenant};
use crate::time::Time;

/// A fact. Drivers tell what is, not what came of an order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A job is there.
    Arrived(Job),
    /// A job has ended well; what it and its tasks held is free.
    Finished(JobId),
    /// A job has ended badly; what it and its tasks held is free.
    Failed(JobId),
    /// A job's owner has withdrawn it; what it and its tasks held is free.
    Cancelled(JobId),
    /// A task of a running job asks for a device.
    TaskBegin {
        /// The job.
        job: JobId,
        /// The task.
        task: TaskId,
        /// What it asks for.
        request: Request,
    },
    /// A task is over; what it held is free.
    TaskEnd {
        /// The job.
        job: JobId,
        /// The task.
        task: TaskId,
    },
    /// A device is cut up so: whether it was asked for, has failed, or was changed behind our back.
    LayoutIs {
        /// The machine.
        machine: MachineId,
        /// The whole device.
        whole: DeviceId,
        /// Its layout.
        layout: Layout,
    },
    /// A request that a tenant answers has taken so long.
    Latency(Latency),
    /// What a machine's host does.
    Signals(Signals),
    /// The moment that was asked for with [`Action::Wake`].
    Woken(Token),
}

/// How long one request to a tenant has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Who answered it.
    pub tenant: Tenant,
    /// From its arrival to its answer.
    pub took: Duration,
}

/// What a machine's host has done in the last window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// The machine.
    pub machine: MachineId,
    /// Block I/O by NUMA node, MB/s.
    pub block_io_mb_s: BTreeMap<u32, u32>,
    /// Interrupts by NUMA node.
    pub interrupts: BTreeMap<u32, u32>,
    /// PCIe traffic by root complex, MB/s.
    pub pcie_mb_s: BTreeMap<PortId, u32>,
}

/// What a scheduler calls a moment that it asked to be woken at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// Where a tenant is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The machine.
    pub machine: MachineId,
    /// The lease it holds there.
    pub lease: LeaseId,
    /// The device of each rank.
    pub placement: Placement,
    /// Where the ranks after those are, machine by machine; empty unless it is on several.
    pub rest: Vec<Part>,
}

/// Some consecutive ranks of a tenant that is on several machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The machine.
    pub machine: MachineId,
    /// The lease that the tenant holds there.
    pub lease: LeaseId,
    /// The device of each of these ranks.
    pub placement: Placement,
}

impl Placed {
    /// Its parts by rank: the ranks, their machine, and the device of each.
    pub fn parts(&self) -> impl Iterator<Item = (Range<usize>, MachineId, &Placement)> {
        let rest = self.rest.iter().map(|part| (part.machine, &part.placement));
        let mut from = 0;
        std::iter::once((self.machine, &self.placement)).chain(rest).map(move |(machine, placement)| {
            let ranks = from..from + placement.len();
            from = ranks.end;
            (ranks, machine, placement)
        })
    }

    /// The machines that it is on.
    pub fn machines(&self) -> impl Iterator<Item = MachineId> + '_ {
        std::iter::once(self.machine).chain(self.rest.iter().map(|part| part.machine))
    }

    /// How many different devices it has.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.parts().map(|(.., placement)| placement.set().len()).sum()
    }
}

/// An order. Leases are booked already when it is given; a task that gets no `Place` is blocked; a rollback is a `Move` or a
/// lifted guard.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// Start a job's process without a device; its tasks will ask for theirs.
    Launch {
        /// The job.
        job: JobId,
    },
    /// Start a tenant there.
    Place {
        /// Who.
        tenant: Tenant,
        /// Where.
        at: Placed,
    },
    /// Move a tenant there.
    Move {
        /// Who.
        tenant: Tenant,
        /// Where to.
        at: Placed,
    },
    /// Stop a tenant; what it held is free.
    Suspend {
        /// Who.
        tenant: Tenant,
    },
    /// Cut a device up so.
    Repartition {
        /// The machine.
        machine: MachineId,
        /// The whole device.
        whole: DeviceId,
        /// What it shall be.
        layout: Layout,
    },
    /// Hold a job back, or let it go.
    Throttle {
        /// The job.
        job: JobId,
        /// How.
        guard: Guard,
    },
    /// Tell a job's owner no.
    Reject {
        /// The job.
        job: JobId,
        /// Why.
        why: Refusal,
    },
    /// Say [`Event::Woken`] at that moment; in an instant of its own right after this one, if it is past.
    Wake {
        /// When.
        at: Time,
        /// What to say.
        token: Token,
    },
}

/// What a job is held back by; `None` lifts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Guard {
    /// Its block I/O, MB/s.
    BlockIoMbPerS(Option<u32>),
    /// Its PCIe traffic, MB/s.
    PcieMbPerS(Option<u32>),
    /// Its share of the multiprocessors, percent.
    MpsPercent(Option<u8>),
    /// Whether it must keep off the cores that serve interrupts.
    AvoidInterruptCores(bool),
}
