//! The command line.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Parser, Subcommand, ValueEnum};

use crate::job;
use crate::policies::policies;

mod defrag;
mod pattern;
mod pcie;
mod reproduce;
mod simulate;
mod sweep;
mod workers;

pub(crate) use defrag::DefragArgs;
pub(crate) use pattern::{
    EvidenceArgs, FromNccl, FromNvlink, FromParallelism, FromSource, PatternArgs, PatternFrom, SensitivityArgs,
    ShowPattern, WriteArgs,
};
pub(crate) use pcie::{ContentionArgs, ProfileArgs};
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use simulate::SimulateArgs;
pub(crate) use sweep::{Shard, SweepArgs};
pub(crate) use workers::{CopyArgs, ReplayArgs, WorkersArgs, WorkersDo};

/// Which accelerators should this job get?
#[derive(Parser)]
#[command(version, about, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Exit status: 0 an answer, 2 a malformed request, 3 a refusal (busy, infeasible or limit_reached).

Your own machine:
  mapa-bench topo --live
  nvidia-smi topo -m | mapa-bench topo --machine -
  nvidia-smi topo -m > my-server.txt
  mapa-bench allocate --machine my-server.txt --gpus 4 --sensitive --explain";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the machines of the catalogue, and the formulas for more.
    Machines,
    /// Show a machine: its link matrix, link census and per-device totals; or write it for other tools.
    #[command(after_help = TOPO_HELP)]
    Topo(TopoArgs),
    /// Count or list the ways in which a job's pattern lies on a machine, or one graph in another.
    #[command(after_help = MATCH_HELP, override_usage = MATCH_USAGE)]
    Match(MatchArgs),
    /// Choose devices for a job, or for a stream of jobs.
    #[command(after_help = ALLOCATE_HELP)]
    Allocate(AllocateArgs),
    /// Show what every policy would choose, side by side.
    Compare(CompareArgs),
    /// Say what a model of bandwidth makes of given devices, term by term or ring by ring.
    #[command(after_help = SCORE_HELP)]
    Score(ScoreArgs),
    /// Fit a model of bandwidth to measurements made on a machine, and say how far it can be trusted.
    #[command(after_help = FIT_HELP)]
    Fit(FitArgs),
    /// Show how a GPU with MIG can be cut into instances, and whether wanted ones fit; without --gpu, list the GPUs.
    #[command(after_help = MIG_HELP)]
    Mig(MigArgs),
    /// Make an application graph from what a program does: counters, NCCL's logs, source code, or degrees of parallelism.
    #[command(after_help = pattern::HELP)]
    Pattern(PatternArgs),
    /// Say whether a job's speed depends on its links, by what is known of its times and messages.
    #[command(after_help = pattern::SENSITIVITY_HELP)]
    Sensitivity(SensitivityArgs),
    /// Replay a workload on a machine, under one policy or several.
    #[command(after_help = simulate::HELP)]
    Simulate(SimulateArgs),
    /// Simulate every combination of machines, workloads, schedulers and policies: resumed where it was cut off, split over
    /// many computers.
    #[command(after_help = sweep::HELP)]
    Sweep(SweepArgs),
    /// Show what a running machine or fleet has lost to fragmentation, and the fewest jobs to move for a wanted placement.
    #[command(after_help = defrag::HELP)]
    Defrag(DefragArgs),
    /// Fit how jobs are slowed down by others on their PCIe link to measured runs, and write their profiles.
    #[command(after_help = pcie::PROFILE_HELP)]
    Profile(ProfileArgs),
    /// Show which jobs share which way to the host, and how slow each is for it by two models.
    #[command(after_help = pcie::CONTENTION_HELP)]
    Contention(ContentionArgs),
    /// Run a published evaluation again, and set what comes out beside what was printed.
    #[command(after_help = reproduce::HELP)]
    Reproduce(ReproduceArgs),
    /// Say what descriptions of machines are and what they tell: outputs of vendors' tools, XML, machine files.
    Read(ReadArgs),
    /// Real processes in place of GPUs: what simulations are held against.
    #[command(hide = true)]
    Workers(WorkersArgs),
}

