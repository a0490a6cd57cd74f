//! Facts and orders in a form of their own, which does not change with the types of schedulers.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_core::mig::{Instance, Layout, ProfileId, Size};
use mapa_core::{
    Demand, DeviceId, DeviceSet, HardwareGraph, LeaseId, Limits, LinkClass, MachineId, Pattern,
    PortId, Reason, Refusal, Request, Sensitivity, Sharing, Want,
};
use mapa_sched::{
    Action, Event, Guard, Job, JobId, Latency, Part, Placed, RunTime, Signals, TaskId, Tenant,
    Time, Token,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fact {
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
        request: RequestLine,
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
        /// The layout.
        layout: LayoutLine,
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
        trouble: Option<String>,
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
    /// An order could not be carried out.
    OrderFailed {
        /// The order.
        order: Order,
        /// Why.
        why: String,
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
        tenant: TenantLine,
        /// How long, nanoseconds.
        took_ns: u64,
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

/// An order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "order", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// Start a job's process without a device.
    Launch {
        /// The job.
        job: u64,
    },
    /// Start a tenant.
    Place {
        /// The tenant.
        tenant: TenantLine,
        /// Where.
        at: PlacedLine,
    },
    /// Move a tenant.
    Move {
        /// The tenant.
        tenant: TenantLine,
        /// Where to.
        at: PlacedLine,
    },
    /// Stop a tenant.
    Suspend {
        /// The tenant.
        tenant: TenantLine,
    },
    /// Repartition a device.
    Repartition {
        /// The machine.
        machine: u32,
        /// The whole device.
        whole: u32,
        /// The new layout.
        layout: LayoutLine,
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
        why: RefusalLine,
    },
    /// Wake the scheduler.
    Wake {
        /// When, nanoseconds since the beginning.
        at: u64,
        /// The token.
        token: u64,
    },
}

/// A tenant: a job, or one of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantLine {
    /// The job.
    pub job: u64,
    /// The task; none for the job as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u64>,
}

/// The place of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacedLine {
    /// The machine.
    pub machine: u32,
    /// The lease that the fleet has booked.
    pub lease: u64,
    /// The device of each rank.
    pub devices: Vec<u32>,
    /// Further ranks on other machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rest: Vec<PlacedPart>,
}

/// Some ranks of a tenant on a further machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacedPart {
    /// The machine.
    pub machine: u32,
    /// The lease.
    pub lease: u64,
    /// The device of each of these ranks.
    pub devices: Vec<u32>,
}

/// A layout: its instances; none for a device that is whole.
pub type LayoutLine = Option<Vec<InstanceLine>>;

/// An instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstanceLine {
    /// The first memory slice.
    pub start: u8,
    /// The position of its profile in the device's table.
    pub profile: u8,
}

/// A limit on a job; none lifts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefusalLine {
    /// `busy`, `infeasible` or `limit_reached`.
    pub kind: String,
    /// The reason, in words.
    pub why: String,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobLine {
    /// Its number.
    pub id: u64,
    /// Its request.
    pub request: RequestLine,
    /// When it arrived, nanoseconds since the beginning.
    pub arrived: u64,
    /// How long it runs.
    pub run_time: RunTimeLine,
    /// When it should have finished, nanoseconds since the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<u64>,
    /// Its priority.
    #[serde(default)]
    pub priority: i64,
    /// Whether it must be alone on its instance.
    #[serde(default)]
    pub isolated: bool,
    /// Whether it may ask for more memory while it holds some.
    #[serde(default)]
    pub grows: bool,
    /// The slope of Eq. 1 of Tang et al.
    pub pcie_alpha: f64,
    /// The latency that is promised, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo_ns: Option<u64>,
    /// How much longer it runs over slow links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_ratio: Option<f64>,
}

/// How long a job runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunTimeLine {
    /// Unknown.
    Unknown,
    /// So many nanoseconds.
    Fixed(u64),
    /// By size of its instance.
    BySize(Vec<SizeTime>),
}

/// How long a job runs on an instance of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeTime {
    /// Compute slices.
    pub compute: u8,
    /// Memory slices.
    pub memory: u8,
    /// How long, nanoseconds.
    pub ns: u64,
}

