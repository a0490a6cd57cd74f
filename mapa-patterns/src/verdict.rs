//! Whether a job's speed depends on the links it gets, and why.

use std::fmt;

pub use mapa_core::Sensitivity;

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
