//! What is read off an outcome.

mod interval;
mod quantile;
mod rows;

pub use interval::{Interval, mean_interval, paired_interval, share_interval};
pub use quantile::{Quartiles, quantile};
pub use rows::{BOUND, Row, Scorer, Scores};
