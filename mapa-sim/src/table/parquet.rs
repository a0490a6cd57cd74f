//! Tables as Parquet.

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
        self.written().map_err(|error| {
            let (format, what) = ("parquet", error.to_string());
            ErrorKind::Unwritten { format, what }.into()
        })
    }

    fn written(&self) -> Result<Vec<u8>, ParquetError> {
        let fields = self
            .columns
            .iter()
            .map(|(name, column)| field(name, column).map(Arc::new));
        let schema = Type::group_type_builder("table")
            .with_fields(fields.collect::<Result<_, _>>()?)
            .build()?;
        let properties = WriterProperties::builder()
            .set_created_by("mapa-sim".to_owned())
            .build();
        let mut file =
            SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        let mut group = file.next_row_group()?;
        for (_, column) in &self.columns {
            write(column, &mut group)?;
        }
        group.close()?;
        file.into_inner()
    }
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

fn write(
    column: &Column,
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
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