const SCORE_HELP: &str = "\
The number is a bus bandwidth, GB/s, as nccl-tests and rccl-tests print it (busbw), of large messages. Sums of terms depend on
the rank order, packings on the set of devices alone. One device has no collective bandwidth: \"gbps\": null. Channels are what an
imitated search finds: no bound is proven but that of ring packing, \"at_most_gbps\".

Examples:
  mapa-bench score --machine dgx-1v --devices 0,3,4
  mapa-bench score --machine dgx-1v --devices 0,3,4 --model ring-packing --rates 0,3=46.5
  mapa-bench score --machine dgx-1v --devices 0,3,4 --model model.toml --json";

const FIT_HELP: &str = "\
Measurements are what nccl-tests and rccl-tests print or write (text, JSON, CSV; log lines between do not matter), or a CSV
with the columns devices (`0 3 4` in rank order, or `first 3`) and gbps, and optionally op, bytes and label. Each run counts
with its highest bus bandwidth.

Examples:
  for g in 0,1 0,3 0,1,2 0,3,4; do
    echo CUDA_VISIBLE_DEVICES=$g
    CUDA_VISIBLE_DEVICES=$g all_reduce_perf -b 64M -e 1G -f 2 -g $(echo $g | tr , '\\n' | wc -l)
  done > runs.txt
  mapa-bench fit --machine my-server.txt runs.txt --terms linear --output model.toml --plot plots
  mapa-bench allocate --machine my-server.txt --gpus 4 --sensitive --model model.toml";

const MIG_HELP: &str = "\
Examples:
  mapa-bench mig
  mapa-bench mig --gpu a100-40gb --layouts
  mapa-bench mig --gpu h100-80gb --fit 3g,2g,1g,1g
  mapa-bench mig --gpu b200 --fit 1g.45gb,1g.23gb+me,3g --double-memory --media";

const MATCH_USAGE: &str = "\
mapa-bench match [OPTIONS] <--machine <NAME|FILE|->|--live> <--gpus <K>|--pattern <tp=4,..|FILE>>
       mapa-bench match [OPTIONS] --pattern-file <FILE> --target-file <FILE>";

const MATCH_HELP: &str = "\
A search that stops at a limit is an answer too: \"at least\", or \"complete\": false with the reason as \"stopped\".

Graphs in files, vertices numbered from 0, edges without direction; labels must be equal. Loops are an error in a pattern
and change nothing in a target; a pattern has at most 1,024 vertices:
  edge list        n m, then u v for each edge
  adjacency lists  n, then for each vertex how many neighbours, and which
  labelled         t n m, then v ID LABEL DEGREE for each vertex, e U V for each edge
  mapa-bench match --pattern-file square.txt --target-file grid.txt --induced";

const TOPO_HELP: &str = "\
Examples:
  mapa-bench topo --machine dgx-2 --write svg > dgx-2.svg
  mapa-bench topo --machine dgx-2 --write dot | dot -T pdf > dgx-2.pdf
  nvidia-smi topo -m | mapa-bench topo --machine - --write toml > my-server.toml
  mapa-bench topo --machine hgx-h100 --write koordinator";

const ALLOCATE_HELP: &str = "\
A picture of the machine with the job on it:
  mapa-bench allocate --machine dgx-1v --gpus 4 --sensitive --busy 0 --svg four.svg

Instances of GPUs with MIG:
  mapa-bench topo --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g
  mapa-bench allocate --machine dgx-a100 --mig a100-40gb=1g,1g,1g,1g,1g,1g,1g --slice 1g --gpus 4 \\
    --pattern independent --policy packed --busy GPU0,GPU1/1g.5gb@3

