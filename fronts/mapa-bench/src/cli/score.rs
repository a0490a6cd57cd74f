//! The command line of `score`.

use std::num::NonZeroU64;

use clap::{Args, ValueEnum};
use mapa_core::Operation;

use mapa_cli::args::MachineArgs;

pub(crate) const HELP: &str = "\
The number is the bus bandwidth of large messages, GB/s, as nccl-tests and rccl-tests print it (busbw).

sums of terms  paper, paper-printed and coefficient files: depend on the links of ranks that communicate, and so on the rank order
packings       ring-packing, tree, all-to-all, channels: depend on the set of devices alone; with `,host=network`
               (not channels), paths through the host share switches, sockets and slots
expected       what was measured for such links, with an interval of nine in ten; needs the generation of the links

One device has no collective bandwidth: \"gbps\" is null. The channels models imitate a search, which proves no bound, so for them
\"at_most_gbps\" is the bound of ring packing.

Examples:
  mapa-bench score --machine dgx-1v --devices 0,3,4
  mapa-bench score --machine dgx-1v --devices 0,3,4 --model ring-packing --rates 0,3=46.5
  mapa-bench score --machine dgx-a100 --devices 0,1,2,3 --model expected --operation all_gather
  mapa-bench score --machine dgx-1v --devices 0,3,4 --model model.toml --json";

#[derive(Args)]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// The devices in rank order: ids, names, UUIDs or PCI addresses.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',', required = true)]
    pub(crate) devices: Vec<String>,
    /// The model: paper (Eq. 2), paper-printed (as Table 2 prints it), ring-packing, tree,
    /// all-to-all, channels (imitates NCCL's search for rings, with its speeds up to Ampere;
    /// channels-2022 from Hopper on, channels-2024 from Blackwell on), expected (what --operation is
    /// expected to reach), a coefficient file that `fit` wrote, or a file of shares that
    /// `measured add` wrote.
    #[arg(long, value_name = "MODEL|FILE", default_value = "paper")]
    pub(crate) model: String,
    /// Which ranks communicate, for sums of terms (see below) [default: ring].
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) pattern: Option<String>,
    /// The rate of a link, for packings (see below): nominal; nccl, the rate that NCCL or RCCL
    /// assumes for a link of this generation; or A,B=GBPS, a bus bandwidth measured between two
    /// linked devices [default: nominal].
    #[arg(long, value_name = "RATES")]
    pub(crate) rates: Option<String>,
    /// What the devices do, for --model expected and files of shares: all_reduce, all_gather,
    /// reduce_scatter, broadcast, reduce, alltoall, sendrecv; or copies from the first device to the second:
    /// copy, copy-both-ways; or between the host's memory and the devices: h2d, d2h [default: all_reduce].
    #[arg(long)]
    pub(crate) operation: Option<Operation>,
    /// The bytes of a message, for --model expected [default: large messages, 1 GiB and more].
    #[arg(long, value_name = "N")]
    pub(crate) message_bytes: Option<NonZeroU64>,
    /// Whether link switches reduce (NVLS), for --model expected [default: where NCCL lets them: an all_reduce of
    /// six devices and more].
    #[arg(long, value_name = "on|off", hide_short_help = true)]
    pub(crate) nvls: Option<FlagState>,
}

/// Whether something is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FlagState {
    On,
    Off,
}
