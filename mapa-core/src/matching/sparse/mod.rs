//! Matching in large sparse graphs, with labels or without.
//!
//! The engine for machines ANDs whole rows of the target at every step. On thousands of vertices
//! most of such a row is empty. If patterns are large too, the time depends on how many candidates
//! are excluded before the search, and on the vertex with which it begins. The search here has
//! four parts:
//!
//! 1. [`domains`]: where each pattern vertex can lie by label, degree and neighbourhood, then by
//!    arc consistency.
//! 2. [`space`]: the order of placing, as in RI, and for each pattern edge, which candidates of its
//!    later end are joined to which of its earlier end. Bits stand for candidates, not for target
//!    vertices, so rows have one word or a few.
//! 3. [`cursor`]: backtracking with forward checking and backjumping, on an explicit stack.
//! 4. [`tail`]: vertices that nothing later is joined to come last; they are counted without being
//!    placed.
//!
//! Small dense targets, complete ones above all, are counted by the engine for machines
//! ([`dense`]).
//!
//! Measured on the instances in `topologies/tests/match_instances.rs`: ordering by neighbours
//! placed beats ordering by domain size, which leaves two instances unfinished after seconds.
//! Filters by paths of length two, matchings of neighbourhoods, and Hall sets beyond single
//! candidates were not needed for any instance whose count is known.
//!
//! Distinct matches obey the conditions that `symmetry` gives. If these conditions prevent vertices
//! from being counted without being placed, raw matches are counted instead. Their number is
//! divided by the order of the pattern's group, which is the number of raw matches in each class.

mod cursor;
mod dense;
mod domains;
mod plan;
mod search;
mod space;
mod tail;

pub use plan::GraphMatcher;
pub use search::{GraphMatches, GraphSearch};
