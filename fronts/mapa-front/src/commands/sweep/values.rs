//! Columns of a table in the form that a finished cell has.

use mapa_sim::{Column, Table};
use serde::{Deserialize, Serialize};

/// A table: named columns of equal length.
pub(super) type ValueColumns = Vec<(String, ColumnValues)>;

/// The serialisable form of [`Column`]. NaN and infinities, which JSON lacks, become empty cells.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
// These forms are part of the files of cells: a change of them raises the number in `VERSION` of plan.rs.
pub(super) enum ColumnValues {
    Integers(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
    Flags(Vec<Option<bool>>),
}

impl ColumnValues {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Texts(values) => values.len(),
            Self::Flags(values) => values.len(),
        }
    }

    /// Empty cells of this kind.
    pub(super) fn none(&self, rows: usize) -> Self {
        match self {
            Self::Integers(_) => Self::Integers(vec![None; rows]),
            Self::Numbers(_) => Self::Numbers(vec![None; rows]),
            Self::Texts(_) => Self::Texts(vec![None; rows]),
            Self::Flags(_) => Self::Flags(vec![None; rows]),
        }
    }

    /// Appends a column of this kind; or `rows` empty cells, if there is none or it is of another
    /// kind.
    pub(super) fn extend(&mut self, more: Option<&Self>, rows: usize) {
        match (self, more) {
            (Self::Integers(all), Some(Self::Integers(more))) => all.extend_from_slice(more),
            (Self::Numbers(all), Some(Self::Numbers(more))) => all.extend_from_slice(more),
            (Self::Texts(all), Some(Self::Texts(more))) => all.extend_from_slice(more),
            (Self::Flags(all), Some(Self::Flags(more))) => all.extend_from_slice(more),
            (all, _) => {
                let none = all.none(rows);
                all.extend(Some(&none), rows);
            }
        }
    }
}

impl From<ColumnValues> for Column {
    fn from(values: ColumnValues) -> Self {
        match values {
            ColumnValues::Integers(values) => Self::Integers(values),
            ColumnValues::Numbers(values) => Self::Numbers(values),
            ColumnValues::Texts(values) => Self::Texts(values),
            ColumnValues::Flags(values) => Self::Flags(values),
        }
    }
}

/// The columns of a table.
pub(super) fn columns(table: &Table) -> ValueColumns {
    let mut columns = ValueColumns::new();
    for (name, column) in table.columns() {
        let values = match column {
            Column::Integers(values) => ColumnValues::Integers(values.clone()),
            Column::Numbers(values) => ColumnValues::Numbers(values.clone()),
            Column::Texts(values) => ColumnValues::Texts(values.clone()),
            Column::Flags(values) => ColumnValues::Flags(values.clone()),
            // `Column` may get kinds that files of cells have no form for. Such columns are left out.
            _ => continue,
        };
        columns.push((name.clone(), values));
    }
    columns
}
