//! Whether a job's speed depends on the links it gets.
//!
//! The policy Preserve keeps good links for the jobs that gain by them, so somebody must say which those are; the paper has it
//! annotated. Here three kinds of evidence decide, the stronger before the weaker: execution times on two allocations, what a
//! job communicates against the time of its iteration, and its messages alone. The last can say that links do not matter; it
//! cannot say that they do, for nobody knows what runs between the messages. `docs/sensitivity.md` has the rule with the
//! arithmetic, and what it makes of the paper's nine workloads.

mod evidence;
mod messages;
mod published;

use std::fmt;
use std::str::FromStr;

pub use evidence::{Evidence, LinkRates, Times};
pub use messages::{LARGE_MESSAGE_BYTES, Messages};
pub use published::{CaffeModel, PUBLISHED, Published, Workload};

use crate::error::Error;

/// Whether a job's speed depends on the links it gets (the paper, section 2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sensitivity {
    /// It does.
    Sensitive,
    /// It does not, or hardly.
    Insensitive,
    /// What is known does not say.
    #[default]
    Unknown,
}

impl Sensitivity {
    /// All three.
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

/// A [`Sensitivity`], and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whether its speed depends on its links.
    pub sensitivity: Sensitivity,
    /// What that was decided by, for people; may be empty.
    pub why: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.why.is_empty() { "" } else { ": " };
        write!(f, "{}{gap}{}", self.sensitivity, self.why)
    }
}