A training job, tensor by pipeline parallel:
  mapa-bench allocate --machine dgx-1v --pattern tp=4,pp=2 --bytes tp=2e9,pp=1e8 --policy min-step-time

Batch form: one JSON object a line in, one a line out, the state kept between lines.
  {\"op\":\"allocate\",\"id\":\"a\",\"gpus\":3,\"pattern\":\"ring\",\"policy\":\"preserve\",\"sensitive\":true}
     also: \"available\":[..] (of what is free, all that counts for this line), \"must_include\":[..],
     \"avoid\":[..], \"min_link\":\"nv1\", \"same_numa\":true, \"slice\":\"1g\", \"model\":\"..\"; devices are ids (numbers) or names
     a training job: \"pattern\":\"tp=4,pp=2\",\"bytes\":\"tp=2e9,pp=1e8\",\"policy\":\"min-step-time\", without \"gpus\"
     answers with the keys of `allocate --json`, or {\"refusal\":..,\"reason\":..}, and the id
     malformed lines are answered by {\"ok\":false,\"error\":..} and make the exit status 2; refusals do not
  {\"op\":\"release\",\"id\":\"a\"}   {\"op\":\"reset\"}   {\"op\":\"show\"}";

#[derive(Args)]
pub(crate) struct MachineArgs {
    /// The machine: a name of the catalogue or a formula such as torus:4x4 or fleet:4xdgx-1v (see `machines`), a file (what
    /// vendors' tools print, XML, a machine file: see `read`), or `-`. Given several times, the dumps are merged.
    #[arg(long, value_name = "NAME|FILE|-", required_unless_present = "live")]
    pub(crate) machine: Vec<String>,
    /// The machine that this runs on, asked of its drivers: NVML, `nvidia-smi`, or AMD's KFD; or what they said before.
    #[arg(long, conflicts_with = "machine", help_heading = LIVE)]
    pub(crate) live: bool,
    // `requires` alone is not enough: it is waived where `--live` would conflict.
    /// Ask, whatever was kept from an earlier call, and keep the answer.
    #[arg(long, requires = "live", conflicts_with = "machine", help_heading = LIVE)]
    pub(crate) refresh: bool,
    /// Ask, and keep nothing [default: kept in $XDG_CACHE_HOME/mapa or ~/.cache/mapa until the machine is restarted].
    #[arg(long, requires = "live", conflicts_with_all = ["machine", "refresh"], help_heading = LIVE)]
    pub(crate) no_cache: bool,
    /// The NVML library [default: libnvidia-ml.so.1, where the loader finds it].
    #[arg(long, value_name = "PATH", requires = "live", conflicts_with = "machine", help_heading = LIVE)]
    pub(crate) nvml: Option<PathBuf>,
    /// The command `nvidia-smi` [default: the one in PATH].
    #[arg(long, value_name = "PATH", requires = "live", conflicts_with = "machine", help_heading = LIVE)]
    pub(crate) nvidia_smi: Option<PathBuf>,
    /// The nodes of AMD's KFD [default: /sys/class/kfd/kfd/topology/nodes].
    #[arg(long, value_name = "DIR", requires = "live", conflicts_with = "machine", help_heading = LIVE)]
    pub(crate) kfd: Option<PathBuf>,
    /// Give every path through the host this bandwidth, GB/s per direction [default: as the machine says, mostly 12].
    #[arg(long, value_name = "GB/s")]
    pub(crate) pcie_gbps: Option<f64>,
    /// Give every NVLink (or other direct link) this bandwidth, GB/s per direction [default: as the machine says; 25 for
    /// `nvidia-smi topo -m`, which does not].
    #[arg(long, value_name = "GB/s")]
    pub(crate) nvlink_gbps: Option<f64>,
    /// Every device can be cut into instances as this GPU can (see `mig`); with profiles, is cut so: a100-40gb=3g,2g,1g,1g
    /// [default: as the machine file says, and whole].
    #[arg(long, value_name = "GPU[=PROFILES]")]
    pub(crate) mig: Option<String>,
}

impl MachineArgs {
    /// As `--machine` alone.
    pub(crate) fn named(machine: &str) -> Self {
        Self {
            machine: vec![machine.to_owned()],
            live: false,
            refresh: false,
            no_cache: false,
            nvml: None,
            nvidia_smi: None,
            kfd: None,
            pcie_gbps: None,
            nvlink_gbps: None,
            mig: None,
        }
    }
}

const LIVE: &str = "This machine";

#[derive(Args)]
pub(crate) struct JobArgs {
    /// How many devices the job needs; with --slice, how many instances. The pattern tp=4,pp=2,dp=1 says so itself.
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) gpus: Option<usize>,
    /// Who talks to whom: ring, chain, star, tree, all-to-all, ring-tree, independent (nobody), or edges of ranks:
    /// 0-1,1-2,2-0. An edge may carry a traffic weight, 0-1:2.5; the built-in policies count every edge alike, weights only
    /// keep ranks apart. Or a training job by its degrees of parallelism: tp=4,pp=2,dp=1 (see docs/training-jobs.md). Or a
    /// pattern file, as `pattern` writes it.
    #[arg(long, default_value = "ring", allow_hyphen_values = true)]
    pub(crate) pattern: String,
    /// What each rank of such a job sends in a step, bytes: what it all-reduces with its tensor group, hands to the next stage,
    /// all-reduces with its data group; for example tp=2e9,pp=1e8,dp=5e8 [default: 1e9 each].
    #[arg(long, value_name = "BYTES")]
    pub(crate) bytes: Option<String>,
    /// Each rank gets an instance of exactly the size of this profile (3g.20gb, or 3g for short), not a whole device.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) slice: Option<String>,
}

/// What each rank uses of what it gets.
#[derive(Args)]
pub(crate) struct UseArgs {
    /// Memory that each rank uses, GiB.
    #[arg(long, value_name = "GiB", help_heading = USE)]
    pub(crate) memory: Option<f64>,
    /// Ranks may share a device or instance, as far as its memory goes.
    #[arg(long, help_heading = USE)]
    pub(crate) shared: bool,
    /// PCIe traffic of each rank, GB/s (for the policy pcie-aware).
    #[arg(long, value_name = "GB/s", help_heading = USE)]
    pub(crate) pcie_traffic: Option<f64>,
    /// Warps that each rank has in flight (for the policy case).
    #[arg(long, value_name = "N", help_heading = USE)]
    pub(crate) warps: Option<u32>,
}

const USE: &str = "What each rank uses";

#[derive(Args)]
pub(crate) struct ConstraintArgs {
    /// Devices and instances in use: ids, names, UUIDs or PCI addresses, separated by commas. An instance is named as
    /// GPU0/1g.5gb@3; a device that is cut up stands for all its instances.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub(crate) busy: Vec<String>,
    /// Devices that the job must get.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub(crate) must_include: Vec<String>,
    /// Devices that the job must not get.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub(crate) avoid: Vec<String>,
    /// The worst link its edges may lie on: sys, node, phb, pxb, pix, nv1, nv2, ...
    #[arg(long, value_name = "LINK")]
    pub(crate) min_link: Option<String>,
    /// All its devices on one NUMA node.
    #[arg(long)]
    pub(crate) same_numa: bool,
    /// Stop the search after this many nodes: ranks placed, and sets of devices weighed [default: 100 million].
    #[arg(long, value_name = "N")]
    pub(crate) max_nodes: Option<u64>,
    /// Stop the search after this many placements, best or not; without it tables spare most searches.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Args)]
pub(crate) struct ReadArgs {
    /// Files, and folders to look through; a folder may also be KFD's tree, /sys/class/kfd/kfd/topology.
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print only how many files of each kind had which outcome.
    #[arg(long)]
    pub(crate) summary: bool,
}

#[derive(Args)]
pub(crate) struct TopoArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Print the machine in this format instead: for other tools, or to look at.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) write: Option<Format>,
    /// The same as --write toml.
    #[arg(long, conflicts_with_all = ["json", "write"])]
    pub(crate) toml: bool,
}

/// How a machine can be written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// MAPA's machine file.
    Toml,
    /// A picture, SVG.
    Svg,
    /// Graphviz.
    Dot,
    /// JSON Graph Format, version 2.
    JsonGraph,
    /// NCCL's topology, XML, for NCCL_TOPO_FILE.
    Nccl,
    /// Slurm's gres.conf with Links.
    Slurm,
    /// Koordinator's table of GPU partitions, the value of the annotation scheduling.koordinator.sh/gpu-partitions.
    Koordinator,
}

#[derive(Args)]
#[command(mut_args(unless_files))]
pub(crate) struct MatchArgs {
    #[command(flatten)]
    pub(crate) machine: Option<MachineArgs>,
    #[command(flatten)]
    pub(crate) job: Option<JobArgs>,
    /// Look for the graph in this file, instead of a job's pattern on a machine (see below).
    #[arg(long, value_name = "FILE|-", requires = "target_file", help_heading = GRAPHS, conflicts_with_all = [
        "machine", "live", "refresh", "no_cache", "nvml", "nvidia_smi", "kfd", "pcie_gbps", "nvlink_gbps", "mig", "gpus", "pattern", "bytes", "slice", "busy", "min_link",
    ])]
    pub(crate) pattern_file: Option<String>,
    /// In the graph in this file.
    #[arg(long, value_name = "FILE|-", requires = "pattern_file", help_heading = GRAPHS)]
    pub(crate) target_file: Option<String>,
    /// Pairs of ranks that do not talk must lie on devices that are not joined.
    #[arg(long)]
    pub(crate) induced: bool,
    /// Count every rank order, not only those that differ by more than the pattern's symmetry.
    #[arg(long)]
    pub(crate) raw: bool,
    /// List the first N matches.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) list: usize,
    /// Devices and instances in use.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub(crate) busy: Vec<String>,
    /// The worst link its edges may lie on.
    #[arg(long, value_name = "LINK")]
    pub(crate) min_link: Option<String>,
    /// Stop the search after this many matches.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Stop the search after this many nodes (partial placements).
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    pub(crate) max_nodes: u64,
    /// Count on this many threads; the answer is that of one.
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "pattern_file")]
    pub(crate) threads: NonZeroUsize,
    /// List the best match on each of the K best sets of devices, by aggregated bandwidth (Eq. 1).
    #[arg(long, value_name = "K", default_value_t = 0, conflicts_with_all = ["pattern_file", "induced", "raw"])]
    pub(crate) top: usize,
}

