//! Non-negative least squares: the active set method of Lawson and Hanson (Solving Least Squares
//! Problems, 1974, chapter 23).

use nalgebra::{DMatrix, DVector};

/// A gradient below this share of the largest that its column could have counts as zero.
const TOLERANCE: f64 = 1e-12;

/// argmin |A x - b| over x >= 0. `None` if it does not converge within 10 rounds per column and 100 more, which
/// only rounding could cause.
///
/// # Complexity
/// Some 1 to 3 rounds per column. Each is a least squares problem on the columns in use.
pub(crate) fn nnls(a: &DMatrix<f64>, b: &DVector<f64>) -> Option<DVector<f64>> {
    let columns = a.ncols();
    let norms: Vec<f64> = a.column_iter().map(|column| column.norm()).collect();
    let mut x = DVector::zeros(columns);
    // Columns that may be positive, in the order they came.
    let mut used: Vec<usize> = Vec::new();
    // Columns that were added and dropped in the same round: their gradient was rounding noise.
    // Without this list they would be added again forever.
    let mut barred = vec![false; columns];
    for _ in 0..(10 * columns + 100) {
        let residual = b - a * &x;
        let gradient = a.tr_mul(&residual);
        // The column along which the error falls most steeply, by angle; the first among equals.
        let mut next: Option<usize> = None;
        for j in 0..columns {
            let falls = gradient[j] > TOLERANCE * norms[j] * b.norm();
            let is_steeper =
                next.is_none_or(|best| gradient[j] / norms[j] > gradient[best] / norms[best]);
            if falls && is_steeper && !barred[j] && !used.contains(&j) {
                next = Some(j);
            }
        }
        // If the error falls along none, x is optimal (Kuhn and Tucker).
        let Some(next) = next else { return Some(x) };
        used.push(next);
        let before = x.clone();
        step_back_until_inside(a, b, &mut x, &mut used)?;
        if x == before {
            barred[next] = true;
        } else {
            barred.fill(false);
        }
    }
    None
}

/// Moves `x` to the least squares solution on the columns in use. If that makes some of them
/// negative, `x` moves only until the first becomes zero; that column is then no longer in use.
fn step_back_until_inside(
    a: &DMatrix<f64>,
    b: &DVector<f64>,
    x: &mut DVector<f64>,
    used: &mut Vec<usize>,
) -> Option<()> {
    while !used.is_empty() {
        let free = on_columns(a, b, used)?;
        if free.iter().all(|value| *value > 0.0) {
            x.fill(0.0);
            used.iter()
                .zip(free.iter())
                .for_each(|(&j, value)| x[j] = *value);
            return Some(());
        }
        let falling = used.iter().zip(free.iter()).filter(|(_, to)| **to <= 0.0);
        let share = falling
            .map(|(&j, to)| x[j] / (x[j] - to))
            .filter(|share| share.is_finite())
            .fold(1.0, f64::min);
        let worst = used
            .iter()
            .zip(free.iter())
            .filter(|(_, to)| **to <= 0.0)
            .min_by(|(j, to), (k, other)| {
                let share = |j: usize, to: f64| if x[j] > 0.0 { x[j] / (x[j] - to) } else { 0.0 };
                share(**j, **to).total_cmp(&share(**k, **other))
            });
        let worst = worst.map(|(&j, _)| j)?;
        for (&j, to) in used.iter().zip(free.iter()) {
            x[j] = (x[j] + share * (to - x[j])).max(0.0);
        }
        x[worst] = 0.0;
        used.retain(|&j| x[j] > 0.0);
    }
    Some(())
}

/// Least squares of least norm on some columns. A second solve for the residual refines the solution: the decomposition
/// rounds in the tenth digit, and the signs of smaller gradients count here.
fn on_columns(a: &DMatrix<f64>, b: &DVector<f64>, columns: &[usize]) -> Option<DVector<f64>> {
    let part = a.select_columns(columns);
    let rows_and_columns = part.nrows().max(part.ncols()) as f64;
    let svd = part.clone().try_svd(true, true, f64::EPSILON, 10_000)?;
    let least = svd.singular_values.max() * f64::EPSILON * rows_and_columns;
    let x = svd.solve(b, least).ok()?;
    let rest = svd.solve(&(b - &part * &x), least).ok()?;
    Some(x + rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The best over all sets of columns that may be positive: 2^n least squares.
    fn by_all_supports(a: &DMatrix<f64>, b: &DVector<f64>) -> f64 {
        let supports = 0u32..1 << a.ncols();
        let fits = supports.filter_map(|support| {
            let columns: Vec<usize> = (0..a.ncols()).filter(|j| support >> j & 1 == 1).collect();
            if columns.is_empty() {
                return Some(b.norm());
            }
            let x = on_columns(a, b, &columns)?;
            x.iter()
                .all(|value| *value >= -1e-12)
                .then(|| (a.select_columns(&columns) * x - b).norm())
        });
        fits.fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn it_is_the_best_of_all_supports_and_meets_the_conditions_of_kuhn_and_tucker(
            values in proptest::collection::vec(-4i32..5, 6 * 4), right in proptest::collection::vec(-9i32..10, 6)
        ) {
            let a = DMatrix::from_iterator(6, 4, values.into_iter().map(f64::from));
            let b = DVector::from_iterator(6, right.into_iter().map(f64::from));
            let x = nnls(&a, &b).unwrap();
            let gradient = a.tr_mul(&(&b - &a * &x));
            for (value, slope) in x.iter().zip(gradient.iter()) {
                prop_assert!(*value >= 0.0 && *slope <= 1e-11, "{x} {gradient}");
                prop_assert!(*value == 0.0 || slope.abs() < 1e-11, "{x} {gradient}");
            }
            prop_assert!(((&a * &x - &b).norm() - by_all_supports(&a, &b)).abs() < 1e-9);
        }
    }

    #[test]
    fn columns_of_zeros_and_columns_that_are_alike_are_no_trouble() {
        let a = DMatrix::from_row_slice(
            3,
            4,
            &[0.0, 1.0, 1.0, 0.0, 0.0, 2.0, 2.0, 1.0, 0.0, 3.0, 3.0, 0.0],
        );
        let x = nnls(&a, &DVector::from_column_slice(&[1.0, 2.5, 3.0])).unwrap();
        assert!(
            (x[1] + x[2] - 1.0).abs() < 1e-9 && (x[3] - 0.5).abs() < 1e-9 && x[0] == 0.0,
            "{x}"
        );
    }
}
