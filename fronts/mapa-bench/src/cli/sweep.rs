//! The command line of `sweep`.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use mapa_cli::bounds;

pub(crate) const HELP: &str = "\
A sweep file has the lists to combine. Every combination is a cell:
  machines = [\"dgx-1v\", \"torus-2d\"]        # names, formulas and files, as for --machine
  mig = \"a100-40gb=3g,2g,1g,1g\"           # as --mig, for every machine; default: whole devices
  pcie_gbps = 30.08                      # as --pcie-gbps; default: as the machines say
  p2p = \"off\"                            # as --p2p; default: as the machines say
  policies = [\"lowest-id\", \"preserve\"]    # or \"paper\" for its four, \"all\" for those of whole devices
  schedulers = [\"fifo\"]                    # default; one with a placement policy of its own is not combined with others
  executions = [\"ring-packing\"]            # default
  generate = [\"mapa\"]                      # workloads: drawn with each seed,
  seeds = \"1..60\"                          # both ends included, or a list
  jobs = [\"night.csv\"]                     # read from job files,
  traces = [\"gavel-philly=philly.csv\"]    # and read from traces, [KIND=]FILE
  select = \"first=1000\"                  # which jobs of the traces, as simulate --select
  at_once = false                        # default; true: all jobs of files and traces arrive at time 0
Paths are relative to the working directory. See docs/sweeps.md for the columns, and for Slurm and Kubernetes.

Examples:
  mapa-bench sweep night.toml --list
  mapa-bench sweep night.toml --into night               # after an interruption, the same command resumes
  mapa-bench sweep night.toml --into night --shard 2/8   # cells 1, 9, 17, .. of 0, 1, 2, ..
  mapa-bench sweep night.toml --into night --merge from-other-hosts/*";

#[derive(Args)]
pub(crate) struct SweepArgs {
    /// The sweep file (see below).
    pub(crate) file: PathBuf,
    /// The folder for finished cells and results. Several processes may share it.
    #[arg(long, value_name = "FOLDER", required_unless_present = "list")]
    pub(crate) into: Option<PathBuf>,
    /// Run only part I of N, from 1/N to N/N: the cells whose number modulo N is I - 1.
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Run this many cells at once. Results do not depend on it [default: one for each processor].
    #[arg(long, value_name = "T", value_parser = bounds::threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Keep a row for every job, besides the row for every cell.
    #[arg(long)]
    pub(crate) rows: bool,
    /// Check the sweep file and its inputs, list the cells, and run nothing.
    #[arg(long, visible_alias = "dry-run")]
    pub(crate) list: bool,
    /// Copy the finished cells of other folders, run nothing, and write the results.
    #[arg(long, value_name = "FOLDER", num_args = 1.., conflicts_with_all = ["list", "shard", "threads"])]
    pub(crate) merge: Vec<PathBuf>,
    /// First delete the cells in the folder that do not belong to this sweep: those of other
    /// sweeps, of input files that have changed since, or of another version.
    #[arg(long, conflicts_with_all = ["list", "merge"])]
    pub(crate) discard: bool,
}

/// Part `part` of the `of` parts of a sweep, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    part: usize,
    of: usize,
}

impl Shard {
    /// The whole sweep as one part.
    pub(crate) const WHOLE: Self = Self { part: 1, of: 1 };

    /// Whether a cell belongs to this part. Cells go to the parts in turn.
    pub(crate) fn has(self, cell: usize) -> bool {
        // A part has every n-th cell, so that machines, which come in long runs, are in all parts.
        cell % self.of == self.part - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split_once('/')
            .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)))
            .filter(|(part, of)| (1..=*of).contains(part))
            .map(|(part, of)| Self { part, of })
            .ok_or_else(|| "expected I/N, from 1/N to N/N, such as 1/4".to_owned())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}