/// What a job's pattern and its machine need, files do not.
fn unless_files(arg: Arg) -> Arg {
    let needed = arg.get_id() == "machine";
    if needed { arg.required(false).required_unless_present("pattern_file") } else { arg }
}

const GRAPHS: &str = "Graphs in files";

#[derive(Args)]
pub(crate) struct AllocateArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// How many devices the job needs; with --slice, how many instances. The pattern tp=4,pp=2,dp=1 says so itself.
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) gpus: Option<usize>,
    /// Who talks to whom: ring, chain, star, tree, all-to-all, ring-tree, independent (nobody), or edges of ranks:
    /// 0-1,1-2,2-0. An edge may carry a traffic weight, 0-1:2.5; the built-in policies count every edge alike, weights only
    /// keep ranks apart. Or a training job by its degrees of parallelism: tp=4,pp=2,dp=1 (see docs/training-jobs.md). Or a
    /// pattern file, as `pattern` writes it.
    #[arg(long, default_value = "ring", allow_hyphen_values = true)]
    pub(crate) pattern: String,
    /// What each rank of such a job sends in a step, bytes: what it all-reduces with its tensor group, hands to the next stage,
    /// all-reduces with its data group; for example tp=2e9,pp=1e8,dp=5e8 [default: 1e9 each].
    #[arg(long, value_name = "BYTES")]
    pub(crate) bytes: Option<String>,
    /// Each rank gets an instance of exactly the size of this profile (3g.20gb, or 3g for short), not a whole device.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) slice: Option<String>,
    #[command(flatten)]
    pub(crate) uses: UseArgs,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Whether the job's speed depends on its links [default: as the pattern file says; false without one].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) sensitive: Option<bool>,
    #[command(flatten)]
    pub(crate) constraints: ConstraintArgs,
    /// Say why this choice beat the runners-up.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Name the best placement on each of the K best sets of devices [default: 1; 6 with --explain].
    #[arg(long, value_name = "K")]
    pub(crate) top: Option<usize>,
    /// Draw the machine with the job on it, SVG, to a file; or to standard output, in place of the answer.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) svg: Option<String>,
    /// Answer a stream of requests, one JSON object a line, from a file or `-` (see below).
    #[arg(long, value_name = "FILE|-", conflicts_with_all = [
        "gpus", "pattern", "bytes", "policy", "sensitive", "explain", "top", "limit", "busy", "must_include", "avoid", "min_link", "same_numa",
        "max_nodes", "model", "preserved", "slice", "memory", "shared", "pcie_traffic", "warps", "svg",
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
    /// Whether the job's speed depends on its links [default: as the pattern file says; false without one].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) sensitive: Option<bool>,
    /// What preserve, max-bandwidth and foresight predict bandwidth by, as for `allocate`.
    #[arg(long, value_name = "MODEL|FILE")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) constraints: ConstraintArgs,
}

