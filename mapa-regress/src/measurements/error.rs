//! What can be wrong with measurements.

use std::fmt;

/// Why measurements were refused: what is wrong, on which line or where in a document, and what was expected.
#[derive(Debug, thiserror::Error)]
#[error("{}{what}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct ReadError {
    line: Option<usize>,
    what: String,
}

impl ReadError {
    pub(crate) fn at(line: impl Into<Option<usize>>, what: impl fmt::Display) -> Self {
        Self { line: line.into(), what: what.to_string() }
    }

    /// The line, from 1, if there is one.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}
