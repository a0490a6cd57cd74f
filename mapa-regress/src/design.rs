//! The design matrix: the value of each term in each sample.

use mapa_core::{Census, Term};
use nalgebra::{DMatrix, DVector};

use crate::error::{Error, ErrorKind};

/// The largest number of rounds of the iteration that finds singular values. It usually needs a
/// handful for each singular value.
const MOST_ROUNDS: usize = 10_000;

/// The matrix A of a fit, a row per sample and a column per term, with its singular value
/// decomposition.
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
    /// The design of samples with these link counts, and its singular value decomposition.
    ///
    /// # Complexity
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
        Self::of_matrix(DMatrix::from_fn(links.len(), terms.len(), |row, column| {
            terms[column].value(&links[row])
        }))
    }

    /// The design with one more row for each term, in which that term alone has this value. A fit
    /// to it is a ridge fit whose λ is the square of the value.
    pub(crate) fn padded(&self, size: f64) -> Result<Self, Error> {
        let (rows, columns) = self.matrix.shape();
        let padded = DMatrix::from_fn(rows + columns, columns, |row, column| {
            match row.checked_sub(rows) {
                None => self.matrix[(row, column)],
                Some(term) if term == column => size,
                Some(_) => 0.0,
            }
        });
        Self::of_matrix(padded)
    }

    /// The design of a matrix that has at least one row and one column.
    fn of_matrix(matrix: DMatrix<f64>) -> Result<Self, Error> {
        let failed = || Error::from(ErrorKind::NotConverged("singular value decomposition"));
        let svd = matrix
            .clone()
            .try_svd(true, true, f64::EPSILON, MOST_ROUNDS)
            .ok_or_else(failed)?;
        let (left, right) = (
            svd.u.ok_or_else(failed)?,
            svd.v_t.ok_or_else(failed)?.transpose(),
        );
        let singular: Vec<f64> = svd.singular_values.iter().copied().collect();
        let least = singular[0] * f64::EPSILON * matrix.nrows().max(matrix.ncols()) as f64;
        let rank = singular.iter().take_while(|value| **value > least).count();
        Ok(Self {
            matrix,
            left,
            singular,
            right,
            rank,
        })
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

    /// The value of a term in a sample; `None` outside the matrix.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> Option<f64> {
        self.matrix.get((row, column)).copied()
    }

    /// Its singular values, the largest first.
    #[must_use]
    pub fn singular_values(&self) -> &[f64] {
        &self.singular
    }

    /// The rank: how many combinations of the p terms the N samples determine. It is the number of
    /// singular values above max(N, p) ε times the largest, with ε = 2^-52.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The condition number: the largest singular value over the least one that counts towards the
    /// rank. Relative errors of the measurements can grow by this factor in the coefficients. 1 if
    /// the rank is 0.
    #[must_use]
    pub fn condition(&self) -> f64 {
        self.rank
            .checked_sub(1)
            .map_or(1.0, |last| self.singular[0] / self.singular[last])
    }

    /// The length of the part of a vector of coefficients that no sample determines: its projection
    /// on the null space of the design. It is 0 for a solution of least norm, and for every vector
    /// if the rank is full. `None` if the number of coefficients is not that of terms.
    #[must_use]
    pub fn unseen(&self, coefficients: &[f64]) -> Option<f64> {
        (coefficients.len() == self.columns()).then(|| {
            let all = DVector::from_column_slice(coefficients);
            let seen = self.right.columns(0, self.rank);
            (&all - seen * (seen.transpose() * &all)).norm()
        })
    }

    /// The diagonal of the hat matrix: how much of each prediction depends on its own measurement,
    /// from 0 to 1. The sum is the rank. With a `lambda` above 0 it is the diagonal of the ridge's
    /// hat matrix. O(N p) for N samples and p terms.
    #[must_use]
    pub fn leverage(&self, lambda: f64) -> Vec<f64> {
        // How much of each direction a ridge keeps.
        let shares: Vec<f64> = self.singular[..self.rank]
            .iter()
            .map(|singular| singular * singular / (singular * singular + lambda))
            .collect();
        let mut leverage = Vec::with_capacity(self.rows());
        for row in 0..self.rows() {
            let parts = shares.iter().enumerate();
            leverage.push(
                parts
                    .map(|(at, share)| share * self.left[(row, at)].powi(2))
                    .sum(),
            );
        }
        leverage
    }

    /// Whether the samples leave this term's coefficient undecided.
    pub(crate) fn leaves_open(&self, column: usize) -> bool {
        let seen: f64 = (0..self.rank)
            .map(|at| self.right[(column, at)].powi(2))
            .sum();
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
