//! Which job is next.

use std::cmp::{Ordering, Reverse};
use std::fmt;
use std::sync::Arc;

use crate::estimate::length;
use crate::job::{Job, RunTime};

/// Says which of two jobs goes first.
type Compare = Arc<dyn Fn(&Job, &Job) -> Ordering + Send + Sync>;

/// In which order jobs are looked at. Ties go by arrival: first told, first served, so that jobs of one instant keep the order in
/// which the driver told them.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Order {
    /// First come first.
    #[default]
    Arrival,
    /// The shortest by [`Job::run_time`] first; where that depends on the size of an instance, the longest that it can be.
    /// Jobs of which nobody knows come last.
    ShortestFirst,
    /// Those that ask for fewest devices first.
    SmallestFirst,
    /// The highest [`Job::priority`] first.
    Priority,
    /// As the function says: the lesser goes first.
    By(Compare),
}

impl Order {
    /// An order of one's own. A function that contradicts itself gives an order that is not specified, and nothing worse.
    ///
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

    /// Its name.
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

    /// Which of two jobs goes first; `Equal` is for arrival to decide.
    #[must_use]
    pub fn compare(&self, a: &Job, b: &Job) -> Ordering {
        let by_length = |job: &Job| (job.run_time == RunTime::Unknown, length(job));
        match self {
            Self::Arrival => Ordering::Equal,
            Self::ShortestFirst => by_length(a).cmp(&by_length(b)),
            Self::SmallestFirst => a.request.pattern.len().cmp(&b.request.pattern.len()),
            Self::Priority => Reverse(a.priority).cmp(&Reverse(b.priority)),
            Self::By(compare) => compare(a, b),
        }
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
