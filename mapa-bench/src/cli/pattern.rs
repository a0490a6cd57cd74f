//! The command line of `pattern`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) const HELP: &str = "\
Every other command takes the file that --output writes: --pattern job.toml. What is not known becomes all-to-all, and a note
says so.

Examples:
  mapa-bench pattern from-parallelism tp=4,pp=2 --bytes tp=2e9,pp=1e8 --output job.toml
  mapa-bench pattern show job.toml --dot - | dot -T svg > job.svg
  mapa-bench allocate --machine dgx-1v --pattern job.toml";

#[derive(Args)]
pub(crate) struct PatternArgs {
    #[command(subcommand)]
    pub(crate) from: PatternFrom,
}

#[derive(Subcommand)]
pub(crate) enum PatternFrom {
    /// From counters of links: readings of `nvidia-smi nvlink -g 0` or `-gt d`.
    FromNvlink(FromNvlink),
    /// From NCCL's or RCCL's logs (NCCL_DEBUG=INFO) and graphs (NCCL_GRAPH_DUMP_FILE).
    FromNccl(FromNccl),
    /// From source code in C, C++, CUDA and Python; nothing is executed.
    FromSource(FromSource),
    /// From degrees of parallelism.
    FromParallelism(FromParallelism),
    /// Show a pattern that --pattern takes, such as a pattern file.
    Show(ShowPattern),
}

/// What becomes of the application graph besides being printed.
#[derive(Args)]
pub(crate) struct WriteArgs {
    /// What it is called [default: after what it is made from].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Write the pattern file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Draw it for Graphviz, to a file; or to standard output, in place of the answer.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) dot: Option<String>,
}

#[derive(Args)]
pub(crate) struct FromNvlink {
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Args)]
pub(crate) struct FromNccl {
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Args)]
pub(crate) struct FromSource {
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Args)]
pub(crate) struct FromParallelism {
    /// The degrees: tp=4,pp=2,dp=1, in any order; what is missing is 1. Also sp=S or ulysses=S, ep=E, etp=1, and order=ORDER or
    /// order=FRAMEWORK (megatron, deepspeed, torchtitan, vllm); see docs/training-jobs.md.
    #[arg(value_name = "DEGREES")]
    pub(crate) degrees: String,
    /// What each rank sends in a step, bytes; as for `allocate` [default: 1e9 each].
    #[arg(long, value_name = "BYTES")]
    pub(crate) bytes: Option<String>,
    /// The bytes that follow from a model's shape: layers=32,hidden=4096,sequence=2048,micro-batch=1,micro-batches=8, also
    /// parameters=P, expert-parameters=Q, top-k=K and bytes=2 of a number. What --bytes tells goes before.
    #[arg(long, value_name = "SHAPE")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Args)]
pub(crate) struct ShowPattern {
    /// A pattern file, a shape, edges, or degrees of parallelism.
    #[arg(value_name = "PATTERN", allow_hyphen_values = true)]
    pub(crate) pattern: String,
    /// How many ranks, for shapes and edges.
    #[arg(long, value_name = "K")]
    pub(crate) gpus: Option<usize>,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}
