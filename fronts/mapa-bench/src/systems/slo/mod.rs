//! Control of tail latency: logs of decisions, and simulated tenants.

mod log;
#[cfg(feature = "plots")]
mod plots;
mod tenants;

use mapa_cli::{CommandRow, SimulationRow};

pub(crate) const SLO: CommandRow = CommandRow::of::<log::SloArgs>();
/// Tenants that serve requests under a controller, in place of jobs.
pub(crate) const TENANTS: SimulationRow = SimulationRow {
    schedulers: &SCHEDULERS,
    run: tenants::simulate,
};

/// The schedulers that run tenants.
const SCHEDULERS: [&str; 2] = ["slo", "slo-replay"];
