//! The command line of `measured`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mapa_core::Operation;

use mapa_cli::args::MachineArgs;

pub(crate) const HELP: &str = "\
Reads the output of nccl-tests, rccl-tests, nvbandwidth, p2pBandwidthLatencyTest and rocm_bandwidth_test. A table of your own
(columns devices and gbps) needs --operation and --message-bytes.

Examples:
  nvidia-smi topo -m > topo.txt; nvidia-smi -L > names.txt; nvidia-smi topo -p2p r > p2p.txt
  all_reduce_perf -b 1G -e 8G -f 2 -g 8 > all.txt
  mapa-bench measured add all.txt --machine topo.txt --machine names.txt --machine p2p.txt --into rows.tsv --fit mine.toml
  mapa-bench score --machine topo.txt --machine names.txt --devices 0,1 --model mine.toml
  mapa-bench allocate --machine topo.txt --machine names.txt --gpus 2 --model mine.toml";

#[derive(Args)]
pub(crate) struct MeasuredArgs {
    #[command(subcommand)]
    pub(crate) action: MeasuredAction,
}

#[derive(Subcommand)]
pub(crate) enum MeasuredAction {
    /// Make rows of the output of bandwidth tests on a machine, and fit what its links reach.
    #[command(after_long_help = HELP)]
    Add(AddArgs),
}

#[derive(Args)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Files of the output, or `-` for standard input.
    #[arg(required = true, value_name = "FILE|-")]
    pub(crate) outputs: Vec<String>,
    /// Add the rows to this file, a table as mapa-regress/data/measured.tsv; it is made if it does not exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) into: Option<PathBuf>,
    /// Write the shares of this machine: fitted to these measurements, and otherwise those that MAPA ships.
    #[arg(long, value_name = "FILE")]
    pub(crate) fit: Option<PathBuf>,
    /// The name of the machine in the rows: rows of one machine have the same [default: the machine's name].
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// What the devices did, where the output does not say: all_reduce, alltoall, copy, ..
    #[arg(long)]
    pub(crate) operation: Option<Operation>,
    /// The bytes of a message, where the output does not say.
    #[arg(long, value_name = "N")]
    pub(crate) message_bytes: Option<u64>,
    /// The version of the library or driver, for the rows.
    #[arg(long, value_name = "TEXT")]
    pub(crate) library: Option<String>,
    /// Where the measurement can be looked up, for the rows.
    #[arg(long, value_name = "TEXT")]
    pub(crate) source: Option<String>,
}
