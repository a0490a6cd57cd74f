//! Shared PCIe: profiles of jobs, who slows whom down, and real processes in place of GPUs.

mod args;
mod contention;
#[cfg(feature = "plots")]
mod plots;
mod profile;
#[cfg(feature = "experiments")]
mod workers;

use mapa_cli::CommandRow;

pub(crate) const PROFILE: CommandRow = CommandRow::of::<args::ProfileArgs>();
pub(crate) const CONTENTION: CommandRow = CommandRow::of::<args::ContentionArgs>();
#[cfg(feature = "experiments")]
pub(crate) const WORKERS: CommandRow = CommandRow::of::<workers::WorkersArgs>();
