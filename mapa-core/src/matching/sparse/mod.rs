//! Matching in large sparse graphs.

mod cursor;
mod domains;
mod plan;
mod search;
mod space;
mod tail;

pub use plan::GraphMatcher;
pub use search::{GraphMatches, GraphSearch};
