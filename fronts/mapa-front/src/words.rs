//! Requests in words: `key=value`, separated by spaces.

use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::error::Error;

/// Reads a request in words. A word that does not begin with a key and `=` is the value of `plain`. The values of `lists` are
/// split at commas. `true` and `false` are booleans, and what reads as a number is one.
///
/// # Errors
/// If a key is given twice, or has a value of another form.
pub(crate) fn table<T: DeserializeOwned + JsonSchema>(
    text: &str,
    plain: &str,
    lists: &[&str],
) -> Result<T, Error> {
    let schema = schema_for!(T);
    let keys = schema.get("properties").and_then(Value::as_object);
    let is_key = |word: &str| keys.is_some_and(|keys| keys.contains_key(word));
    let mut table = Map::new();
    for word in text.split_whitespace() {
        let (key, value) = match word.split_once('=') {
            Some((key, value)) if is_key(key) => (key, value),
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

fn scalar(text: &str) -> Value {
    if let Ok(value) = text.parse::<bool>() {
        return Value::Bool(value);
    }
    if let Ok(value) = text.parse::<u64>() {
        return Value::Number(value.into());
    }
    let number = text.parse().ok().and_then(Number::from_f64);
    number.map_or_else(|| Value::from(text), Value::Number)
}
