//! The words of `sweep`.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

pub(crate) const HELP: &str = "\
A sweep file lists what is combined; every combination is a cell:
  machines = [\"dgx-1v\", \"torus-2d\"]        # names, formulas and files, as for --machine
  mig = \"a100-40gb=3g,2g,1g,1g\"           # default: whole devices; as --mig, of every machine
  pcie_gbps = 30.08                      # default: as the machines say; as --pcie-gbps
  policies = [\"lowest-id\", \"preserve\"]    # or \"paper\" for its four, \"all\" for those of whole devices
  schedulers = [\"fifo\"]                    # default; those that place by a policy of their own run by that alone
  executions = [\"effective-bandwidth\"]     # default
  generate = [\"mapa\"]                      # workloads: drawn from each seed,
  seeds = \"1..60\"                          # both ends included, or a list
  jobs = [\"night.csv\"]                     # and read from job files
  traces = [\"gavel-philly=philly.csv\"]    # and from traces, [KIND=]FILE
  select = \"first=1000\"                  # which jobs of the traces, as simulate --select
  at_once = false                        # default; true: jobs of files and traces are all there from the beginning
Paths are taken from the working directory. See docs/sweeps.md for the columns, and for Slurm and Kubernetes.

Examples:
  mapa-bench sweep night.toml --list
  mapa-bench sweep night.toml --into night               # cut off, the same words go on where it was
  mapa-bench sweep night.toml --into night --shard 2/8   # cells 1, 9, 17, .. of 0, 1, 2, ..
  mapa-bench sweep night.toml --into night --merge from-other-hosts/*";

#[derive(Args)]
pub(crate) struct SweepArgs {
    /// The sweep file (see below).
    pub(crate) file: PathBuf,
    /// The folder for finished cells and results; several processes may share it.
    #[arg(long, value_name = "FOLDER", required_unless_present = "list")]
    pub(crate) into: Option<PathBuf>,
    /// Run only part I of N, from 1/N to N/N: the cells whose number leaves I - 1 when it is divided by N.
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Run this many cells at once; results do not depend on it [default: as many as there are processors].
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Keep a row for every job too, besides the one for every cell.
    #[arg(long)]
    pub(crate) rows: bool,
    /// Check everything, list the cells, and run nothing.
    #[arg(long, visible_alias = "dry-run")]
    pub(crate) list: bool,
    /// Take over the finished cells of other folders, run nothing, and write the results.
    #[arg(long, value_name = "FOLDER", num_args = 1.., conflicts_with_all = ["list", "shard", "threads"])]
    pub(crate) merge: Vec<PathBuf>,
    /// Delete cells of other sweeps, of changed files or of another version in the folder, and run them anew.
    #[arg(long, conflicts_with_all = ["list", "merge"])]
    pub(crate) discard: bool,
}

/// One of several parts of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    part: usize,
    of: usize,
}

impl Shard {
    /// All of it.
    pub(crate) const WHOLE: Self = Self { part: 1, of: 1 };

    /// Whether a cell is in it: cells are dealt out in turn.
    pub(crate) fn has(self, cell: usize) -> bool {
        cell % self.of == self.part - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (part, of) = text.split_once('/')?;
            Some(Self { part: part.parse().ok()?, of: of.parse().ok()? })
        };
        let shard = parse().filter(|shard| (1..=shard.of).contains(&shard.part));
        shard.ok_or_else(|| "expected I/N, from 1/N to N/N, such as 1/4".to_owned())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}
