//! Simulations of jobs that share MIG instances (CASE): how long tasks run beside others.
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

mod by_warps;
mod rows;

pub use by_warps::ByWarps;
pub use rows::executions;
