//! Jobs on one MIG instance each, and what GPUs draw: run times by size of slice, power by busy slices.
//!
//! Times are minutes and power is in watts, as schedulers of such jobs state them.

mod curve;
mod job;
mod power;

pub use curve::{NO_DEADLINE, minutes_at};
pub use job::{SIZES, SliceJob, class_of};
pub use power::{Power, PowerTable};