/// What a job asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestLine {
    /// What each rank demands.
    pub ranks: Vec<RankDemand>,
    /// Which ranks communicate, and how much: two ranks and the traffic.
    pub edges: Vec<(u16, u16, f64)>,
    /// Whether the job's speed depends on its links; none if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitive: Option<bool>,
    /// Devices that it must get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_include: Vec<u32>,
    /// Devices that it must not get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub avoid: Vec<u32>,
    /// The only devices that it may get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<u32>>,
    /// The least class of link.
    #[serde(default, skip_serializing_if = "Limit::is_none")]
    pub min_link: Limit,
    /// Whether all devices must be on one NUMA node.
    #[serde(default)]
    pub same_numa: bool,
    /// How many runners-up are reported.
    #[serde(default)]
    pub runners_up: usize,
    /// The limits of the search.
    pub limits: Bounds,
}

/// The limits of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// The most matches.
    pub matches: u64,
    /// The most nodes.
    pub nodes: u64,
}

/// A class of link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Any.
    #[default]
    None,
    /// Through a network.
    Network,
    /// Between sockets.
    Sys,
    /// Within a NUMA node.
    Node,
    /// Through one host bridge.
    Phb,
    /// Through several switches.
    Pxb,
    /// Through one switch.
    Pix,
    /// Through the switch of one board.
    Board,
    /// On one device.
    SameDevice,
    /// So many direct links.
    Direct(u8),
}

impl Limit {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// What a rank demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankDemand {
    /// The kind of device.
    pub want: RankWant,
    /// Whether it may share.
    #[serde(default)]
    pub shared: bool,
    /// Memory, bytes.
    #[serde(default)]
    pub memory_bytes: u64,
    /// Warps in flight.
    #[serde(default)]
    pub warps: u32,
    /// PCIe traffic, MB/s.
    #[serde(default)]
    pub pcie_mb_s: u32,
    /// Its role.
    #[serde(default)]
    pub role: u16,
}

/// The kind of device that a rank demands. Sizes are compute and memory slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RankWant {
    /// A whole device.
    Whole,
    /// An instance of exactly this size.
    Slice(u8, u8),
    /// An instance of this profile.
    Profile(u8),
    /// An instance or device of at least this size.
    AtLeast(u8, u8),
    /// Any device.
    Any,
    /// A NUMA node.
    Numa,
    /// A network card.
    Nic,
}

/// What cannot be written or read: it belongs to a later release.
fn later(what: &dyn std::fmt::Debug) -> Error {
    Error::malformed(format_args!(
        "{what:?}: expected what this version of the record knows"
    ))
}

