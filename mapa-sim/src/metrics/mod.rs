//! What is read off an outcome.

mod rows;

pub use rows::{Row, Scorer, Scores};
