//! The results of a whole sweep: the rows of its cells in order.
//!
//! Results depend only on the cells' files, so they are the same bit for bit after interruptions,
//! in several parts, and on any number of threads.

use std::path::{Path, PathBuf};

use mapa_front::answer::sweep::{RowsOf, SweepResults};
use mapa_sim::{Column, Table};

use super::plan::SweepPoint;
use super::store::StoredCell;
use super::values::{ColumnValues, ValueColumns};
use mapa_cli::Failure;
use mapa_cli::files::write_whole;

/// Writes the results of all cells of the sweep into this folder; returns the files written.
pub(super) fn write(
    folder: &Path,
    cells: &[(SweepPoint<'_>, Box<StoredCell>)],
    rows: bool,
) -> Result<Vec<PathBuf>, Failure> {
    let summaries = table(cells, |kept| (1, &kept.summary), true)?;
    let mut written = write_table(folder, RowsOf::Cells, &summaries)?;
    if rows {
        let none = ValueColumns::new();
        let jobs = table(
            cells,
            |kept| {
                let columns = kept.rows.as_ref().unwrap_or(&none);
                let rows = columns.first().map_or(0, |(_, values)| values.len());
                (rows, columns)
            },
            false,
        )?;
        written.extend(write_table(folder, RowsOf::Jobs, &jobs)?);
    }
    Ok(written)
}

/// Writes a table in every format that this build has.
fn write_table(folder: &Path, of: RowsOf, table: &Table) -> Result<Vec<PathBuf>, Failure> {
    let about = SweepResults::new(of, table, env!("CARGO_PKG_VERSION"));
    let csv = table.to_csv().map_err(Failure::malformed)?;
    let json = serde_json::to_string(&about).map_err(Failure::malformed)? + "\n";
    let files = [
        ("csv", csv.into_bytes()),
        ("json", json.into_bytes()),
        #[cfg(feature = "parquet")]
        ("parquet", table.to_parquet().map_err(Failure::malformed)?),
    ];
    let mut written = Vec::new();
    for (extension, bytes) in files {
        let path = folder.join(format!("{}.{extension}", of.file_name()));
        // A reader has the old file or the new one, never part of one.
        write_whole(&path, &bytes)?;
        written.push(path);
    }
    Ok(written)
}

/// The number of rows of a cell, and their columns.
type CellRows<'a> = (usize, &'a ValueColumns);

/// The parts of all cells below one another, each row with the words of its cell, and with
/// `errors` the cell's error.
fn table<'a>(
    cells: &'a [(SweepPoint<'_>, Box<StoredCell>)],
    of: impl Fn(&'a StoredCell) -> CellRows<'a>,
    errors: bool,
) -> Result<Table, Failure> {
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
    for (mut name, column) in stack(&parts) {
        if taken.contains(&name) {
            name.insert_str(0, "job_");
        }
        columns.push((name, column));
    }
    if errors {
        columns.push((
            "error".to_owned(),
            Column::Texts(each().map(|(_, kept)| kept.error.clone()).collect()),
        ));
    }
    Table::new(columns).map_err(Failure::malformed)
}

/// The columns of all parts by name, in the order of first appearance. Where a part lacks a column,
/// the cells are empty.
fn stack(parts: &[CellRows<'_>]) -> Vec<(String, Column)> {
    let mut names: Vec<(&str, &ColumnValues)> = Vec::new();
    for (name, values) in parts.iter().flat_map(|(_, columns)| columns.iter()) {
        if names.iter().all(|(known, _)| known != name) {
            names.push((name, values));
        }
    }
    let mut stacked = Vec::new();
    for (name, kind) in names {
        let mut all = kind.none(0);
        for (rows, columns) in parts {
            let own = columns.iter().find(|(candidate, _)| candidate == name);
            all.extend(own.map(|(_, values)| values), *rows);
        }
        stacked.push((name.to_owned(), all.into()));
    }
    stacked
}
