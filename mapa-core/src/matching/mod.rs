//! The graph-mining core: finds where a pattern lies on a machine.
//!
//! A *match* is an injective map from the pattern's vertices to devices under which every pattern
//! edge lies on a connection (subgraph monomorphism; induced matching, where non-edges must lie on
//! non-connections, is an option). Two matches are the same *distinct* match if an automorphism of
//! the pattern turns one into the other: a ring of k in a complete graph of n has C(n, k) (k - 1)!
//! / 2 distinct matches for k >= 3, and 2k times as many raw ones.
//!
//! No rank has an edge to itself: patterns with loops are rejected
//! ([`Pattern::from_edges`](crate::Pattern::from_edges)). Devices of a machine have no loops
//! either; loops of a data graph would change nothing, induced or not.
//!
//! Four types lead to the matches. [`MatchConfig`] says what counts as a match. [`Matcher`] is a
//! pattern compiled to a plan. [`Search`] is a plan on a machine with limits. A visitor or an
//! iterator receives the matches one at a time; nothing is collected. [`Verifier`] checks whether
//! one placement is a match, and if not, why.
//!
//! Symmetry is broken by the conditions of Grochow and Kellis (RECOMB 2007) along the ranks 0, 1,
//! 2, .... Of each class of equal matches, a search finds exactly one: the one with the
//! lexicographically smallest rank order. The order in which ranks are placed is independent of
//! these conditions; it is chosen so that conditions are decided early. The candidates of a step
//! are the bitwise AND of one set for each device placed before: the devices that it leaves
//! possible. No list of matches is ever expanded into its permutations. That is the main
//! difference from the released MAPA, which held k! vectors for each match.

mod bits;
mod careful;
mod compiled;
mod engine;
mod limits;
mod meter;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod oracle;
mod parallel;
mod plan;
mod run;
mod search;
mod sparse;
mod symmetry;
mod verify;

use std::fmt;
use std::ops::Deref;

use smallvec::SmallVec;

pub use limits::{Limits, SearchStats, StopReason};
pub use plan::{MatchConfig, Matcher};
pub use run::{Leaf, Matches, Outcome};
pub use search::{LinkTest, Search, ShareTest};
pub use sparse::{GraphMatcher, GraphMatches, GraphSearch};
pub use verify::{Verifier, Violation};
pub(crate) use verify::{verify, without_layout};

use crate::topology::{DeviceId, DeviceSet};

/// Which device each rank gets: `placement[rank]` is its device.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Placement(
    #[cfg_attr(feature = "schema", schemars(with = "Vec<DeviceId>"))] SmallVec<[DeviceId; 8]>,
);

impl Placement {
    /// The devices as a set.
    #[must_use]
    pub fn set(&self) -> DeviceSet {
        self.iter().copied().collect()
    }
}

/// The ids in rank order: `0, 3, 2`.
impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rank, id) in self.iter().enumerate() {
            let gap = if rank == 0 { "" } else { ", " };
            write!(f, "{gap}{id}")?;
        }
        Ok(())
    }
}

/// Clones by copying all ids at once; a derived `Clone` would push them one by one.
impl Clone for Placement {
    fn clone(&self) -> Self {
        Self(SmallVec::from_slice(&self.0))
    }
}

impl Deref for Placement {
    type Target = [DeviceId];
    fn deref(&self) -> &[DeviceId] {
        &self.0
    }
}

impl FromIterator<DeviceId> for Placement {
    fn from_iter<I: IntoIterator<Item = DeviceId>>(devices: I) -> Self {
        Self(devices.into_iter().collect())
    }
}

impl From<&[DeviceId]> for Placement {
    fn from(devices: &[DeviceId]) -> Self {
        devices.iter().copied().collect()
    }
}

/// A list for a handful of values, one for each criterion or rank, without use of the heap.
pub(crate) type Few<T> = SmallVec<[T; 8]>;
