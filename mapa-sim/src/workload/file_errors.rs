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

/// The most jobs of a file or trace. Each takes some hundred bytes, however short its row is.
pub const MAX_JOBS: usize = 1_000_000;

/// Checks the number of rows of a file.
pub(super) fn check_count(rows: usize) -> Result<(), Error> {
    if rows > MAX_JOBS {
        return Err(bad_workload(format_args!(
            "{rows} rows: expected at most {MAX_JOBS}"
        )));
    }
    Ok(())
}
