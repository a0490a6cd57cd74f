//! The orders of lists that skip what does not fit.

use std::cmp::Ordering;

/// The order in which [`FirstFit`](super::FirstFit) considers jobs. Ties: by arrival.
///
/// A job's *ideal time* is its run time on the best set of devices that the idle fleet has for it:
/// its run time at full speed times [`slowdown_at`](crate::Job::slowdown_at) of the most bandwidth.
/// Its *area* is its number of devices times its ideal time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ListOrder {
    /// First come, first served.
    Arrival,
    /// The shortest ideal time first.
    #[default]
    Shortest,
    /// The smallest area first.
    SmallestArea,
    /// The most devices first, then the longest ideal time.
    Largest,
    /// The largest area first.
    LargestArea,
    /// The most devices first, then by arrival.
    LargestFifo,
}

impl ListOrder {
    /// All orders, as help texts list them.
    pub const ALL: [Self; 6] = [
        Self::Arrival,
        Self::Shortest,
        Self::SmallestArea,
        Self::Largest,
        Self::LargestArea,
        Self::LargestFifo,
    ];

    /// The name, as in the settings of the scheduler.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Arrival => "arrival",
            Self::Shortest => "shortest",
            Self::SmallestArea => "smallest-area",
            Self::Largest => "largest",
            Self::LargestArea => "largest-area",
            Self::LargestFifo => "largest-fifo",
        }
    }

    /// The order of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    /// The rank of a job that counts `weight` times: the lesser goes first. A job of more weight
    /// counts as so much shorter, or as so much larger.
    pub(super) fn rank(self, devices: usize, ideal: f64, weight: f64) -> ListRank {
        let k = devices as f64;
        // The list is ascending, so orders with the largest first negate. A weight above 1 moves a
        // job to the front in both.
        ListRank(match self {
            Self::Arrival => [0.0, 0.0],
            Self::Shortest => [ideal / weight, 0.0],
            Self::SmallestArea => [k * ideal / weight, 0.0],
            Self::Largest => [-k * weight, -ideal * weight],
            Self::LargestArea => [-k * ideal * weight, 0.0],
            Self::LargestFifo => [-k * weight, 0.0],
        })
    }

    /// Whether ranks depend on ideal times.
    pub(super) fn needs_times(self) -> bool {
        !matches!(self, Self::Arrival | Self::LargestFifo)
    }
}

/// A place in the order, but for ties.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ListRank([f64; 2]);

impl ListRank {
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        // `total_cmp`: sorting needs a total order, or it may panic.
        let [first, second] = [0, 1].map(|at| self.0[at].total_cmp(&other.0[at]));
        first.then(second)
    }
}
