//! Reads a row as a struct whose fields are columns.

use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::cell::{Cell, CellError};
use crate::error::Error;
use crate::sheet::Row;

impl<'s> Row<'s> {
    /// Reads the columns of this row that are fields of a struct. For an empty or missing column
    /// the field has the struct's default; without a default that is an error.
    ///
    /// # Errors
    /// The cell of a field is malformed, or a field has neither a cell nor a default. The message
    /// names the first such column.
    pub fn read<T: Deserialize<'s>>(&self) -> Result<T, Error> {
        T::deserialize(Fields(*self)).map_err(|wrong| self.error(wrong.what))
    }
}

/// The columns that a struct reads: the names of its fields, in order.
#[must_use]
pub fn columns<'de, T: Deserialize<'de>>() -> Vec<&'static str> {
    let mut names = Vec::new();
    // A deserializer is handed the names of the fields. This one takes them and gives up.
    let _ = T::deserialize(FieldNames(&mut names));
    names
}

/// The error of every type but a struct.
fn only_structs<T>() -> Result<T, CellError> {
    Err(de::Error::custom(
        "rows are read as structs with named fields",
    ))
}

/// Deserializes a struct from a row.
struct Fields<'s>(Row<'s>);

impl<'de> Deserializer<'de> for Fields<'de> {
    type Error = CellError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, CellError> {
        only_structs()
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CellError> {
        visitor.visit_map(RowCells {
            row: self.0,
            fields: fields.iter(),
            next: None,
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The fields of a struct that have a cell, in the struct's order.
struct RowCells<'s> {
    row: Row<'s>,
    fields: std::slice::Iter<'static, &'static str>,
    /// The field whose name was read last, and its cell.
    next: Option<(&'static str, &'s str)>,
}

impl<'de> MapAccess<'de> for RowCells<'de> {
    type Error = CellError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, CellError> {
        let row = self.row;
        self.next = self.fields.find_map(|&name| Some((name, row.get(name)?)));
        self.next
            .map(|(name, _)| seed.deserialize(StrDeserializer::new(name)))
            .transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, CellError> {
        let (name, text) = self.next.unwrap_or_default();
        seed.deserialize(Cell(text)).map_err(|wrong| {
            if wrong.names_column {
                return wrong;
            }
            CellError {
                what: format!("{name} {}", wrong.what),
                names_column: true,
            }
        })
    }
}

/// Collects the names of a struct's fields.
struct FieldNames<'n>(&'n mut Vec<&'static str>);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = CellError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, CellError> {
        only_structs()
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, CellError> {
        self.0.extend(fields);
        only_structs()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
