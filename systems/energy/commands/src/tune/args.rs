//! The command line of `tune`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use mapa_cli::bounds;

const HELP: &str = "\
The plan by prices (scheduler energy-plan) is as good as its prices are for the jobs that come. A search tries prices on days of jobs
and keeps what has few late jobs, little tardiness and little energy, each relative to what largest-first makes of the same days.
Days are job files of your own, with slice any and the columns arrival_s, deadline_s, duration_s and estimate_s by size of slice (1g.1m=50 2g.2m=25
3g.4m=18 4g.4m=14 7g.8m=9), or they are drawn from the parameters of Hisaria et al. The result is a file of prices with what they
were tuned for: systems/energy/docs/deadlines.md says what its keys mean. A search is deterministic: threads change nothing, and --resume goes on where
an interrupted search with --into stopped.

Examples:
  mapa-bench tune --jobs monday.csv --jobs tuesday.csv --held-out friday.csv --layouts '7 | 4,2,1 | 3,2,2' --into mine.toml
  mapa-bench tune --draw tight --rate 20 --layouts '7 | 7 | 4,3 | 4,3 | 4,2,1 | 4,2,1 | 2,2,2,1 | 2,2,2,1' --into tight.toml
  mapa-bench tune --draw relaxed --rate 20,23 --search-layouts --rounds 30 --into mine.toml --resume";

/// The deadlines of days that are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrawName {
    /// 2 to 4 times the run time on a whole GPU.
    Relaxed,
    /// 1 to 1.5 times.
    Tight,
}

/// The arguments of `tune`.
#[derive(Parser)]
#[command(after_long_help = HELP)]
pub(crate) struct TuneArgs {
    /// A job file to tune for, a day each. Give this option once for each day.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["draw", "rate", "days", "held_out_days", "first_day"])]
    pub(crate) jobs: Vec<String>,
    /// A job file that the search does not see, on which its result is measured.
    #[arg(long, value_name = "FILE", requires = "jobs")]
    pub(crate) held_out: Vec<String>,
    /// Draw days with these deadlines [default: relaxed].
    #[arg(long, value_enum)]
    pub(crate) draw: Option<DrawName>,
    /// Jobs a minute at a load of 1, for days that are drawn; several are taken in turn.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "R",
        value_delimiter = ',',
        default_value = "20"
    )]
    pub(crate) rate: Vec<f64>,
    /// The number of days to draw for the search.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 9, value_parser = days)]
    pub(crate) days: u64,
    /// The number of days to draw on which the result is measured.
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 10, value_parser = days)]
    pub(crate) held_out_days: u64,
    /// The seed of the first day; each further day has the next seed, those held out last.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SEED",
        default_value_t = 1001
    )]
    pub(crate) first_day: u64,
    /// By how much run times turn out other than the plan is told: the standard deviation of their
    /// logarithm.
    #[arg(long, hide_short_help = true, value_name = "S", default_value_t = 0.0)]
    pub(crate) sigma: f64,
    /// The GPUs: sizes of slices with commas, GPUs with bars between them [default: those of the
    /// prices that the search starts from].
    #[arg(long, value_name = "LAYOUTS")]
    pub(crate) layouts: Option<String>,
    /// This many GPUs, which are repartitioned while jobs run, in place of layouts.
    #[arg(long, hide_short_help = true, value_name = "GPUS", conflicts_with_all = ["layouts", "search_layouts"])]
    pub(crate) repartitioned: Option<usize>,
    /// How long the creation of an instance takes, seconds.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SECONDS",
        default_value_t = 0.4
    )]
    pub(crate) creation: f64,
    /// Search layouts too, GPU by GPU.
    #[arg(long)]
    pub(crate) search_layouts: bool,
    /// The prices to start from: a name, or a file that `tune` wrote.
    #[arg(long, value_name = "NAME|FILE", default_value = "searched-layouts")]
    pub(crate) from: String,
    /// The rounds of 30 candidates.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = |text: &str| bounds::within::<u32>(text, 0..=100_000))]
    pub(crate) rounds: u32,
    /// The weights of late jobs, tardiness and energy.
    #[arg(
        long,
        value_name = "LATE,TARDINESS,ENERGY",
        value_delimiter = ',',
        hide_short_help = true,
        default_value = "1,1,3"
    )]
    pub(crate) weights: Vec<f64>,
    /// The seed of the candidates.
    #[arg(long, hide_short_help = true, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The number of threads; the result does not depend on it [default: one for each processor].
    #[arg(long, hide_short_help = true, value_name = "T", value_parser = bounds::threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Write the prices to this file. The search keeps its state in a file of this name with
    /// `.part` behind it until it is done.
    #[arg(long, value_name = "FILE")]
    pub(crate) into: Option<PathBuf>,
    /// Go on where an interrupted search with the same options stopped.
    #[arg(long, requires = "into")]
    pub(crate) resume: bool,
}

/// A number of days, which are all in memory.
fn days(text: &str) -> Result<u64, String> {
    bounds::within(text, 0..=1000)
}
