//! Whether a job's speed depends on the links it gets, and why.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// Whether the speed of a job depends on its links (the paper, section 2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sensitivity {
    /// It depends on them.
    Sensitive,
    /// It does not depend on them, or hardly.
    Insensitive,
    /// The evidence does not decide.
    #[default]
    Unknown,
}

impl Sensitivity {
    /// All three values.
    pub const ALL: [Self; 3] = [Self::Sensitive, Self::Insensitive, Self::Unknown];
}

/// `sensitive`, `insensitive`, `unknown`.
impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sensitive => "sensitive",
            Self::Insensitive => "insensitive",
            Self::Unknown => "unknown",
        })
    }
}

impl FromStr for Sensitivity {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|own| own.to_string() == word);
        let all = Self::ALL.map(|own| own.to_string()).join(", ");
        known.ok_or_else(|| Error::new(format!("sensitivity `{word}`: expected one of {all}")))
    }
}

/// A [`Sensitivity`] with its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the speed of the job depends on its links.
    pub sensitivity: Sensitivity,
    /// The evidence that decided, for people; may be empty.
    pub why: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.why.is_empty() { "" } else { ": " };
        write!(f, "{}{gap}{}", self.sensitivity, self.why)
    }
}