fn pairs(of: &BTreeMap<u32, u32>) -> Vec<(u32, u32)> {
    of.iter().map(|(key, value)| (*key, *value)).collect()
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

impl Fact {
    /// The fact as it is written.
    ///
    /// # Errors
    /// A kind of fact that this version of the record does not know.
    pub fn of(event: &Event) -> Result<Self, Error> {
        Ok(match event {
            Event::Arrived(job) => Self::Arrived {
                job: JobLine::of(job)?,
            },
            Event::Finished(job) => Self::Finished { job: job.0 },
            Event::Failed(job) => Self::Failed { job: job.0 },
            Event::Cancelled(job) => Self::Cancelled { job: job.0 },
            Event::TaskBegin { job, task, request } => Self::TaskBegin {
                job: job.0,
                task: task.0,
                request: RequestLine::of(request)?,
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
                whole: whole.map(|own| own.0),
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
                trouble: trouble.clone(),
            },
            Event::Adopted { job, at, since } => Self::Adopted {
                job: JobLine::of(job)?,
                at: PlacedLine::of(at),
                since: since.0,
            },
            Event::OrderFailed { order, why } => Self::OrderFailed {
                order: Order::of(order)?,
                why: why.clone(),
            },
            Event::Progress { job, share } => Self::Progress {
                job: job.0,
                share: *share,
            },
            Event::Latency(own) => Self::Latency {
                tenant: TenantLine::of(own.tenant),
                took_ns: nanos(own.took),
            },
            Event::Signals(own) => Self::Signals {
                machine: own.machine.0,
                block_io_mb_s: pairs(&own.block_io_mb_s),
                interrupts: pairs(&own.interrupts),
                pcie_mb_s: own
                    .pcie_mb_s
                    .iter()
                    .map(|(port, mb)| (port.0, *mb))
                    .collect(),
            },
            Event::Woken(token) => Self::Woken { token: token.0 },
            other => return Err(later(other)),
        })
    }

    /// The fact on this machine.
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
                request: request.request(graph)?,
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
                trouble,
            } => Event::Health {
                machine: MachineId(*machine),
                whole: DeviceId(*whole),
                trouble: trouble.clone(),
            },
            Self::Adopted { job, at, since } => Event::Adopted {
                job: job.job(graph)?,
                at: at.placed(),
                since: Time(*since),
            },
            Self::OrderFailed { order, why } => Event::OrderFailed {
                order: order.action(graph)?,
                why: why.clone(),
            },
            Self::Progress { job, share } => Event::Progress {
                job: JobId(*job),
                share: *share,
            },
            Self::Latency { tenant, took_ns } => Event::Latency(Latency {
                tenant: tenant.tenant(),
                took: Duration::from_nanos(*took_ns),
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

impl Order {
    /// The order as it is written.
    ///
    /// # Errors
    /// A kind of order that this version of the record does not know.
    pub fn of(action: &Action) -> Result<Self, Error> {
        Ok(match action {
            Action::Launch { job } => Self::Launch { job: job.0 },
            Action::Place { tenant, at } => Self::Place {
                tenant: TenantLine::of(*tenant),
                at: PlacedLine::of(at),
            },
            Action::Move { tenant, at } => Self::Move {
                tenant: TenantLine::of(*tenant),
                at: PlacedLine::of(at),
            },
            Action::Suspend { tenant } => Self::Suspend {
                tenant: TenantLine::of(*tenant),
            },
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
                    Guard::BlockIoMbPerS(own) => GuardLine::BlockIoMbPerS(*own),
                    Guard::PcieMbPerS(own) => GuardLine::PcieMbPerS(*own),
                    Guard::MpsPercent(own) => GuardLine::MpsPercent(*own),
                    Guard::AvoidInterruptCores(own) => GuardLine::AvoidInterruptCores(*own),
                    other => return Err(later(other)),
                },
            },
            Action::Reject { job, why } => Self::Reject {
                job: job.0,
                why: RefusalLine {
                    kind: why.kind().to_owned(),
                    why: why.to_string(),
                },
            },
            Action::Wake { at, token } => Self::Wake {
                at: at.0,
                token: token.0,
            },
            other => return Err(later(other)),
        })
    }

    /// The order on this machine. The reason of a rejection is its text.
    ///
    /// # Errors
    /// As [`Fact::event`].
    pub fn action(&self, graph: &HardwareGraph) -> Result<Action, Error> {
        Ok(match self {
            Self::Launch { job } => Action::Launch { job: JobId(*job) },
            Self::Place { tenant, at } => Action::Place {
                tenant: tenant.tenant(),
                at: at.placed(),
            },
            Self::Move { tenant, at } => Action::Move {
                tenant: tenant.tenant(),
                at: at.placed(),
            },
            Self::Suspend { tenant } => Action::Suspend {
                tenant: tenant.tenant(),
            },
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
                    GuardLine::BlockIoMbPerS(own) => Guard::BlockIoMbPerS(*own),
                    GuardLine::PcieMbPerS(own) => Guard::PcieMbPerS(*own),
                    GuardLine::MpsPercent(own) => Guard::MpsPercent(*own),
                    GuardLine::AvoidInterruptCores(own) => Guard::AvoidInterruptCores(*own),
                },
            },
            Self::Reject { job, why } => {
                let reason = Reason::Rule(why.why.clone().into());
                Action::Reject {
                    job: JobId(*job),
                    why: match why.kind.as_str() {
                        "infeasible" => Refusal::Infeasible(reason),
                        _ => Refusal::Busy(reason),
                    },
                }
            }
            Self::Wake { at, token } => Action::Wake {
                at: Time(*at),
                token: Token(*token),
            },
        })
    }
}

impl TenantLine {
    fn of(tenant: Tenant) -> Self {
        let task = match tenant {
            Tenant::Job(_) => None,
            Tenant::Task(_, task) => Some(task.0),
        };
        Self {
            job: tenant.job().0,
            task,
        }
    }

    fn tenant(self) -> Tenant {
        let job = JobId(self.job);
        self.task
            .map_or(Tenant::Job(job), |task| Tenant::Task(job, TaskId(task)))
    }
}

impl PlacedLine {
    fn of(at: &Placed) -> Self {
        let devices = |own: &mapa_core::Placement| own.iter().map(|id| id.0).collect();
        let rest = at.rest.iter().map(|own| PlacedPart {
            machine: own.machine.0,
            lease: own.lease.0,
            devices: devices(&own.placement),
        });
        Self {
            machine: at.machine.0,
            lease: at.lease.0,
            devices: devices(&at.placement),
            rest: rest.collect(),
        }
    }

