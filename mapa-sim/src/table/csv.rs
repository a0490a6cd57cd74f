//! Tables as CSV.

use std::borrow::Cow;

use super::{Column, Table};
use crate::error::{Error, ErrorKind};

impl Table {
    /// The table as CSV (RFC 4180, except that lines end in `\n`): a line of names, then a line for
    /// each row. O(cells).
    ///
    /// Numbers have the fewest digits that are read back to the same bits; `inf`, `-inf` and `NaN`
    /// are written so. Flags are `true` and `false`. An empty cell and an empty text look the same.
    ///
    /// # Errors
    /// Errors of the CSV writer. None are expected.
    pub fn to_csv(&self) -> Result<String, Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let wrong = |error: &dyn std::error::Error| ErrorKind::Unwritten {
            format: "csv",
            what: error.to_string(),
        };
        if !self.columns.is_empty() {
            writer
                .write_record(self.columns.iter().map(|(name, _)| name))
                .map_err(|error| wrong(&error))?;
        }
        for row in 0..self.rows() {
            let cells = self.columns.iter().map(|(_, column)| cell(column, row));
            writer
                .write_record(cells.map(Cow::into_owned))
                .map_err(|error| wrong(&error))?;
        }
        let bytes = writer.into_inner().map_err(|error| wrong(&error))?;
        Ok(String::from_utf8(bytes).map_err(|error| wrong(&error))?)
    }
}

fn cell(column: &Column, row: usize) -> Cow<'_, str> {
    match column {
        Column::Integers(cells) => written(cells[row].map(|cell| cell.to_string())),
        // Debug, as Display would write 1e300 out in 300 digits.
        Column::Numbers(cells) => written(cells[row].map(|cell| format!("{cell:?}"))),
        Column::Texts(cells) => Cow::Borrowed(cells[row].as_deref().unwrap_or_default()),
        Column::Flags(cells) => written(cells[row].map(|cell| cell.to_string())),
    }
}

fn written(cell: Option<String>) -> Cow<'static, str> {
    Cow::Owned(cell.unwrap_or_default())
}
