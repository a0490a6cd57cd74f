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
mod defrag;
mod drive;
mod error;
mod estimate;
mod event;
mod fifo;
mod first_fit;
mod fleet;
mod job;
mod job_limits;
pub mod memo;
mod named;
mod order;
pub mod plan;
mod queue;
mod scheduler;
mod schedulers;
pub mod slices;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
mod turn;
pub mod waiting;

pub use backfill::{Conservative, Easy};
pub use defrag::{Defrag, Defragmented, Move, Plan, Reach, Target};
pub use drive::{
    DepartedJob, Driver, DriverView, EventKey, FailedOrder, JobEnd, JobHistory, Record, Residency,
    SchedulerRun, Stays, TaskHistory, Timeline,
};
pub use error::Error;
pub use estimate::length;
pub use event::{Action, Assignment, AssignmentPart, Event, JobLimit, Latency, Signals, Token};
pub use fifo::Fifo;
pub use first_fit::{FirstFit, LinkModel, ListOrder};
pub use fleet::{Fleet, FleetSnapshot, FleetState};
pub use job::{Job, JobId, RunTime, TaskId, Tenant};
pub use job_limits::{JobLimitTable, JobLimits};
pub use named::{
    BoxedScheduler, MakeScheduler, NamedScheduler, SettingValues, link_model, seconds_or_none,
};
pub use order::Order;
pub use queue::Queue;
pub use scheduler::{Scheduler, step};
pub use schedulers::SCHEDULERS;
pub use time::{Time, duration, seconds};
pub use turn::Turn;
