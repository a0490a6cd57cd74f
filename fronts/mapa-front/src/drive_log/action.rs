//! Actions, as they are written.

use mapa_core::mig::{Instance, Layout};
use mapa_core::{
    DeviceId, HardwareGraph, LeaseId, MachineId, Placement, Reason, Refusal, SearchStats,
};
use mapa_sched::{Action, Assignment, AssignmentPart, JobId, JobLimit, Tenant, Time, Token};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// An action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ActionLine {
    /// Start a job's process without a device.
    Launch {
        /// The job.
        job: u64,
    },
    /// Start a tenant.
    Place {
        /// The tenant.
        tenant: Tenant,
        /// Where.
        at: PlacedLine,
    },
    /// Move a tenant.
    Move {
        /// The tenant.
        tenant: Tenant,
        /// Where to.
        at: PlacedLine,
    },
    /// Stop a tenant.
    Suspend {
        /// The tenant.
        tenant: Tenant,
    },
    /// Repartition a device.
    Repartition {
        /// The machine.
        machine: u32,
        /// The whole device.
        whole: u32,
        /// Its new instances; none for a device that is whole.
        layout: Option<Vec<Instance>>,
    },
    /// Limit a job, or lift a limit.
    Throttle {
        /// The job.
        job: u64,
        /// The limit.
        guard: GuardLine,
    },
    /// Reject a job.
    Reject {
        /// The job.
        job: u64,
        /// Why.
        reason: RefusalLine,
    },
    /// Wake the scheduler.
    Wake {
        /// When, nanoseconds since the beginning.
        at: u64,
        /// The token.
        token: u64,
    },
}

/// The place of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlacedLine {
    /// The machine.
    pub machine: u32,
    /// The lease that the fleet has booked.
    pub lease: u64,
    /// The device of each rank.
    pub devices: Placement,
    /// Further ranks on other machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rest: Vec<PlacedPart>,
}

/// Some ranks of a tenant on a further machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlacedPart {
    /// The machine.
    pub machine: u32,
    /// The lease.
    pub lease: u64,
    /// The device of each of these ranks.
    pub devices: Placement,
}

/// A limit on a job; none lifts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "limit", content = "value", rename_all = "kebab-case")]
pub enum GuardLine {
    /// Block I/O, MB/s.
    BlockIoMbPerS(Option<u32>),
    /// PCIe traffic, MB/s.
    PcieMbPerS(Option<u32>),
    /// The share of the multiprocessors, percent.
    MpsPercent(Option<u8>),
    /// Whether the job must stay off the cores that serve interrupts.
    AvoidInterruptCores(bool),
}

/// Why a job was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "kind",
    content = "reason",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum RefusalLine {
    /// Not now, for this reason.
    Busy(String),
    /// Never, for this reason.
    Infeasible(String),
    /// The search stopped before it found any placement.
    LimitReached(SearchStats),
}

impl RefusalLine {
    fn of(why: &Refusal) -> Self {
        match why {
            // `Reason` gets more kinds from release to release, so the record has its text.
            Refusal::Busy(_) => Self::Busy(why.to_string()),
            Refusal::Infeasible(_) => Self::Infeasible(why.to_string()),
            Refusal::LimitReached(stats) => Self::LimitReached(*stats),
        }
    }

    fn refusal(&self) -> Refusal {
        match self {
            // The structure of the reason is lost, but its text reads the same.
            Self::Busy(why) => Refusal::Busy(Reason::Rule(why.clone().into())),
            Self::Infeasible(why) => Refusal::Infeasible(Reason::Rule(why.clone().into())),
            Self::LimitReached(stats) => Refusal::LimitReached(*stats),
        }
    }
}

