//! The simulation of one cell, and its numbers.

use mapa_sched::Fleet;
use mapa_sim::{Outcome, Row, Scorer, Summary, Workload};
use serde::{Deserialize, Serialize};

use super::plan::SweepPoint;
use super::values::{ColumnValues, ValueColumns, columns};
use crate::error::Error;
use crate::names::{Choice, Names};
use crate::simulation::simulation;
use crate::systems::measures;

/// The outcome of a cell: its numbers, or why it has none. In JSON it keeps every number to the bit.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinishedCell {
    /// The cell's key, hexadecimal.
    key: String,
    /// The cell in words, for messages.
    what: String,
    /// Why the cell has no numbers.
    error: Option<String>,
    /// The row of the cell.
    pub(super) summary: ValueColumns,
    /// The rows of its jobs, if they were wanted.
    pub(super) rows: Option<ValueColumns>,
}

impl FinishedCell {
    /// The key of the cell: that of the [`SweepPoint`] whose numbers these are.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The cell in words, for messages.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.what
    }

    /// Why the cell has no numbers; none if it has.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Whether it has a row for each job, besides its own.
    #[must_use]
    pub fn has_jobs(&self) -> bool {
        self.rows.is_some()
    }

    /// The same cell without the rows of its jobs, of which there may be very many.
    #[must_use]
    pub fn without_jobs(self) -> Self {
        Self { rows: None, ..self }
    }

    /// The number of a measure, by the name of its column in tables of results. None if the cell failed, or the
    /// measure has no value.
    #[must_use]
    pub fn number(&self, column: &str) -> Option<f64> {
        let (_, values) = self.summary.iter().find(|(name, _)| name == column)?;
        match values {
            // A cell's summary has one row.
            ColumnValues::Numbers(values) => values.first().copied().flatten(),
            _ => None,
        }
    }
}

impl SweepPoint<'_> {
    /// Simulates the cell. With `rows`, a row for each job is kept too. A failure is kept in place of the numbers.
    ///
    /// Cells are independent: several may run at once, on one `names`.
    #[must_use]
    pub fn run(&self, names: &Names, rows: bool) -> FinishedCell {
        let (error, (summary, rows)) = match self.simulate(names, rows) {
            Ok(tables) => (None, tables),
            // A failed cell has an empty table of jobs and not none, or it would be run again for its jobs.
            Err(error) => (
                Some(error.to_string()),
                (ValueColumns::new(), Some(ValueColumns::new())),
            ),
        };
        FinishedCell {
            key: self.key(),
            what: self.to_string(),
            error,
            summary,
            rows,
        }
    }

    fn simulate(
        &self,
        names: &Names,
        rows: bool,
    ) -> Result<(ValueColumns, Option<ValueColumns>), Error> {
        let workload = self.jobs.get()?;
        let policy = names.policy(self.policy, &Choice::default())?;
        let mut scheduler = names.scheduler(self.scheduler, policy, self.execution)?;
        let execution = names.execution(self.execution, &workload)?;
        let simulation = simulation(&workload, self.idle.clone());
        let outcome = simulation
            .run(scheduler.as_mut(), execution.as_ref())
            .map_err(Error::malformed)?;
        // Cells may run on several threads, so each has a scorer of its own.
        let all = Row::of(&outcome, &workload, self.idle, &mut Scorer::new());
        let jobs = rows.then(|| columns(&Row::table(&all, self.idle)));
        Ok((summary(&all, &outcome, &workload, self.idle)?, jobs))
    }
}

/// The row of a cell: the number of jobs, then the summary.
fn summary(
    rows: &[Row],
    outcome: &Outcome,
    workload: &Workload,
    idle: &Fleet,
) -> Result<ValueColumns, Error> {
    let jobs = ColumnValues::Integers(vec![i64::try_from(workload.jobs.len()).ok()]);
    let summary = Summary::by(&measures(), outcome, rows, idle).map_err(Error::malformed)?;
    let numbers = columns(&summary.table());
    let row = [("jobs".to_owned(), jobs)]
        .into_iter()
        .chain(numbers)
        .collect();
    Ok(row)
}
