//! Least squares and ridge from the singular values.

use nalgebra::DVector;

use crate::design::Design;

/// argmin |A θ - b|, and among those of least norm.
pub(crate) fn least_squares(design: &Design, b: &DVector<f64>) -> DVector<f64> {
    shrunk(design, b, |singular| 1.0 / singular)
}

/// argmin |A θ - b|² + λ |θ|².
pub(crate) fn ridge(design: &Design, b: &DVector<f64>, lambda: f64) -> DVector<f64> {
    shrunk(design, b, |singular| {
        singular / (singular * singular + lambda)
    })
}

fn shrunk(design: &Design, b: &DVector<f64>, factor: impl Fn(f64) -> f64) -> DVector<f64> {
    let mut theta = DVector::zeros(design.columns());
    for at in 0..design.rank() {
        let along = design.left().column(at).dot(b) * factor(design.singular_values()[at]);
        theta += design.right().column(at) * along;
    }
    theta
}
