//! What is not known, said so.

use serde::{Deserialize, Serialize};

/// The most rows of each list of a sample. More are left out.
pub const MOST: usize = 4096;

/// A signal that could not be had. It is never reported as zero.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MissingSignal {
    /// The signal, such as `gpu 3 pcie_retries`.
    pub what: String,
    /// Why it is unknown, in words: a file that cannot be read, or what a driver answered.
    pub why: String,
}

impl MissingSignal {
    pub(crate) fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            why: why.into(),
        }
    }
}
