//! Linear programs, whoever solves them.

/// How the two sides of a row compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    AtMost,
    AtLeast,
    Equal,
}

/// A row: a sum over columns against a number.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) parts: Vec<(usize, f64)>,
    pub(crate) sense: Sense,
    pub(crate) right: f64,
}

/// The least sum of costs times values of 0 or more, such that every row holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    costs: Vec<f64>,
    rows: Vec<Row>,
}

impl Program {
    /// A further column, by its number.
    pub(crate) fn column(&mut self, cost: f64) -> usize {
        self.costs.push(cost);
        self.costs.len() - 1
    }

    /// A further row, by its number.
    pub(crate) fn row(&mut self, parts: Vec<(usize, f64)>, sense: Sense, right: f64) -> usize {
        self.rows.push(Row {
            parts,
            sense,
            right,
        });
        self.rows.len() - 1
    }

    pub(crate) fn costs(&self) -> &[f64] {
        &self.costs
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }
}

/// What a solver found.
#[derive(Clone, Debug)]
pub(crate) struct Solved {
    /// The least sum, if the solver says that it found it.
    pub(crate) optimum: Option<f64>,
    /// The values of the columns, if the solver says that they are optimal.
    pub(crate) values: Option<Vec<f64>>,
    /// A price for each row, if the solver has prices: by how much the sum grows with its right side.
    /// They need not be optimal, nor of the right signs.
    pub(crate) prices: Option<Vec<f64>>,
}
