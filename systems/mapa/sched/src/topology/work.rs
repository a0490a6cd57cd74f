//! Jobs, as the bounds see them.

use mapa_core::Pattern;

use mapa_sched::Error;
use mapa_sched::Time;
use mapa_sched::{Job, RunTime};

/// The latest arrival and the longest run time, seconds: three centuries. Beyond it, times would
/// not have the digits for sums and differences.
const LONGEST: f64 = 1e10;

/// A job: a ring, or a single device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RingWork {
    /// When it arrives, seconds.
    pub arrives: f64,
    /// How many devices it holds.
    pub devices: usize,
    /// Its run time where its devices exchange data at 10 GB/s or less, over that at 50 GB/s or
    /// more. At least 1. Without effect on a job of one device.
    pub ratio: f64,
    /// How long it runs at full speed, seconds.
    pub seconds: f64,
}

/// A job that asks for a ring of whole devices, with its run time at full speed as its [run
/// time](Job::run_time), and its [ratio](Job::link_ratio). What else the job asks of its devices
/// does not count: a bound then holds all the more.
///
/// # Errors
/// Another pattern, or a run time that is unknown or depends on the size of an instance.
impl TryFrom<&Job> for RingWork {
    type Error = Error;

    fn try_from(job: &Job) -> Result<Self, Error> {
        let wrong = |what: &str| {
            let what = format!("job {}: {what}", job.id);
            Err(Error::bound(what))
        };
        let (pattern, devices) = (&job.request.pattern, job.request.pattern.len());
        if devices > 1 && *pattern != Pattern::ring(devices) {
            return wrong(
                "its pattern is no plain ring: expected a ring of whole devices, or one device",
            );
        }
        let RunTime::Fixed(seconds) = job.run_time else {
            return wrong("its run time is not one number: expected that at full speed");
        };
        Ok(Self {
            arrives: (job.arrived - Time::ZERO).as_secs_f64(),
            devices,
            ratio: job.link_ratio(),
            seconds: seconds.as_secs_f64(),
        })
    }
}

/// A job on a machine: checked, with its ideal time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ideal {
    pub(super) arrives: f64,
    pub(super) devices: usize,
    /// Its ratio; 1 for a job of one device.
    pub(super) ratio: f64,
    /// Its ideal time: its run time on the fastest set of its size, seconds.
    pub(super) seconds: f64,
}

impl Ideal {
    /// The device-seconds that it holds at least.
    pub(super) fn area(&self) -> f64 {
        self.devices as f64 * self.seconds
    }
}

impl RingWork {
    /// The job with its ideal time, where rings of each size are slowed by at least so much of the
    /// span between 50 and 10 GB/s. `None` in the list: the machine has no ring of this size.
    pub(super) fn ideal(&self, at: usize, least: &[Option<f64>]) -> Result<Ideal, Error> {
        let wrong = |expected: String| {
            let what = format!("job {at}: {self:?}: expected {expected}");
            Error::bound(what)
        };
        let is_time = (0.0..=LONGEST).contains(&self.arrives);
        let is_positive = self.seconds.is_finite() && self.seconds > 0.0;
        let is_ratio = self.ratio.is_finite() && self.ratio >= 1.0;
        if !(is_time && is_positive && is_ratio) {
            return Err(wrong(
                "an arrival of 0 to 1e10 s, seconds above 0, and a ratio of 1 or more".to_owned(),
            ));
        }
        let most = least.len() - 1;
        if !(1..=most).contains(&self.devices) {
            return Err(wrong(format!("1 to {most} devices")));
        }
        let Some(least) = least[self.devices] else {
            return Err(wrong("a size of which the machine has a ring".to_owned()));
        };
        let ratio = if self.devices == 1 { 1.0 } else { self.ratio };
        let seconds = self.seconds * (1.0 + (ratio - 1.0) * least);
        if seconds > LONGEST {
            return Err(wrong(
                "an arrival and a run time of at most 1e10 s".to_owned(),
            ));
        }
        Ok(Ideal {
            arrives: self.arrives,
            devices: self.devices,
            ratio,
            seconds,
        })
    }
}
