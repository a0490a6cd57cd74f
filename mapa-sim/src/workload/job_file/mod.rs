//! Job files: MAPA's released form, and our own.
//!
//! The released form has six columns without names. It cannot hold a job's number, its owner's
//! estimate or fractions of a second. Our own form has a header of column names with units, so
//! columns can be added. `docs/workloads.md` shows both.

use mapa_table::below_comments;

use super::file_errors::{bad_line, bad_workload};
use super::submission::Workload;
use crate::error::Error;

mod mapa_csv;
mod phases;
mod released;

pub use mapa_csv::write_jobs;

const EXPECTED: &str = "a header with the columns gpus and duration_s, or lines such as 3,ring,120,17,1,vgg16.sh (MAPA's job file)";

/// Reads a job file: MAPA's (`numGpus,pattern,arrival,duration,bwSensitive,task`, without a header
/// or with this one) or our own, which has a header of its own. A header without rows is a workload
/// without jobs.
///
/// Jobs need not be in order of arrival; a [note](Workload::notes) names the first that is not. A
/// job larger than the machine is no error of the file: the scheduler rejects it.
///
/// # Complexity
/// O(n log n) for n lines.
///
/// # Examples
/// ```
/// let workload = mapa_sim::read_jobs("3,ring,120,17,1,vgg16.sh\n")?;
/// assert_eq!(workload.jobs[0].devices(), 3);
/// assert_eq!(&*workload.jobs[0].task, "VGG-16");
///
/// let same = mapa_sim::read_jobs("gpus,duration_s,arrival_s,sensitive,task\n3,17,120,yes,VGG-16\n")?;
/// assert_eq!(workload.jobs, same.jobs);
/// # Ok::<(), mapa_sim::Error>(())
/// ```
///
/// # Errors
/// The text has no line; or, with the line:
///
/// - a number is malformed, negative, not finite or too large;
/// - a job has no devices, or more than [`MAX_DEVICES`](mapa_core::MAX_DEVICES);
/// - a pattern or a column is unknown;
/// - a job has tasks of another form, or has tasks and a column that contradicts them;
/// - a line has too few or too many fields;
/// - a job's number occurs twice;
/// - there are more than [`MAX_JOBS`](crate::MAX_JOBS) jobs, or their patterns have more than four million edges.
pub fn read_jobs(text: &str) -> Result<Workload, Error> {
    let (body, skipped, _) = below_comments(text);
    let Some(first) = body.lines().next() else {
        return Err(bad_workload(format_args!("no jobs: expected {EXPECTED}")));
    };
    let fields: Vec<String> = first
        .split(',')
        .map(|field| field.trim().trim_matches('"').to_ascii_lowercase())
        .collect();
    let has = |name: &str| fields.iter().any(|field| field == name);
    let is_number =
        fields[0].starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    match () {
        () if fields == released::HEADER => released::read(body, skipped, true),
        () if is_number => released::read(body, skipped, false),
        () if has("gpus") || has("duration_s") => mapa_csv::read(text),
        () => Err(bad_line(
            skipped + 1,
            format_args!("`{first}`: expected {EXPECTED}"),
        )),
    }
}
