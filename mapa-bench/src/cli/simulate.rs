//! The words of `simulate`.

use std::path::PathBuf;

use clap::Args;

use super::MachineArgs;
use crate::simulation::WorkloadArgs;

pub(crate) const HELP: &str = "\
Jobs run for longer where their links are slower. By --execution effective-bandwidth a job's time is linear in 1 / bandwidth,
as Eq. 2 predicts it between 10 and 50 GB/s, up to 3 times as long for VGG-16; fixed ignores links, as the released simulator does.

Jobs that can never be placed are told no and listed with the reason; they are no error.

Examples:
  mapa-bench simulate --machine dgx-1v
  mapa-bench simulate --machine dgx-1v --policy greedy,preserve --generate mapa --seed 7 --output jobs.parquet
  mapa-bench simulate --machine fleet:2xdgx-1v --execution fixed --series series.csv --plot plots";

#[derive(Args)]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    /// How devices are chosen, one simulation each: names as for `allocate` without min-step-time, `paper` for its four, `all`
    /// for those of whole devices.
    #[arg(long, value_name = "POLICIES", value_delimiter = ',', default_value = "paper")]
    pub(crate) policy: Vec<String>,
    /// Which job is next, and when.
    #[arg(long, value_name = "NAME", default_value = "fifo")]
    pub(crate) scheduler: String,
    /// How long jobs run: fixed, as their file says; or by a model of bandwidth, effective-bandwidth (Eq. 2) or ring-packing.
    #[arg(long, value_name = "MODEL", default_value = "effective-bandwidth")]
    pub(crate) execution: String,
    /// What preserve and max-bandwidth predict bandwidth by, as for `allocate`.
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
