//! Jobs by their run times on slices.

use crate::error::{Error, ErrorKind};

/// The sizes of slices in compute slices, ascending. A job has a run time for each.
pub const SIZES: [u8; 5] = [1, 2, 3, 4, 7];

/// The position of a size in [`SIZES`].
#[must_use]
pub fn class_of(size: u8) -> Option<usize> {
    SIZES.iter().position(|&candidate| candidate == size)
}

/// A job that takes one slice: when it arrives, when it should have ended, and how long it runs on
/// each size. All in minutes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceJob {
    arrives: f64,
    deadline: f64,
    minutes: [f64; 5],
}

impl SliceJob {
    /// A job with these run times on slices of [`SIZES`], minutes.
    ///
    /// # Errors
    /// A time that is not finite, or below 0; a run time that is 0, or longer on a larger slice
    /// than on a smaller one; a deadline before the arrival.
    pub fn new(arrives: f64, deadline: f64, minutes: [f64; 5]) -> Result<Self, Error> {
        let wrong = |what: String| Err(Error::from(ErrorKind::BadSliceJob(what)));
        if !(arrives.is_finite() && arrives >= 0.0) {
            return wrong(format!("arrival {arrives}: expected minutes of 0 or more"));
        }
        for (size, time) in SIZES.iter().zip(minutes) {
            if !(time.is_finite() && time > 0.0) {
                return wrong(format!(
                    "run time {time} on {size}g: expected minutes above 0"
                ));
            }
        }
        for (sizes, times) in SIZES.windows(2).zip(minutes.windows(2)) {
            if times[1] > times[0] {
                return wrong(format!(
                    "run time {} on {}g is longer than {} on {}g: expected none that grows with the slice",
                    times[1], sizes[1], times[0], sizes[0]
                ));
            }
        }
        if !(deadline.is_finite() && deadline >= arrives) {
            return wrong(format!(
                "deadline {deadline}: expected minutes, not before the arrival at {arrives}"
            ));
        }
        Ok(Self {
            arrives,
            deadline,
            minutes,
        })
    }

    /// The job with this share of its work left: its run times shrink by it.
    ///
    /// # Errors
    /// A share that is not above 0 and at most 1, or so small that a run time becomes 0.
    pub fn with_left(self, share: f64) -> Result<Self, Error> {
        if !(share > 0.0 && share <= 1.0) {
            let what = format!("share {share} of a job: expected one above 0 and at most 1");
            return Err(ErrorKind::BadSliceJob(what).into());
        }
        let minutes = self.minutes.map(|minutes| minutes * share);
        Self::new(self.arrives, self.deadline, minutes)
    }

    /// When it arrives, minutes since the driver began.
    #[must_use]
    pub fn arrives(&self) -> f64 {
        self.arrives
    }

    /// When it should have ended, minutes.
    #[must_use]
    pub fn deadline(&self) -> f64 {
        self.deadline
    }

    /// How long it runs on a slice of each of [`SIZES`], minutes.
    #[must_use]
    pub fn minutes(&self) -> [f64; 5] {
        self.minutes
    }

    /// The fewest minutes of compute slices that it can take: the least of size times run time. That is
    /// its run time on a slice of 1 only where larger slices are no more efficient.
    #[must_use]
    pub fn work(&self) -> f64 {
        let each = SIZES.iter().zip(self.minutes);
        each.map(|(&size, minutes)| f64::from(size) * minutes)
            .fold(f64::INFINITY, f64::min)
    }

    /// The job that takes this [work](Self::work) on every size: its linear twin, with the same arrival
    /// and deadline. No size runs the twin slower.
    #[must_use]
    pub fn linear(&self) -> Self {
        let work = self.work();
        Self {
            minutes: SIZES.map(|size| work / f64::from(size)),
            ..*self
        }
    }

    /// How long it runs on a whole GPU, minutes.
    #[must_use]
    pub fn fastest(&self) -> f64 {
        self.minutes[4]
    }
}
