//! Files of run times alone.

use std::time::Duration;

use mapa_table::{Comments, Sheet, text};
use serde::Deserialize;

use crate::error::Error;
use crate::workload::cells::Seconds;
use crate::workload::file_errors::{bad_workload, check_count};

/// The column of a file of run times.
pub(super) const RUN_TIME: &str = "runtime_s";

/// A row of a file of run times.
#[derive(Deserialize)]
struct LoggedRunTime {
    #[serde(with = "text")]
    runtime_s: Seconds,
}

/// Reads run times, one in each row under the header `runtime_s`, for
/// [`RunTimes::Empirical`](crate::RunTimes::Empirical). O(n).
///
/// # Errors
/// Another header, no rows, or the line of a number that is malformed, negative, not finite or too
/// large.
pub fn read_run_times(text: &str) -> Result<Vec<Duration>, Error> {
    let expected = "the header runtime_s and numbers";
    let sheet = Sheet::read(text, Comments::AboveHeader, expected)?;
    sheet.check(&[RUN_TIME], &[RUN_TIME])?;
    check_count(sheet.rows().count())?;
    let mut times = Vec::with_capacity(sheet.rows().count());
    for row in sheet.rows() {
        let LoggedRunTime { runtime_s } = row.read()?;
        times.push(Duration::from_nanos(runtime_s.0));
    }
    if times.is_empty() {
        return Err(bad_workload(
            "no run times: expected one a line under the header runtime_s",
        ));
    }
    Ok(times)
}
