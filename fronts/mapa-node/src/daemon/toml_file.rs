//! Configuration files: read whole, checked key by key, refused with file, line and what was
//! expected.

use std::path::Path;

use mapa_core::{MAX_TOML_BYTES, check_size, shortened};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::Error;

/// The most bytes of a configuration.
const MOST: u64 = MAX_TOML_BYTES as u64;

/// Reads a configuration from a file.
///
/// # Errors
/// The file, the line at fault, and what was expected there.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let place = path.display();
    let bytes = mapa_io::read(path, MOST).map_err(|error| {
        Error::malformed(format_args!("{place}: {error}; expected a configuration"))
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|error| Error::malformed(format_args!("{place}: {error}; expected UTF-8")))?;
    parse(&text).map_err(|what| Error::malformed(format_args!("{place}: {what}")))
}

/// Reads a configuration from a text.
///
/// # Errors
/// The line at fault, and what was expected there.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    check_size(text.len(), MAX_TOML_BYTES)?;
    toml::from_str(text).map_err(|error| {
        let what = error.message().trim_end().replace('\n', " ");
        let what = shortened(&what);
        match error.span() {
            Some(span) => {
                let before = text.get(..span.start).unwrap_or_default();
                format!("line {}: {what}", before.matches('\n').count() + 1)
            }
            None => what.into_owned(),
        }
    })
}

/// A whole number from `LEAST` to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub(crate) struct BoundedInt<const LEAST: u64, const MOST: u64>(pub u64);

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for BoundedInt<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = i64::deserialize(deserializer)?;
        u64::try_from(value)
            .ok()
            .filter(|number| (LEAST..=MOST).contains(number))
            .map(Self)
            .ok_or_else(|| D::Error::custom(format_args!("{value}: expected {LEAST} to {MOST}")))
    }
}

/// A number of milliseconds above 0, at most an hour. Whole or not.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub(crate) struct Millis(pub f64);

impl Millis {
    /// The same in nanoseconds.
    pub(crate) fn ns(self) -> u64 {
        (self.0 * 1e6).round().max(1.0) as u64
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if value > 0.0 && value <= 3_600_000.0 {
            return Ok(Self(value));
        }
        Err(D::Error::custom(format_args!(
            "{value}: expected milliseconds above 0, at most 3600000"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Own {
        #[serde(rename = "a")]
        _a: BoundedInt<2, 9>,
        #[serde(rename = "b")]
        _b: Option<Millis>,
    }

    #[test]
    fn errors_name_the_line_and_what_was_expected() {
        let check = |text: &str, expected: &str| {
            let error = parse::<Own>(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("\n\na = 10\n", "line 3: 10: expected 2 to 9");
        check("a = 2\nb = 0\n", "line 2: 0: expected milliseconds above 0");
        check(
            "a = 2\nc = 0\n",
            "line 2: unknown field `c`, expected `a` or `b`",
        );
        check("a = -1\n", "-1: expected 2 to 9");
        assert!(parse::<Own>("a = 2\nb = 1.5").is_ok());
    }
}
