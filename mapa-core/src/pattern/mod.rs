//! The job: which ranks communicate.
//!
//! An application graph (the paper's P) has a vertex per rank and an edge per pair of ranks that
//! communicate. The shapes are those of collectives: NCCL runs rings and trees; a parameter server
//! is a star; if nothing is known, assume all-to-all. A rank's [`Demand`] is what it needs of its
//! device: by default a whole device of its own.

mod as_petgraph;
mod demand;
mod derived;
mod parallel;
mod shape;

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

pub use demand::{Demand, Sharing, Want};
pub use parallel::{Dimension, ModelShape, Parallelism};
pub use shape::Shape;

use self::derived::Derived;
use crate::error::{Error, ErrorKind};
use crate::ids::MAX_DEVICES;

/// An edge of a pattern; `a < b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The lower rank.
    pub a: u16,
    /// The higher rank.
    pub b: u16,
    /// How much is sent over the edge, in any unit: 1 in the ready-made shapes. Eq. 1 to 3 of the
    /// paper ignore the traffic; closures of [`Objective::edges`](crate::Objective::edges) receive
    /// it.
    pub traffic: f64,
}

/// An application graph: vertices are ranks `0..len`, edges join the ranks that communicate.
///
/// A pattern is cheap to clone: clones share its parts, and its matcher once that is compiled.
///
/// # Examples
///
/// ```
/// use mapa_core::Pattern;
///
/// assert_eq!(Pattern::ring(4).edges().len(), 4);
/// // A collective on a ring of two sends both ways over its one link: two edges.
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
    /// The demands by rank; of a pattern larger than any machine, those of the first
    /// [`MAX_DEVICES`].
    demands: Vec<Demand>,
    derived: Derived,
}

impl Pattern {
    fn new(vertices: usize, edges: Vec<Edge>) -> Self {
        Self::with(
            vertices,
            edges,
            vec![Demand::whole(); vertices.min(MAX_DEVICES)],
        )
    }

    pub(crate) fn with(vertices: usize, edges: Vec<Edge>, demands: Vec<Demand>) -> Self {
        Self(Arc::new(Inner {
            vertices,
            edges,
            demands,
            derived: Derived::default(),
        }))
    }

    /// The pattern with this demand for every rank.
    #[must_use]
    pub fn each(&self, demand: Demand) -> Self {
        Self::with(
            self.len(),
            self.0.edges.clone(),
            vec![demand; self.demands().len()],
        )
    }

    /// The pattern with this demand for one rank. A rank that the pattern does not have changes
    /// nothing.
    #[must_use]
    pub fn with_demand(&self, rank: usize, demand: Demand) -> Self {
        let mut demands = self.0.demands.clone();
        if let Some(own) = demands.get_mut(rank) {
            *own = demand;
        }
        Self::with(self.len(), self.0.edges.clone(), demands)
    }

    /// The demand of each rank. A pattern with more ranks than any machine has devices keeps those
    /// of the first [`MAX_DEVICES`] only.
    #[must_use]
    pub fn demands(&self) -> &[Demand] {
        &self.0.demands
    }

    /// The value of type `T` that is kept with this pattern: a matcher, for example. Clones share
    /// it.
    pub(crate) fn derived<T: Any + Default + Send + Sync>(&self) -> &T {
        self.0.derived.get()
    }

    /// Whether all ranks have the same demand.
    pub(crate) fn is_uniform(&self) -> bool {
        self.demands().windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Whether two ranks or more may share a device.
    pub(crate) fn may_share(&self) -> bool {
        self.demands()
            .iter()
            .filter(|demand| demand.is_shared())
            .count()
            > 1
    }

    /// A pattern of `vertices` ranks from its edges `(a, b, traffic)`. An edge that is given twice
    /// counts twice.
    ///
    /// # Complexity
    ///
    /// O(k + e) for k ranks and e edges.
    ///
    /// # Errors
    /// More than [`MAX_DEVICES`] vertices; an edge with an end out of range, or with two equal
    /// ends; traffic that is not a positive number. The message names the edge, counted from 0.
    pub fn from_edges(
        vertices: usize,
        edges: impl IntoIterator<Item = (u16, u16, f64)>,
    ) -> Result<Self, Error> {
        if vertices > MAX_DEVICES {
            return Err(ErrorKind::PatternTooLarge(vertices).into());
        }
        let mut checked = Vec::new();
        for (edge, (a, b, traffic)) in edges.into_iter().enumerate() {
            if usize::from(a.max(b)) >= vertices {
                return Err(ErrorKind::EdgeOutOfRange {
                    edge,
                    a,
                    b,
                    vertices,
                }
                .into());
            }
            if a == b {
                return Err(ErrorKind::SelfLoop { edge, vertex: a }.into());
            }
            if !(traffic.is_finite() && traffic > 0.0) {
                return Err(ErrorKind::BadTraffic { edge, traffic }.into());
            }
            checked.push(Edge {
                a: a.min(b),
                b: a.max(b),
                traffic,
            });
        }
        Ok(Self::new(vertices, checked))
    }

    /// The number of ranks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.vertices
    }

