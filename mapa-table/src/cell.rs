//! Reads and writes single cells.

use std::fmt::{self, Display};

use serde::de::{self, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// An error of a row, before its line is known.
#[derive(Debug)]
pub(crate) struct CellError {
    pub(crate) what: String,
    /// Whether the message names the column.
    pub(crate) names_column: bool,
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for CellError {}

impl de::Error for CellError {
    fn custom<T: fmt::Display>(what: T) -> Self {
        Self {
            what: what.to_string(),
            names_column: false,
        }
    }

    fn missing_field(name: &'static str) -> Self {
        Self {
            what: format!("{name} is empty: expected a value"),
            names_column: true,
        }
    }
}

/// The text of a cell that is not empty.
pub(crate) struct Cell<'s>(pub(crate) &'s str);

impl Cell<'_> {
    fn parse<T: std::str::FromStr>(&self, expected: &str) -> Result<T, CellError> {
        let wrong = |_| de::Error::custom(format_args!("`{}`: expected {expected}", self.0));
        self.0.parse().map_err(wrong)
    }
}

/// Methods that parse a number and give it to the visitor.
macro_rules! numbers {
    ($($method:ident $visit:ident $expected:literal,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
            visitor.$visit(self.parse($expected)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Cell<'de> {
    type Error = CellError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CellError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, CellError> {
        visitor.visit_newtype_struct(self)
    }

    numbers! {
        deserialize_u32 visit_u32 "a whole number from 0 to 4294967295",
        deserialize_u64 visit_u64 "a whole number from 0 to 18446744073709551615",
        deserialize_i64 visit_i64 "an integer, such as -1 or 10",
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

/// A field whose type is read by `FromStr` and written by `Display`: `#[serde(with =
/// "mapa_table::text")]`. The errors of `FromStr` should begin with the text and end with what was
/// expected.
pub mod text {
    use super::{Deserializer, Display, TextOf};
    use serde::Serializer;
    use std::str::FromStr;

    /// Reads a cell.
    ///
    /// # Errors
    /// That of `FromStr`.
    pub fn deserialize<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
        cell: D,
    ) -> Result<T, D::Error> {
        cell.deserialize_str(TextOf(std::marker::PhantomData))
    }

    /// Writes a cell.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }
}

/// A field that is an `Option` of a type as in [`text`]: an empty cell is `None`. The field needs
/// `#[serde(default)]` too.
pub mod optional_text {
    use super::{Deserializer, Display};
    use serde::Serializer;
    use std::str::FromStr;

    /// Reads a cell.
    ///
    /// # Errors
    /// That of `FromStr`.
    pub fn deserialize<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
        cell: D,
    ) -> Result<Option<T>, D::Error> {
        super::text::deserialize(cell).map(Some)
    }

    /// Writes a cell.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.collect_str(value),
            None => to.serialize_str(""),
        }
    }
}

/// Reads a text by `FromStr`.
struct TextOf<T>(std::marker::PhantomData<T>);

impl<T: std::str::FromStr<Err: Display>> Visitor<'_> for TextOf<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}
