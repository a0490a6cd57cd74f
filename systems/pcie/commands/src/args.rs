//! The command line of `profile` and `contention`.

use std::path::PathBuf;

use clap::Parser;

use mapa_cli::args::MachineArgs;

const PROFILE_HELP: &str = "\
Runs are a CSV with the columns job, copies and runtime_s: the run time of one of several copies of a job that run at once on one
GPU, each on a slice of its own. Repeated rows are repetitions. A few copies do not slow each other down; their runs are not part
of the fit. From some number of copies on, slowdowns lie on a line through the origin: slowdown = alpha x copies x demand / capacity
(Tang et al., Eq. 1). If the file also has the columns slice (1g.1m) and tokens, runs of one copy give the throughput on each size of
slice. A job with a demand of 0 is not PCIe-bound. See systems/pcie/docs/contention.md.

Examples:
  mapa-bench profile runs.csv --demand Bloom560m=5.7 --demand Bloom7b1=17.65 --output profiles.toml --svg slopes.svg
  mapa-bench contention --machine dgx-a100 --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --profiles profiles.toml --jobs jobs.csv";

const CONTENTION_HELP: &str = "\
Jobs are a CSV with the column job, and either profile, or pcie_gbps and pcie_alpha (0 GB/s: not PCIe-bound; alpha is 1 by
default). The column device has any name that the machine knows (GPU0/1g.5gb@3). Jobs without a device are placed after those with
one, in the order of the file, by the policy pcie-aware: on a slice of the size in the column slice (1g.1m), or without that size on
anything that is free.

equal share  Eq. 2 of Tang et al.: each of n PCIe-bound jobs on a GPU gets 1/n of --max-gbps, whatever its demand
max-min      max-min fair sharing on every hop of the host tree: no job gets more than its demand, and jobs with more demand
             share the rest

Examples:
  printf 'job,profile,device\\na,Bloom7b1,GPU0/1g.5gb@0\\nb,Bloom560m,GPU0/1g.5gb@1\\nc,Bloom7b1,\\n' > jobs.csv
  mapa-bench contention --machine a100-pcie-4-bridged --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --pcie-gbps 30.08 --jobs jobs.csv
  mapa-bench contention --live --jobs jobs.csv --svg contention.svg";

/// The arguments of `profile`.
#[derive(Parser)]
#[command(after_long_help = PROFILE_HELP)]
pub(crate) struct ProfileArgs {
    /// Measured runs (see below); `-` is standard input.
    #[arg(value_name = "FILE|-")]
    pub(crate) runs: String,
    /// PCIe traffic of a copy of the job that runs alone, GB/s. Give this option once for each job
    /// of the file.
    #[arg(long, value_name = "JOB=GB/s", required = true)]
    pub(crate) demand: Vec<String>,
    /// The capacity of the PCIe link, GB/s.
    #[arg(long, value_name = "GB/s", default_value_t = mapa_core::PCIE_GEN4_GBPS)]
    pub(crate) max_gbps: f64,
    /// Fit to runs of N copies or more [default: those whose mean slowdown is above 1.05].
    #[arg(long, value_name = "N")]
    pub(crate) from_copies: Option<u32>,
    /// Write the file of profiles.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Draw the slowdown by number of copies, with the fitted lines (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// The arguments of `contention`.
#[derive(Parser)]
#[command(after_long_help = CONTENTION_HELP)]
pub(crate) struct ContentionArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// The jobs and their devices (see below); `-` is standard input.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) jobs: String,
    /// A file of profiles [default: ResNet50, Bloom560m and Bloom7b1 of Tang et al.].
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,
    /// The PCIe capacity that the jobs of a GPU share by Eq. 2, GB/s.
    #[arg(long, value_name = "GB/s", default_value_t = mapa_core::PCIE_GEN4_GBPS)]
    pub(crate) max_gbps: f64,
    /// Draw the slowdown of each job by both models (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}
