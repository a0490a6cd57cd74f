#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

pub mod auto;
pub mod case;
pub mod claim;
mod colours;
mod experiments;
pub mod foresight;
pub mod mapa;
pub mod measured;
pub mod pcie;
pub mod picture;
pub mod plan;
pub mod progress;
pub mod report;
pub mod slo;
#[cfg(feature = "testing")]
pub mod testing;
pub mod timed;
pub mod topology_plan;
pub mod workers;

pub use claim::{Claim, Verdict};
pub use experiments::{ENOUGH, Experiment};
pub use plan::{GivenRows, Plan};
pub use progress::Progress;
pub use report::{Block, Report, Section};
