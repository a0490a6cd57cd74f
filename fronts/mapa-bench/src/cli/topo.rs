//! The command line of `topo` and `read`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use mapa_cli::args::MachineArgs;

pub(crate) const HELP: &str = "\
Examples:
  mapa-bench topo --machine dgx-2 --write svg > dgx-2.svg
  mapa-bench topo --machine dgx-2 --write dot | dot -T pdf > dgx-2.pdf
  nvidia-smi topo -m | mapa-bench topo --machine - --write toml > my-server.toml
  mapa-bench topo --machine hgx-h100 --write koordinator";

#[derive(Args)]
pub(crate) struct TopoArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Write the machine in this format instead.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) write: Option<TopoFormat>,
    /// Short for --write toml.
    #[arg(long, conflicts_with_all = ["json", "write"])]
    pub(crate) toml: bool,
}

/// A format that a machine can be written in.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopoFormat {
    /// A machine file of MAPA.
    Toml,
    /// A picture (SVG).
    Svg,
    /// Graphviz.
    Dot,
    /// JSON Graph Format, version 2.
    JsonGraph,
    /// NCCL's topology file (XML), for NCCL_TOPO_FILE.
    Nccl,
    /// Slurm's gres.conf with Links.
    Slurm,
    /// Koordinator's table of GPU partitions, the value of the annotation
    /// scheduling.koordinator.sh/gpu-partitions.
    Koordinator,
}

#[derive(Args)]
pub(crate) struct ReadArgs {
    /// Files, and folders to search. A folder may also be KFD's tree, as in
    /// /sys/class/kfd/kfd/topology.
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print only the number of files by kind and outcome.
    #[arg(long)]
    pub(crate) summary: bool,
}
