//! The results of a whole sweep: the rows of its cells in order, and means over seeds.
//!
//! Results depend only on the finished cells, so they are the same bit for bit after interruptions,
//! in several parts, and on any number of threads.

use mapa_sim::{Column, Table, mean_interval};

use super::cell::FinishedCell;
use super::plan::SweepPoint;
use super::values::ValueColumns;
use crate::error::Error;

/// The tables of a whole sweep.
pub struct SweepTables {
    /// A row for each cell: its words, its numbers, and why it has none.
    pub cells: Table,
    /// A row for each job of each cell; none unless they were wanted.
    pub jobs: Option<Table>,
}

impl SweepTables {
    /// The tables of these cells, in this order. With `rows`, one of jobs too.
    ///
    /// # Errors
    /// If cells of other versions have columns of unequal lengths.
    ///
    /// # Complexity
    /// O(r c) for r rows and c columns, and O(n c²) for the names of the columns of n cells.
    pub fn new(cells: &[(SweepPoint<'_>, FinishedCell)], rows: bool) -> Result<Self, Error> {
        let mut columns = ValueColumns::new();
        for (_, cell) in cells {
            learn(&mut columns, &cell.summary);
        }
        let jobs = rows.then(|| {
            let mut rows = SweepRows::default();
            cells.iter().for_each(|(_, cell)| rows.learn(cell));
            rows.table(cells)
        });
        Ok(Self {
            cells: table(cells, &columns, |cell| (1, &cell.summary), true)?,
            jobs: jobs.transpose()?,
        })
    }
}

/// The rows of the jobs of a sweep, for those that keep cells elsewhere: it holds the names of the columns alone, which
/// depend on all cells, and makes the rows of some cells at a time.
#[derive(Clone, Default)]
pub struct SweepRows {
    /// The columns of all cells, without rows, in the order of first appearance.
    columns: ValueColumns,
}

impl SweepRows {
    /// Notes the columns of a cell's jobs. Cells come in their order.
    pub fn learn(&mut self, cell: &FinishedCell) {
        cell.rows
            .iter()
            .for_each(|rows| learn(&mut self.columns, rows));
    }

    /// The rows of the jobs of these cells, each with the words of its cell. Where a cell lacks a column that others have,
    /// it is empty.
    ///
    /// # Errors
    /// If a cell of another version has columns of unequal lengths.
    ///
    /// # Complexity
    /// O(r c) for r rows and c columns.
    pub fn table(&self, cells: &[(SweepPoint<'_>, FinishedCell)]) -> Result<Table, Error> {
        static NONE: ValueColumns = ValueColumns::new();
        let rows = |cell: &FinishedCell| -> usize {
            let columns = cell.rows.as_ref().and_then(|columns| columns.first());
            columns.map_or(0, |(_, values)| values.len())
        };
        table(
            cells,
            &self.columns,
            |cell| (rows(cell), cell.rows.as_ref().unwrap_or(&NONE)),
            false,
        )
    }
}

/// The number of rows of a cell, and their columns.
type CellRows<'a> = (usize, &'a ValueColumns);

/// The parts of all cells below one another in these columns, each row with the words of its cell, and with
/// `errors` the cell's error.
fn table<'a>(
    cells: &'a [(SweepPoint<'_>, FinishedCell)],
    known: &ValueColumns,
    of: impl Fn(&'a FinishedCell) -> CellRows<'a>,
    errors: bool,
) -> Result<Table, Error> {
    let parts: Vec<CellRows<'_>> = cells.iter().map(|(_, kept)| of(kept)).collect();
    let each = || {
        cells
            .iter()
            .zip(&parts)
            .flat_map(|(cell, part)| std::iter::repeat_n(cell, part.0))
    };
    let texts = |word: fn(&SweepPoint<'_>) -> String| {
        Column::Texts(each().map(|(cell, _)| Some(word(cell))).collect())
    };
    let integers = |number: fn(&SweepPoint<'_>) -> Option<u64>| {
        Column::Integers(
            each()
                .map(|(cell, _)| number(cell).and_then(|number| i64::try_from(number).ok()))
                .collect(),
        )
    };
    let mut columns = vec![
        ("cell".to_owned(), integers(|cell| Some(cell.index as u64))),
        ("machine".to_owned(), texts(|cell| cell.machine.to_owned())),
        ("workload".to_owned(), texts(|cell| cell.jobs.word.clone())),
        ("seed".to_owned(), integers(|cell| cell.jobs.seed)),
        (
            "scheduler".to_owned(),
            texts(|cell| cell.scheduler.to_string()),
        ),
        (
            "execution".to_owned(),
            texts(|cell| cell.execution.to_string()),
        ),
        ("policy".to_owned(), texts(|cell| cell.policy.to_owned())),
    ];
    // Rows of jobs have columns of the same names, such as `machine`, the server's number in the
    // fleet.
    let taken: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    for (mut name, column) in stack(known, &parts) {
        if taken.contains(&name) {
            name.insert_str(0, "job_");
        }
        columns.push((name, column));
    }
    if errors {
        columns.push((
            "error".to_owned(),
            Column::Texts(
                each()
                    .map(|(_, kept)| kept.error().map(str::to_owned))
                    .collect(),
            ),
        ));
    }
    Table::new(columns).map_err(Error::malformed)
}

/// Adds the columns that are not known yet, without rows.
fn learn(known: &mut ValueColumns, columns: &ValueColumns) {
    for (name, values) in columns {
        if known.iter().all(|(candidate, _)| candidate != name) {
            known.push((name.clone(), values.none(0)));
        }
    }
}

/// These columns of all parts. Where a part lacks a column, the cells are empty.
fn stack(known: &ValueColumns, parts: &[CellRows<'_>]) -> Vec<(String, Column)> {
    let mut stacked = Vec::new();
    for (name, kind) in known {
        let mut all = kind.none(0);
        for (rows, columns) in parts {
            let column = columns.iter().find(|(candidate, _)| candidate == name);
            all.extend(column.map(|(_, values)| values), *rows);
        }
        stacked.push((name.clone(), all.into()));
    }
    stacked
}

/// The cells of one combination of machine, workload, scheduler, execution model and policy: one for each seed.
pub struct SweepGroup<'a> {
    /// The machine, workload, scheduler, execution model and policy, in words.
    pub words: [&'a str; 5],
    /// The cells.
    pub cells: Vec<&'a FinishedCell>,
}

impl<'a> SweepGroup<'a> {
    /// The groups of these cells, in the order of their first cells.
    ///
    /// # Complexity
    /// O(n g) for n cells and g groups.
    #[must_use]
    pub fn all(cells: &'a [(SweepPoint<'a>, FinishedCell)]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (point, cell) in cells {
            let words = [
                point.machine,
                point.jobs.word.as_str(),
                point.scheduler.words(),
                point.execution.words(),
                point.policy,
            ];
            // Seeds are an outer loop of the plan and schedulers an inner one, so the cells of a group are not
            // neighbours.
            match groups.iter_mut().find(|group| group.words == words) {
                Some(group) => group.cells.push(cell),
                None => groups.push(Self {
                    words,
                    cells: vec![cell],
                }),
            }
        }
        groups
    }

    /// How many cells have no numbers.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.cells
            .iter()
            .filter(|cell| cell.error().is_some())
            .count()
    }

    /// The mean of a measure over the seeds, and half of its 95 % interval (Student's t), which a single value has not.
    /// None if no cell has a number.
    #[must_use]
    pub fn mean(&self, column: &str) -> Option<(f64, Option<f64>)> {
        // Failed cells have no numbers, and do not count.
        let numbers = self.cells.iter().filter_map(|cell| cell.number(column));
        match numbers.collect::<Vec<f64>>()[..] {
            [] => None,
            [one] => Some((one, None)),
            ref several => {
                let interval = mean_interval(several);
                Some((interval.mean, Some((interval.high - interval.low) / 2.0)))
            }
        }
    }
}
