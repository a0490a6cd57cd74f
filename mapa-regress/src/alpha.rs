//! How much other jobs on its PCIe link slow a job down: the slope of Eq. 1 of Tang et al., fitted
//! to measured runs.
//!
//! n copies of a job run side by side on one GPU, each with the n-th part of its link. The slowdown
//! of a copy is its run time over that of one copy alone. If the parts are smaller than what a copy
//! wants, the slowdown is α·x with x = n · demand / capacity: a line through the origin. If the
//! parts suffice, the slowdown is 1 for any n. So only points beyond the *knee*, n = capacity / (α
//! · demand), belong to the line. Points below the knee would bend it towards 1.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::error::{Error, ErrorKind};

/// The configuration of a fit: the job's demand, the capacity of its link, and the points to use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlphaConfig {
    /// The demand: what one copy alone sends, decimal GB/s.
    pub demand_gbps: f64,
    /// The capacity of the link, decimal GB/s.
    pub max_gbps: f64,
    /// The slope is fitted to runs of this many copies and more. Default: all numbers of copies
    /// whose mean slowdown is above [`SLOWED`](Self::SLOWED).
    pub from_copies: Option<u32>,
}

impl AlphaConfig {
    /// The slowdown above which a link counts as contended, by default. Measurements of copies that
    /// do not disturb each other differ by less.
    pub const SLOWED: f64 = 1.05;

    /// The configuration for a job that sends `demand_gbps` alone, over a link that carries
    /// `max_gbps`.
    #[must_use]
    pub fn new(demand_gbps: f64, max_gbps: f64) -> Self {
        Self {
            demand_gbps,
            max_gbps,
            from_copies: None,
        }
    }
}

/// The runs of one number of copies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlphaPoint {
    /// How many ran side by side.
    pub copies: u32,
    /// How many runs there are.
    pub runs: usize,
    /// Their mean time over that of one copy alone.
    pub slowdown: f64,
    /// The slowdown that Eq. 2 predicts with the fitted slope: that of the line, but at least 1.
    pub predicted: f64,
    /// Whether the slope is fitted to these runs.
    pub on_line: bool,
}

/// The fitted slope of a job, with its confidence interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Alpha {
    /// The slope.
    pub alpha: f64,
    /// The lower bound of its 95 % confidence interval; NaN where there are too few runs for any,
    /// or runs of one copy are on the line.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// The knee: the number of copies up to which none is slowed down, not rounded.
    pub knee: f64,
    /// The mean time of a copy alone, s.
    pub base_s: f64,
    /// The points, by number of copies.
    pub points: Vec<AlphaPoint>,
}

