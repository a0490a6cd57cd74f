//! PCIe-aware scheduling on MIG instances: the paper's evaluation, run again, and real processes in place of GPUs.
//!
//! [`workers`] runs a scheduler on processes that copy and compute: a check on the simulator.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "libraries answer with errors, and leave printing to their callers"
)]

pub mod evaluation;
pub mod workers;
