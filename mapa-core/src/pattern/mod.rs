//! The job: who talks to whom.
//!
//! An application graph (the paper's P) has a vertex per rank and an edge per pair of ranks that communicate. The shapes
//! are those collectives use: NCCL runs rings and trees; a parameter server is a star; where nothing is known, assume
//! all-to-all. What each rank needs of its device is its [`Demand`]: a whole device of its own, unless said otherwise.

mod demand;
mod parallel;
mod shape;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub use demand::{Demand, Sharing, Want};
pub use parallel::{Dimension, ModelShape, Parallelism};
pub use shape::Shape;

use crate::error::{Error, ErrorKind};
use crate::matching::{MatchConfig, Matcher};
use crate::reach::Family;
use crate::topology::MAX_DEVICES;

/// An edge of a pattern; `a < b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The lower rank.
    pub a: u16,
    /// The higher rank.
    pub b: u16,
    /// How much is sent over it, in any unit: 1 in the ready-made shapes. Eq. 1 to 3 of the paper ignore it;
    /// [`Objective::edges`](crate::Objective::edges) is given it.
    pub traffic: f64,
}

/// An application graph: vertices are ranks `0..len`, edges say who talks to whom.
///
/// Cheap to clone: the parts are shared, and so is the compiled matcher once it has been asked for.
///
/// ```
/// use mapa_core::Pattern;
///
/// assert_eq!(Pattern::ring(4).edges().len(), 4);
/// // As a collective uses it, a ring of two sends both ways over the one link: two edges.
/// assert_eq!(Pattern::ring(2).edges().len(), 2);
/// let own = Pattern::from_edges(3, [(0, 1, 2.5), (1, 2, 1.0)])?;
/// assert_eq!(own.matcher().symmetries(), 1); // the weights tell its two ends apart
///
/// use mapa_core::{Demand, mig::Size};
/// // Two slices of one compute and one memory slice each, and a network card near the first.
/// let serving = Pattern::from_edges(3, [(0, 1, 1.0), (0, 2, 1.0)])?
///     .each(Demand::slice(Size::new(1, 1)))
///     .with_demand(2, Demand::nic());
/// assert_eq!(serving.matcher().symmetries(), 1);
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Pattern(Arc<Inner>);

struct Inner {
    vertices: usize,
    edges: Vec<Edge>,
    /// By rank; of a pattern larger than any machine, those of the first [`MAX_DEVICES`].
    demands: Vec<Demand>,
    matcher: OnceLock<Matcher>,
    rank_matcher: OnceLock<Matcher>,
    family: OnceLock<Family>,
}

impl Pattern {
    fn new(vertices: usize, edges: Vec<Edge>) -> Self {
        Self::with(vertices, edges, vec![Demand::whole(); vertices.min(MAX_DEVICES)])
    }

    pub(crate) fn with(vertices: usize, edges: Vec<Edge>, demands: Vec<Demand>) -> Self {
        let (matcher, rank_matcher, family) = Default::default();
        Self(Arc::new(Inner { vertices, edges, demands, matcher, rank_matcher, family }))
    }

    /// The same pattern, every rank with this demand.
    #[must_use]
    pub fn each(&self, demand: Demand) -> Self {
        Self::with(self.len(), self.0.edges.clone(), vec![demand; self.demands().len()])
    }

    /// The same pattern, one rank with this demand. A rank that it does not have changes nothing.
    #[must_use]
    pub fn with_demand(&self, rank: usize, demand: Demand) -> Self {
        let mut demands = self.0.demands.clone();
        if let Some(own) = demands.get_mut(rank) {
            *own = demand;
        }
        Self::with(self.len(), self.0.edges.clone(), demands)
    }

    /// What each rank needs of its device; for a pattern of more ranks than any machine has devices, only of the first
    /// [`MAX_DEVICES`].
    #[must_use]
    pub fn demands(&self) -> &[Demand] {
        &self.0.demands
    }

    /// Whether all ranks have the same demand.
    pub(crate) fn is_uniform(&self) -> bool {
        self.demands().windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Whether two ranks or more may share a device.
    pub(crate) fn may_share(&self) -> bool {
        self.demands().iter().filter(|demand| demand.is_shared()).count() > 1
    }

    /// A pattern of `vertices` ranks from its edges `(a, b, traffic)`. An edge given twice counts twice.
    ///
    /// # Errors
    /// More than [`MAX_DEVICES`] vertices; an edge with an end out of range or twice the same; traffic that is not a
    /// positive number. The message names the edge, counted from 0.
    pub fn from_edges(vertices: usize, edges: impl IntoIterator<Item = (u16, u16, f64)>) -> Result<Self, Error> {
        if vertices > MAX_DEVICES {
            return Err(ErrorKind::PatternTooLarge(vertices).into());
        }
        let check = |(edge, (a, b, traffic)): (usize, (u16, u16, f64))| {
            if usize::from(a.max(b)) >= vertices {
                Err(ErrorKind::EdgeOutOfRange { edge, a, b, vertices })
            } else if a == b {
                Err(ErrorKind::SelfLoop { edge, vertex: a })
            } else if !(traffic.is_finite() && traffic > 0.0) {
                Err(ErrorKind::BadTraffic { edge, traffic })
            } else {
                Ok(Edge { a: a.min(b), b: a.max(b), traffic })
            }
        };
        let edges = edges.into_iter().enumerate().map(check).collect::<Result<_, _>>()?;
        Ok(Self::new(vertices, edges))
    }

    /// How many ranks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.vertices
    }