    /// Whether the pattern has no rank; every policy rejects such a pattern.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The edges, as given.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.0.edges
    }

    /// Whether edges connect all ranks.
    pub(crate) fn is_connected(&self) -> bool {
        let mut parts = petgraph::unionfind::UnionFind::new(self.len());
        let joins = |edge: &&Edge| parts.union(usize::from(edge.a), usize::from(edge.b));
        self.edges().iter().filter(joins).count() + 1 == self.len()
    }

    /// The traffic of every edge, if it is the same; 1 if there is no edge.
    pub(crate) fn traffic(&self) -> Option<f64> {
        let first = self.edges().first().map_or(1.0, |edge| edge.traffic);
        self.edges()
            .iter()
            .all(|edge| edge.traffic == first)
            .then_some(first)
    }

    /// The pattern of some consecutive ranks, renumbered from 0, with the edges between them. A
    /// part of a ring is a chain. Ranks that the pattern does not have are left out. O(e) for e
    /// edges.
    #[must_use]
    pub fn part(&self, ranks: Range<usize>) -> Self {
        let ranks = ranks.start.min(self.len())..ranks.end.min(self.len());
        let from = ranks.start as u16;
        let edges = (self.edges().iter())
            .filter(|edge| {
                ranks.contains(&usize::from(edge.a)) && ranks.contains(&usize::from(edge.b))
            })
            .map(|edge| Edge {
                a: edge.a - from,
                b: edge.b - from,
                traffic: edge.traffic,
            })
            .collect();
        let demands = self
            .demands()
            .iter()
            .skip(ranks.start)
            .take(ranks.len())
            .copied()
            .collect();
        Self::with(ranks.len(), edges, demands)
    }

    /// Both patterns at once on the same ranks, as NCCL runs rings and trees side by side (Fig. 8
    /// of the paper). An edge that both have occurs as often as in the pattern that has it more
    /// often. Demands are those of `self`, and those of `other` for ranks that only `other` has.
    ///
    /// # Complexity
    ///
    /// O(e log e) for e edges of both patterns together.
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
            // The larger number of the two, not their sum: a shared edge is sent over once.
            let have = both.entry(edge).or_default();
            *have = n.max(*have);
        }
        let mut edges = Vec::new();
        for ((a, b, traffic), n) in both {
            let traffic = f64::from_bits(traffic);
            edges.extend(std::iter::repeat_n(Edge { a, b, traffic }, n));
        }
        let demands = self
            .demands()
            .iter()
            .chain(other.demands().iter().skip(self.len()))
            .copied();
        let vertices = self.len().max(other.len());
        Self::with(vertices, edges, demands.take(MAX_DEVICES).collect())
    }
}

/// Equal numbers of vertices, equal edges in the same order, and equal demands.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.len() == other.len()
                && self.demands() == other.demands()
                && self.edges() == other.edges()
    }
}

/// Traffic is a positive number, so equality is one of every pattern with itself.
impl Eq for Pattern {}

/// Equal patterns have equal hashes.
impl Hash for Pattern {
    fn hash<H: Hasher>(&self, hash: &mut H) {
        self.len().hash(hash);
        self.demands().hash(hash);
        for edge in self.edges() {
            (edge.a, edge.b, edge.traffic.to_bits()).hash(hash);
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut form = f.debug_struct("Pattern");
        form.field("vertices", &self.len())
            .field("edges", &self.edges());
        if self
            .demands()
            .iter()
            .any(|demand| *demand != Demand::whole())
        {
            form.field("demands", &self.demands());
        }
        form.finish()
    }
}

#[cfg(feature = "serde")]
mod form {
    use super::{Demand, Error, Pattern};

    /// A pattern: its ranks, its edges (two ranks and the traffic), and what each rank demands. Without
    /// demands every rank has the default one.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(deny_unknown_fields)]
    struct PatternForm {
        vertices: usize,
        edges: Vec<(u16, u16, f64)>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        demands: Vec<Demand>,
    }

    #[cfg(feature = "schema")]
    impl schemars::JsonSchema for Pattern {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Pattern".into()
        }

        fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
            PatternForm::json_schema(generator)
        }
    }

    impl serde::Serialize for Pattern {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let edges = self.edges().iter().map(|e| (e.a, e.b, e.traffic)).collect();
            let plain = self
                .demands()
                .iter()
                .all(|demand| *demand == Demand::whole());
            let demands = if plain {
                Vec::new()
            } else {
                self.demands().to_vec()
            };
            PatternForm {
                vertices: self.len(),
                edges,
                demands,
            }
            .serialize(serializer)
        }
    }

    impl<'de> serde::Deserialize<'de> for Pattern {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            use serde::de::Error as _;
            let PatternForm {
                vertices,
                edges,
                demands,
            } = PatternForm::deserialize(deserializer)?;
            let pattern =
                Self::from_edges(vertices, edges).map_err(|e: Error| D::Error::custom(e))?;
            if demands.is_empty() {
                Ok(pattern)
            } else if demands.len() == vertices {
                Ok(Self::with(vertices, pattern.edges().to_vec(), demands))
            } else {
                let given = demands.len();
                Err(D::Error::custom(format_args!(
                    "{given} demands for {vertices} vertices: expected one for each"
                )))
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
        check(
            &[(0, 1, 1.0), (0, 3, 1.0)],
            "edge 1 (0-3) leaves the pattern: expected vertices below 3",
        );
        check(
            &[(2, 2, 1.0)],
            "edge 0 joins vertex 2 to itself: no device talks to itself",
        );
        check(
            &[(0, 1, f64::NAN)],
            "edge 0 has traffic NaN: expected a positive number",
        );
        check(
            &[(0, 1, 0.0)],
            "edge 0 has traffic 0: expected a positive number",
        );
        assert!(Pattern::from_edges(MAX_DEVICES + 1, []).is_err());
    }

    #[test]
    fn a_union_keeps_the_larger_count_of_each_edge() {
        // A ring of two has its edge twice, the tree of two once.
        assert_eq!(
            Pattern::ring(2).union(&Pattern::binary_tree(2)),
            Pattern::ring(2)
        );
        assert_eq!(Pattern::ring(4).union(&Pattern::ring(4)).edges().len(), 4);
    }
}
