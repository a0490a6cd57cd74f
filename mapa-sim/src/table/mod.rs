//! Tables of results, for spreadsheets and data frames.
//!
//! A table is a list of columns of one length under different names. A missing value is an empty
//! cell, not a special number. CSV, JSON and Parquet files have the same contents. Parquet also
//! stores the types of columns; CSV can be read without a library.

use crate::error::{Error, ErrorKind};

mod csv;
mod json;
#[cfg(feature = "parquet")]
mod parquet;

#[cfg(feature = "parquet")]
pub use parquet::ParquetWriter;

/// A table: named columns of one length.
///
/// # Examples
/// ```
/// use mapa_sim::{Column, Table};
///
/// let table = Table::new([
///     ("job", Column::Integers(vec![Some(0), Some(1)])),
///     ("wait_s", Column::Numbers(vec![Some(0.1), None])),
/// ])?;
/// assert_eq!(table.to_csv()?, "job,wait_s\n0,0.1\n1,\n");
/// # Ok::<(), mapa_sim::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(String, Column)>,
}

/// A column. `None` is an empty cell, null.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Column {
    /// Integers.
    Integers(Vec<Option<i64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<Option<String>>),
    /// True or false.
    Flags(Vec<Option<bool>>),
}

impl Column {
    /// The number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(cells) => cells.len(),
            Self::Numbers(cells) => cells.len(),
            Self::Texts(cells) => cells.len(),
            Self::Flags(cells) => cells.len(),
        }
    }

    /// Whether the column has no cell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Integers(_) => "integers",
            Self::Numbers(_) => "numbers",
            Self::Texts(_) => "texts",
            Self::Flags(_) => "flags",
        }
    }

    #[cfg(feature = "parquet")]
    fn without_cells(&self) -> Self {
        match self {
            Self::Integers(_) => Self::Integers(Vec::new()),
            Self::Numbers(_) => Self::Numbers(Vec::new()),
            Self::Texts(_) => Self::Texts(Vec::new()),
            Self::Flags(_) => Self::Flags(Vec::new()),
        }
    }

    fn append(&mut self, other: &Self) {
        match (self, other) {
            (Self::Integers(own), Self::Integers(more)) => own.extend_from_slice(more),
            (Self::Numbers(own), Self::Numbers(more)) => own.extend_from_slice(more),
            (Self::Texts(own), Self::Texts(more)) => own.extend_from_slice(more),
            (Self::Flags(own), Self::Flags(more)) => own.extend_from_slice(more),
            // Kinds were compared before.
            _ => {}
        }
    }
}

impl Table {
    /// A table of these columns. By convention names end in the unit, such as `wait_s` or
    /// `effective_gbps`.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn new<N: Into<String>>(
        columns: impl IntoIterator<Item = (N, Column)>,
    ) -> Result<Self, Error> {
        columns
            .into_iter()
            .try_fold(Self::default(), |table, (name, column)| {
                table.with(name, column)
            })
    }

    /// The table with one more column, the last. O(columns).
    ///
    /// # Errors
    /// The column has another length than those before it, or a column of this name exists already.
    pub fn with(mut self, name: impl Into<String>, column: Column) -> Result<Self, Error> {
        let name = name.into();
        if self.column(&name).is_some() {
            return Err(ErrorKind::BadTable(format!(
                "column `{name}` occurs twice: expected different names"
            ))
            .into());
        }
        if !self.columns.is_empty() && column.len() != self.rows() {
            let (has, rows) = (column.len(), self.rows());
            let what = format!(
                "column `{name}` has {has} cells: expected {rows}, as the columns before it"
            );
            return Err(ErrorKind::BadTable(what).into());
        }
        self.columns.push((name, column));
        Ok(self)
    }

    /// A table of these columns, without checks. The caller makes sure that names differ and that
    /// all columns have one length.
    pub(crate) fn of<N: Into<String>>(columns: impl IntoIterator<Item = (N, Column)>) -> Self {
        Self {
            columns: columns
                .into_iter()
                .map(|(name, column)| (name.into(), column))
                .collect(),
        }
    }

    /// The columns, in order.
    #[must_use]
    pub fn columns(&self) -> &[(String, Column)] {
        &self.columns
    }

    /// The column of this name. O(columns).
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns
            .iter()
            .find(|(candidate, _)| candidate == name)
            .map(|(_, column)| column)
    }

    /// How many rows it has.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Adds the rows of a table of the same columns, below its own. A table without columns takes
    /// over the other's.
    ///
    /// # Errors
    /// The columns of the other table have different names or types, or another order. Then nothing
    /// is added.
    pub fn append(&mut self, other: &Self) -> Result<(), Error> {
        if self.columns.is_empty() {
            self.columns.clone_from(&other.columns);
            return Ok(());
        }
        let [own, more] = [self.heading(), other.heading()];
        if own != more {
            return Err(ErrorKind::BadTable(format!(
                "rows of other columns: expected {own}, got {more}"
            ))
            .into());
        }
        for ((_, column), (_, more)) in self.columns.iter_mut().zip(&other.columns) {
            column.append(more);
        }
        Ok(())
    }

    /// A table of the same columns.
    #[cfg(feature = "parquet")]
    fn without_rows(&self) -> Self {
        let columns = self.columns.iter();
        Self::of(columns.map(|(name, column)| (name.clone(), column.without_cells())))
    }

    fn heading(&self) -> String {
        let names = self
            .columns
            .iter()
            .map(|(name, column)| format!("{name} ({})", column.kind()));
        names.collect::<Vec<_>>().join(", ")
    }
}
