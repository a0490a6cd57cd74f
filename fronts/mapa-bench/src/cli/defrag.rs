//! The command line of `defrag`.

use clap::{Args, ValueEnum};
use mapa_front::commands::DefragScore;

use mapa_cli::args::MachineArgs;

pub(crate) const HELP: &str = "\
Running jobs are given by --job, or by --state: a JSON object whose key \"held\" lists them, as {\"op\":\"show\"} of `allocate --batch`
prints it: {\"id\":\"a\", \"placement\":[0,3], \"pattern\":\"ring\", \"server\":0}. The default pattern is a ring, the default server 0.
Jobs move one after the other, each to devices that are free at that time or are its own. A move does not lower the job's own score
by more than --may-lose allows. The chosen plan moves the fewest jobs. Ties are broken by the fewest moves, then by the fewest
devices that move, then by the highest score of the wanted placement. Exit status 3: no plan exists, or the search stopped before
it found one. See docs/defrag.md.

Examples:
  mapa-bench defrag --machine dgx-1v --job a=0,1 --job b=4 --job c=6 --want 4
  mapa-bench defrag --machine dgx-1v --servers 2 --job a=0,1,2 --job b=1/3,7 --want 8 --score ring-packing
  mapa-bench defrag --machine dgx-1v --state held.json --want all-to-all:4 --at-least 40 --may-lose 0.1";

#[derive(Args)]
pub(crate) struct DefragArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// The number of servers like this one. A job can move to another server.
    // The same bound is in `DefragRequest::outcome`. Here it is part of the message of clap.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) servers: u32,
    /// A running job: its devices in rank order, on server 0 or the given one [default shape:
    /// ring].
    #[arg(long, value_name = "ID=[SERVER/]DEVICES[:SHAPE]")]
    pub(crate) job: Vec<String>,
    /// A file of running jobs (see below); `-` is standard input.
    #[arg(long, value_name = "FILE|-")]
    pub(crate) state: Option<String>,
    /// Devices of server 0 that are in use by something that cannot move.
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    pub(crate) busy: Vec<String>,
    /// Jobs that must not move.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) pin: Vec<String>,
    /// The placement to make room for: K devices in a ring, or in another shape (see allocate
    /// --pattern). Without it, only the loss to fragmentation is shown.
    #[arg(long, value_name = "[SHAPE:]K")]
    pub(crate) want: Option<String>,
    /// The score that the wanted placement must reach, GB/s [default: its score on the idle
    /// machine].
    #[arg(long, value_name = "GB/s", requires = "want")]
    pub(crate) at_least: Option<f64>,
    /// How placements are scored.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) score: ScoreWord,
    /// The share of its own score that a job may lose by moving, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) may_lose: f64,
    /// Stop the search after this many sets of devices.
    #[arg(long, value_name = "N")]
    pub(crate) max_nodes: Option<u64>,
}

/// How placements are scored.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum ScoreWord {
    /// Bandwidth of a packing of rings, with links at nominal bandwidth.
    #[default]
    RingPacking,
    /// Bandwidth predicted by Eq. 2, for the machines and sizes that it was fitted to.
    Effective,
    /// Sum of link bandwidths, Eq. 1.
    Aggregate,
}

impl From<ScoreWord> for DefragScore {
    fn from(score: ScoreWord) -> Self {
        match score {
            ScoreWord::RingPacking => Self::RingPacking,
            ScoreWord::Effective => Self::Effective,
            ScoreWord::Aggregate => Self::Aggregate,
        }
    }
}

impl ScoreWord {
    /// What text calls the score.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Effective => "Eq. 2",
            Self::RingPacking => "ring packing, links at nominal rate",
            Self::Aggregate => "the sum of link bandwidths (Eq. 1)",
        }
    }
}
