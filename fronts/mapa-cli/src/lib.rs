#![doc = include_str!("../README.md")]
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "every failure is an answer, and only `output` prints"
)]

pub mod args;
pub mod bounds;
mod colours;
mod discovery;
mod failure;
mod features;
pub mod files;
mod machine;
mod output;
mod rows;
pub mod time_limit;

pub use colours::COLOURS;
pub use discovery::Discovery;
pub use failure::Failure;
pub use features::require;
pub use machine::{find, load};
pub use output::{Bar, Output, in_order, progress, within};
pub use rows::{CommandRow, SimulationRow, SystemCommand};
pub use time_limit::TimeLimit;
