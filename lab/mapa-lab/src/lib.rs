#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

pub mod claim;
mod experiments;
pub mod measured;
pub mod picture;
pub mod plan;
pub mod progress;
pub mod report;
#[cfg(feature = "testing")]
pub mod testing;
pub mod timed;

pub use claim::{Claim, Verdict};
pub use experiments::{ENOUGH, Experiment};
pub use plan::{GivenRows, Plan};
pub use progress::Progress;
pub use report::{Block, Report, Section};
