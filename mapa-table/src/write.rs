//! Rows as text.

use csv::{ReaderBuilder, StringRecord, Writer, WriterBuilder};
use serde::Serialize;

use crate::error::Error;

/// Writes rows with tabs between the cells, under a header of the names of their fields.
///
/// # Errors
/// A row that is no struct of plain cells.
///
/// # Complexity
/// O(cells).
pub fn write_tabs<T: Serialize>(rows: &[T]) -> Result<String, Error> {
    let failed = |error: csv::Error| Error::of_table(error.to_string());
    let mut writer = WriterBuilder::new()
        .delimiter(b'\t')
        .from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).map_err(failed)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| Error::of_table(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| Error::of_table(error.to_string()))
}

/// Writes rows under a header of these names, one name for each cell. A row is a struct, or a tuple
/// of structs whose fields follow each other. A column is left out if every row has the default
/// there, unless the column is `needed`. `plain` returns the default row for an index from 0.
///
/// # Errors
/// A row has another number of cells than there are names.
///
/// # Complexity
/// O(cells).
pub fn write<T: Serialize>(
    names: &[&str],
    needed: &[&str],
    rows: &[T],
    plain: impl Fn(usize) -> T,
) -> Result<String, Error> {
    let plain: Vec<T> = (0..rows.len()).map(plain).collect();
    let (cells, plain) = (records(rows)?, records(&plain)?);
    if let Some(row) = cells.iter().find(|row| row.len() != names.len()) {
        let (cells, names) = (row.len(), names.len());
        let what = format!("a row of {cells} cells under {names} names: expected as many");
        return Err(Error::of_table(what));
    }
    let says_something = |at: usize| {
        cells
            .iter()
            .zip(&plain)
            .any(|(record, no)| record.get(at) != no.get(at))
    };
    let kept: Vec<usize> = (0..names.len())
        .filter(|&at| needed.contains(&names[at]) || says_something(at))
        .collect();
    let mut writer = Writer::from_writer(Vec::new());
    writer
        .write_record(kept.iter().map(|&at| names[at]))
        .map_err(unwritten)?;
    for row in &cells {
        writer
            .write_record(kept.iter().map(|&at| row.get(at).unwrap_or_default()))
            .map_err(unwritten)?;
    }
    let bytes = writer.into_inner().map_err(unwritten)?;
    String::from_utf8(bytes).map_err(unwritten)
}

/// The cells of each row. `csv` converts structs to cells, but only as a text, so the text is read
/// back.
fn records<T: Serialize>(rows: &[T]) -> Result<Vec<StringRecord>, Error> {
    let mut writer = WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).map_err(unwritten)?;
    }
    let bytes = writer.into_inner().map_err(unwritten)?;
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .from_reader(&bytes[..]);
    reader
        .records()
        .collect::<Result<Vec<_>, _>>()
        .map_err(unwritten)
}

fn unwritten(error: impl std::fmt::Display) -> Error {
    Error::of_table(error.to_string())
}
