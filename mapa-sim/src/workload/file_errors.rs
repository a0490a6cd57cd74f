//! Errors of files that are read.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// An error of a line, counted from 1.
pub(super) fn bad_line(line: usize, what: impl fmt::Display) -> Error {
    ErrorKind::BadLine {
        line,
        what: what.to_string(),
    }
    .into()
}

/// An error of the whole file, without a line.
pub(super) fn bad_workload(what: impl fmt::Display) -> Error {
    ErrorKind::BadWorkload(what.to_string()).into()
}
