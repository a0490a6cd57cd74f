//! The command line of `reproduce`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use mapa_cli::bounds;

pub(crate) const HELP: &str = "\
Every experiment writes the same files. NAME.md has tables (the claim, the paper's number, ours, its interval, the verdict), the
assumptions, and what cannot be reproduced and why. The folder NAME beside it has claims.csv, results.json (every number, the seeds,
the random number generator) and pictures, *.svg. Everything except measured times depends only on --files and --seed.

Examples:
  mapa-bench reproduce --list
  mapa-bench reproduce mapa --into systems/mapa/report
  mapa-bench reproduce measured --rows mine.tsv
  mapa-bench reproduce mapa --files 100 --seed 1001 --untimed --json > other-files.json";

#[derive(Args)]
pub(crate) struct ReproduceArgs {
    /// The experiment: a name that --list gives.
    #[arg(value_name = "EXPERIMENT", required_unless_present = "list")]
    pub(crate) experiment: Option<String>,
    /// List every experiment, its paper and the parts that are reproduced.
    #[arg(long, conflicts_with = "experiment")]
    pub(crate) list: bool,
    /// Write the report, the claims, the numbers and the pictures into this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) into: Option<PathBuf>,
    /// The number of job files to draw. Intervals are over files: use at least 50 for
    /// intervals to rely on [default: the experiment's own, see --list].
    #[arg(long, value_name = "N", value_parser = |text: &str| bounds::within::<usize>(text, 0..=100_000))]
    pub(crate) files: Option<usize>,
    /// The seed of the first job file; each further file has the next seed [default: the
    /// experiment's own].
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,
    /// For `measured`: other rows, tab-separated as those of mapa-regress/data/measured.tsv, with the
    /// topologies that they name beside the file or in a folder `topologies` there.
    #[arg(long, value_name = "FILE")]
    pub(crate) rows: Option<PathBuf>,
    /// The number of threads for simulations, and for the timing of concurrent decisions
    /// [default: one for each processor].
    #[arg(long, value_name = "N", value_parser = bounds::threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Leave out everything that depends on wall-clock time.
    #[arg(long)]
    pub(crate) untimed: bool,
}
