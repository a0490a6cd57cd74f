#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod backfill;
pub mod bound;
mod case;
mod defrag;
mod drive;
mod error;
mod estimate;
mod event;
mod fifo;
mod first_fit;
mod fleet;
mod foresight;
mod guards;
mod job;
mod memo;
mod named;
mod order;
mod pcie;
mod pcie_plan;
mod plan;
mod queue;
mod scheduler;
mod schedulers;
pub mod slices;
pub mod slo;
pub mod systems;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
pub mod topology;
mod topology_plan;
mod turn;
mod waiting;

pub use backfill::{Conservative, Easy};
pub use case::{
    Binding, Case, CaseBatch, CaseOrder, CaseSettings, CaseTask, Classes, ContextMemory, Fit,
    Growers, Printed, PrintedEnd, PrintedFaults, PrintedJob, PrintedRun, SlurmMig,
};
pub use defrag::{Defrag, Defragmented, Move, Plan, Reach, Target};
pub use drive::{
    Drive, Driver, End, FailedOrder, Key, Left, Life, Record, Seen, Stay, Stays, TaskLife, Timeline,
};
pub use error::Error;
pub use event::{Action, Event, Guard, Latency, Part, Placed, Signals, Token};
pub use fifo::Fifo;
pub use first_fit::{FirstFit, LinkModel, ListOrder};
pub use fleet::{Fleet, FleetSnapshot};
pub use foresight::Foresight;
pub use guards::{Guards, Limits};
pub use job::{Job, JobId, RunTime, TaskId, Tenant};
pub use named::{
    BoxedScheduler, MakeScheduler, NamedScheduler, SettingValues, link_model, seconds_or_none,
};
pub use order::Order;
pub use pcie::PcieAware;
pub use pcie_plan::{PcieBound, PciePlan, PciePorts, PcieWork, Planned, PortModel, pcie_bound};
pub use queue::Queue;
pub use scheduler::{Scheduler, step};
pub use schedulers::SCHEDULERS;
pub use time::Time;
pub use topology_plan::{PlanGoal, PlanPart, PlannedStart, TopologyPlan, Trust};
pub use turn::Turn;
