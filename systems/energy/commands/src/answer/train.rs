//! The answer of `train`.

use serde::Serialize;

/// A net that was trained, and what it is worth on days that it has not seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Training {
    /// What the net sees: `original` or `enhanced`.
    pub formulation: String,
    /// With which parameters it was trained: `published` or `ours`.
    pub settings: String,
    /// The seed of the training.
    pub seed: u64,
    /// The actions that it was trained with.
    pub steps: u64,
    /// The layouts of the GPUs.
    pub layouts: String,
    /// The file of the weights.
    pub into: String,
    /// The share of late jobs as it learned, on days of their own.
    pub curve: Vec<CurvePoint>,
    /// The days on which rules are compared: how many.
    pub days: usize,
    /// The seed of the first of these days; each further one has the next.
    pub first_day: u64,
    /// The net, and rules to compare it with, on the same days.
    pub rules: Vec<TrainedRule>,
}

/// A point of a learning curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CurvePoint {
    /// The actions so far.
    pub steps: u64,
    /// The share of late jobs, percent.
    pub late_percent: f64,
}

/// What days come to under a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrainedRule {
    /// The name of the rule; `learned` is the net.
    pub name: String,
    /// The share of late jobs, percent: the mean over days.
    pub late_percent: f64,
    /// By how much jobs end after their deadlines, minutes a job: the mean over days.
    pub tardiness_minutes: f64,
    /// The energy of a day, watt-minutes: the mean over days.
    pub energy_watt_minutes: f64,
    /// By how many points its share of late jobs is above that of largest-first.
    pub late_above_largest_first: Difference,
}

/// A mean difference, paired by day, with its 95 % interval; the interval is null for one day.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The mean.
    pub mean: f64,
    /// The lower bound.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
}
