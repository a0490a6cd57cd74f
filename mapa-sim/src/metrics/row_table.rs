//! Rows as a table.

use mapa_sched::Fleet;

use super::measure::{Measure, MeasureScope};
use super::measures::MEASURES;
use super::rows::Row;
use crate::error::Error;
use crate::table::{Column, Table};

impl Row {
    /// These rows as a table, with a column for each of the [measures](MEASURES) that has one:
    /// times in seconds, bandwidths in GB/s. The fleet is the one they ran on. O(devices of all
    /// jobs).
    #[must_use]
    pub fn table(rows: &[Self], fleet: &Fleet) -> Table {
        Table::of(columns(MEASURES, rows, fleet))
    }

    /// These rows as a table by measures of your own, such as [`MEASURES`] and further ones.
    ///
    /// # Errors
    /// Two measures of one name.
    pub fn table_by(measures: &[Measure], rows: &[Self], fleet: &Fleet) -> Result<Table, Error> {
        Table::new(columns(measures, rows, fleet))
    }
}

fn columns<'a>(
    measures: &'a [Measure],
    rows: &'a [Row],
    fleet: &'a Fleet,
) -> impl Iterator<Item = (&'static str, Column)> + 'a {
    let columns = measures.iter().filter(|measure| measure.in_rows);
    columns.filter_map(|measure| Some((measure.name, column(measure, rows, fleet)?)))
}

/// The values of a measure of jobs; `None` of a measure of the whole simulation.
fn column(measure: &Measure, rows: &[Row], fleet: &Fleet) -> Option<Column> {
    Some(match measure.of {
        MeasureScope::Integer(of) => {
            Column::Integers(rows.iter().map(|row| i64::try_from(of(row)).ok()).collect())
        }
        MeasureScope::Number(of) => Column::Numbers(rows.iter().map(of).collect()),
        MeasureScope::Flag(of) => Column::Flags(rows.iter().map(|row| Some(of(row))).collect()),
        MeasureScope::Text(of) => {
            Column::Texts(rows.iter().map(|row| Some(of(row, fleet))).collect())
        }
        MeasureScope::RunCount(_) | MeasureScope::RunNumber(_) => return None,
    })
}
