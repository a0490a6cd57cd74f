//! The words of `defrag`.

use clap::{Args, ValueEnum};
use mapa_core::{Objective, aggregate_gbps, effective_gbps, ring_packing_gbps};

use super::MachineArgs;

pub(crate) const HELP: &str = "\
What runs is told by --job, or by --state: an object with \"held\", as {\"op\":\"show\"} of `allocate --batch` answers, of objects
  {\"id\":\"a\", \"placement\":[0,3], \"pattern\":\"ring\", \"server\":0}; without pattern it is a ring, without server the first
Jobs move one after the other, each to devices that are free then, or its own. A job that moves is not worse off by its own
score, but for --may-lose. Fewest jobs, then fewest moves, then fewest devices, then the most for what is wanted. Exit status 3:
no plan exists, or the search has not found out. See docs/defrag.md.

Examples:
  mapa-bench defrag --machine dgx-1v --job a=0,1 --job b=4 --job c=6 --want 4
  mapa-bench defrag --machine dgx-1v --servers 2 --job a=0,1,2 --job b=1/3,7 --want 8 --score ring-packing
  mapa-bench defrag --machine dgx-1v --state held.json --want all-to-all:4 --at-least 40 --may-lose 0.1";

#[derive(Args)]
pub(crate) struct DefragArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// So many servers like this one; what runs on one can move to another.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) servers: u32,
    /// A job that runs, its devices in rank order, on the first server or that of a number from 0; a ring, if no shape is named.
    #[arg(long, value_name = "ID=[SERVER/]DEVICES[:SHAPE]")]
    pub(crate) job: Vec<String>,
    /// A file with what runs (see below); `-` is standard input.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) state: Option<String>,
    /// Devices of the first server that are in use by something that stays.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub(crate) busy: Vec<String>,
    /// Jobs that stay where they are.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) pin: Vec<String>,
    /// What there should be room for: K devices in a ring, or another shape (see allocate --pattern); without it, only what is
    /// lost is shown.
    #[arg(long, value_name = "[SHAPE:]K")]
    pub(crate) want: Option<String>,
    /// What that must be worth, GB/s [default: what it is worth on the idle machine].
    #[arg(long, value_name = "GB/s", requires = "want")]
    pub(crate) at_least: Option<f64>,
    /// What placements are worth.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) score: Score,
    /// The share of its own score that a job may lose by moving, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) may_lose: f64,
    /// Stop after so many sets of devices.
    #[arg(long, value_name = "N")]
    pub(crate) max_nodes: Option<u64>,
}

/// What placements are worth.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Score {
    /// What Eq. 2 predicts.
    #[default]
    Effective,
    /// What rings carry at once, at nominal bandwidth.
    RingPacking,
    /// Links added up, Eq. 1.
    Aggregate,
}

impl Score {
    pub(crate) fn objective(self) -> Objective<'static> {
        match self {
            Self::Effective => effective_gbps(),
            Self::RingPacking => ring_packing_gbps(),
            Self::Aggregate => aggregate_gbps(),
        }
    }
}
