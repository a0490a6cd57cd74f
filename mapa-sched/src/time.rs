//! Time as drivers report it.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment: nanoseconds since the driver began. It is an integer, so sums are exact, and equal
/// moments compare as equal. Lengths of time are [`Duration`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The moment at which the driver began.
    pub const ZERO: Self = Self(0);

    /// The moment this many seconds after the beginning; at most some 584 years.
    #[must_use]
    pub fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// The time since `earlier`; zero if this moment is not later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates at the last moment that can be represented.
impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, length: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)),
        )
    }
}

/// The difference, as [`Time::since`].
impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

/// Writes the moment in seconds.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", Duration::from_nanos(self.0).as_secs_f64())
    }
}

/// A moment as seconds since the beginning.
pub fn seconds(at: Time) -> f64 {
    at.since(Time::ZERO).as_secs_f64()
}

/// Seconds as a length of time: the longest one if the number is infinite or too large.
pub fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
