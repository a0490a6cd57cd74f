//! Shared PCIe: profiles of jobs, who slows whom down, and real processes in place of GPUs.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "every failure is an answer, and only `mapa_cli` prints"
)]

pub mod answer;
mod args;
mod contention;
mod plots;
mod profile;
mod workers;

use mapa_cli::CommandRow;

/// `profile`: how sensitive jobs are to their share of PCIe, fitted to measured runs.
pub const PROFILE: CommandRow = CommandRow::of::<args::ProfileArgs>();
/// `contention`: the jobs on each PCIe port, and how much they slow each other down.
pub const CONTENTION: CommandRow = CommandRow::of::<args::ContentionArgs>();
/// `workers`: real processes in place of GPUs, for tests of the simulator.
pub const WORKERS: CommandRow = CommandRow::of::<workers::WorkersArgs>();

/// The JSON Schemas of the answers.
#[cfg(feature = "schema")]
pub const ANSWERS: &[mapa_front::AnswerSchema] = &[
    mapa_front::AnswerSchema::of::<answer::contention::Contention>("contention"),
    mapa_front::AnswerSchema::of::<answer::profile::Profile>("profile"),
    mapa_front::AnswerSchema::of::<answer::workers::Copies>("workers-copy"),
    mapa_front::AnswerSchema::of::<answer::workers::Replay>("workers-replay"),
];
