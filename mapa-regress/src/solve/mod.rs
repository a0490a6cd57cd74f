//! One file per way to solve A θ ≈ b.

mod least_squares;
mod monotone;
mod nnls;

pub(crate) use least_squares::{least_squares, ridge};
pub(crate) use monotone::{Steps, monotone};
pub(crate) use nnls::nnls;
