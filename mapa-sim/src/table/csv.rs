//! Tables as CSV.

use std::borrow::Cow;
use std::io::Write;

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
        let mut bytes = Vec::new();
        self.write_csv(&mut bytes)?;
        Ok(String::from_utf8(bytes).map_err(|error| unwritten(&error))?)
    }

    /// Writes the table as [`to_csv`](Self::to_csv) has it. O(cells).
    ///
    /// # Errors
    /// The error of the writer.
    pub fn write_csv(&self, to: impl Write) -> Result<(), Error> {
        self.written_csv(to, true)
    }

    /// Writes the rows alone, without the line of names, below those of another table of these columns. O(cells).
    ///
    /// # Errors
    /// The error of the writer.
    pub fn write_csv_rows(&self, to: impl Write) -> Result<(), Error> {
        self.written_csv(to, false)
    }

    fn written_csv(&self, to: impl Write, heading: bool) -> Result<(), Error> {
        let mut writer = csv::Writer::from_writer(to);
        if heading && !self.columns.is_empty() {
            writer
                .write_record(self.columns.iter().map(|(name, _)| name))
                .map_err(|error| unwritten(&error))?;
        }
        for row in 0..self.rows() {
            let cells = self.columns.iter().map(|(_, column)| cell(column, row));
            writer
                .write_record(cells.map(Cow::into_owned))
                .map_err(|error| unwritten(&error))?;
        }
        Ok(writer.flush().map_err(|error| unwritten(&error))?)
    }
}

fn unwritten(error: &dyn std::error::Error) -> ErrorKind {
    ErrorKind::Unwritten {
        format: "csv",
        what: error.to_string(),
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
