//! The graph-mining core: where does this pattern lie on this machine?
//!
//! A *match* is an injective map from the pattern's vertices to devices under which every pattern edge lies on a
//! connection (subgraph monomorphism; induced matching, where non-edges must lie on non-connections, is an option). Two
//! matches are the same *distinct* match if an automorphism of the pattern turns one into the other: a ring of k in a
//! complete graph of n has C(n, k) (k - 1)! / 2 distinct matches for k >= 3, and 2k times as many raw ones.
//!
//! No rank talks to itself: patterns with loops are refused ([`Pattern::from_edges`](crate::Pattern::from_edges)). Nor does
//! any device of a machine; loops of a data graph would change nothing, induced or not.
//!
//! The way through: [`MatchConfig`] says what is wanted, [`Matcher`] is a pattern compiled to a plan, [`Search`] is a
//! plan on a machine with limits, and a visitor or iterator receives the matches one at a time. Nothing is collected.
//! [`Verifier`] says of one placement whether it is a match, and if not, why.
//!
//! Symmetry is broken by the conditions of Grochow and Kellis (RECOMB 2007) along the ranks 0, 1, 2, ...: of each class of
//! equal matches exactly the one of lexicographically smallest rank order is found. The order in which ranks are placed is
//! another matter: it is chosen so that conditions are decided early. Candidates of a step are the bitwise AND of what the
//! devices already placed leave. That no list of matches is ever expanded into its permutations is the main difference from
//! the released MAPA, which held k! vectors for each match.

mod bits;
mod careful;
mod engine;
mod meter;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod oracle;
mod parallel;
mod plan;
mod search;
mod sparse;
mod symmetry;
mod verify;

use std::ops::Deref;

use smallvec::SmallVec;

pub use plan::{MatchConfig, Matcher};
pub use search::{Leaf, Limits, LinkTest, Matches, Outcome, Search, SearchStats, ShareTest, Stop, StopReason};
pub use sparse::{GraphMatcher, GraphMatches, GraphSearch};
pub use verify::{Verifier, Violation};
pub(crate) use verify::{verify, without_layout};

use crate::topology::{DeviceId, DeviceSet};

/// Which device each rank gets: `placement[rank]` is its device.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Placement(SmallVec<[DeviceId; 8]>);

impl Placement {
    /// The devices as a set.
    #[must_use]
    pub fn set(&self) -> DeviceSet {
        self.iter().copied().collect()
    }
}

/// A copy of ids: what is derived would push them one by one.
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

/// Values for a handful of criteria or ranks, off the heap.
pub(crate) type Few<T> = SmallVec<[T; 8]>;