#[derive(Args)]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// The devices in rank order: ids, names, UUIDs or PCI addresses.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',', required = true)]
    pub(crate) devices: Vec<String>,
    /// paper (Eq. 2), paper-printed (as Table 2 prints it), ring-packing, tree, all-to-all, channels (how NCCL searches rings,
    /// with the speeds up to Ampere; channels-2022 since Hopper, channels-2024 since Blackwell), or a coefficient file.
    #[arg(long, value_name = "MODEL|FILE", default_value = "paper")]
    pub(crate) model: String,
    /// Who talks to whom, for sums of terms [default: ring].
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) pattern: Option<String>,
    /// What links reach, for packings: nominal; nccl, what NCCL (or RCCL) counts a link of this generation as; or a bus
    /// bandwidth measured between two joined devices, A,B=GBPS [default: nominal].
    #[arg(long, value_name = "RATES")]
    pub(crate) rates: Option<String>,
}

#[derive(Args)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Files of measurements, or `-`.
    #[arg(required = true, value_name = "FILE|-")]
    pub(crate) measurements: Vec<String>,
    /// How coefficients are found: without bounds, with a ridge, none below zero, or such that better links never hurt.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) method: MethodName,
    /// The weight of the ridge.
    #[arg(long, required_if_eq("method", "ridge"))]
    pub(crate) lambda: Option<f64>,
    /// The least link of each tier but the last, best first: links are counted by tier.
    #[arg(long, value_name = "LINKS", value_delimiter = ',', default_value = "nv2,nv1")]
    pub(crate) tiers: Vec<String>,
    /// What a prediction is a sum of: the terms of Eq. 2 (14 for three tiers), or the counts alone (3), which a handful of
    /// measurements decide.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) terms: Terms,
    /// Hold out each of K parts in turn [default: 5, and each size; as far as the samples allow].
    #[arg(long, value_name = "K")]
    pub(crate) folds: Option<usize>,
    /// Which bus bandwidth of a run counts.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) column: ColumnName,
    /// Only runs of this collective, and those that do not tell theirs; or `all`.
    #[arg(long, default_value = "all_reduce")]
    pub(crate) op: String,
    /// On which ring the devices of a run are counted: the one of highest aggregated bandwidth, as libraries order rings by
    /// links; or in rank order.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) ring: RingName,
    /// Take the coefficients of least norm where the samples do not decide them.
    #[arg(long)]
    pub(crate) allow_rank_deficient: bool,
    /// The model's name.
    #[arg(long, default_value = "fitted_gbps")]
    pub(crate) name: String,
    /// Write the coefficient file.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Draw predicted.svg and residuals.svg into this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plot: Option<PathBuf>,
}

