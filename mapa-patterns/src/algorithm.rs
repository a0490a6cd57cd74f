//! The algorithms that all-reduces run on.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The algorithm of all-reduces in a communication library. NCCL chooses rings or trees by the size
/// of a message (the paper, Fig. 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Rings, for large messages, where links matter.
    Ring,
    /// Trees, for small messages.
    Tree,
    /// Both at once. Each carries half of the bytes.
    Both,
}

impl Algorithm {
    /// All three algorithms.
    pub const ALL: [Self; 3] = [Self::Ring, Self::Tree, Self::Both];
}

/// `ring`, `tree`, `both`.
impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ring => "ring",
            Self::Tree => "tree",
            Self::Both => "both",
        })
    }
}

impl FromStr for Algorithm {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let known = Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.to_string() == word);
        let all = Self::ALL.map(|algorithm| algorithm.to_string()).join(", ");
        known.ok_or_else(|| Error::new(format!("algorithm `{word}`: expected one of {all}")))
    }
}
