//! Slow and simple simulators, with which tests compare the fast one. Feature `testing`.

mod reference;

pub use reference::{fifo, replay};