    /// Whether it asks for nothing; every policy refuses such a pattern.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The edges, as given.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.0.edges
    }

    /// Its matcher: distinct matches, non-induced. Compiled on first use and kept.
    #[must_use]
    pub fn matcher(&self) -> &Matcher {
        self.0.matcher.get_or_init(|| MatchConfig::new().compile(self))
    }

    /// The traffic of every edge, if it is the same; 1 if there is no edge.
    pub(crate) fn traffic(&self) -> Option<f64> {
        let first = self.edges().first().map_or(1.0, |edge| edge.traffic);
        self.edges().iter().all(|edge| edge.traffic == first).then_some(first)
    }

    /// What table of reachable counts it has.
    pub(crate) fn family(&self) -> Family {
        *self.0.family.get_or_init(|| Family::of(self))
    }

    /// The same with ranks placed by number, so that a search that looks for the smallest rank order may end at the first.
    pub(crate) fn rank_matcher(&self) -> &Matcher {
        self.0.rank_matcher.get_or_init(|| MatchConfig::new().by_rank(true).compile(self))
    }

    /// The pattern that consecutive ranks have among themselves, numbered from 0: a ring's part is a chain. Ranks that it does not
    /// have are left out. O(edges).
    #[must_use]
    pub fn part(&self, ranks: Range<usize>) -> Self {
        let ranks = ranks.start.min(self.len())..ranks.end.min(self.len());
        let inside = |edge: &&Edge| ranks.contains(&usize::from(edge.a)) && ranks.contains(&usize::from(edge.b));
        let from = ranks.start as u16;
        let moved = |edge: &Edge| Edge { a: edge.a - from, b: edge.b - from, traffic: edge.traffic };
        let edges = self.edges().iter().filter(inside).map(moved).collect();
        let demands = self.demands().iter().skip(ranks.start).take(ranks.len()).copied().collect();
        Self::with(ranks.len(), edges, demands)
    }

    /// Both patterns at once on the same ranks, as NCCL runs rings and trees side by side (Fig. 8 of the paper): an edge
    /// that both have is there as often as in the one that has it more often. Demands are those of `self`; ranks that only
    /// `other` has bring theirs.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        type Count = BTreeMap<(u16, u16, u64), usize>;
        let count = |pattern: &Self| {
            let mut count = Count::new();
            for e in pattern.edges() {
                *count.entry((e.a, e.b, e.traffic.to_bits())).or_default() += 1;
            }
            count
        };
        let mut both = count(self);
        for (edge, n) in count(other) {
            let have = both.entry(edge).or_default();
            *have = n.max(*have);
        }
        let repeat = |((a, b, traffic), n)| std::iter::repeat_n(Edge { a, b, traffic: f64::from_bits(traffic) }, n);
        let demands = self.demands().iter().chain(other.demands().iter().skip(self.len())).copied();
        let vertices = self.len().max(other.len());
        Self::with(vertices, both.into_iter().flat_map(repeat).collect(), demands.take(MAX_DEVICES).collect())
    }
}

/// Equal numbers of vertices, equal edges in the same order, and equal demands.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.len() == other.len() && self.demands() == other.demands() && self.edges() == other.edges()
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut form = f.debug_struct("Pattern");
        form.field("vertices", &self.len()).field("edges", &self.edges());
        if self.demands().iter().any(|demand| *demand != Demand::whole()) {
            form.field("demands", &self.demands());
        }
        form.finish()
    }
}

#[cfg(feature = "serde")]
mod form {
    use super::{Demand, Error, Pattern};

    /// Without demands every rank has the default one.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Form {
        vertices: usize,
        edges: Vec<(u16, u16, f64)>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        demands: Vec<Demand>,
    }

    impl serde::Serialize for Pattern {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let edges = self.edges().iter().map(|e| (e.a, e.b, e.traffic)).collect();
            let plain = self.demands().iter().all(|demand| *demand == Demand::whole());
            let demands = if plain { Vec::new() } else { self.demands().to_vec() };
            Form { vertices: self.len(), edges, demands }.serialize(serializer)
        }
    }

    impl<'de> serde::Deserialize<'de> for Pattern {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            use serde::de::Error as _;
            let Form { vertices, edges, demands } = Form::deserialize(deserializer)?;
            let pattern = Self::from_edges(vertices, edges).map_err(|e: Error| D::Error::custom(e))?;
            if demands.is_empty() {
                Ok(pattern)
            } else if demands.len() == vertices {
                Ok(Self::with(vertices, pattern.edges().to_vec(), demands))
            } else {
                let given = demands.len();
                Err(D::Error::custom(format_args!("{given} demands for {vertices} vertices: expected one for each")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[(u16, u16, f64)], message: &str) {
        let error = Pattern::from_edges(3, edges.iter().copied()).unwrap_err();
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn bad_edges_are_named() {
        check(&[(0, 1, 1.0), (0, 3, 1.0)], "edge 1 (0-3) leaves the pattern: expected vertices below 3");
        check(&[(2, 2, 1.0)], "edge 0 joins vertex 2 to itself: no device talks to itself");
        check(&[(0, 1, f64::NAN)], "edge 0 has traffic NaN: expected a positive number");
        check(&[(0, 1, 0.0)], "edge 0 has traffic 0: expected a positive number");
        assert!(Pattern::from_edges(MAX_DEVICES + 1, []).is_err());
    }

    #[test]
    fn a_union_keeps_the_larger_count_of_each_edge() {
        // A ring of two has its edge twice, the tree of two once.
        assert_eq!(Pattern::ring(2).union(&Pattern::binary_tree(2)), Pattern::ring(2));
        assert_eq!(Pattern::ring(4).union(&Pattern::ring(4)).edges().len(), 4);
    }
}
