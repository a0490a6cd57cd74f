//! Control of tail latency: logs of decisions, and simulated tenants.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "every failure is an answer, and only `mapa_cli` prints"
)]

pub mod answer;
mod log;
mod plots;
mod tenants;

use mapa_cli::{CommandRow, SimulationRow};

/// `slo`: makes the decisions of a log again.
pub const SLO: CommandRow = CommandRow::of::<log::SloArgs>();
/// Tenants that serve requests under a controller, in place of jobs.
pub const TENANTS: SimulationRow = SimulationRow {
    schedulers: &SCHEDULERS,
    run: tenants::simulate,
};

/// The schedulers that run tenants.
const SCHEDULERS: [&str; 2] = ["slo", "slo-replay"];

/// The JSON Schemas of the answers.
#[cfg(feature = "schema")]
pub const ANSWERS: &[mapa_front::AnswerSchema] = &[
    mapa_front::AnswerSchema::of::<answer::SimulatedTenants>("simulate-tenants"),
    mapa_front::AnswerSchema::lines::<mapa_system_slo_log::LogLine>("slo-log"),
    mapa_front::AnswerSchema::of::<mapa_system_slo_log::Replayed>("slo-replay"),
];
