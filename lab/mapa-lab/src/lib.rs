#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod auto;
mod case;
mod claim;
mod energy;
mod experiments;
mod foresight;
mod mapa;
mod measured;
mod pcie;
mod picture;
mod plan;
mod progress;
mod report;
mod slo;
mod timed;
mod topology_plan;
pub mod workers;

pub use claim::{Claim, Verdict};
pub use experiments::{ENOUGH, EXPERIMENTS, Experiment};
pub use plan::{GivenRows, Plan};
pub use progress::Progress;
pub use report::{Block, Report, Section};
