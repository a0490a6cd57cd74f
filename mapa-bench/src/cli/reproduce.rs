//! The words of `reproduce`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

pub(crate) const HELP: &str = "\
Every experiment writes the same files: NAME.md (tables: the claim, the paper's figure, ours, its interval, the verdict; what
was assumed; what cannot be had, and why), and in a folder NAME beside it claims.csv, results.json (every number, the seeds, the
name of the random numbers) and pictures, *.svg. All but what is timed is a function of --files and --seed.

Examples:
  mapa-bench reproduce --list
  mapa-bench reproduce mapa --into docs/reproduction
  mapa-bench reproduce mapa --files 100 --seed 1001 --untimed --json > other-files.json";

#[derive(Args)]
pub(crate) struct ReproduceArgs {
    /// The experiment: a name that --list gives.
    #[arg(value_name = "EXPERIMENT", required_unless_present = "list")]
    pub(crate) experiment: Option<String>,
    /// Name every experiment, its paper and what of it is run again.
    #[arg(long, conflicts_with = "experiment")]
    pub(crate) list: bool,
    /// Write the report, the claims, the numbers and the pictures into this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) into: Option<PathBuf>,
    /// How many job files are drawn; intervals are over files, so at least 50 for those that are to be believed [default: the
    /// experiment's, which --list gives].
    #[arg(long, value_name = "N")]
    pub(crate) files: Option<usize>,
    /// The seed of the first job file; the others count up from it [default: the experiment's].
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// On how many threads simulations run, and how many decide at once where that is timed [default: as many as there are].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Leave out what depends on the clock.
    #[arg(long)]
    pub(crate) untimed: bool,
}