    fn placed(&self) -> Placed {
        let placement = |own: &[u32]| own.iter().copied().map(DeviceId).collect();
        let rest = self.rest.iter().map(|own| Part {
            machine: MachineId(own.machine),
            lease: LeaseId(own.lease),
            placement: placement(&own.devices),
        });
        Placed {
            machine: MachineId(self.machine),
            lease: LeaseId(self.lease),
            placement: placement(&self.devices),
            rest: rest.collect(),
        }
    }
}

fn layout_line(layout: &Layout) -> LayoutLine {
    let line = |own: &Instance| InstanceLine {
        start: own.start,
        profile: own.profile.0,
    };
    (!layout.is_whole()).then(|| layout.instances().iter().map(line).collect())
}

fn layout_of(line: &LayoutLine, whole: DeviceId, graph: &HardwareGraph) -> Result<Layout, Error> {
    let Some(instances) = line else {
        return Ok(Layout::whole());
    };
    graph.check(whole)?;
    let Some(model) = graph.model(whole) else {
        return Err(Error::malformed(format_args!(
            "device {whole} has instances: expected a device with MIG profiles, or no instances"
        )));
    };
    let instances: Vec<Instance> = instances
        .iter()
        .map(|own| Instance {
            start: own.start,
            profile: ProfileId(own.profile),
        })
        .collect();
    Ok(model.layout(&instances)?)
}

impl JobLine {
    /// The job as it is written.
    ///
    /// # Errors
    /// A kind of demand that this version of the record does not know.
    pub fn of(job: &Job) -> Result<Self, Error> {
        Ok(Self {
            id: job.id.0,
            request: RequestLine::of(&job.request)?,
            arrived: job.arrived.0,
            run_time: match &job.run_time {
                RunTime::Unknown => RunTimeLine::Unknown,
                RunTime::Fixed(length) => RunTimeLine::Fixed(nanos(*length)),
                RunTime::BySize(lengths) => {
                    let time = |(size, length): (&Size, &Duration)| SizeTime {
                        compute: size.compute,
                        memory: size.memory,
                        ns: nanos(*length),
                    };
                    RunTimeLine::BySize(lengths.iter().map(time).collect())
                }
            },
            deadline: job.deadline.map(|own| own.0),
            priority: job.priority,
            isolated: job.isolated,
            grows: job.grows,
            pcie_alpha: job.pcie_alpha,
            slo_ns: job.slo.map(nanos),
            link_ratio: job.link_ratio,
        })
    }

    /// The job on this machine.
    ///
    /// # Errors
    /// As [`Fact::event`].
    pub fn job(&self, graph: &HardwareGraph) -> Result<Job, Error> {
        let mut job = Job::new(JobId(self.id), self.request.request(graph)?);
        job.arrived = Time(self.arrived);
        job.run_time = match &self.run_time {
            RunTimeLine::Unknown => RunTime::Unknown,
            RunTimeLine::Fixed(ns) => RunTime::Fixed(Duration::from_nanos(*ns)),
            RunTimeLine::BySize(lengths) => {
                let length = |own: &SizeTime| {
                    let size = Size::new(own.compute, own.memory);
                    (size, Duration::from_nanos(own.ns))
                };
                RunTime::BySize(lengths.iter().map(length).collect())
            }
        };
        job.deadline = self.deadline.map(Time);
        job.priority = self.priority;
        job.isolated = self.isolated;
        job.grows = self.grows;
        job.pcie_alpha = self.pcie_alpha;
        job.slo = self.slo_ns.map(Duration::from_nanos);
        job.link_ratio = self.link_ratio;
        Ok(job)
    }
}

