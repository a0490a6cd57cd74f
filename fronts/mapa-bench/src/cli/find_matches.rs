//! The command line of `match`.

use std::num::NonZeroUsize;

use clap::{Arg, Args};

use super::JobArgs;
use mapa_cli::args::MachineArgs;
use mapa_cli::bounds;
use mapa_front::ModelSpec;

pub(crate) const USAGE: &str = "\
mapa-bench match [OPTIONS] <--machine <NAME|FILE|->|--live> <--gpus <K>|--pattern <tp=4,..|FILE>>
       mapa-bench match [OPTIONS] --pattern-file <FILE> --target-file <FILE>";

pub(crate) const HELP: &str = "\
If a search stops at a limit, the answer is \"at least\" N matches. In JSON, \"complete\" is then false and \"stopped\" has the reason.

Graphs in files have vertices numbered from 0 and undirected edges. A vertex matches only vertices with the same label. A loop
is an error in a pattern and has no effect in a target. A pattern has at most 1,024 vertices. Formats:
  edge list        n m, then u v for each edge
  adjacency lists  n, then for each vertex its number of neighbours, then the neighbours
  labelled         t n m, then v ID LABEL DEGREE for each vertex, e U V for each edge

Example:
  mapa-bench match --pattern-file square.txt --target-file grid.txt --induced";

#[derive(Args)]
#[command(mut_args(unless_files))]
pub(crate) struct MatchArgs {
    #[command(flatten)]
    pub(crate) machine: Option<MachineArgs>,
    #[command(flatten)]
    pub(crate) job: Option<JobArgs>,
    /// The graph to search for, in place of a job's pattern on a machine (see below for the
    /// formats).
    #[arg(long, value_name = "FILE|-", requires = "target_file", help_heading = GRAPHS, conflicts_with_all = [
        "machine", "live", "refresh", "no_cache", "nvml", "nvidia_smi", "kfd", "pcie_gbps", "nvlink_gbps", "mig", "gpus",
        "pattern", "bytes", "slice", "busy", "min_link",
    ])]
    pub(crate) pattern_file: Option<String>,
    /// The graph to search in.
    #[arg(long, value_name = "FILE|-", requires = "pattern_file", help_heading = GRAPHS)]
    pub(crate) target_file: Option<String>,
    /// Count induced matches only: ranks without an edge lie on devices without a link.
    #[arg(long)]
    pub(crate) induced: bool,
    /// Count every rank order; by default, orders that differ by a symmetry of the pattern count
    /// once.
    #[arg(long)]
    pub(crate) raw: bool,
    /// List the first N matches.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) list: usize,
    /// Devices and instances in use.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub(crate) busy: Vec<String>,
    /// The worst class of link that the pattern's edges may use: sys, node, phb, pxb, pix, nv1,
    /// nv2, ...
    #[arg(long, value_name = "LINK")]
    pub(crate) min_link: Option<String>,
    /// Stop the search after this many matches.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Stop the search after this many nodes (partial placements).
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    pub(crate) max_nodes: u64,
    /// Count on this many threads. The number of threads does not change the count.
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        value_parser = bounds::threads,
        conflicts_with = "pattern_file"
    )]
    pub(crate) threads: NonZeroUsize,
    /// List the best match on each of the K best sets of devices, by the bandwidth of --model.
    #[arg(long, value_name = "K", default_value_t = 0, conflicts_with_all = ["pattern_file", "induced", "raw"])]
    pub(crate) top: usize,
    /// The model of bandwidth for --top, as for `allocate` [default: what is expected].
    #[arg(long, value_name = "MODEL|FILE", requires = "top")]
    pub(crate) model: Option<ModelSpec>,
}

/// Requires a machine unless graphs come from files.
fn unless_files(arg: Arg) -> Arg {
    if arg.get_id() == "machine" {
        // Shared arguments demand a machine. Here two files may take its place.
        arg.required(false).required_unless_present("pattern_file")
    } else {
        arg
    }
}

const GRAPHS: &str = "Graphs in files";
