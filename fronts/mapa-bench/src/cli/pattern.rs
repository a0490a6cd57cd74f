//! The command line of `pattern`.

use std::path::PathBuf;

use clap::{Arg, Args, Subcommand};

use mapa_cli::args::MachineArgs;

pub(crate) const HELP: &str = "\
Other commands read the file that --output writes: --pattern job.toml. Communication of unknown shape becomes all-to-all, and a note
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
    /// From link counters: readings of `nvidia-smi nvlink -g 0` or `-gt d`.
    FromNvlink(Box<FromNvlink>),
    /// From NCCL's or RCCL's logs (NCCL_DEBUG=INFO) and graphs (NCCL_GRAPH_DUMP_FILE).
    FromNccl(FromNccl),
    /// From source code in C, C++, CUDA and Python, and from scripts that launch jobs; nothing is
    /// executed.
    #[cfg(feature = "source")]
    FromSource(FromSource),
    /// Not in this build: needs the feature `source`.
    #[cfg(not(feature = "source"))]
    FromSource(crate::left_out::LeftOut),
    /// From degrees of parallelism.
    FromParallelism(FromParallelism),
    /// Show a pattern that --pattern takes, such as a pattern file.
    Show(ShowPattern),
}

/// What to do with the application graph besides printing it.
#[derive(Args)]
pub(crate) struct WriteArgs {
    /// The name of the application [default: derived from its source].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Write the pattern file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write the pattern for Graphviz into this file; with `-`, print it in place of the answer.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) dot: Option<String>,
    /// The number of training steps over which bytes were counted. With it, edges carry bytes per
    /// step [default: unknown].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) steps: Option<f64>,
    /// Whether the job's speed depends on its links, if you know [default: by the evidence below;
    /// else as the source says, or unknown].
    #[arg(long, value_name = "WORD", value_parser = ["sensitive", "insensitive", "unknown"], help_heading = SENSITIVITY,
        conflicts_with_all = ["fast_seconds", "slow_seconds", "messages", "iteration_seconds", "link_gbps"])]
    pub(crate) sensitivity: Option<String>,
    #[command(flatten)]
    pub(crate) evidence: EvidenceArgs,
}

/// A command of `pattern`, whose short help leaves out what `sensitivity` is for.
pub(super) fn brief(command: clap::Command) -> clap::Command {
    command.mut_args(|argument| {
        let is_evidence = argument.get_help_heading() == Some(SENSITIVITY);
        let is_hidden = is_evidence || argument.is_hide_short_help_set();
        argument.hide_short_help(is_hidden)
    })
}

const SENSITIVITY: &str = "Whether the job's speed depends on its links (see docs/sensitivity.md)";

/// Evidence of a job's sensitivity. The first kind that is given decides.
#[derive(Args)]
pub(crate) struct EvidenceArgs {
    /// Execution times on an allocation with good links, one for each run, separated by commas.
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', allow_negative_numbers = true, requires = "slow_seconds",
        help_heading = SENSITIVITY)]
    pub(crate) fast_seconds: Vec<f64>,
    /// Execution times on an allocation with worse links.
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', allow_negative_numbers = true, requires = "fast_seconds",
        help_heading = SENSITIVITY)]
    pub(crate) slow_seconds: Vec<f64>,
    /// The messages that a rank sends in an iteration: 8x3e7 is eight calls of 30 MB. Several sizes
    /// are separated by commas.
    #[arg(long, value_name = "CALLSxBYTES", allow_hyphen_values = true, help_heading = SENSITIVITY)]
    pub(crate) messages: Option<String>,
    /// The time of an iteration on good links. With bytes per step, --messages is not needed.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, help_heading = SENSITIVITY)]
    pub(crate) iteration_seconds: Option<f64>,
    /// The worse and the better link that a prediction compares, GB/s [default: 12,50].
    #[arg(long, value_name = "SLOW,FAST", value_delimiter = ',', num_args = 1, allow_negative_numbers = true,
        requires = "iteration_seconds", help_heading = SENSITIVITY)]
    pub(crate) link_gbps: Vec<f64>,
}

pub(crate) const SENSITIVITY_HELP: &str = "\
The first of these that is given decides: execution times on two allocations, messages with the time of an iteration, messages
alone. `pattern` takes the same options, and writes the verdict to the pattern file.

Examples:
  mapa-bench sensitivity --fast-seconds 374 --slow-seconds 511
  mapa-bench sensitivity --messages 8x3.05e7 --iteration-seconds 0.0374
  mapa-bench sensitivity --published";

#[derive(Args)]
pub(crate) struct SensitivityArgs {
    /// Show what is published about the paper's nine workloads, and the verdict that follows.
    #[arg(long, conflicts_with_all = ["fast_seconds", "slow_seconds", "messages", "iteration_seconds", "link_gbps"])]
    pub(crate) published: bool,
    #[command(flatten)]
    pub(crate) evidence: EvidenceArgs,
}

