//! Errors of predictions: the usual measures, and those of the paper.

/// Measures of the residuals r of predictions for N measurements b.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Errors {
    /// N.
    pub samples: usize,
    /// Root of the mean square of r, GB/s.
    pub rmse: f64,
    /// Mean absolute r, GB/s; never above `rmse`.
    pub mae: f64,
    /// Largest absolute r, GB/s.
    pub max: f64,
    /// Relative error: |r| / |b|, with Euclidean norms; 0 if both are 0, infinite if only b is.
    pub relative: f64,
    /// 1 - |r|² / |b - mean b|²; `None` if all measurements are equal. If it is negative, the mean
    /// alone predicts better.
    pub r_squared: Option<f64>,
    /// The figures that the paper prints.
    pub published: PublishedErrors,
}

/// The measures of section 3.4.3 as its authors compute them. What they call RMSE is the norm of
/// the residuals over N: 1 / √N of the root mean square. So it can be below the MAE: the paper
/// prints `1.5153` beside `7.0539`. A root mean square never is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PublishedErrors {
    /// "Relative error": |r|² / |b|².
    pub relative: f64,
    /// "RMSE": |r| / N.
    pub rmse: f64,
    /// "MAE": the sum of |r| over N, the true one.
    pub mae: f64,
}

impl Errors {
    /// The errors of pairs (measured, predicted); `None` if there are no pairs. O(pairs).
    #[must_use]
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let n = pairs.len() as f64;
        let residuals: Vec<f64> = pairs
            .iter()
            .map(|(measured, predicted)| measured - predicted)
            .collect();
        let squares: f64 = residuals.iter().map(|r| r * r).sum();
        let size: f64 = pairs.iter().map(|(measured, _)| measured * measured).sum();
        let mean = pairs.iter().map(|(measured, _)| measured).sum::<f64>() / n;
        let spread: f64 = pairs
            .iter()
            .map(|(measured, _)| (measured - mean).powi(2))
            .sum();
        let mae = residuals.iter().map(|r| r.abs()).sum::<f64>() / n;
        let share = if squares == 0.0 { 0.0 } else { squares / size };
        Some(Self {
            samples: pairs.len(),
            rmse: (squares / n).sqrt(),
            mae,
            max: residuals.iter().map(|r| r.abs()).fold(0.0, f64::max),
            relative: share.sqrt(),
            r_squared: (spread > 0.0).then(|| 1.0 - squares / spread),
            published: PublishedErrors {
                relative: share,
                rmse: squares.sqrt() / n,
                mae,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_figures_are_other_measures_under_the_same_names() {
        let errors = Errors::of(&[(3.0, 0.0), (4.0, 8.0), (12.0, 12.0)]).unwrap();
        assert_eq!(
            (errors.rmse, errors.published.rmse),
            ((25.0f64 / 3.0).sqrt(), 5.0 / 3.0)
        );
        assert_eq!(
            (errors.relative, errors.published.relative),
            ((25.0f64 / 169.0).sqrt(), 25.0 / 169.0)
        );
        assert_eq!(
            (errors.mae, errors.published.mae, errors.max),
            (7.0 / 3.0, 7.0 / 3.0, 4.0)
        );
        assert!(errors.published.rmse < errors.mae && errors.mae <= errors.rmse);
        assert!(
            Errors::of(&[]).is_none() && Errors::of(&[(1.0, 1.0)]).unwrap().r_squared.is_none()
        );
    }
}
