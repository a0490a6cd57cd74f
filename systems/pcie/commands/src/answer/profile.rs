//! The answer of `profile`: slowdowns over shared PCIe, fitted to measured runs.

use std::collections::BTreeMap;

use mapa_core::mig::Size;
use mapa_regress::{Alpha, AlphaPoint};
use serde::Serialize;

/// The fitted jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// The capacity of the shared PCIe link, GB/s.
    pub max_gbps: f64,
    /// The jobs, by name.
    pub jobs: Vec<ProfiledJob>,
    /// The files written.
    pub written: Vec<String>,
}

/// A job with its PCIe traffic when alone, and the slope fitted to its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfiledJob {
    /// The job's name.
    pub job: String,
    /// What one copy alone sends over PCIe, GB/s; 0 for a job that is not PCIe-bound.
    pub pcie_gbps: f64,
    /// The slope of the slowdown over the demand on the link; null for a job that is not
    /// PCIe-bound.
    pub pcie_alpha: Option<f64>,
    /// The lower bound of the slope's 95 % confidence interval; null if there is none.
    pub low: Option<f64>,
    /// The upper bound of the slope's 95 % confidence interval; null if there is none.
    pub high: Option<f64>,
    /// How many copies run side by side without slowing each other down, not rounded; null for a
    /// job that is not PCIe-bound.
    pub knee_copies: Option<f64>,
    /// The mean time of a copy alone, seconds; null for a job that is not PCIe-bound.
    pub base_s: Option<f64>,
    /// The measured slowdowns, by number of copies.
    pub points: Vec<ProfilePoint>,
    /// The throughput alone on an instance, tokens/s, by the instance's size.
    pub throughput: BTreeMap<String, f64>,
}

/// The slowdown of some copies that ran side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfilePoint {
    /// How many ran side by side.
    pub copies: u32,
    /// How many runs there are.
    pub runs: usize,
    /// Their mean time over that of one copy alone.
    pub slowdown: f64,
    /// The slowdown that Eq. 2 of Tang et al. predicts with the fitted slope.
    pub predicted: f64,
    /// Whether the slope is fitted to these runs.
    pub on_line: bool,
}

impl ProfiledJob {
    /// A job that sends `pcie_gbps` alone, with its fitted slope if it is PCIe-bound, and its
    /// throughput in tokens/s alone on an instance of each size.
    pub fn new(
        job: &str,
        pcie_gbps: f64,
        alpha: Option<&Alpha>,
        throughput: &BTreeMap<Size, f64>,
    ) -> Self {
        let of = |of: fn(&Alpha) -> f64| alpha.map(of).and_then(finite);
        let points = alpha.iter().flat_map(|alpha| &alpha.points);
        let throughput = throughput.iter();
        Self {
            job: job.to_owned(),
            pcie_gbps,
            pcie_alpha: of(|alpha| alpha.alpha),
            low: of(|alpha| alpha.low),
            high: of(|alpha| alpha.high),
            knee_copies: of(|alpha| alpha.knee),
            base_s: of(|alpha| alpha.base_s),
            points: points.map(ProfilePoint::from).collect(),
            throughput: throughput
                .map(|(size, rate)| (size.to_string(), *rate))
                .collect(),
        }
    }
}

impl From<&AlphaPoint> for ProfilePoint {
    fn from(point: &AlphaPoint) -> Self {
        Self {
            copies: point.copies,
            runs: point.runs,
            slowdown: point.slowdown,
            predicted: point.predicted,
            on_line: point.on_line,
        }
    }
}

/// A number; `None`, which becomes null, for NaN and infinities.
fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}
