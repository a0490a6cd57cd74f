//! The answers of `sweep`: the cells of a sweep, what of it is finished, and its results.

use mapa_sim::Table;
use serde::Serialize;

use super::table::{Record, records};

/// The cells of a sweep, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepCells {
    /// How many cells the sweep has.
    pub cells: usize,
    /// The cells of this part.
    pub listed: Vec<SweepCell>,
}

/// A cell: one combination of the lists of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepCell {
    /// Its number, counted from 0.
    pub cell: usize,
    /// The machine.
    pub machine: String,
    /// The workload: a generator, or a file.
    pub workload: String,
    /// The seed of the generator; null for a file.
    pub seed: Option<u64>,
    /// The scheduler.
    pub scheduler: String,
    /// The model of run times.
    pub execution: String,
    /// The placement policy.
    pub policy: String,
    /// Whether it is finished; null without a folder to look in.
    pub finished: Option<bool>,
}

/// The state of a sweep after cells were run, or taken over from other folders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweep {
    /// The sweep file.
    pub sweep: String,
    /// The folder of the cells.
    pub folder: String,
    /// The part of the sweep that was run, such as `1/4`; null for all of it.
    pub shard: Option<String>,
    /// How many cells the sweep has.
    pub cells: usize,
    /// How many cells the part has; null for all of the sweep.
    pub of_part: Option<usize>,
    /// How many cells were there already.
    pub there: usize,
    /// How many cells were run; absent if cells were taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<usize>,
    /// How many cells were taken over from other folders; absent if cells were run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<usize>,
    /// How many files of cells were damaged.
    pub damaged: usize,
    /// How many cells are missing, of all parts.
    pub missing: usize,
    /// The finished cells of the part that have no numbers.
    pub failed: Vec<FailedCell>,
    /// The files of results that were written; none as long as cells are missing.
    pub results: Vec<String>,
    /// Files of results of an earlier state of the sweep.
    pub older_results: Vec<String>,
}

/// A cell that has no numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedCell {
    /// Its number, counted from 0.
    pub cell: usize,
    /// The cell in words.
    pub what: String,
    /// Why it has no numbers.
    pub error: String,
}

/// The results of a whole sweep, as its JSON file has them: a table of cells, or one of their jobs.
/// The file has no version of its form: it names the version of the program.
// The fields are in the order of the alphabet, as keys of all answers are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepResults {
    /// The random number generator of drawn workloads.
    pub generator: String,
    /// The version of the program.
    pub mapa_bench: String,
    /// A row for each cell; absent from the file of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<Record>>,
    /// A row for each job of each cell; absent from the file of cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Record>>,
}

/// What the rows of a table of results are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsOf {
    /// Cells.
    Cells,
    /// The jobs of all cells.
    Jobs,
}

impl RowsOf {
    /// The name of the files, without their extension.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Cells => "results",
            Self::Jobs => "rows",
        }
    }
}

impl SweepResults {
    /// A table of results, made by this version of the program.
    pub fn new(of: RowsOf, table: &Table, version: &str) -> Self {
        let only = |is: RowsOf| (of == is).then(|| records(table));
        Self {
            generator: mapa_sim::GENERATOR.to_owned(),
            mapa_bench: version.to_owned(),
            results: only(RowsOf::Cells),
            rows: only(RowsOf::Jobs),
        }
    }
}
