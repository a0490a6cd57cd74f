//! Who solves linear programs.

use super::micro;
use super::program::{Program, Solved};
use crate::error::{Error, ErrorKind};

/// A solver of linear programs, and its limits. Where a limit of time ends a solve, another run may
/// end with another bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Solver {
    /// The crate `microlp`, for small programs. At a limit of time it has no bound to give.
    Microlp {
        /// The most columns; a larger program is an [error](Error::is_too_large).
        most: usize,
        /// When to stop, seconds; `None` to go on to the optimum.
        seconds: Option<f64>,
    },
    /// HiGHS, on one thread. At a limit its prices give a bound.
    #[cfg(feature = "highs")]
    Highs {
        /// When to stop, seconds; `None` to go on to the optimum.
        seconds: Option<f64>,
        /// The most iterations of the simplex method. Unlike a time, it ends each run at the same
        /// bound.
        iterations: Option<u32>,
    },
}

impl Solver {
    /// Up to how many columns `microlp` is asked by default.
    pub const MICROLP_COLUMNS: usize = 20_000;

    /// `microlp` up to [`Self::MICROLP_COLUMNS`], without a limit of time.
    pub const MICROLP: Self = Self::Microlp {
        most: Self::MICROLP_COLUMNS,
        seconds: None,
    };

    /// HiGHS, without limits.
    #[cfg(feature = "highs")]
    pub const HIGHS: Self = Self::Highs {
        seconds: None,
        iterations: None,
    };

    /// Solves a program that has a solution and a least sum.
    ///
    /// # Errors
    /// The program is too large for the solver, or the solver fails.
    pub fn solve(&self, program: &Program) -> Result<Solved, Error> {
        match *self {
            Self::Microlp { most, seconds } => {
                let columns = program.costs().len();
                if columns > most {
                    return Err(ErrorKind::ProgramTooLarge { columns, most }.into());
                }
                micro::solve(program, checked(seconds)?)
            }
            #[cfg(feature = "highs")]
            Self::Highs {
                seconds,
                iterations,
            } => super::highs::solve(program, checked(seconds)?, iterations),
        }
    }
}

/// `microlp`, up to its size.
impl Default for Solver {
    fn default() -> Self {
        Self::MICROLP
    }
}

/// A limit of time that can be kept: not NaN, not below 0.
fn checked(seconds: Option<f64>) -> Result<Option<f64>, Error> {
    match seconds {
        Some(own) if !(own.is_finite() && own >= 0.0) => {
            let what = format!("limit of {own} seconds: expected 0 or more");
            Err(ErrorKind::Solver(what).into())
        }
        _ => Ok(seconds),
    }
}
