//! Events, as they are written.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_core::mig::Instance;
use mapa_core::{DeviceId, HardwareGraph, MachineId, PortId, Request};
use mapa_sched::{Event, JobId, Latency, Signals, TaskId, Tenant, Time, Token};
use serde::{Deserialize, Serialize};

use super::action::{ActionLine, PlacedLine, later, layout_line, layout_of};
use super::job::{JobLine, checked, nanos};
use crate::error::Error;

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case", deny_unknown_fields)]
pub enum EventLine {
    /// A job has arrived.
    Arrived {
        /// The job.
        job: JobLine,
    },
    /// A job has ended well.
    Finished {
        /// Its number.
        job: u64,
    },
    /// A job has ended badly.
    Failed {
        /// Its number.
        job: u64,
    },
    /// A job was cancelled.
    Cancelled {
        /// Its number.
        job: u64,
    },
    /// A task of a running job requests a device.
    TaskBegin {
        /// The job.
        job: u64,
        /// The task.
        task: u64,
        /// The request.
        request: Request,
    },
    /// A task is over.
    TaskEnd {
        /// The job.
        job: u64,
        /// The task.
        task: u64,
    },
    /// The layout of a device.
    LayoutIs {
        /// The machine.
        machine: u32,
        /// The whole device.
        whole: u32,
        /// Its instances; none if it is whole.
        layout: Option<Vec<Instance>>,
    },
    /// Devices get no new tenants, or get some again.
    Cordoned {
        /// The machine.
        machine: u32,
        /// The whole device; none for all.
        whole: Option<u32>,
        /// Whether from now on.
        cordoned: bool,
    },
    /// Somebody else uses a device, or no longer does.
    Occupied {
        /// The machine.
        machine: u32,
        /// The whole device.
        whole: u32,
        /// Whether from now on.
        occupied: bool,
    },
    /// A device is unhealthy, or healthy again.
    Health {
        /// The machine.
        machine: u32,
        /// The whole device.
        whole: u32,
        /// What is wrong with it.
        fault: Option<String>,
    },
    /// A job runs already.
    Adopted {
        /// The job.
        job: JobLine,
        /// Where.
        at: PlacedLine,
        /// Since when, nanoseconds since the beginning.
        since: u64,
    },
    /// An action could not be carried out.
    ActionFailed {
        /// The action.
        action: ActionLine,
        /// Why.
        reason: String,
    },
    /// How much of a job's work is done.
    Progress {
        /// The job.
        job: u64,
        /// From 0 to 1.
        share: f64,
    },
    /// How long a request took.
    Latency {
        /// Who answered it.
        tenant: Tenant,
        /// How long, nanoseconds.
        latency_ns: u64,
    },
    /// What a machine's host has done lately.
    Signals {
        /// The machine.
        machine: u32,
        /// Block I/O: NUMA node, MB/s.
        block_io_mb_s: Vec<(u32, u32)>,
        /// Interrupts a second: NUMA node, number.
        interrupts: Vec<(u32, u32)>,
        /// PCIe traffic: port, MB/s.
        pcie_mb_s: Vec<(u32, u32)>,
    },
    /// A wake-up.
    Woken {
        /// Its token.
        token: u64,
    },
}

