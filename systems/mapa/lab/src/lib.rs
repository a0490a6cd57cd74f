//! Experiments on MAPA: the paper's evaluation, run again, and what is ours beside it.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

pub mod auto;
mod colours;
pub mod evaluation;
pub mod foresight;
pub mod topology_plan;
