//! The command line of `workers`, which tests the simulator: real processes in place of GPUs.

use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use mapa_core::mig::Size;
use mapa_system_pcie_lab::workers::WorkerJob;

use mapa_cli::args::MachineArgs;

/// The arguments of `workers`.
#[derive(Parser)]
pub(crate) struct WorkersArgs {
    #[command(subcommand)]
    pub(crate) what: WorkersDo,
}

#[derive(Subcommand)]
pub(crate) enum WorkersDo {
    /// Run as a worker process. The other subcommands start it, and grant its copies over its
    /// standard input.
    Work(WorkerArgs),
    /// Copy on several instances at once, and print the GB/s of each.
    Copy(CopyArgs),
    /// Run jobs, and simulate the same jobs.
    Replay(ReplayArgs),
}

#[derive(Args)]
pub(crate) struct CopyArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// The size of each copy's instance: 1g.1m, 3g.4m.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', required = true)]
    pub(crate) sizes: Vec<Size>,
    /// How much each instance copies, GB.
    #[arg(long, value_name = "GB", default_value_t = 5.0)]
    pub(crate) gigabytes: f64,
    /// Wall-clock seconds for one second of the model.
    #[arg(long, value_name = "S", default_value_t = 3.0, value_parser = pace)]
    pub(crate) pace: f64,
}

#[derive(Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// The number of jobs.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) jobs: u64,
    /// The share of PCIe-bound jobs, percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=100))]
    pub(crate) bound: u64,
    /// The time between two arrivals, seconds.
    #[arg(long, value_name = "S", default_value = "3", value_parser = seconds)]
    pub(crate) gap: Duration,
    /// Place each job on the first GPU with room, instead of by the PCIe-aware scheduler.
    #[arg(long)]
    pub(crate) first_gpu: bool,
    /// Wall-clock seconds for one second of the model.
    #[arg(long, value_name = "S", default_value_t = 0.02, value_parser = pace)]
    pub(crate) pace: f64,
}

/// The job of one worker process.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkerArgs {
    /// How long the worker computes, seconds.
    #[arg(long, value_parser = seconds)]
    pub(crate) compute: Duration,
    /// How much the worker copies while it computes, bytes; 0 for nothing.
    #[arg(long)]
    pub(crate) bytes: u64,
    /// The size of one copy, bytes.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) chunk: u32,
    /// How many chunks the worker copies ahead of its computation.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) ahead: u32,
    /// The size of the source and of the target of its copies, bytes.
    #[arg(long)]
    pub(crate) buffer: usize,
}

impl From<&WorkerArgs> for WorkerJob {
    fn from(args: &WorkerArgs) -> Self {
        Self {
            compute: args.compute,
            bytes: args.bytes,
            chunk: args.chunk,
            ahead: args.ahead,
            buffer: args.buffer,
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "expected a number of seconds, not below 0".to_owned())
}

fn pace(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|pace: &f64| (1e-6..=1e6).contains(pace))
        .ok_or_else(|| "expected a number above 0, to a million".to_owned())
}
