//! Requests in words: `key=value`, separated by spaces.

use serde::de::value::Error as Stopped;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::{Map, Number, Value};

use crate::error::Error;

/// Reads a request in words. A word that does not begin with a key and `=` is the value of `plain`. The values of `lists` are
/// split at commas. `true` and `false` are booleans, and what reads as a number is one.
///
/// # Errors
/// If a key is given twice, or has a value of another form.
pub(crate) fn table<T: DeserializeOwned>(
    text: &str,
    plain: &str,
    lists: &[&str],
) -> Result<T, Error> {
    let keys = keys::<T>();
    let mut table = Map::new();
    for word in text.split_whitespace() {
        let (key, value) = match word.split_once('=') {
            // A plain value may have `=` too, as `tp=4,pp=2` does, so only known keys count.
            Some((key, value)) if keys.contains(&key) => (key, value),
            _ => (plain, word),
        };
        let value = if lists.contains(&key) {
            let items = value.split(',').map(|item| Value::from(item.trim()));
            items.collect()
        } else {
            scalar(value)
        };
        if table.insert(key.to_owned(), value).is_some() {
            return Err(Error::malformed(format_args!(
                "`{text}`: `{key}` is given twice: expected it once"
            )));
        }
    }
    serde_json::from_value(Value::Object(table))
        .map_err(|error| Error::malformed(format_args!("`{text}`: {error}")))
}

/// The keys of a request. A derived `Deserialize` tells them to whoever it asks for a value.
fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut asked = Keys(&[]);
    // There is no value to be had: the question is all that counts.
    let _ = T::deserialize(&mut asked);
    asked.0
}

/// Keeps the keys that it is asked for, and has no value.
struct Keys(&'static [&'static str]);

impl<'de> Deserializer<'de> for &mut Keys {
    type Error = Stopped;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Stopped> {
        self.0 = fields;
        Err(Stopped::custom("no value"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stopped> {
        Err(Stopped::custom("no value"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn scalar(text: &str) -> Value {
    if let Ok(value) = text.parse::<bool>() {
        return Value::Bool(value);
    }
    // Integers come first: as a float, a large one would lose digits.
    if let Ok(value) = text.parse::<u64>() {
        return Value::Number(value.into());
    }
    // `nan` and `inf` are numbers to Rust but not to JSON, so they stay texts.
    let number = text.parse().ok().and_then(Number::from_f64);
    number.map_or_else(|| Value::from(text), Value::Number)
}
