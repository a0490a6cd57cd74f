//! Jobs of a fleet as jobs that rules know.

use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{Demand, Request};

use super::job::{SIZES, SliceJob};
use crate::error::{Error, ErrorKind};
use crate::job::{Job, RunTime};
use crate::time::Time;

/// The deadline of a job that has none, minutes: later than any moment that [`Time`] can hold. So
/// jobs without a deadline wait behind all others, in the order of their arrivals.
pub const NO_DEADLINE: f64 = 1e9;

/// Nanoseconds in a minute.
const MINUTE: f64 = 60e9;

/// A moment in minutes.
#[must_use]
pub fn minutes_at(at: Time) -> f64 {
    at.0 as f64 / MINUTE
}

fn minutes_of(length: Duration) -> f64 {
    length.as_nanos() as f64 / MINUTE
}

impl SliceJob {
    /// The job as rules know it: its run time on slices of each of [`SIZES`], by
    /// [`RunTime::about`]. A run time that does not depend on size counts for every size. Without a
    /// deadline, [`NO_DEADLINE`].
    ///
    /// `None` for a job that rules are not for:
    /// - it does not request exactly one device or instance of any size ([`Demand::any`], with or
    ///   without PCIe traffic);
    /// - its request has constraints;
    /// - its run time is unknown, or 0 whatever the size.
    ///
    /// # Errors
    /// A run time by size that is not a curve: none on the smallest of [`SIZES`], one of 0, one
    /// that is longer on a larger size; or a deadline before the arrival.
    pub fn of(job: &Job) -> Result<Option<Self>, Error> {
        let lengths = match &job.run_time {
            RunTime::Unknown => return Ok(None),
            RunTime::Fixed(length) if length.is_zero() => return Ok(None),
            _ if !is_any(&job.request) => return Ok(None),
            RunTime::Fixed(length) => [minutes_of(*length); 5],
            RunTime::BySize(lengths) => {
                grows_nowhere(lengths.iter().map(|(&size, &length)| (size, length)))?;
                let mut minutes = [0.0; 5];
                for (minutes_of_size, size) in minutes.iter_mut().zip(SIZES) {
                    // More memory than any instance has: only compute slices matter here.
                    let about = job.run_time.about(Size::new(size, u8::MAX));
                    let length = about.ok_or_else(|| wrong(NO_SMALLEST.to_owned()))?;
                    *minutes_of_size = minutes_of(length);
                }
                minutes
            }
        };
        let deadline = job.deadline.map_or(NO_DEADLINE, minutes_at);
        Self::new(minutes_at(job.arrived), deadline, lengths).map(Some)
    }
}

const NO_SMALLEST: &str =
    "no run time on 1 compute slice: expected one for each size of slice, or at least for 1g";

fn wrong(what: String) -> Error {
    ErrorKind::BadSliceJob(what).into()
}

/// Whether a request is for one device or instance of any size, and for nothing else.
fn is_any(request: &Request) -> bool {
    let [demand] = request.pattern.demands() else {
        return false;
    };
    let plain = Demand {
        pcie_mb_s: demand.pcie_mb_s,
        ..Demand::any()
    };
    // Sensitivity is about links between devices, and this job has one device.
    let free = Request {
        sensitivity: request.sensitivity,
        ..Request::new(request.pattern.clone())
    };
    *demand == plain && *request == free
}

/// That no run time is longer than one on fewer compute slices. Names both sizes as they are
/// written, which [`SliceJob::new`] cannot.
fn grows_nowhere(lengths: impl Iterator<Item = (Size, Duration)>) -> Result<(), Error> {
    let mut before: Option<(Size, Duration)> = None;
    for (size, length) in lengths {
        if length.is_zero() {
            let what = format!("run time 0 on {size}: expected one above 0");
            return Err(wrong(what));
        }
        if let Some((smaller, shorter)) = before
            && smaller.compute < size.compute
            && length > shorter
        {
            return Err(wrong(format!(
                "run time {} s on {size} is longer than {} s on {smaller}: expected none that grows with the slice",
                length.as_secs_f64(),
                shorter.as_secs_f64(),
            )));
        }
        before = Some((size, length));
    }
    Ok(())
}
