//! Who solves linear programs.

use super::micro;
use super::program::{Program, Solved};
use crate::error::{Error, ErrorKind};

/// The solver of linear programs, the crate `microlp`, with its limits. At a limit of time it has no
/// bound to give, so another run may end with another bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solver {
    /// The most columns; a larger program is an [error](Error::is_too_large).
    pub columns: usize,
    /// When to stop, seconds; `None` to go on to the optimum.
    pub seconds: Option<f64>,
}

impl Solver {
    /// Up to how many columns a program is solved by default.
    pub const COLUMNS: usize = 20_000;

    /// Solves a program that has a solution and a least sum.
    ///
    /// # Errors
    /// The program is too large for the solver, a row has a column that the program lacks, or the solver fails.
    pub fn solve(&self, program: &Program) -> Result<Solved, Error> {
        let columns = program.costs().len();
        if columns > self.columns {
            let most = self.columns;
            return Err(ErrorKind::ProgramTooLarge { columns, most }.into());
        }
        for (at, row) in program.rows().iter().enumerate() {
            if let Some((column, _)) = row.parts.iter().find(|(column, _)| *column >= columns) {
                let what = format!("row {at}, column {column}: expected a column below {columns}");
                return Err(ErrorKind::Solver(what).into());
            }
        }
        micro::solve(program, checked(self.seconds)?)
    }
}

/// Up to [`Solver::COLUMNS`], without a limit of time.
impl Default for Solver {
    fn default() -> Self {
        Self {
            columns: Self::COLUMNS,
            seconds: None,
        }
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
