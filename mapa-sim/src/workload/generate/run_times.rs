//! How long jobs run.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand_distr::{Distribution, Exp, LogNormal};
use rand_pcg::Pcg64;

/// How long jobs run at full speed. Draws of continuous distributions are rounded to a nanosecond.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunTimes {
    /// A uniform distribution over whole seconds.
    Uniform(RangeInclusive<u64>),
    /// An exponential distribution.
    Exponential {
        /// The mean, s.
        mean_s: f64,
    },
    /// Lognormal: half of the jobs run for longer than the median, and ln T has this standard
    /// deviation. Logs of real clusters are near 1.5 to 3.
    LogNormal {
        /// The median, s.
        median_s: f64,
        /// The standard deviation of ln T.
        sigma: f64,
    },
    /// One of these run times, each equally often. [`read_run_times`](crate::read_run_times) reads
    /// them from a file.
    Empirical(Arc<[Duration]>),
}

/// Run times, ready to be drawn.
pub(super) enum DrawnRunTimes<'r> {
    Uniform(RangeInclusive<u64>),
    Exponential(Exp<f64>),
    LogNormal(LogNormal<f64>),
    Empirical(&'r [Duration]),
}

/// Converts drawn seconds to a duration of at most 584 years.
pub(super) fn duration(seconds: f64) -> Result<Duration, String> {
    let nanoseconds = (seconds * 1e9).round();
    if !(0.0..u64::MAX as f64).contains(&nanoseconds) {
        return Err(format!(
            "{seconds} s were drawn: expected at most 584 years; use smaller parameters"
        ));
    }
    Ok(Duration::from_nanos(nanoseconds as u64))
}

/// Checks that a value is a finite number above 0.
pub(super) fn positive(what: &str, value: f64) -> Result<f64, String> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(format!("{what} {value}: expected a finite number above 0"))
    }
}

impl RunTimes {
    pub(super) fn compile(&self) -> Result<DrawnRunTimes<'_>, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("times {self}: {error}");
        match self {
            Self::Uniform(range) if range.is_empty() || *range.end() > u64::MAX / 1_000_000_000 => {
                Err(format!(
                    "times {self}: expected seconds from the lower to the higher, such as 5..24s"
                ))
            }
            Self::Uniform(range) => Ok(DrawnRunTimes::Uniform(range.clone())),
            Self::Exponential { mean_s } => {
                let mean = positive("a mean of", *mean_s)?;
                Exp::new(1.0 / mean)
                    .map(DrawnRunTimes::Exponential)
                    .map_err(|error| wrong(&error))
            }
            Self::LogNormal { median_s, sigma } => {
                let (median, sigma) = (
                    positive("a median of", *median_s)?,
                    positive("a sigma of", *sigma)?,
                );
                LogNormal::new(median.ln(), sigma)
                    .map(DrawnRunTimes::LogNormal)
                    .map_err(|error| wrong(&error))
            }
            Self::Empirical(times) if times.is_empty() => {
                Err("no run times to draw from: expected at least one".to_owned())
            }
            Self::Empirical(times) => Ok(DrawnRunTimes::Empirical(times)),
        }
    }

    /// The mean run time, seconds.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        match self {
            Self::Uniform(range) => (*range.start() as f64 + *range.end() as f64) / 2.0,
            Self::Exponential { mean_s } => *mean_s,
            Self::LogNormal { median_s, sigma } => median_s * (sigma * sigma / 2.0).exp(),
            Self::Empirical(times) => {
                times.iter().map(Duration::as_secs_f64).sum::<f64>() / times.len() as f64
            }
        }
    }
}

impl DrawnRunTimes<'_> {
    pub(super) fn draw(&self, stream: &mut Pcg64) -> Result<Duration, String> {
        match self {
            Self::Uniform(range) => Ok(Duration::from_secs(stream.random_range(range.clone()))),
            Self::Exponential(exponential) => duration(exponential.sample(stream)),
            Self::LogNormal(normal) => duration(normal.sample(stream)),
            Self::Empirical(times) => Ok(times[stream.random_range(0..times.len())]),
        }
    }
}
