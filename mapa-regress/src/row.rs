//! A sample beside its prediction.

use crate::sample::Sample;

/// A sample beside its prediction.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// What was measured.
    pub sample: Sample,
    /// The prediction of the model for it, GB/s.
    pub predicted: f64,
    /// The measurement minus the prediction, GB/s.
    pub residual: f64,
    /// How much of the prediction depends on this measurement, from 0 to 1: the diagonal of the hat
    /// matrix, or of the ridge's hat matrix. For constrained fits it is that of least squares
    /// without the constraints.
    pub leverage: f64,
}
