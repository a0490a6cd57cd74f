//! Linear programs by `microlp`: plain Rust, for small ones.

use std::time::Duration;

use microlp::{ComparisonOp, OptimizationDirection, Problem, SolutionStatus, Variable};

use super::program::{Program, Sense, Solved};
use crate::error::{Error, ErrorKind};

pub(super) fn solve(program: &Program, seconds: Option<f64>) -> Result<Solved, Error> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let columns: Vec<Variable> = program
        .costs()
        .iter()
        .map(|&cost| problem.add_var(cost, (0.0, f64::INFINITY)))
        .collect();
    for row in program.rows() {
        let parts: Vec<(Variable, f64)> = row
            .parts
            .iter()
            .map(|&(column, value)| (columns[column], value))
            .collect();
        let sense = match row.sense {
            Sense::AtMost => ComparisonOp::Le,
            Sense::AtLeast => ComparisonOp::Ge,
            Sense::Equal => ComparisonOp::Eq,
        };
        problem.add_constraint(parts, sense, row.right);
    }
    if let Some(own) = seconds {
        // More seconds than a `Duration` holds are no limit in practice.
        problem.set_time_limit(Duration::try_from_secs_f64(own).unwrap_or(Duration::MAX));
    }
    let outcome = problem
        .solve()
        .map_err(|error| ErrorKind::Solver(format!("microlp: {error}: expected an optimum")))?;
    // A value that is not the optimum of a relaxation bounds nothing.
    let best = outcome
        .solution()
        .filter(|solution| solution.status() == SolutionStatus::Optimal);
    Ok(Solved {
        optimum: best.map(microlp::Solution::objective),
        values: best.map(|solution| {
            let values = columns.iter().map(|&column| solution.var_value(column));
            values.collect()
        }),
        // microlp has no interface for dual values.
        prices: None,
    })
}
