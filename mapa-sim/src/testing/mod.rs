//! Slow and simple simulators, with which tests compare the fast one, and workloads to compare them on. Feature `testing`.

mod reference;
mod strategies;

pub use reference::{fifo, replay};
pub use strategies::workloads;