/// How coefficients are found.
#[derive(Clone, Copy, Default, PartialEq, ValueEnum)]
pub(crate) enum MethodName {
    LeastSquares,
    Ridge,
    Nnls,
    #[default]
    Monotone,
}

/// What a prediction is a sum of.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Terms {
    #[default]
    #[value(name = "eq-2")]
    Eq2,
    Linear,
}

/// Which bus bandwidth of a run counts.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum ColumnName {
    #[default]
    OutOfPlace,
    InPlace,
    Best,
}

/// On which ring devices are counted.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum RingName {
    #[default]
    Best,
    Ranks,
}

#[derive(Args)]
pub(crate) struct MigArgs {
    /// The GPU: a name that `mig` lists, such as a100-40gb.
    #[arg(long, value_name = "NAME")]
    pub(crate) gpu: Option<String>,
    /// Draw every maximal layout (one to which nothing can be added) on the grid of memory slices.
    #[arg(long, requires = "gpu")]
    pub(crate) layouts: bool,
    /// Ask whether these instances can exist at once, and where: profiles (3g.20gb, or 3g for short), separated by commas.
    #[arg(long, value_name = "PROFILES", requires = "gpu")]
    pub(crate) fit: Option<String>,
    /// Offer the profiles with another share of media engines, or graphics, too: +me, +me.all, -me, +gfx.
    #[arg(long, requires = "gpu")]
    pub(crate) media: bool,
    /// Offer the profiles of one compute slice with two memory slices too.
    #[arg(long, requires = "gpu")]
    pub(crate) double_memory: bool,
}

