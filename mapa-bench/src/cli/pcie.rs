//! The words of `profile` and `contention`.

use std::path::PathBuf;

use clap::Args;

use super::MachineArgs;

pub(crate) const PROFILE_HELP: &str = "\
Runs are a CSV with the columns job, copies and runtime_s: so many copies of a job ran side by side on one GPU, each on a slice of its
own, and one of them took so long. Several rows are repetitions. Copies beyond the knee lie on a line through the origin, slowdown =
alpha x copies x demand / capacity (Tang et al., Eq. 1); those below it are not slowed down and do not count. With the columns slice (1g.1m)
and tokens, runs of one copy tell the throughput on each size. A job with a demand of 0 is not PCIe-bound. See docs/pcie.md.

Examples:
  mapa-bench profile runs.csv --demand Bloom560m=5.7 --demand Bloom7b1=17.65 --output profiles.toml --svg slopes.svg
  mapa-bench contention --machine dgx-a100 --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --profiles profiles.toml --jobs jobs.csv";

pub(crate) const CONTENTION_HELP: &str = "\
Jobs are a CSV with the column job, and profile, or pcie_gbps and pcie_alpha (0 GB/s is no PCIe-bound job, alpha is 1 if none is said);
and device, any name that the machine knows (GPU0/1g.5gb@3). A job without one is put where pcie-aware puts it, after those that have
one, in their order; on a slice of the size in the column slice (1g.1m), or on anything free.

equal share  Eq. 2 of Tang et al.: each of n PCIe-bound jobs of a GPU gets the n-th part of --max-gbps, whatever it wants
max-min      nobody gets more than it wants, the rest is for those that do; on every hop of the host tree

Examples:
  printf 'job,profile,device\\na,Bloom7b1,GPU0/1g.5gb@0\\nb,Bloom560m,GPU0/1g.5gb@1\\nc,Bloom7b1,\\n' > jobs.csv
  mapa-bench contention --machine a100-pcie-4-bridged --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --pcie-gbps 30.08 --jobs jobs.csv
  mapa-bench contention --live --jobs jobs.csv --svg contention.svg";

#[derive(Args)]
pub(crate) struct ProfileArgs {
    /// Measured runs (see below); `-` is standard input.
    #[arg(value_name = "FILE|-")]
    pub(crate) runs: String,
    /// What a copy of a job sends while it is alone, GB/s; once for each job of the file.
    #[arg(long, value_name = "JOB=GB/s", required = true)]
    pub(crate) demand: Vec<String>,
    /// What the link carries in all, GB/s.
    #[arg(long, value_name = "GB/s", default_value_t = mapa_core::PCIE_GEN4_GBPS)]
    pub(crate) max_gbps: f64,
    /// Fit to runs of so many copies and more [default: those whose mean slowdown is above 1.05].
    #[arg(long, value_name = "N")]
    pub(crate) from_copies: Option<u32>,
    /// Write the file of profiles.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Draw slowdowns by copies with the fitted lines, SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ContentionArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Jobs, and where they run (see below); `-` is standard input.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) jobs: String,
    /// A file of profiles [default: ResNet50, Bloom560m and Bloom7b1 of Tang et al.].
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,
    /// What the copies of a GPU get in all by Eq. 2, GB/s.
    #[arg(long, value_name = "GB/s", default_value_t = mapa_core::PCIE_GEN4_GBPS)]
    pub(crate) max_gbps: f64,
    /// Draw each job's slowdown by both models, SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}
