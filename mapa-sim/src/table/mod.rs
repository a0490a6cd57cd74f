//! Tables of results, for people's spreadsheets and data frames.

/// A table: named columns of one length.
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
    /// Words.
    Texts(Vec<Option<String>>),
    /// Yes or no.
    Flags(Vec<Option<bool>>),
}

impl Table {
    /// With one more column. Its name bears its unit, as `wait_s` or `effective_gbps`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, column: Column) -> Self {
        self.columns.push((name.into(), column));
        self
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[(String, Column)] {
        &self.columns
    }
}
