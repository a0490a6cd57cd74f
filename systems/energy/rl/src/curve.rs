//! Learning curves, and who is told of them.

/// A point of a learning curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The actions taken so far.
    pub steps: u64,
    /// The mean share of late jobs on [`CURVE_DAYS`](crate::CURVE_DAYS).
    pub late: f64,
}

/// Is told how far a training has come: a progress bar, for example.
pub trait Progress {
    /// This many of so many updates are done. The point is the last of the learning curve.
    fn updated(&self, done: u64, of: u64, last: Option<Point>) {
        let _ = (done, of, last);
    }
}

/// Reports nothing.
impl Progress for () {}
