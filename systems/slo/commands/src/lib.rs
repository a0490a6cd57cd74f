//! Control of tail latency: logs of decisions, and simulated tenants.

#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "every failure is an answer, and only `mapa_cli` prints"
)]

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
