//! The prices of a plan.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};

/// What [`EnergyPlan`](super::EnergyPlan) weighs. The numbers are found by search on a workload, and are good for that
/// workload: tuned for relaxed deadlines, the plan loses to largest-first where deadlines are tight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The price of a minute on a slice of each of [`SIZES`](super::SIZES).
    pub slice: [f64; 5],
    /// The price of a minute of tardiness. Being late at all costs 1.
    pub late: f64,
    /// By how much the price of slices grows with each 1.25 jobs that wait for a GPU: ten on eight.
    pub queue: f64,
    /// Within how many minutes of its latest start a job becomes urgent.
    pub urgency: f64,
    /// How much the priority of a job falls with its run time: the power of it.
    pub length: f64,
    /// The weight of a job that cannot be in time any more.
    pub lost: f64,
    /// By how much waiting must be cheaper for a job to wait.
    pub margin: f64,
    /// The price of a watt-minute.
    pub energy: f64,
    /// The weight of a job that is not urgent.
    pub floor: f64,
    /// How wrong run times are taken to be: the standard deviation of their logarithm. A job is late
    /// by its probability then. 0 where run times are known.
    #[serde(default)]
    pub doubt: f64,
    /// For how long a slice is taken to stay busy after its job should have ended: this times the
    /// job's run time. 0 where run times are known.
    #[serde(default)]
    pub overdue: f64,
    /// What each free slice that a start takes away counts, watts, when one of several slices of a
    /// size is chosen. Only where GPUs are repartitioned.
    #[serde(default = "one")]
    pub placement: f64,
}

fn one() -> f64 {
    1.0
}

impl Prices {
    /// For the [published layouts](super::SlicedGpus::PUBLISHED), relaxed deadlines, 20 jobs a minute
    /// at the published rates.
    pub const PUBLISHED_LAYOUTS: Self = Self {
        slice: [0.000_633, 0.021_50, 0.010_39, 0.022_56, 0.017_71],
        late: 0.2804,
        queue: 2.377,
        urgency: 2.427,
        length: 0.8664,
        lost: 0.7084,
        margin: 0.0332,
        energy: 0.000_671,
        floor: 0.005_99,
        doubt: 0.0,
        overdue: 0.0,
        placement: 1.0,
    };

    /// For the [searched layouts](super::SlicedGpus::SEARCHED), at several loads: the default.
    pub const SEARCHED_LAYOUTS: Self = Self {
        slice: [0.000_361, 0.016_17, 0.007_69, 0.013_34, 0.073_51],
        late: 0.2174,
        queue: 2.375,
        urgency: 1.749,
        length: 0.9755,
        lost: 0.3077,
        margin: 0.0462,
        energy: 0.000_554,
        floor: 0.006_03,
        doubt: 0.0,
        overdue: 0.0,
        placement: 1.0,
    };

    /// For the searched layouts at one load, where run times are known exactly. It loses more where
    /// they are not.
    pub const EXACT_RUN_TIMES: Self = Self {
        slice: [0.000_403, 0.008_93, 0.011_85, 0.020_05, 0.079_9],
        late: 0.1152,
        queue: 2.328,
        urgency: 2.459,
        length: 0.3714,
        lost: 0.4178,
        margin: -0.0226,
        energy: 0.000_483,
        floor: 0.007_23,
        doubt: 0.0,
        overdue: 0.0,
        placement: 1.0,
    };

    /// The prices, if a plan can be made with them.
    ///
    /// # Errors
    /// A number that is not finite, a price below 0 (but for the margin), or an urgency of 0.
    pub fn checked(self) -> Result<Self, Error> {
        let named = [
            ("late", self.late),
            ("queue", self.queue),
            ("urgency", self.urgency),
            ("length", self.length),
            ("lost", self.lost),
            ("energy", self.energy),
            ("floor", self.floor),
            ("doubt", self.doubt),
            ("overdue", self.overdue),
            ("placement", self.placement),
        ];
        let slices = self.slice.into_iter().map(|value| ("slice", value));
        for (name, value) in named.into_iter().chain(slices) {
            if !(value.is_finite() && value >= 0.0) {
                let what = format!("price `{name}` is {value}: expected a number of 0 or more");
                return Err(ErrorKind::BadPrices(what).into());
            }
        }
        if !self.margin.is_finite() || self.urgency == 0.0 {
            let what = format!(
                "prices `margin` {} and `urgency` {}: expected a finite margin and an urgency above 0",
                self.margin, self.urgency
            );
            return Err(ErrorKind::BadPrices(what).into());
        }
        Ok(self)
    }
}

impl Default for Prices {
    fn default() -> Self {
        Self::SEARCHED_LAYOUTS
    }
}