#[derive(Args)]
#[command(
    mut_args(unless_readings),
    override_usage = "mapa-bench pattern from-nvlink [OPTIONS] <READING> [LATER READING]\n       mapa-bench pattern from-nvlink [OPTIONS] --live"
)]
pub(crate) struct FromNvlink {
    /// Output of `nvidia-smi nvlink -gt d` (or `-gt r`, `-g 0`, `-g 1`): with one reading, traffic
    /// counts from the start of the counters; with two, their difference counts.
    #[arg(value_name = "READING", num_args = 1..=2, required_unless_present = "live", conflicts_with = "live")]
    pub(crate) readings: Vec<String>,
    #[command(flatten)]
    pub(crate) machine: Option<MachineArgs>,
    /// Time between the two readings of --live, seconds.
    #[arg(
        long = "for",
        value_name = "SECONDS",
        default_value_t = 10.0,
        help_heading = "This machine"
    )]
    pub(crate) seconds: f64,
    /// Output of `nvidia-smi nvlink -R` or `-p`: the devices at the other ends of links.
    #[arg(long, value_name = "FILE")]
    pub(crate) remotes: Option<String>,
    /// Output of `nvidia-smi dmon -s t` over the same time: traffic over PCIe.
    #[arg(long, value_name = "FILE")]
    pub(crate) pcie: Option<String>,
    /// Time between two samples of --pcie that have no timestamps, seconds.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SECONDS",
        default_value_t = 1.0
    )]
    pub(crate) pcie_interval: f64,
    /// The job's devices in rank order: ids, names, UUIDs or PCI addresses [default: those with
    /// traffic].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) devices: Vec<String>,
    /// Leave out links that carry less than this share of the busiest link, percent.
    // A number below 0 is read, so that the error can name the range.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "PERCENT",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    pub(crate) noise: f64,
    /// How much the counters at the two ends of a link may differ, percent of the link's traffic.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "PERCENT",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    pub(crate) tolerance: f64,
    /// If a counter decreased, assume that it was reset between the readings, and count from 0. By
    /// default, such a counter is an error.
    #[arg(long)]
    pub(crate) resets: bool,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

/// Requires a machine unless readings come from files.
fn unless_readings(arg: Arg) -> Arg {
    if arg.get_id() == "machine" {
        // Shared arguments demand a machine. Here readings may take its place.
        arg.required(false).required_unless_present("readings")
    } else {
        arg
    }
}

#[derive(Args)]
pub(crate) struct FromNccl {
    /// Logs of all ranks or of some, in any order, or a graph in XML; `-` is standard input.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// The paths of all-reduces: ring, tree or both (see docs/patterns-from-nccl.md).
    #[arg(long, value_name = "PATHS", default_value = "both")]
    pub(crate) algorithm: String,
    /// If calls were logged, leave out edges that carry less than this share of the busiest edge,
    /// percent.
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    pub(crate) noise: f64,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[cfg(feature = "source")]
#[derive(Args)]
pub(crate) struct FromSource {
    /// Source files and folders: C (.c), C++ and CUDA (.cpp .cc .cxx .cu .cuh .h .hpp), Python
    /// (.py); launch scripts (.sh .bash .sbatch .slurm), with the programs beside them.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// How many GPUs the program runs on [default: as its launch script or its constants say].
    #[arg(long, value_name = "K")]
    pub(crate) gpus: Option<usize>,
    /// The paths of all-reduces: ring (large messages), tree (small ones) or both.
    #[arg(long, value_name = "ALGORITHM", default_value = "ring")]
    pub(crate) algorithm: String,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Args)]
pub(crate) struct FromParallelism {
    /// The degrees in any order, such as tp=4,pp=2,dp=1; a missing degree is 1. Also sp=S or
    /// ulysses=S, ep=E, etp=1, and order=ORDER or order=FRAMEWORK (megatron, deepspeed, torchtitan,
    /// vllm); see docs/training-jobs.md.
    #[arg(value_name = "DEGREES")]
    pub(crate) degrees: String,
    /// Bytes that each rank sends in a step, as for `allocate` [default: 1e9 each].
    #[arg(long, value_name = "BYTES")]
    pub(crate) bytes: Option<String>,
    /// Derive the bytes from a model's shape:
    /// layers=32,hidden=4096,sequence=2048,micro-batch=1,micro-batches=8, also parameters=P,
    /// expert-parameters=Q, top-k=K and bytes=2 (the size of a number). Dimensions that --bytes
    /// names take their bytes from there.
    #[arg(long, value_name = "SHAPE")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Args)]
pub(crate) struct ShowPattern {
    /// A pattern file, a shape, edges or degrees of parallelism.
    #[arg(value_name = "PATTERN", allow_hyphen_values = true)]
    pub(crate) pattern: String,
    /// The number of ranks, for shapes and edges.
    #[arg(long, value_name = "K")]
    pub(crate) gpus: Option<usize>,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}
