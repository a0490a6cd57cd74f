#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod foresight;
mod named;
pub mod topology;
mod topology_plan;

pub use foresight::Foresight;
pub use named::SCHEDULERS;
pub use topology_plan::{PlanGoal, PlanPart, PlannedStart, TopologyPlan, Trust};
