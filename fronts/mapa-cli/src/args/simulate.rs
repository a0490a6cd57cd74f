//! The command line of `simulate`.

use mapa_front::{ExecutionSpec, ModelSpec, SchedulerSpec};
use std::path::PathBuf;

use clap::{Arg, Args};

use super::{MachineArgs, WorkloadArgs};

/// The text below the help of `simulate`.
pub const HELP: &str = "\
A job on slower links runs longer. With --execution effective-bandwidth, a job's run time is linear in 1 / bandwidth, where Eq. 2
predicts the bandwidth, between 10 and 50 GB/s. For VGG-16, the run time is up to 3 times as long. With --execution fixed, links
have no effect, as in the released simulator.

A job that can never be placed is rejected and listed with the reason. This is not an error.

Examples:
  mapa-bench simulate --machine dgx-1v
  mapa-bench simulate --machine dgx-1v --policy greedy,preserve --generate mapa --seed 7 --output jobs.parquet
  mapa-bench simulate --machine fleet:2xdgx-1v --execution fixed --series series.csv --plot plots
  mapa-bench simulate --machine a100-pcie-4-bridged --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --jobs jobs.csv \\
      --scheduler pcie-aware --execution pcie-equal-share
  mapa-bench simulate --machine dgx-a100 --mig a100-40gb=4g,2g,1g --generate energy-day,jobs=300 --scheduler energy,rule=fit \\
      --execution by-size
  mapa-bench simulate --machine a100-pcie-4-bridged --mig a100-40gb=2g,2g,1g,1g,1g --jobs jobs.csv --scheduler case-balanced \\
      --svg instances.svg
  mapa-bench simulate --servers 20xdgx-1v,4xdgx-2 --network 25 --policy preserve --generate mapa,jobs=3000";

const FLEET: &str = "A fleet";

/// Requires a machine unless servers or a scheduler are named.
fn unless_servers(arg: Arg) -> Arg {
    if arg.get_id() == "machine" {
        // The controllers of latencies have a machine of their own. So where a scheduler is named,
        // the command checks this.
        arg.required(false)
            .required_unless_present_any(["live", "servers", "scheduler"])
    } else {
        arg
    }
}

/// What is simulated, and what is written.
#[derive(Args, Debug)]
#[command(mut_args(unless_servers))]
pub struct SimulateArgs {
    /// The machine; none for a fleet of servers.
    #[command(flatten)]
    pub machine: Option<MachineArgs>,
    /// Simulate a fleet of separate servers instead of one machine: numbers of servers, with
    /// machines as for --machine, such as 1250xdgx-1v,40xdgx-2. Each job runs on the server that is
    /// best by the policy.
    #[arg(long, value_name = "[Kx]NAME,..", value_delimiter = ',', help_heading = FLEET, conflicts_with_all = [
        "machine", "live", "refresh", "no_cache", "nvml", "nvidia_smi", "kfd", "pcie_gbps", "nvlink_gbps", "mig",
    ])]
    pub servers: Vec<String>,
    /// Let jobs that are too large for every server span several servers. Each server can send and
    /// receive this many GB/s over the network. Works with fifo and other queues; backfilling
    /// schedulers reject such jobs.
    #[arg(long, hide_short_help = true, value_name = "GB/s", requires = "servers", help_heading = FLEET)]
    pub network: Option<f64>,
    /// The jobs.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// The policies to simulate, one simulation each: names as for `allocate` except min-step-time,
    /// `paper` for the four of the paper, `all` for all policies of whole devices [default: auto;
    /// a scheduler that has a placement policy of its own uses that policy].
    #[arg(long, value_name = "POLICIES", value_delimiter = ',')]
    pub policy: Option<Vec<String>>,
    /// The scheduler, which decides which job starts next, and when: fifo, easy-backfill,
    /// conservative-backfill, shortest-first, smallest-first, priority, foresight, first-fit or
    /// topology-plan; for jobs on MIG instances also pcie-aware, first-gpu and pcie-plan, which
    /// have placement policies of their own, energy, energy-plan and learned, which choose by run
    /// times, deadlines and power, and case, case-balanced and slurm-mig, under which jobs share
    /// instances. For tenants that serve requests, slo and slo-replay (systems/slo/docs/controllers.md). docs/choose-scheduler.md says which one when. Settings follow
    /// the name (docs/scheduler-reference.md): first-fit,order=ORDER,max-slowdown=FACTOR,
    /// topology-plan,goal=GOAL,estimates=TRUST, pcie-aware,delay=FACTOR,wait=SECONDS,
    /// pcie-plan,search=MOVES,wait=SECONDS, energy,rule=RULE, energy-plan,prices=NAME|FILE,
    /// learned,weights=FILE, case,isolated=ORDER,others=ORDER,reprovision=on or slurm-mig,head=block.
    #[arg(long, value_name = "NAME", default_value = "fifo")]
    pub scheduler: SchedulerSpec,
    /// The model of run times. fixed: as the job file says. by-size: as the job file says for the
    /// job's MIG instance. by-warps[,slice=WARPS]: tasks that together want more warps than their
    /// instance holds are slower. effective-bandwidth (Eq. 2) or ring-packing: by predicted bandwidth. pcie-equal-share[,gbps=GB/s] (Eq. 2 of Tang et al.) or
    /// pcie-max-min: by each job's share of PCIe bandwidth.
    #[arg(long, value_name = "MODEL", default_value = "effective-bandwidth")]
    pub execution: ExecutionSpec,
    /// The model by which auto, preserve, max-bandwidth and foresight predict bandwidth, as for
    /// `allocate`.
    #[arg(long, hide_short_help = true, value_name = "MODEL|FILE")]
    pub model: Option<ModelSpec>,
    /// Write a row for each job under each policy, including jobs that were rejected or never
    /// ended.
    #[arg(long, value_name = "FILE.{csv,json,parquet}")]
    pub output: Option<PathBuf>,
    /// Write utilisation and fragmentation over time, a row for each event time.
    #[arg(long, hide_short_help = true, value_name = "FILE.{csv,json,parquet}")]
    pub series: Option<PathBuf>,
    /// Write the jobs as a job file, such as those of --generate, to change them or to use them
    /// elsewhere.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub save_jobs: Option<PathBuf>,
    /// Write the decisions of slo or slo-replay, one JSON object a line; `mapa-bench slo replay` makes
    /// them again.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Draw bandwidth.svg, over-time.svg and timeline-POLICY.svg into this folder; if a device is
    /// partitioned or a job has tasks, also instances-POLICY.svg, as --svg.
    #[arg(long, value_name = "FOLDER")]
    pub plot: Option<PathBuf>,
    /// Draw who was on which device or MIG instance over time, and the memory in use (SVG), into this
    /// file; with `-`, print the picture in place of the answer. For one policy.
    #[arg(long, hide_short_help = true, value_name = "FILE|-")]
    pub svg: Option<String>,
}