/// The least-squares slope through the origin of slowdown over n x demand / capacity, over the runs
/// beyond the knee; each repetition is a point.
///
/// The 95 % interval is by Student's t. It accounts for the errors of the runs beyond the knee
/// about the line, and for those of the runs of one copy alone, whose mean divides all others. It
/// assumes that runs are independent, with normal errors of one variance.
///
/// # Complexity
/// O(n log n) for n runs.
///
/// # Examples
/// ```
/// use mapa_regress::{AlphaConfig, fit_alpha};
///
/// // A job that wants 18.89 GB/s of 30.08: two copies take 1.256 times as long, three 1.884 times.
/// let runs = vec![(1, 100.0), (2, 125.7), (2, 125.5), (3, 188.2), (3, 188.6)];
/// let fit = fit_alpha(&runs, &AlphaConfig::new(17.65, 30.08))?;
/// assert!((fit.alpha - 1.07).abs() < 1e-3 && fit.low < 1.07 && 1.07 < fit.high);
/// assert!((fit.knee - 1.59).abs() < 0.01);
/// # Ok::<(), mapa_regress::Error>(())
/// ```
///
/// # Errors
/// A time, the demand or the capacity is not a positive number, or a ratio of times is not finite; a run has no copies;
/// there is no run of one copy alone, or none beyond the knee.
pub fn fit_alpha(runs: &[(u32, f64)], config: &AlphaConfig) -> Result<Alpha, Error> {
    check_rates(config)?;
    let by_copies = times_by_copies(runs)?;
    let Some(alone) = by_copies.get(&1) else {
        return Err(bad(
            "no run of one copy: expected at least one, as the times of the others are divided by \
             its time"
                .to_owned(),
        ));
    };
    let base_s = mean(alone);
    let mut points: Vec<AlphaPoint> = by_copies
        .iter()
        .map(|(&copies, seconds)| {
            let slowdown = mean(seconds) / base_s;
            AlphaPoint {
                copies,
                runs: seconds.len(),
                slowdown,
                predicted: 1.0,
                on_line: match config.from_copies {
                    Some(from) => copies >= from,
                    None => copies > 1 && slowdown > AlphaConfig::SLOWED,
                },
            }
        })
        .collect();
    if let Some(point) = points.iter().find(|point| !point.slowdown.is_finite()) {
        return Err(bad(format!(
            "{} copies take infinitely many times as long as one: expected times whose ratio is a number",
            point.copies
        )));
    }
    // x is the demand of all copies over the capacity: Eq. 1 predicts a slowdown of alpha x.
    let x = |copies: u32| f64::from(copies) * config.demand_gbps / config.max_gbps;
    let mut line: Vec<(f64, f64)> = Vec::new();
    for (point, runs) in points.iter().zip(by_copies.values()) {
        if point.on_line {
            line.extend(
                runs.iter()
                    .map(|seconds| (x(point.copies), seconds / base_s)),
            );
        }
    }
    if line.is_empty() {
        let most = by_copies.keys().next_back().copied().unwrap_or(1);
        return Err(no_line(config.from_copies, most));
    }
    let squares: f64 = line.iter().map(|(x, _)| x * x).sum();
    let alpha = line.iter().map(|(x, y)| x * y).sum::<f64>() / squares;
    // The variance of one run, in units of the base: both groups of runs estimate it together, and
    // each loses one degree of freedom to its own mean or slope.
    let about_line = line
        .iter()
        .map(|(x, y)| (y - alpha * x).powi(2))
        .sum::<f64>();
    let about_base = alone
        .iter()
        .map(|s| (s / base_s - 1.0).powi(2))
        .sum::<f64>();
    let freedom = (line.len() - 1 + alone.len() - 1) as f64;
    let variance =
        (about_line + about_base) / freedom * (1.0 / squares + alpha * alpha / alone.len() as f64);
    // If runs of one copy were on the line too, their errors would count twice.
    let apart = config.from_copies.is_none_or(|from| from > 1);
    let t = StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| apart);
    let half = t.map_or(f64::NAN, |t| t.inverse_cdf(0.975) * variance.sqrt());
    for point in &mut points {
        point.predicted = (alpha * x(point.copies)).max(1.0);
    }
    let knee = config.max_gbps / (alpha * config.demand_gbps);
    Ok(Alpha {
        alpha,
        low: alpha - half,
        high: alpha + half,
        knee,
        base_s,
        points,
    })
}

fn check_rates(config: &AlphaConfig) -> Result<(), Error> {
    for (name, value) in [
        ("demand", config.demand_gbps),
        ("capacity", config.max_gbps),
    ] {
        if !(value.is_finite() && value > 0.0) {
            return Err(bad(format!(
                "a {name} of {value} GB/s: expected a positive number"
            )));
        }
    }
    Ok(())
}

/// The seconds of all runs, by the number of copies.
fn times_by_copies(runs: &[(u32, f64)]) -> Result<BTreeMap<u32, Vec<f64>>, Error> {
    let mut by_copies: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for &(copies, seconds) in runs {
        if copies == 0 || !(seconds.is_finite() && seconds > 0.0) {
            return Err(bad(format!(
                "{copies} copies in {seconds} s: expected at least one, and a positive number"
            )));
        }
        by_copies.entry(copies).or_default().push(seconds);
    }
    Ok(by_copies)
}

/// No run is on the line, with up to `most` copies.
fn no_line(from_copies: Option<u32>, most: u32) -> Error {
    bad(match from_copies {
        Some(from) => {
            format!(
                "no run of {from} copies or more, the largest number is {most}: expected at \
                 least one"
            )
        }
        None => {
            format!(
                "the link slowed no job down with up to {most} copies: expected runs of more \
                 copies"
            )
        }
    })
}

fn bad(what: String) -> Error {
    ErrorKind::BadConfig(what).into()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
