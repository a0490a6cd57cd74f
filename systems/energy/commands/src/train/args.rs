//! The command line of `train`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use mapa_cli::bounds;

const HELP: &str = "\
The net picks a MIG slice for the job with the earliest deadline, on the eight A100s and the days of Hisaria et al. The same seed gives the
same weights on every machine and any number of threads. A training that was stopped goes on with --resume, from FILE.checkpoint.

Examples:
  mapa-bench train --into mine.weights
  mapa-bench train --settings published --seed 7 --into published-7.weights
  mapa-bench train --formulation original --into original.weights --json";

/// What the net sees and is rewarded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormulationName {
    /// Sizes of slices unseen, a reward at the end of the day, tight deadlines.
    Original,
    /// Sizes of slices and urgency seen, a reward for each start, relaxed deadlines.
    Enhanced,
}

/// With which parameters the net is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SettingsName {
    /// Those of the authors' code.
    Published,
    /// Small minibatches, which learn more from as many steps.
    Ours,
}

/// The arguments of `train`.
#[derive(Parser)]
#[command(after_long_help = HELP)]
pub(crate) struct TrainArgs {
    /// What the net sees and is rewarded for.
    #[arg(long, value_enum, default_value = "enhanced")]
    pub(crate) formulation: FormulationName,
    /// With which parameters.
    #[arg(long, value_enum, default_value = "ours")]
    pub(crate) settings: SettingsName,
    /// The file of the weights.
    #[arg(long, value_name = "FILE")]
    pub(crate) into: PathBuf,
    /// The number of starts to learn from, rounded up to whole updates [default: that of the
    /// settings, 500000 or 200000].
    #[arg(long, value_name = "N", value_parser = |text: &str| bounds::within::<u64>(text, 1..=100_000_000))]
    pub(crate) steps: Option<u64>,
    /// The seed of first weights, days and actions.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The number of threads.
    #[arg(long, value_name = "N", default_value = "1", value_parser = bounds::threads)]
    pub(crate) threads: NonZeroUsize,
    /// Go on with the training that left FILE.checkpoint.
    #[arg(long)]
    pub(crate) resume: bool,
    /// The number of fresh days on which the net is compared with rules.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = |text: &str| bounds::within::<usize>(text, 1..=10_000))]
    pub(crate) days: usize,
}
