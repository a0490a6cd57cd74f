//! The command line of `fit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mapa_front::commands::{FitColumn, FitMethod, FitRing, FitTerms};

use mapa_cli::args::MachineArgs;

pub(crate) const HELP: &str = "\
Measurements are the output of nccl-tests or rccl-tests (text, JSON, CSV; other log lines are skipped), or a CSV with the
columns devices (`0 3 4` in rank order, or `first 3`) and gbps, and optionally op, bytes and label. The highest bus bandwidth of
each run counts.

Examples:
  for g in 0,1 0,3 0,1,2 0,3,4; do
    echo CUDA_VISIBLE_DEVICES=$g
    CUDA_VISIBLE_DEVICES=$g all_reduce_perf -b 64M -e 1G -f 2 -g $(echo $g | tr , '\\n' | wc -l)
  done > runs.txt
  mapa-bench fit --machine my-server.txt runs.txt --terms linear --output model.toml --plot plots
  mapa-bench allocate --machine my-server.txt --gpus 4 --sensitive --model model.toml";

#[derive(Args)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Files of measurements, or `-` for standard input.
    #[arg(required = true, value_name = "FILE|-")]
    pub(crate) measurements: Vec<String>,
    /// The method of regression: least squares, ridge, non-negative least squares (nnls), or least
    /// squares under the constraint that a better link never lowers a prediction (monotone).
    #[arg(long, value_enum, default_value_t)]
    pub(crate) method: MethodName,
    /// The weight of the ridge penalty, for --method ridge.
    // clap demands it for this method. For the others `FitRequest::check` refuses it.
    #[arg(long, required_if_eq("method", "ridge"))]
    pub(crate) lambda: Option<f64>,
    /// The tiers by which links are counted: the worst link of each tier, best tier first. All
    /// worse links form one more tier.
    #[arg(
        long,
        value_name = "LINKS",
        value_delimiter = ',',
        default_value = "nv2,nv1"
    )]
    pub(crate) tiers: Vec<String>,
    /// The terms of a prediction: those of Eq. 2 (14 for three tiers), or the link counts alone
    /// (3), which a handful of measurements determine.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) terms: Terms,
    /// Validate by holding out each of K parts in turn [default: 5 parts, then also each job size;
    /// fewer parts if the samples have fewer distinct link counts].
    #[arg(long, value_name = "K")]
    pub(crate) folds: Option<usize>,
    /// Which bus bandwidth of a run to use.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) column: ColumnName,
    /// Use only runs of this collective and runs that name no collective; `all` uses every run.
    #[arg(long, default_value = "all_reduce")]
    pub(crate) op: String,
    /// The ring whose links are counted for a run. best: the ring of highest aggregated bandwidth,
    /// because libraries choose rings by their links. ranks: the ring in rank order.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) ring: RingName,
    /// If the samples do not determine the coefficients, take those of least norm; by default, this
    /// is an error, except with --method ridge.
    #[arg(long)]
    pub(crate) allow_rank_deficient: bool,
    /// The name of the model.
    #[arg(long, default_value = "fitted_gbps")]
    pub(crate) name: String,
    /// Write the coefficient file.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Draw predicted.svg and residuals.svg into this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plot: Option<PathBuf>,
}

/// A method of regression.
#[derive(Clone, Copy, Default, PartialEq, ValueEnum)]
pub(crate) enum MethodName {
    LeastSquares,
    Ridge,
    Nnls,
    #[default]
    Monotone,
}

#[cfg(feature = "plots")]
impl MethodName {
    /// The name, as the option takes it.
    pub(crate) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// The terms of a prediction.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Terms {
    #[default]
    #[value(name = "eq-2")]
    Eq2,
    Linear,
}

/// The bus bandwidth of a run that counts.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum ColumnName {
    #[default]
    OutOfPlace,
    InPlace,
    Best,
}

/// The ring on which links are counted.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum RingName {
    #[default]
    Best,
    Ranks,
}

// Names and help texts of the values are for clap, of which `mapa-front` knows nothing.
impl From<MethodName> for FitMethod {
    fn from(word: MethodName) -> Self {
        match word {
            MethodName::LeastSquares => Self::LeastSquares,
            MethodName::Ridge => Self::Ridge,
            MethodName::Nnls => Self::Nnls,
            MethodName::Monotone => Self::Monotone,
        }
    }
}

impl From<Terms> for FitTerms {
    fn from(word: Terms) -> Self {
        match word {
            Terms::Eq2 => Self::Eq2,
            Terms::Linear => Self::Linear,
        }
    }
}

impl From<ColumnName> for FitColumn {
    fn from(word: ColumnName) -> Self {
        match word {
            ColumnName::OutOfPlace => Self::OutOfPlace,
            ColumnName::InPlace => Self::InPlace,
            ColumnName::Best => Self::Best,
        }
    }
}

impl From<RingName> for FitRing {
    fn from(word: RingName) -> Self {
        match word {
            RingName::Best => Self::Best,
            RingName::Ranks => Self::Ranks,
        }
    }
}
