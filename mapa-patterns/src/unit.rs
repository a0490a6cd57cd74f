//! The unit of the traffic of edges.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The unit of the traffic of an application's edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// No unit: it is only known that two ranks communicate, and every edge counts 1.
    #[default]
    Unknown,
    /// Bytes in the busier direction, over the time of the measurement.
    Bytes,
    /// Bytes in the busier direction, in one step or iteration of the program.
    BytesPerStep,
    /// Channels of a communication library.
    Channels,
}

impl Unit {
    /// All units, in the order of their declaration.
    pub const ALL: [Self; 4] = [
        Self::Unknown,
        Self::Bytes,
        Self::BytesPerStep,
        Self::Channels,
    ];

    /// Whether edges carry bytes, so that transfer times follow from them.
    #[must_use]
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::Bytes | Self::BytesPerStep)
    }

    /// An amount for people, such as `6.4 TB` or `4 channels`; none for [`Unit::Unknown`].
    #[must_use]
    pub fn print(self, amount: f64) -> Option<String> {
        match self {
            Self::Unknown => None,
            Self::Bytes => Some(bytes(amount)),
            Self::BytesPerStep => Some(bytes(amount) + " a step"),
            Self::Channels => Some(format!(
                "{amount} channel{}",
                if amount == 1.0 { "" } else { "s" }
            )),
        }
    }
}

/// `unknown`, `bytes`, `bytes-per-step`, `channels`.
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown",
            Self::Bytes => "bytes",
            Self::BytesPerStep => "bytes-per-step",
            Self::Channels => "channels",
        })
    }
}

impl FromStr for Unit {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|unit| unit.to_string() == word);
        let all = Self::ALL.map(|unit| unit.to_string()).join(", ");
        known.ok_or_else(|| Error::new(format!("unit `{word}`: expected one of {all}")))
    }
}

/// Bytes with a decimal prefix: below 99.95 of a prefixed unit with one decimal, otherwise whole.
fn bytes(amount: f64) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let (mut scaled, mut prefix) = (amount, 0);
    // 999.5 and more would print as 1000.
    while scaled >= 999.5 && prefix + 1 < PREFIXES.len() {
        (scaled, prefix) = (scaled / 1e3, prefix + 1);
    }
    let digits = if prefix == 0 || scaled >= 99.95 { 0 } else { 1 };
    format!("{scaled:.digits$} {}B", PREFIXES.get(prefix).unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_printed_with_their_unit() {
        let print = |amount| Unit::Bytes.print(amount).unwrap();
        assert_eq!(
            [0.0, 999.0, 1000.0, 6_571_659_550_720.0, 1e21].map(print),
            ["0 B", "999 B", "1.0 kB", "6.6 TB", "1000 EB"]
        );
        assert_eq!(Unit::Channels.print(1.0).unwrap(), "1 channel");
        assert_eq!(Unit::Unknown.print(1.0), None);
    }
}
