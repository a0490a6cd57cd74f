//! The results of a whole sweep: its cells' files, put below one another in order.
//!
//! They are made of what is on disk alone, however it came there, so they have the same bits whatever was cut off, split up
//! or run at once.

use std::path::{Path, PathBuf};

use mapa_sim::{Column, GENERATOR, Table};
use serde_json::json;

use super::plan::Cell;
use super::store::{Kept, write_whole};
use super::values::{Columns, Values};
use crate::failure::Failure;

/// Writes the results of these cells, which are all of the sweep's, into this folder; the files that were written.
pub(super) fn write(folder: &Path, cells: &[(Cell<'_>, Box<Kept>)], rows: bool) -> Result<Vec<PathBuf>, Failure> {
    let summaries = table(cells, |kept| (1, &kept.summary), true)?;
    let mut written = write_table(folder, "results", &summaries)?;
    if rows {
        let none = Columns::new();
        let jobs = table(cells, |kept| part(kept.rows.as_ref().unwrap_or(&none)), false)?;
        written.extend(write_table(folder, "rows", &jobs)?);
    }
    Ok(written)
}

fn write_table(folder: &Path, name: &str, table: &Table) -> Result<Vec<PathBuf>, Failure> {
    let about = json!({ "mapa_bench": env!("CARGO_PKG_VERSION"), "generator": GENERATOR, name: table.to_json() });
    let json = serde_json::to_string(&about).map_err(Failure::malformed)? + "\n";
    let texts = [
        ("csv", table.to_csv().map_err(Failure::malformed)?.into_bytes()),
        ("json", json.into_bytes()),
        ("parquet", table.to_parquet().map_err(Failure::malformed)?),
    ];
    let write = |(extension, bytes): (&str, Vec<u8>)| {
        let path = folder.join(format!("{name}.{extension}"));
        write_whole(&path, &bytes).map(|()| path)
    };
    texts.into_iter().map(write).collect()
}

/// How many rows, and the columns.
type Part<'a> = (usize, &'a Columns);

fn part(columns: &Columns) -> Part<'_> {
    (columns.first().map_or(0, |(_, values)| values.len()), columns)
}

/// Parts of all cells, each row with its cell's words; with the cell's error, if wanted.
fn table<'a>(
    cells: &'a [(Cell<'_>, Box<Kept>)],
    of: impl Fn(&'a Kept) -> Part<'a>,
    errors: bool,
) -> Result<Table, Failure> {
    let parts: Vec<Part<'_>> = cells.iter().map(|(_, kept)| of(kept)).collect();
    let each = || cells.iter().zip(&parts).flat_map(|(cell, part)| std::iter::repeat_n(cell, part.0));
    let texts = |word: fn(&Cell<'_>) -> String| Column::Texts(each().map(|(cell, _)| Some(word(cell))).collect());
    let integers = |number: fn(&Cell<'_>) -> Option<u64>| {
        Column::Integers(each().map(|(cell, _)| number(cell).and_then(|number| i64::try_from(number).ok())).collect())
    };
    let mut columns = vec![
        ("cell".to_owned(), integers(|cell| Some(cell.index as u64))),
        ("machine".to_owned(), texts(|cell| cell.machine.to_owned())),
        ("workload".to_owned(), texts(|cell| cell.jobs.word.clone())),
        ("seed".to_owned(), integers(|cell| cell.jobs.seed)),
        ("scheduler".to_owned(), texts(|cell| cell.scheduler.to_owned())),
        ("execution".to_owned(), texts(|cell| cell.execution.to_owned())),
        ("policy".to_owned(), texts(|cell| cell.policy.to_owned())),
    ];
    // Jobs have columns of such names too, as `machine`, a number in the fleet.
    let taken: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    let own = |name: String| if taken.contains(&name) { format!("job_{name}") } else { name };
    columns.extend(stack(&parts).into_iter().map(|(name, column)| (own(name), column)));
    if errors {
        columns.push(("error".to_owned(), Column::Texts(each().map(|(_, kept)| kept.error.clone()).collect())));
    }
    Table::new(columns).map_err(Failure::malformed)
}

/// Columns by name, in the order in which they first appear; what a part does not have is empty.
fn stack(parts: &[Part<'_>]) -> Vec<(String, Column)> {
    let mut names: Vec<(&str, &Values)> = Vec::new();
    for (name, values) in parts.iter().flat_map(|(_, columns)| columns.iter()) {
        if names.iter().all(|(known, _)| known != name) {
            names.push((name, values));
        }
    }
    let column = |(name, kind): (&str, &Values)| {
        let mut all = kind.none(0);
        for (rows, columns) in parts {
            let own = columns.iter().find(|(own, _)| own == name).map(|(_, values)| values);
            all.extend(own, *rows);
        }
        (name.to_owned(), all.into())
    };
    names.into_iter().map(column).collect()
}