#[derive(Args)]
pub(crate) struct PolicyArgs {
    /// How to choose.
    #[arg(long, default_value = "preserve", value_parser = policy_names(), long_help = policy_help())]
    pub(crate) policy: String,
    /// Of what bandwidth is predicted by, for preserve, max-bandwidth and foresight: paper (Eq. 2), paper-printed (as Table
    /// 2 prints it), ring-packing, tree, all-to-all, channels, channels-2022, channels-2024, or a coefficient file that `fit` wrote
    /// [default: paper for preserve, ring-packing for max-bandwidth]. All but Eq. 2 and the file
    /// count links at nominal bandwidth: a factor common to all changes no choice by a packing (see `score --rates`).
    #[arg(long, value_name = "MODEL|FILE")]
    pub(crate) model: Option<String>,
    /// Links that Eq. 3 counts, for the policy preserve.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) preserved: Preserved,
}

/// Links that Eq. 3 counts.
#[derive(Clone, Copy, Default, PartialEq, ValueEnum)]
pub(crate) enum Preserved {
    /// All, as printed.
    #[default]
    All,
    /// Direct links only, as in the released code.
    Direct,
}

fn policy_names() -> PossibleValuesParser {
    PossibleValuesParser::new(policies().map(|policy| policy.name).chain([job::POLICY]))
}

fn policy_help() -> String {
    let policies = policies().map(|policy| (policy.name, policy.summary));
    let lines = policies.chain([(job::POLICY, job::SUMMARY)]).map(|(name, what)| format!("  {name:<20} {what}"));
    format!("How to choose:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

impl fmt::Debug for Cli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cli").field("json", &self.json).finish_non_exhaustive()
    }
}
