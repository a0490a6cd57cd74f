//! The order of jobs in a queue.

use std::cmp::{Ordering, Reverse};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::estimate::length;
use crate::job::{Job, RunTime};

/// Compares two jobs: the lesser goes first.
type Compare = Arc<dyn Fn(&Job, &Job) -> Ordering + Send + Sync>;

/// The order in which jobs are considered. Ties are broken by arrival: jobs of one instant keep the
/// order in which the driver reported them.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Order {
    /// First come, first served.
    #[default]
    Arrival,
    /// The shortest by [`Job::run_time`] first. If the run time depends on the size of an instance,
    /// the longest counts. Jobs of unknown run time come last.
    ShortestFirst,
    /// Jobs that request fewest devices first.
    SmallestFirst,
    /// The highest [`Job::priority`] first.
    Priority,
    /// By a function: the lesser goes first.
    By(Compare),
}

impl Order {
    /// An order by a function of your own. A function that contradicts itself gives an unspecified
    /// order, and causes no other error.
    ///
    /// # Examples
    /// ```
    /// use mapa_sched::{Order, Time};
    ///
    /// let deadline = Order::by(|a, b| a.deadline.unwrap_or(Time(u64::MAX)).cmp(&b.deadline.unwrap_or(Time(u64::MAX))));
    /// assert_eq!(deadline.name(), "own-order");
    /// ```
    #[must_use]
    pub fn by(compare: impl Fn(&Job, &Job) -> Ordering + Send + Sync + 'static) -> Self {
        Self::By(Arc::new(compare))
    }

    /// The name of the order.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Arrival => "arrival",
            Self::ShortestFirst => "shortest-first",
            Self::SmallestFirst => "smallest-first",
            Self::Priority => "priority",
            Self::By(_) => "own-order",
        }
    }

    /// Compares two jobs: the lesser goes first. For `Equal`, arrival decides.
    #[must_use]
    pub fn compare(&self, a: &Job, b: &Job) -> Ordering {
        match self {
            Self::Arrival => Ordering::Equal,
            Self::ShortestFirst => known_length(a).cmp(&known_length(b)),
            Self::SmallestFirst => a.request.pattern.len().cmp(&b.request.pattern.len()),
            Self::Priority => Reverse(a.priority).cmp(&Reverse(b.priority)),
            Self::By(compare) => compare(a, b),
        }
    }

    /// A number by which jobs are in this order: the lesser goes first. `None` for a function, which only
    /// compares.
    pub(crate) fn key(&self, job: &Job) -> Option<u128> {
        match self {
            Self::Arrival => Some(0),
            Self::ShortestFirst => {
                let (is_unknown, length) = known_length(job);
                Some(u128::from(is_unknown) << 127 | length.as_nanos())
            }
            Self::SmallestFirst => Some(job.request.pattern.len() as u128),
            // The difference is not below 0 and not above 2^64.
            Self::Priority => Some((i128::from(i64::MAX) - i128::from(job.priority)) as u128),
            Self::By(_) => None,
        }
    }
}

/// Sorts jobs by length, those of unknown length last.
fn known_length(job: &Job) -> (bool, Duration) {
    // The flag leads, because an unknown run time counts as ten years and an estimate may be
    // longer.
    (job.run_time == RunTime::Unknown, length(job))
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
