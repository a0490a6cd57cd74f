//! Matching in large sparse graphs, with labels or without.
//!
//! The engine for machines ANDs whole rows of the target at every step. On thousands of vertices most of such a row is
//! empty, and where patterns are large too, what decides is how much is ruled out before the search and where it begins.
//! The way here:
//!
//! 1. [`domains`]: where each pattern vertex could lie by label, degree and neighbourhood, then arc consistency.
//! 2. [`space`]: the order of placing, as in RI, and for each pattern edge, which candidates of its later end are joined to
//!    which of the earlier one. Bits stand for candidates, not for target vertices, so that rows have a word or a few.
//! 3. [`cursor`]: backtracking with forward checking and backjumping, on an explicit stack.
//! 4. [`tail`]: vertices that nothing later is joined to come last; they are counted without being placed.
//!
//! Small dense targets, complete ones above all, are counted by the engine for machines ([`dense`]).
//!
//! What was measured, of the instances in `topologies/tests/match_instances.rs`: ordering by neighbours placed beats
//! ordering by domain size (which leaves two of them unfinished after seconds). Filters by paths of length two, matchings of
//! neighbourhoods, and Hall sets beyond single candidates were not needed for any instance whose count is known.
//!
//! Distinct matches obey the conditions that `symmetry` gives. Where these keep vertices from being counted unplaced, raw
//! matches are counted instead and divided by the order of the pattern's group: each class has that many.

mod cursor;
mod dense;
mod domains;
mod plan;
mod search;
mod space;
mod tail;

pub use plan::GraphMatcher;
pub use search::{GraphMatches, GraphSearch};
