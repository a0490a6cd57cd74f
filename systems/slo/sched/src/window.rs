//! Windows of latencies with exact quantiles, and their exponential average.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::settings::MOST_NS;
use crate::error::{Error, ErrorKind};

/// A latency as the controller counts it, whole nanoseconds.
///
/// # Errors
/// A number of milliseconds that is not finite, is negative, or is more than an hour.
pub fn latency_ns(ms: f64) -> Result<u64, Error> {
    let ns = ms * 1e6;
    if ns.is_finite() && (0.0..=MOST_NS as f64).contains(&ns) {
        return Ok(ns.round() as u64);
    }
    let what = format!("a latency of {ms} ms: expected 0 to 3600000");
    Err(ErrorKind::BadSlo(what).into())
}

/// A duration as the controller counts it, whole nanoseconds; an hour for a longer one.
#[must_use]
pub fn duration_ns(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).map_or(MOST_NS, |number| number.min(MOST_NS))
}

/// The last so many latencies, with exact quantiles.
///
/// The latencies are kept twice: by age, to know which one leaves, and in order, to read a quantile
/// at once. A window of some hundred is small enough that inserting in order by moving is fastest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "PlainWindow", into = "PlainWindow")]
pub struct Window {
    size: usize,
    by_age: VecDeque<u64>,
    sorted: Vec<u64>,
}

/// A window as it is written: the order follows from the latencies.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct PlainWindow {
    size: usize,
    latencies_ns: VecDeque<u64>,
}

impl From<Window> for PlainWindow {
    fn from(own: Window) -> Self {
        Self {
            size: own.size,
            latencies_ns: own.by_age,
        }
    }
}

impl TryFrom<PlainWindow> for Window {
    type Error = String;

    fn try_from(own: PlainWindow) -> Result<Self, String> {
        if own.size == 0 || own.latencies_ns.len() > own.size {
            return Err(format!(
                "a window of {} with {} latencies: expected a size of 1 or more, and no more latencies",
                own.size,
                own.latencies_ns.len()
            ));
        }
        let mut sorted: Vec<u64> = own.latencies_ns.iter().copied().collect();
        sorted.sort_unstable();
        Ok(Self {
            size: own.size,
            by_age: own.latencies_ns,
            sorted,
        })
    }
}

impl Window {
    /// An empty window of this size, at least 1.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self {
            size: size.max(1),
            by_age: VecDeque::new(),
            sorted: Vec::new(),
        }
    }

    /// Adds a latency; the oldest leaves a full window.
    ///
    /// # Complexity
    /// O(n) moves of 8 bytes for a window of n.
    pub fn push(&mut self, ns: u64) {
        if self.by_age.len() >= self.size
            && let Some(oldest) = self.by_age.pop_front()
            && let Ok(at) = self.sorted.binary_search(&oldest)
        {
            self.sorted.remove(at);
        }
        self.by_age.push_back(ns);
        let at = self.sorted.partition_point(|number| *number <= ns);
        self.sorted.insert(at, ns);
    }

    /// Removes every latency.
    pub fn clear(&mut self) {
        self.by_age.clear();
        self.sorted.clear();
    }

    /// The number of latencies.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The quantile of so many thousandths by nearest rank: the least latency that at least this
    /// share does not exceed. None for an empty window.
    #[must_use]
    pub fn quantile(&self, thousandths: usize) -> Option<u64> {
        let rank = self.sorted.len().saturating_mul(thousandths);
        let rank = rank.div_ceil(1000).max(1);
        self.sorted.get(rank - 1).copied()
    }

    /// How many latencies are above a limit, in millionths of all.
    #[must_use]
    pub fn above_ppm(&self, limit_ns: u64) -> u32 {
        let above = self.sorted.len() - self.sorted.partition_point(|number| *number <= limit_ns);
        let share = (above * 1_000_000).checked_div(self.sorted.len());
        share.map_or(0, |share| share as u32)
    }
}

/// What a window tells, as records keep it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WindowTail {
    /// The number of latencies.
    pub count: u32,
    /// The 95th percentile, ns.
    pub p95_ns: Option<u64>,
    /// The 99th percentile, ns.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile, ns.
    pub p999_ns: Option<u64>,
    /// The share of latencies above the promise, millionths.
    pub miss_ppm: u32,
}

impl WindowTail {
    /// The tail of a window against a promise.
    #[must_use]
    pub fn of(window: &Window, promise_ns: u64) -> Self {
        Self {
            count: window.len() as u32,
            p95_ns: window.quantile(950),
            p99_ns: window.quantile(990),
            p999_ns: window.quantile(999),
            miss_ppm: window.above_ppm(promise_ns),
        }
    }
}
