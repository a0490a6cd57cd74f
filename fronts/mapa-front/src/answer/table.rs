//! Tables of results as rows of named cells.

use std::collections::BTreeMap;

use mapa_sim::{Column, Table};
use serde::Serialize;

use super::number::finite;

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Cell {
    /// An integer.
    Integer(i64),
    /// A number, finite.
    Number(f64),
    /// A text.
    Text(String),
    /// True or false.
    Flag(bool),
    /// Nothing, written as null: there is no such value, or it is not finite.
    Empty,
}

/// A row: its cells by the names of their columns, which end in the unit, such as `wait_s` or
/// `effective_gbps`.
pub type Record = BTreeMap<String, Cell>;

impl Cell {
    /// The cell in this row of a column. Rows beyond the last are empty. O(1), or the length of the
    /// text.
    pub fn of(column: &Column, row: usize) -> Self {
        // This is a function because a closure has one type of cells only.
        fn cell<T: Clone>(cells: &[Option<T>], row: usize) -> Option<T> {
            cells.get(row).cloned().flatten()
        }
        let value = match column {
            Column::Integers(cells) => cell(cells, row).map(Self::Integer),
            Column::Numbers(cells) => cell(cells, row).and_then(finite).map(Self::Number),
            Column::Texts(cells) => cell(cells, row).map(Self::Text),
            Column::Flags(cells) => cell(cells, row).map(Self::Flag),
            _ => None,
        };
        value.unwrap_or(Self::Empty)
    }
}

/// A row of a table; empty beyond the last.
///
/// # Complexity
/// O(c log c) for c columns.
pub fn record(table: &Table, row: usize) -> Record {
    let columns = table.columns().iter();
    columns
        .map(|(name, column)| (name.clone(), Cell::of(column, row)))
        .collect()
}

/// All rows of a table, in order.
///
/// # Complexity
/// O(r c log c) for r rows and c columns.
pub fn records(table: &Table) -> Vec<Record> {
    (0..table.rows()).map(|row| record(table, row)).collect()
}