impl EventLine {
    /// The event as it is written.
    ///
    /// # Errors
    /// A kind of event that this version of the record does not know.
    pub fn of(event: &Event) -> Result<Self, Error> {
        Ok(match event {
            Event::Arrived(job) => Self::Arrived {
                job: JobLine::of(job),
            },
            Event::Finished(job) => Self::Finished { job: job.0 },
            Event::Failed(job) => Self::Failed { job: job.0 },
            Event::Cancelled(job) => Self::Cancelled { job: job.0 },
            Event::TaskBegin { job, task, request } => Self::TaskBegin {
                job: job.0,
                task: task.0,
                request: request.clone(),
            },
            Event::TaskEnd { job, task } => Self::TaskEnd {
                job: job.0,
                task: task.0,
            },
            Event::LayoutIs {
                machine,
                whole,
                layout,
            } => Self::LayoutIs {
                machine: machine.0,
                whole: whole.0,
                layout: layout_line(layout),
            },
            Event::Cordoned {
                machine,
                whole,
                cordoned,
            } => Self::Cordoned {
                machine: machine.0,
                whole: whole.map(|device| device.0),
                cordoned: *cordoned,
            },
            Event::Occupied {
                machine,
                whole,
                occupied,
            } => Self::Occupied {
                machine: machine.0,
                whole: whole.0,
                occupied: *occupied,
            },
            Event::Health {
                machine,
                whole,
                trouble,
            } => Self::Health {
                machine: machine.0,
                whole: whole.0,
                fault: trouble.clone(),
            },
            Event::Adopted { job, at, since } => Self::Adopted {
                job: JobLine::of(job),
                at: PlacedLine::of(at),
                since: since.0,
            },
            Event::ActionFailed { order, why } => Self::ActionFailed {
                action: ActionLine::of(order)?,
                reason: why.clone(),
            },
            Event::Progress { job, share } => Self::Progress {
                job: job.0,
                share: *share,
            },
            Event::Latency(latency) => Self::Latency {
                tenant: latency.tenant,
                latency_ns: nanos(latency.took),
            },
            Event::Signals(signals) => Self::Signals {
                machine: signals.machine.0,
                // A key of a JSON object is a text, and serde does not turn it back into a number within an enum that
                // has a tag. So the maps are written as lists of pairs.
                block_io_mb_s: pairs(&signals.block_io_mb_s),
                interrupts: pairs(&signals.interrupts),
                pcie_mb_s: signals
                    .pcie_mb_s
                    .iter()
                    .map(|(port, mb)| (port.0, *mb))
                    .collect(),
            },
            Event::Woken(token) => Self::Woken { token: token.0 },
            // `Event` may get more kinds: one that is new there must not be missing from the record without a
            // word.
            other => return Err(later(other)),
        })
    }

    /// The event on this machine.
    ///
    /// # Errors
    /// A device or profile that the machine does not have, a pattern that is none.
    pub fn event(&self, graph: &HardwareGraph) -> Result<Event, Error> {
        Ok(match self {
            Self::Arrived { job } => Event::Arrived(job.job(graph)?),
            Self::Finished { job } => Event::Finished(JobId(*job)),
            Self::Failed { job } => Event::Failed(JobId(*job)),
            Self::Cancelled { job } => Event::Cancelled(JobId(*job)),
            Self::TaskBegin { job, task, request } => Event::TaskBegin {
                job: JobId(*job),
                task: TaskId(*task),
                request: checked(request, graph)?,
            },
            Self::TaskEnd { job, task } => Event::TaskEnd {
                job: JobId(*job),
                task: TaskId(*task),
            },
            Self::LayoutIs {
                machine,
                whole,
                layout,
            } => Event::LayoutIs {
                machine: MachineId(*machine),
                whole: DeviceId(*whole),
                layout: layout_of(layout, DeviceId(*whole), graph)?,
            },
            // Machine and device are not checked here and below: `step` refuses an event about a device that the fleet
            // does not have, as it did when the event was recorded.
            Self::Cordoned {
                machine,
                whole,
                cordoned,
            } => Event::Cordoned {
                machine: MachineId(*machine),
                whole: whole.map(DeviceId),
                cordoned: *cordoned,
            },
            Self::Occupied {
                machine,
                whole,
                occupied,
            } => Event::Occupied {
                machine: MachineId(*machine),
                whole: DeviceId(*whole),
                occupied: *occupied,
            },
            Self::Health {
                machine,
                whole,
                fault,
            } => Event::Health {
                machine: MachineId(*machine),
                whole: DeviceId(*whole),
                trouble: fault.clone(),
            },
            Self::Adopted { job, at, since } => Event::Adopted {
                job: job.job(graph)?,
                // The lease is as it was recorded, and whether there is room for it is for the fleet to say.
                at: at.placed(),
                since: Time(*since),
            },
            Self::ActionFailed { action, reason } => Event::ActionFailed {
                order: action.action(graph)?,
                why: reason.clone(),
            },
            Self::Progress { job, share } => Event::Progress {
                job: JobId(*job),
                share: *share,
            },
            Self::Latency { tenant, latency_ns } => Event::Latency(Latency {
                tenant: *tenant,
                took: Duration::from_nanos(*latency_ns),
            }),
            Self::Signals {
                machine,
                block_io_mb_s,
                interrupts,
                pcie_mb_s,
            } => Event::Signals(Signals {
                machine: MachineId(*machine),
                block_io_mb_s: block_io_mb_s.iter().copied().collect(),
                interrupts: interrupts.iter().copied().collect(),
                pcie_mb_s: pcie_mb_s
                    .iter()
                    .map(|(port, mb)| (PortId(*port), *mb))
                    .collect(),
            }),
            Self::Woken { token } => Event::Woken(Token(*token)),
        })
    }
}

fn pairs(of: &BTreeMap<u32, u32>) -> Vec<(u32, u32)> {
    of.iter().map(|(key, value)| (*key, *value)).collect()
}
