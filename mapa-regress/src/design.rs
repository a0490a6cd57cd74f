//! The design matrix: what each term is worth in each sample.

use mapa_core::{Census, Term};
use nalgebra::{DMatrix, DVector};

use crate::error::{Error, ErrorKind};

/// Rounds of the iteration that finds singular values; a handful each is usual.
const MOST_ROUNDS: usize = 10_000;

/// The matrix A of a fit, a row per sample and a column per term, with its singular value decomposition.
#[derive(Clone, Debug)]
pub struct Design {
    matrix: DMatrix<f64>,
    /// N x k, k = min(N, terms).
    left: DMatrix<f64>,
    /// Descending.
    singular: Vec<f64>,
    /// terms x k.
    right: DMatrix<f64>,
    rank: usize,
}

impl Design {
    /// O(N p²) for N samples and p terms.
    ///
    /// # Errors
    /// If there are no samples or terms, or the decomposition does not converge.
    pub fn new(links: &[Census], terms: &[Term]) -> Result<Self, Error> {
        if links.is_empty() {
            return Err(ErrorKind::NoSamples.into());
        }
        if terms.is_empty() {
            return Err(ErrorKind::BadConfig("no terms: expected at least one".to_owned()).into());
        }
        Self::of_matrix(DMatrix::from_fn(links.len(), terms.len(), |row, column| terms[column].value(&links[row])))
    }

    /// The same with a row of this size for each term alone below it, as a ridge of its square is.
    pub(crate) fn padded(&self, size: f64) -> Result<Self, Error> {
        let (rows, columns) = self.matrix.shape();
        let entry = |row: usize, column: usize| match row.checked_sub(rows) {
            None => self.matrix[(row, column)],
            Some(term) if term == column => size,
            Some(_) => 0.0,
        };
        Self::of_matrix(DMatrix::from_fn(rows + columns, columns, entry))
    }

    /// Of a matrix with a row and a column at least.
    fn of_matrix(matrix: DMatrix<f64>) -> Result<Self, Error> {
        let failed = || Error::from(ErrorKind::NotConverged("singular value decomposition"));
        let svd = matrix.clone().try_svd(true, true, f64::EPSILON, MOST_ROUNDS).ok_or_else(failed)?;
        let (left, right) = (svd.u.ok_or_else(failed)?, svd.v_t.ok_or_else(failed)?.transpose());
        let singular: Vec<f64> = svd.singular_values.iter().copied().collect();
        let least = singular[0] * f64::EPSILON * matrix.nrows().max(matrix.ncols()) as f64;
        let rank = singular.iter().take_while(|value| **value > least).count();
        Ok(Self { matrix, left, singular, right, rank })
    }

    /// How many samples.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.matrix.nrows()
    }

    /// How many terms.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.matrix.ncols()
    }

    /// What a term is worth in a sample; none outside the matrix.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> Option<f64> {
        self.matrix.get((row, column)).copied()
    }

    /// Its singular values, the largest first.
    #[must_use]
    pub fn singular_values(&self) -> &[f64] {
        &self.singular
    }

    /// How many combinations of terms the samples tell apart: singular values above max(N, p) ε times the largest,
    /// ε = 2^-52.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The largest singular value over the least one that counts towards the rank: by so much relative errors of the
    /// measurements can grow in the coefficients. 1 where the rank is 0.
    #[must_use]
    pub fn condition(&self) -> f64 {
        self.rank.checked_sub(1).map_or(1.0, |last| self.singular[0] / self.singular[last])
    }

    /// The length of the part of a vector of coefficients that no sample sees: 0 for a solution of least norm, and for
    /// every vector where the rank is full. None if there is not one coefficient per term.
    #[must_use]
    pub fn unseen(&self, coefficients: &[f64]) -> Option<f64> {
        (coefficients.len() == self.columns()).then(|| {
            let all = DVector::from_column_slice(coefficients);
            let seen = self.right.columns(0, self.rank);
            (&all - seen * (seen.transpose() * &all)).norm()
        })
    }

    /// The diagonal of the hat matrix: how much of each prediction hangs on its own measurement, 0 to 1; in all, the rank.
    /// With a ridge of `lambda`, of the ridge's own.
    #[must_use]
    pub fn leverage(&self, lambda: f64) -> Vec<f64> {
        let share = |at: usize| {
            let square = self.singular[at] * self.singular[at];
            square / (square + lambda)
        };
        let row = |row: usize| (0..self.rank).map(|at| share(at) * self.left[(row, at)].powi(2)).sum();
        (0..self.rows()).map(row).collect()
    }

    /// Whether the samples leave this term's coefficient open.
    pub(crate) fn leaves_open(&self, column: usize) -> bool {
        let seen: f64 = (0..self.rank).map(|at| self.right[(column, at)].powi(2)).sum();
        1.0 - seen > 1e-8
    }

    pub(crate) fn matrix(&self) -> &DMatrix<f64> {
        &self.matrix
    }

    pub(crate) fn left(&self) -> &DMatrix<f64> {
        &self.left
    }

    pub(crate) fn right(&self) -> &DMatrix<f64> {
        &self.right
    }
}
