//! Quantiles of samples.

/// The quantile `p` of sorted values, linear between the two closest: type 7 of Hyndman and Fan
/// (1996), the default of R, numpy and spreadsheets. Of n values it is the one at place (n − 1) p,
/// counted from 0. O(1).
///
/// NaN if there are no values or `p` is not within 0 to 1.
///
/// # Examples
/// ```
/// use mapa_sim::quantile;
///
/// assert_eq!(quantile(&[1.0, 2.0, 4.0, 8.0], 0.5), 3.0);
/// assert_eq!(quantile(&[1.0, 2.0, 4.0, 8.0], 0.25), 1.75);
/// ```
#[must_use]
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let place = last as f64 * p;
    let below = place.floor() as usize;
    let [low, high] = [sorted[below], sorted[(below + 1).min(last)]];
    let part = place - below as f64;
    // For equal neighbours the formula would round, and of infinite ones it would make NaN.
    if part == 0.0 || low == high {
        low
    } else {
        low + part * (high - low)
    }
}

/// The numbers of a box plot: the least value, the quartiles and the largest value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// The least.
    pub min: f64,
    /// The 25th percentile.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// The 75th percentile.
    pub p75: f64,
    /// The largest.
    pub max: f64,
}

impl Quartiles {
    /// The quartiles of sorted values; `None` of no values. O(1).
    #[must_use]
    pub fn of(sorted: &[f64]) -> Option<Self> {
        if sorted.is_empty() {
            return None;
        }
        let [min, p25, p50, p75, max] = [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| quantile(sorted, p));
        Some(Self {
            min,
            p25,
            p50,
            p75,
            max,
        })
    }
}
