//! The words of `simulate`.

use std::path::PathBuf;

use clap::{Arg, Args};

use super::MachineArgs;
use crate::simulation::WorkloadArgs;

pub(crate) const HELP: &str = "\
Jobs run for longer where their links are slower. By --execution effective-bandwidth a job's time is linear in 1 / bandwidth,
as Eq. 2 predicts it between 10 and 50 GB/s, up to 3 times as long for VGG-16; fixed ignores links, as the released simulator does.

Jobs that can never be placed are told no and listed with the reason; they are no error.

Examples:
  mapa-bench simulate --machine dgx-1v
  mapa-bench simulate --machine dgx-1v --policy greedy,preserve --generate mapa --seed 7 --output jobs.parquet
  mapa-bench simulate --machine fleet:2xdgx-1v --execution fixed --series series.csv --plot plots
  mapa-bench simulate --machine a100-pcie-4-bridged --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --jobs jobs.csv \\
      --scheduler pcie-aware --execution pcie-equal-share
  mapa-bench simulate --servers 20xdgx-1v,4xdgx-2 --network 25 --policy preserve --generate mapa,jobs=3000";

const FLEET: &str = "A fleet";

/// A machine is needed where no servers are named.
fn unless_servers(arg: Arg) -> Arg {
    let needed = arg.get_id() == "machine";
    if needed { arg.required(false).required_unless_present_any(["live", "servers"]) } else { arg }
}

#[derive(Args)]
#[command(mut_args(unless_servers))]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    pub(crate) machine: Option<MachineArgs>,
    /// A fleet of separate servers instead: how many, and what they are, as for --machine: 1250xdgx-1v,40xdgx-2. Each job lies on one
    /// of them, the best by its policy.
    #[arg(long, value_name = "[Kx]NAME,..", value_delimiter = ',', help_heading = FLEET, conflicts_with_all = [
        "machine", "live", "refresh", "no_cache", "nvml", "nvidia_smi", "kfd", "pcie_gbps", "nvlink_gbps", "mig",
    ])]
    pub(crate) servers: Vec<String>,
    /// Spread jobs that are too large for every server over several: each sends and receives so many GB/s over the network between
    /// them. Under fifo and other queues only; backfilling rejects such jobs.
    #[arg(long, value_name = "GB/s", requires = "servers", help_heading = FLEET)]
    pub(crate) network: Option<f64>,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    /// How devices are chosen, one simulation each: names as for `allocate` without min-step-time, `paper` for its four, `all`
    /// for those of whole devices. Default: `paper`; schedulers that place by themselves have their own.
    #[arg(long, value_name = "POLICIES", value_delimiter = ',')]
    pub(crate) policy: Option<Vec<String>>,
    /// Which job is next, and when: fifo, easy-backfill, conservative-backfill, shortest-first, smallest-first, priority or foresight; or
    /// for jobs on MIG instances, and with a policy of their own, pcie-aware and first-gpu. Settings go behind the name, as
    /// conservative-backfill,depth=JOBS or pcie-aware,delay=FACTOR,wait=SECONDS,gbps=GB/s.
    #[arg(long, value_name = "NAME", default_value = "fifo")]
    pub(crate) scheduler: String,
    /// How long jobs run: fixed, as their file says; by a model of bandwidth, effective-bandwidth (Eq. 2) or ring-packing; or by what
    /// PCIe leaves to each, pcie-equal-share[,gbps=GB/s] (Eq. 2 of Tang et al.) or pcie-max-min.
    #[arg(long, value_name = "MODEL", default_value = "effective-bandwidth")]
    pub(crate) execution: String,
    /// What preserve, max-bandwidth and foresight predict bandwidth by, as for `allocate`.
    #[arg(long, value_name = "MODEL|FILE")]
    pub(crate) model: Option<String>,
    /// Write a row for each job under each policy, those that were rejected or never ended too.
    #[arg(long, value_name = "FILE.{csv,json,parquet}")]
    pub(crate) output: Option<PathBuf>,
    /// Write utilisation and fragmentation over time, a row for each moment at which something happened.
    #[arg(long, value_name = "FILE.{csv,json,parquet}")]
    pub(crate) series: Option<PathBuf>,
    /// Draw bandwidth.svg, over-time.svg and timeline-POLICY.svg into this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plot: Option<PathBuf>,
}
