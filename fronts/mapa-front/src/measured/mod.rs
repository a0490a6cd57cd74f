//! Measured bandwidths of machines: what was measured, on which devices, and what is expected there.

mod ask;
mod words;

pub use ask::{Question, observation, question};
pub use words::{Ways, operation_of};
