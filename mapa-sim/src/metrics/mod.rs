//! Numbers computed from the outcome of a simulation.

mod energy;
mod fragmentation;
mod interval;
mod measure;
mod measures;
mod occupancy;
mod quantile;
mod row_table;
mod rows;
mod scores;
mod summary;

pub use fragmentation::{Fragmentation, OverTime, Point};
pub use interval::{Interval, mean_interval, paired_interval, share_interval};
pub use measure::{Better, Jobs, Measure, MeasureScope, Pool, Pooled, Simulated, Unit};
pub use measures::MEASURES;
pub use occupancy::{Occupancy, Occupant, Seat, Span};
pub use quantile::{Quartiles, quantile};
pub use rows::{BOUND, Row};
pub use scores::{Scorer, Scores};
pub use summary::{Group, GroupSize, Summary};
