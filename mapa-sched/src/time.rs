//! Time as drivers tell it.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment: nanoseconds since the driver's beginning, an integer, so that sums are exact and ties are ties. Lengths of time
/// are [`Duration`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The beginning.
    pub const ZERO: Self = Self(0);

    /// So many seconds after the beginning; some 584 years at most.
    #[must_use]
    pub fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// How long after `earlier`; nothing, if it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Stays at the last moment there is.
impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// As [`Time::since`].
impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

/// In seconds.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", Duration::from_nanos(self.0).as_secs_f64())
    }
}
