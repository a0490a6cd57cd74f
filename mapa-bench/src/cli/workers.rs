//! The words of `workers`, which is for tests of the simulator: real processes in place of GPUs.

use std::time::Duration;

use clap::{Args, Subcommand};
use mapa_core::mig::Size;

use super::MachineArgs;
use crate::workers::{WorkerArgs, seconds};

#[derive(Args)]
pub(crate) struct WorkersArgs {
    #[command(subcommand)]
    pub(crate) what: WorkersDo,
}

#[derive(Subcommand)]
pub(crate) enum WorkersDo {
    /// Be a worker: started by the others, and told when to copy over standard input.
    Work(WorkerArgs),
    /// Copy on several instances at once: GB/s of each.
    Copy(CopyArgs),
    /// Run jobs, and simulate the same.
    Replay(ReplayArgs),
}

#[derive(Args)]
pub(crate) struct CopyArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// The size of each copy's instance: 1g.1m, 3g.4m.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', required = true)]
    pub(crate) sizes: Vec<Size>,
    /// How much each copies, GB.
    #[arg(long, value_name = "GB", default_value_t = 5.0)]
    pub(crate) gigabytes: f64,
    /// Real seconds that a second takes.
    #[arg(long, value_name = "S", default_value_t = 3.0, value_parser = pace)]
    pub(crate) pace: f64,
}

#[derive(Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// How many jobs.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) jobs: u64,
    /// The share of PCIe-bound jobs, percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=100))]
    pub(crate) bound: u64,
    /// How long after each other they arrive, seconds.
    #[arg(long, value_name = "S", default_value = "3", value_parser = seconds)]
    pub(crate) gap: Duration,
    /// The first GPU with room, instead of the PCIe-aware scheduler.
    #[arg(long)]
    pub(crate) first_gpu: bool,
    /// Real seconds that a second takes.
    #[arg(long, value_name = "S", default_value_t = 0.02, value_parser = pace)]
    pub(crate) pace: f64,
}

fn pace(text: &str) -> Result<f64, String> {
    let read = text.parse().ok().filter(|pace: &f64| (1e-6..=1e6).contains(pace));
    read.ok_or_else(|| "expected a number above 0, to a million".to_owned())
}
