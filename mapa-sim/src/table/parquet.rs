//! Tables as Parquet.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::Type;

use super::{Column, Table};
use crate::error::{Error, ErrorKind};

impl Table {
    /// The table as a Parquet file: one row group, every column optional and flat, `INT64`,
    /// `DOUBLE`, `BYTE_ARRAY` (UTF-8) or `BOOLEAN`, without compression. Every bit of a number is
    /// kept. Under one version of this library, the same table gives the same bytes. O(cells).
    ///
    /// # Errors
    /// Errors of the Parquet writer. None are expected.
    pub fn to_parquet(&self) -> Result<Vec<u8>, Error> {
        self.written().map_err(unwritten)
    }

    fn written(&self) -> Result<Vec<u8>, ParquetError> {
        let mut file = file_for(Vec::new(), self)?;
        write_group(self, &mut file)?;
        file.into_inner()
    }
}

/// Writes tables of the same columns below one another into one Parquet file, without holding all of them.
///
/// # Complexity
/// Besides the tables, it holds [`ROWS`](Self::ROWS) rows.
///
/// # Examples
/// ```
/// use mapa_sim::{Column, ParquetWriter, Table};
///
/// let rows = Table::new([("job", Column::Integers(vec![Some(0), Some(1)]))])?;
/// let mut writer = ParquetWriter::new(Vec::new(), &rows)?;
/// writer.append(&rows)?;
/// assert_eq!(writer.finish()?, rows.to_parquet()?);
/// # Ok::<(), mapa_sim::Error>(())
/// ```
pub struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    has_group: bool,
    /// The rows of the next group.
    rows: Table,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// The least number of rows of a row group, but for the last. A file of fewer rows has one group, as
    /// [`Table::to_parquet`] gives it.
    pub const ROWS: usize = 1 << 15;

    /// A file for tables of the columns of this one, whose rows are not added.
    ///
    /// # Errors
    /// The error of the writer.
    pub fn new(to: W, columns: &Table) -> Result<Self, Error> {
        Ok(Self {
            file: file_for(to, columns).map_err(unwritten)?,
            has_group: false,
            rows: columns.without_rows(),
        })
    }

    /// Adds the rows of a table.
    ///
    /// # Errors
    /// - The table has other columns than those before it.
    /// - What the writer says.
    pub fn append(&mut self, table: &Table) -> Result<(), Error> {
        self.rows.append(table)?;
        if self.rows.rows() < Self::ROWS {
            return Ok(());
        }
        self.write_group()
    }

    /// Ends the file; returns what it was written to.
    ///
    /// # Errors
    /// The error of the writer.
    pub fn finish(mut self) -> Result<W, Error> {
        // A file without rows has one group, too.
        if self.rows.rows() > 0 || !self.has_group {
            self.write_group()?;
        }
        self.file.into_inner().map_err(unwritten)
    }

    fn write_group(&mut self) -> Result<(), Error> {
        write_group(&self.rows, &mut self.file).map_err(unwritten)?;
        self.has_group = true;
        self.rows = self.rows.without_rows();
        Ok(())
    }
}

impl<W: Write + Send> fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetWriter")
            .field("waiting_rows", &self.rows.rows())
            .finish_non_exhaustive()
    }
}

fn unwritten(error: ParquetError) -> Error {
    let (format, what) = ("parquet", error.to_string());
    ErrorKind::Unwritten { format, what }.into()
}

/// A file for tables of the columns of this one.
fn file_for<W: Write + Send>(
    to: W,
    table: &Table,
) -> Result<SerializedFileWriter<W>, ParquetError> {
    let fields = table
        .columns
        .iter()
        .map(|(name, column)| field(name, column).map(Arc::new));
    let schema = Type::group_type_builder("table")
        .with_fields(fields.collect::<Result<_, _>>()?)
        .build()?;
    let properties = WriterProperties::builder()
        .set_created_by("mapa-sim".to_owned())
        .build();
    SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))
}

fn write_group<W: Write + Send>(
    table: &Table,
    file: &mut SerializedFileWriter<W>,
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for (_, column) in &table.columns {
        write(column, &mut group)?;
    }
    group.close()?;
    Ok(())
}

fn field(name: &str, column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column {
        Column::Integers(_) => (Physical::INT64, None),
        Column::Numbers(_) => (Physical::DOUBLE, None),
        Column::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Column::Flags(_) => (Physical::BOOLEAN, None),
    };
    let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
    field.with_repetition(Repetition::OPTIONAL).build()
}

fn write<W: Write + Send>(
    column: &Column,
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let Some(writer) = group.next_column()? else {
        return Ok(());
    };
    match column {
        Column::Integers(cells) => fill::<Int64Type, _>(writer, cells, |&cell| cell),
        Column::Numbers(cells) => fill::<DoubleType, _>(writer, cells, |&cell| cell),
        Column::Texts(cells) => {
            fill::<ByteArrayType, _>(writer, cells, |cell| ByteArray::from(cell.as_str()))
        }
        Column::Flags(cells) => fill::<BoolType, _>(writer, cells, |&cell| cell),
    }
}

/// Writes the values of the cells that are not empty, and the definition level of every cell: 0 for
/// an empty cell, else 1.
fn fill<T: DataType, C>(
    mut writer: SerializedColumnWriter<'_>,
    cells: &[Option<C>],
    value: impl Fn(&C) -> T::T,
) -> Result<(), ParquetError> {
    let there: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.iter().flatten().map(value).collect();
    writer
        .typed::<T>()
        .write_batch(&values, Some(&there), None)?;
    writer.close()
}
