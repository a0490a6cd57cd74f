//! Job files: MAPA's released form, and our own.
//!
//! The released form has six columns without names, and no place for a job's number, its owner's estimate or fractions of a second. Our
//! own names its columns, with their units, so that more can be added and none can be mistaken. `docs/job-files.md` shows both.

use super::sheet::below_comments;
use super::{Workload, bad_line, bad_workload};
use crate::error::Error;

mod own;
mod released;

pub use own::write_jobs;

const EXPECTED: &str =
    "a header with the columns gpus and duration_s, or lines such as 3,ring,120,17,1,vgg16.sh (MAPA's job file)";

/// Reads a job file: MAPA's (`numGpus,pattern,arrival,duration,bwSensitive,task`, without a header or with this one) or our own, which its
/// header tells. A header without rows is a workload of no jobs. O(n log n) for n lines.
///
/// Jobs need not be in order of arrival; a [note](Workload::notes) names the first that is not. A job larger than the machine is the
/// scheduler's to reject, as it does not depend on the file.
///
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
/// A text without any line; and the line of: a number that is malformed, negative, not finite or too large; no devices, or more than
/// [`MAX_DEVICES`](mapa_core::MAX_DEVICES); an unknown pattern; too few or too many fields; an unknown column; a job's number given twice.
pub fn read_jobs(text: &str) -> Result<Workload, Error> {
    let (body, skipped, _) = below_comments(text);
    let Some(first) = body.lines().next() else {
        return Err(bad_workload(format_args!("no jobs: expected {EXPECTED}")));
    };
    let fields: Vec<String> =
        first.split(',').map(|field| field.trim().trim_matches('"').to_ascii_lowercase()).collect();
    let has = |name: &str| fields.iter().any(|field| field == name);
    let is_number = fields[0].starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    match () {
        () if fields == released::HEADER => released::read(body, skipped, true),
        () if is_number => released::read(body, skipped, false),
        () if has("gpus") || has("duration_s") => own::read(text),
        () => Err(bad_line(skipped + 1, format_args!("`{first}`: expected {EXPECTED}"))),
    }
}