impl ActionLine {
    /// The action as it is written.
    ///
    /// # Errors
    /// A kind of action that this version of the record does not know.
    pub fn of(action: &Action) -> Result<Self, Error> {
        Ok(match action {
            Action::Launch { job } => Self::Launch { job: job.0 },
            Action::Place { tenant, at } => Self::Place {
                tenant: *tenant,
                at: PlacedLine::of(at),
            },
            Action::Move { tenant, at } => Self::Move {
                tenant: *tenant,
                at: PlacedLine::of(at),
            },
            Action::Suspend { tenant } => Self::Suspend { tenant: *tenant },
            Action::Repartition {
                machine,
                whole,
                layout,
            } => Self::Repartition {
                machine: machine.0,
                whole: whole.0,
                layout: layout_line(layout),
            },
            Action::Throttle { job, guard } => Self::Throttle {
                job: job.0,
                guard: match guard {
                    JobLimit::BlockIoMbPerS(own) => GuardLine::BlockIoMbPerS(*own),
                    JobLimit::PcieMbPerS(own) => GuardLine::PcieMbPerS(*own),
                    JobLimit::MpsPercent(own) => GuardLine::MpsPercent(*own),
                    JobLimit::AvoidInterruptCores(own) => GuardLine::AvoidInterruptCores(*own),
                    // A limit or an action that is new must not be missing from the record without a word: see
                    // `EventLine::of`.
                    other => return Err(later(other)),
                },
            },
            Action::Reject { job, why } => Self::Reject {
                job: job.0,
                reason: RefusalLine::of(why),
            },
            Action::Wake { at, token } => Self::Wake {
                at: at.0,
                token: token.0,
            },
            other => return Err(later(other)),
        })
    }

    /// The action on this machine. The reason of a rejection is its text.
    ///
    /// # Errors
    /// As [`EventLine::event`](super::EventLine::event).
    pub fn action(&self, graph: &HardwareGraph) -> Result<Action, Error> {
        Ok(match self {
            Self::Launch { job } => Action::Launch { job: JobId(*job) },
            Self::Place { tenant, at } => Action::Place {
                tenant: *tenant,
                at: at.placed(),
            },
            Self::Move { tenant, at } => Action::Move {
                tenant: *tenant,
                at: at.placed(),
            },
            Self::Suspend { tenant } => Action::Suspend { tenant: *tenant },
            Self::Repartition {
                machine,
                whole,
                layout,
            } => Action::Repartition {
                machine: MachineId(*machine),
                whole: DeviceId(*whole),
                layout: layout_of(layout, DeviceId(*whole), graph)?,
            },
            Self::Throttle { job, guard } => Action::Throttle {
                job: JobId(*job),
                guard: match guard {
                    GuardLine::BlockIoMbPerS(own) => JobLimit::BlockIoMbPerS(*own),
                    GuardLine::PcieMbPerS(own) => JobLimit::PcieMbPerS(*own),
                    GuardLine::MpsPercent(own) => JobLimit::MpsPercent(*own),
                    GuardLine::AvoidInterruptCores(own) => JobLimit::AvoidInterruptCores(*own),
                },
            },
            Self::Reject { job, reason } => Action::Reject {
                job: JobId(*job),
                why: reason.refusal(),
            },
            Self::Wake { at, token } => Action::Wake {
                at: Time(*at),
                token: Token(*token),
            },
        })
    }
}

impl PlacedLine {
    pub(super) fn of(at: &Assignment) -> Self {
        let rest = at.rest.iter().map(|part| PlacedPart {
            machine: part.machine.0,
            lease: part.lease.0,
            devices: part.placement.clone(),
        });
        Self {
            machine: at.machine.0,
            lease: at.lease.0,
            devices: at.placement.clone(),
            rest: rest.collect(),
        }
    }

    pub(super) fn placed(&self) -> Assignment {
        let rest = self.rest.iter().map(|part| AssignmentPart {
            machine: MachineId(part.machine),
            lease: LeaseId(part.lease),
            placement: part.devices.clone(),
        });
        Assignment {
            machine: MachineId(self.machine),
            lease: LeaseId(self.lease),
            placement: self.devices.clone(),
            rest: rest.collect(),
        }
    }
}

/// What cannot be written or read: it belongs to a later release.
pub(super) fn later(what: &dyn std::fmt::Debug) -> Error {
    Error::malformed(format_args!(
        "{what:?}: expected what this version of the record knows"
    ))
}

pub(super) fn layout_line(layout: &Layout) -> Option<Vec<Instance>> {
    // A whole device has no list. An empty list is a device in MIG mode without an instance.
    (!layout.is_whole()).then(|| layout.instances().to_vec())
}

pub(super) fn layout_of(
    line: &Option<Vec<Instance>>,
    whole: DeviceId,
    graph: &HardwareGraph,
) -> Result<Layout, Error> {
    let Some(instances) = line else {
        return Ok(Layout::whole());
    };
    // A device that is not there has no profiles either, and deserves its own message.
    graph.check(whole)?;
    let Some(model) = graph.model(whole) else {
        return Err(Error::malformed(format_args!(
            "device {whole} has instances: expected a device with MIG profiles, or no instances"
        )));
    };
    Ok(model.layout(instances)?)
}
