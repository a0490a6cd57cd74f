//! The command line of `allocate` and `compare`.

use clap::Args;

use super::{ConstraintArgs, JobArgs, PolicyArgs, UseArgs};
use mapa_cli::args::MachineArgs;

pub(crate) const HELP: &str = "\
A picture of the machine with the job on it:
  mapa-bench allocate --machine dgx-1v --gpus 4 --sensitive --busy 0 --svg four.svg

MIG instances:
  mapa-bench topo --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g
  mapa-bench allocate --machine dgx-a100 --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --slice 1g --gpus 4 \\
    --pattern independent --policy packed --busy GPU0,GPU1/1g.5gb@3

A training job, tensor by pipeline parallel:
  mapa-bench allocate --machine dgx-1v --pattern tp=4,pp=2 --bytes tp=2e9,pp=1e8 --policy min-step-time

--batch reads one JSON object per line and answers each with one line. State is kept between lines.
  {\"op\":\"allocate\",\"id\":\"a\",\"gpus\":3,\"pattern\":\"ring\",\"policy\":\"preserve\",\"sensitive\":true}
     further keys: \"available\":[..] (for this line, use only these of the free devices), \"must_include\":[..],
     \"avoid\":[..], \"min_link\":\"nv1\", \"same_numa\":true, \"slice\":\"1g\", \"model\":\"..\"; devices are ids (numbers) or names
     a training job, without \"gpus\": \"pattern\":\"tp=4,pp=2\",\"bytes\":\"tp=2e9,pp=1e8\",\"policy\":\"min-step-time\"
     answers have the keys of `allocate --json`, or {\"refusal\":..,\"reason\":..}, and the id
     a malformed line gets {\"ok\":false,\"error\":..} and makes the exit status 2; a refusal does not
  {\"op\":\"release\",\"id\":\"a\"}   {\"op\":\"reset\"}   {\"op\":\"show\"}";

#[derive(Args)]
pub(crate) struct AllocateArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    #[command(flatten)]
    pub(crate) job: JobArgs,
    #[command(flatten)]
    pub(crate) uses: UseArgs,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Whether the job's speed depends on its links [default: as the pattern file says, else true].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) sensitive: Option<bool>,
    #[command(flatten)]
    pub(crate) constraints: ConstraintArgs,
    /// Explain why this choice beat the runners-up.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print the three scores of the MAPA paper, which are printed without it for policies that use them.
    #[arg(long)]
    pub(crate) scores: bool,
    /// List the best placement on each of the K best sets of devices [default: 1; 6 with
    /// --explain].
    #[arg(long, value_name = "K")]
    pub(crate) top: Option<usize>,
    /// Draw the machine with the job on it (SVG) into this file; with `-`, print the picture in
    /// place of the answer.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) svg: Option<String>,
    /// Answer a stream of requests from a file or `-`, one JSON object per line (see below).
    #[arg(long, value_name = "FILE|-", conflicts_with_all = [
        "gpus", "pattern", "bytes", "policy", "sensitive", "explain", "scores", "top", "limit", "busy", "must_include", "avoid",
        "min_link", "same_numa", "like", "max_nodes", "model", "preserved", "slice", "memory", "shared", "pcie_traffic", "warps", "nics",
        "nic_within", "nic_for",
        "svg",
    ])]
    pub(crate) batch: Option<String>,
}

#[derive(Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    #[command(flatten)]
    pub(crate) job: JobArgs,
    #[command(flatten)]
    pub(crate) uses: UseArgs,
    /// Whether the job's speed depends on its links [default: as the pattern file says, else true].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) sensitive: Option<bool>,
    /// The model by which preserve, max-bandwidth and foresight predict bandwidth, as for
    /// `allocate`.
    #[arg(long, value_name = "MODEL|FILE")]
    pub(crate) model: Option<mapa_front::ModelSpec>,
    #[command(flatten)]
    pub(crate) constraints: ConstraintArgs,
}
