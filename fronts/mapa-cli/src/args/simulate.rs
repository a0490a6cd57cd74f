//! The command line of `simulate`.

use mapa_front::{ExecutionSpec, ModelSpec, SchedulerSpec};
use std::path::PathBuf;

use clap::{Arg, Args};

use super::{MachineArgs, WorkloadArgs};

/// The text below the help of `simulate`. It ends in examples, which a program may add to.
pub const HELP: &str = "\
A job on slower links runs longer: its run time is linear in 1 / bandwidth between 10 and 50 GB/s. For VGG-16, it is up to 3 times
as long. The bandwidth is that of a packing of rings, or with --execution effective-bandwidth that of MAPA's Eq. 2. With --execution
fixed, links have no effect, as in the released simulator.

A job that can never be placed is rejected and listed with the reason. This is not an error.

Examples:
  mapa-bench simulate --machine dgx-1v
  mapa-bench simulate --machine dgx-1v --policy greedy,preserve --generate mapa --seed 7 --output jobs.parquet
  mapa-bench simulate --machine fleet:2xdgx-1v --execution fixed --series series.csv --plot plots
  mapa-bench simulate --servers 20xdgx-1v,4xdgx-2 --network 25 --policy preserve --generate mapa,jobs=3000
  mapa-bench simulate --servers 4xdgx-a100 --mig a100-40gb=3g,2g,1g,1g --scheduler pcie-aware --jobs jobs.csv";

const FLEET: &str = "A fleet";

/// Requires a machine unless servers or a scheduler are named.
fn unless_servers(arg: Arg) -> Arg {
    if arg.get_id() == "machine" {
        // A scheduler that simulates by itself may have a machine of its own. So where a scheduler is named,
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
    /// best by the policy. Options about a machine's devices and links, such as --mig, are about
    /// those of every server.
    #[arg(long, value_name = "[Kx]NAME,..", value_delimiter = ',', help_heading = FLEET, conflicts_with_all = [
        "machine", "live", "refresh", "no_cache", "nvml", "nvidia_smi", "kfd",
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
    /// The scheduler, which decides which job starts next, and when; its settings follow behind commas
    /// (docs/choose-scheduler.md says which one when, docs/scheduler-reference.md what settings mean).
    #[arg(long, value_name = "NAME", default_value = "fifo")]
    pub scheduler: SchedulerSpec,
    /// The model of run times; its settings follow behind commas.
    #[arg(long, value_name = "MODEL", default_value = "ring-packing")]
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
    /// Write the decisions of a scheduler that runs no jobs, one JSON object a line.
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
