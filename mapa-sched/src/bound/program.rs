//! Linear programs, whoever solves them.

/// How the two sides of a row compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// The sum is at most the number.
    AtMost,
    /// The sum is at least the number.
    AtLeast,
    /// The sum is the number.
    Equal,
}

/// A row: a sum over columns against a number.
#[derive(Clone, Debug)]
pub struct Row {
    /// Columns, each with its factor.
    pub parts: Vec<(usize, f64)>,
    /// How the sum compares with the number.
    pub sense: Sense,
    /// The right side of the row, in the unit of the sum.
    pub right: f64,
}

/// The least sum of costs times values of 0 or more, such that every row holds.
#[derive(Clone, Debug, Default)]
pub struct Program {
    costs: Vec<f64>,
    rows: Vec<Row>,
}

impl Program {
    /// A further column, by its number.
    pub fn column(&mut self, cost: f64) -> usize {
        self.costs.push(cost);
        self.costs.len() - 1
    }

    /// A further row, by its number.
    pub fn row(&mut self, parts: Vec<(usize, f64)>, sense: Sense, right: f64) -> usize {
        self.rows.push(Row {
            parts,
            sense,
            right,
        });
        self.rows.len() - 1
    }

    /// The cost of each column.
    #[must_use]
    pub fn costs(&self) -> &[f64] {
        &self.costs
    }

    /// The rows, in the order in which they were added.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

/// The answer of a solver. At a limit it may have no optimum, and still prices.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The least sum, if the solver says that it found it.
    pub optimum: Option<f64>,
    /// The values of the columns, if the solver says that they are optimal.
    pub values: Option<Vec<f64>>,
    /// A price for each row, if the solver has prices: by how much the sum grows with its right side.
    /// They need not be optimal, nor of the right signs.
    pub prices: Option<Vec<f64>>,
}
