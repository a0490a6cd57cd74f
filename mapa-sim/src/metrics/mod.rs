//! What is read off an outcome.

mod fragmentation;
mod interval;
mod quantile;
mod rows;
mod summary;

pub use fragmentation::{Fragmentation, OverTime, Point};
pub use interval::{Interval, mean_interval, paired_interval, share_interval};
pub use quantile::{Quartiles, quantile};
pub use rows::{BOUND, Row, Scorer, Scores};
pub use summary::{Group, GroupSize, Spread, Summary};