impl RequestLine {
    fn of(own: &Request) -> Result<Self, Error> {
        let ids = |set: &DeviceSet| set.iter().map(|id| id.0).collect();
        let demand = |own: &Demand| {
            Ok::<_, Error>(RankDemand {
                want: want_line(own.want)?,
                shared: own.sharing == Sharing::Shared,
                memory_bytes: own.memory_bytes,
                warps: own.warps,
                pcie_mb_s: own.pcie_mb_s,
                role: own.role,
            })
        };
        let edges = own.pattern.edges().iter();
        Ok(Self {
            ranks: own
                .pattern
                .demands()
                .iter()
                .map(demand)
                .collect::<Result<_, _>>()?,
            edges: edges.map(|edge| (edge.a, edge.b, edge.traffic)).collect(),
            sensitive: match own.sensitivity {
                Sensitivity::Sensitive => Some(true),
                Sensitivity::Insensitive => Some(false),
                Sensitivity::Unknown => None,
            },
            must_include: ids(&own.must_include),
            avoid: ids(&own.avoid),
            only: own.only.as_ref().map(ids),
            min_link: limit_line(own.min_link),
            same_numa: own.same_numa,
            runners_up: own.runners_up,
            limits: Bounds {
                matches: own.limits.matches,
                nodes: own.limits.nodes,
            },
        })
    }

    fn request(&self, graph: &HardwareGraph) -> Result<Request, Error> {
        let set = |ids: &[u32]| {
            let mut set = DeviceSet::new();
            for &id in ids {
                graph.check(DeviceId(id))?;
                set.insert(DeviceId(id));
            }
            Ok::<_, Error>(set)
        };
        let mut pattern = Pattern::from_edges(self.ranks.len(), self.edges.iter().copied())?;
        for (rank, own) in self.ranks.iter().enumerate() {
            let sharing = if own.shared {
                Sharing::Shared
            } else {
                Sharing::Exclusive
            };
            let demand = Demand {
                want: want_of(own.want),
                sharing,
                memory_bytes: own.memory_bytes,
                warps: own.warps,
                pcie_mb_s: own.pcie_mb_s,
                role: own.role,
            };
            pattern = pattern.with_demand(rank, demand);
        }
        let mut request = Request::new(pattern);
        request.sensitivity = self.sensitive.map(Sensitivity::from).unwrap_or_default();
        request.must_include = set(&self.must_include)?;
        request.avoid = set(&self.avoid)?;
        request.only = self.only.as_deref().map(set).transpose()?;
        request.min_link = limit_of(self.min_link);
        request.same_numa = self.same_numa;
        request.runners_up = self.runners_up;
        request.limits = Limits {
            matches: self.limits.matches,
            nodes: self.limits.nodes,
        };
        Ok(request)
    }
}

fn want_line(own: Want) -> Result<RankWant, Error> {
    Ok(match own {
        Want::Whole => RankWant::Whole,
        Want::Slice(size) => RankWant::Slice(size.compute, size.memory),
        Want::Profile(profile) => RankWant::Profile(profile.0),
        Want::AtLeast(size) => RankWant::AtLeast(size.compute, size.memory),
        Want::Any => RankWant::Any,
        Want::Numa => RankWant::Numa,
        Want::Nic => RankWant::Nic,
        other => return Err(later(&other)),
    })
}

fn want_of(own: RankWant) -> Want {
    match own {
        RankWant::Whole => Want::Whole,
        RankWant::Slice(compute, memory) => Want::Slice(Size::new(compute, memory)),
        RankWant::Profile(profile) => Want::Profile(ProfileId(profile)),
        RankWant::AtLeast(compute, memory) => Want::AtLeast(Size::new(compute, memory)),
        RankWant::Any => Want::Any,
        RankWant::Numa => Want::Numa,
        RankWant::Nic => Want::Nic,
    }
}

fn limit_line(own: LinkClass) -> Limit {
    match own {
        LinkClass::None => Limit::None,
        LinkClass::Network => Limit::Network,
        LinkClass::Sys => Limit::Sys,
        LinkClass::Node => Limit::Node,
        LinkClass::Phb => Limit::Phb,
        LinkClass::Pxb => Limit::Pxb,
        LinkClass::Pix => Limit::Pix,
        LinkClass::Board => Limit::Board,
        LinkClass::SameDevice => Limit::SameDevice,
        LinkClass::Direct(links) => Limit::Direct(links),
    }
}

fn limit_of(own: Limit) -> LinkClass {
    match own {
        Limit::None => LinkClass::None,
        Limit::Network => LinkClass::Network,
        Limit::Sys => LinkClass::Sys,
        Limit::Node => LinkClass::Node,
        Limit::Phb => LinkClass::Phb,
        Limit::Pxb => LinkClass::Pxb,
        Limit::Pix => LinkClass::Pix,
        Limit::Board => LinkClass::Board,
        Limit::SameDevice => LinkClass::SameDevice,
        Limit::Direct(links) => LinkClass::Direct(links),
    }
}
