//! Linear programs by HiGHS.

use highs::{Col, HighsModelStatus, HighsStatus, RowProblem, Sense as Direction};

use super::program::{Program, Sense, Solved};
use crate::error::{Error, ErrorKind};

fn failed(what: &str) -> Error {
    ErrorKind::Solver(format!("HiGHS: {what}: expected an optimum or a limit")).into()
}

pub(super) fn solve(
    program: &Program,
    seconds: Option<f64>,
    iterations: Option<u32>,
) -> Result<Solved, Error> {
    let mut problem = RowProblem::new();
    let columns: Vec<Col> = program
        .costs()
        .iter()
        .map(|&cost| problem.add_column(cost, 0.0..))
        .collect();
    for row in program.rows() {
        let parts = row
            .parts
            .iter()
            .map(|&(column, value)| (columns[column], value));
        match row.sense {
            Sense::AtMost => problem.add_row(..=row.right, parts),
            Sense::AtLeast => problem.add_row(row.right.., parts),
            Sense::Equal => problem.add_row(row.right..=row.right, parts),
        };
    }
    let mut model = problem
        .try_optimise(Direction::Minimise)
        .map_err(|status: HighsStatus| failed(&format!("{status:?}")))?;
    let mut set = Ok(());
    // One thread gives the same bits everywhere.
    set = set.and_then(|()| model.try_set_option("threads", 1));
    if let Some(own) = seconds {
        set = set.and_then(|()| model.try_set_option("time_limit", own));
    }
    if let Some(own) = iterations {
        let own = i32::try_from(own).unwrap_or(i32::MAX);
        set = set.and_then(|()| model.try_set_option("simplex_iteration_limit", own));
    }
    if seconds.is_some() || iterations.is_some() {
        // Prices of a presolved program that was not solved are not prices of this one.
        set = set
            .and_then(|()| model.try_set_option("presolve", "off"))
            .and_then(|()| model.try_set_option("solver", "simplex"));
    }
    set.map_err(|error| failed(&error.to_string()))?;
    let solved = model
        .try_solve()
        .map_err(|status| failed(&format!("{status:?}")))?;
    let optimum = match solved.status() {
        HighsModelStatus::Optimal => Some(solved.objective_value()),
        HighsModelStatus::ReachedTimeLimit
        | HighsModelStatus::ReachedIterationLimit
        | HighsModelStatus::ReachedInterrupt => None,
        status => return Err(failed(&format!("{status:?}"))),
    };
    let solution = solved.get_solution();
    let values = optimum.map(|_| solution.columns().to_vec());
    let prices = solution.dual_rows().to_vec();
    let is_complete = prices.len() == program.rows().len() && prices.iter().all(|p| p.is_finite());
    Ok(Solved {
        optimum,
        values,
        prices: is_complete.then_some(prices),
    })
}
