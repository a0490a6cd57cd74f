//! Confidence intervals of means and shares.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// An estimate and its 95 % confidence interval. The bounds are NaN where there are too few
/// samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate: a mean, or a share.
    pub mean: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// The quantile of the upper bound. The interval leaves out 2.5 % on each side.
const UPPER: f64 = 0.975;

/// The mean of n independent values and its interval by Student's t with n − 1 degrees of freedom.
/// O(n).
///
/// For a single value the bounds are NaN; without values the mean is NaN too. The interval is exact
/// for normally distributed values. It is a good approximation for some dozens of values of any
/// distribution without heavy tails.
///
/// # Examples
/// ```
/// let lengths = mapa_sim::mean_interval(&[1.0, 2.0, 3.0]);
/// assert_eq!(lengths.mean, 2.0);
/// assert!((lengths.high - 4.4841).abs() < 1e-4); // 2 + 4.3027 / √3
/// ```
#[must_use]
pub fn mean_interval(values: &[f64]) -> Interval {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let freedom = n - 1.0;
    let Ok(t) = StudentsT::new(0.0, 1.0, freedom) else {
        return Interval {
            mean,
            low: f64::NAN,
            high: f64::NAN,
        };
    };
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / freedom;
    let half = t.inverse_cdf(UPPER) * (variance / n).sqrt();
    Interval {
        mean,
        low: mean - half,
        high: mean + half,
    }
}

/// The mean of the differences `a − b` of paired values, such as two policies on the same
/// workloads, and its interval by [`mean_interval`]. Differences between workloads cancel out. If
/// one list is longer, its values without a partner are left out. O(n).
#[must_use]
pub fn paired_interval(a: &[f64], b: &[f64]) -> Interval {
    mean_interval(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// The share of `hits` in `n` independent trials, and its interval by Wilson (1927), which stays
/// within 0 to 1 and holds for small numbers. NaN for no trials. More hits than trials count as
/// all. O(1).
///
/// # Examples
/// ```
/// let share = mapa_sim::share_interval(42, 60);
/// assert_eq!(share.mean, 0.7);
/// assert!((share.low - 0.5749).abs() < 1e-4 && (share.high - 0.8010).abs() < 1e-4);
/// ```
#[must_use]
pub fn share_interval(hits: usize, n: usize) -> Interval {
    let (share, n) = (hits.min(n) as f64 / n as f64, n as f64);
    let z = Normal::standard().inverse_cdf(UPPER);
    let whole = 1.0 + z * z / n;
    let middle = (share + z * z / (2.0 * n)) / whole;
    let half = z / whole * (share * (1.0 - share) / n + (z / (2.0 * n)).powi(2)).sqrt();
    // At the ends the bound equals the share; the formula would be off by a rounding error.
    let low = if share == 0.0 { 0.0 } else { middle - half };
    let high = if share == 1.0 { 1.0 } else { middle + half };
    Interval {
        mean: share,
        low,
        high,
    }
}
