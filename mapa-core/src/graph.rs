//! Plain data graphs: the input of matching beyond machines.
//!
//! A [`Graph`] is what public instances of subgraph matching are: vertices, undirected edges, perhaps a label for each
//! vertex. It knows nothing of devices, links or bandwidth, and may have many thousands of vertices. It is both pattern and
//! target: see [`MatchConfig::compile_graph`](crate::MatchConfig::compile_graph).

use std::cmp::Reverse;

use crate::error::{Error, ErrorKind};

/// An undirected graph with a label for each vertex, in compressed rows.
///
/// An edge given twice, in either direction, counts once. A graph without labels is one whose labels are all 0. Loops (an
/// edge from a vertex to itself) are kept but belong to no vertex's neighbours and degree: in a target they change nothing,
/// neither in induced matching nor in any other; in a pattern they are refused.
///
/// ```
/// use mapa_core::{Graph, MatchConfig};
///
/// let square = Graph::new(4, [(0, 1), (1, 2), (2, 3), (3, 0)])?;
/// let grid = Graph::new(6, [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)])?;
/// let matcher = MatchConfig::new().compile_graph(&square)?;
/// assert_eq!(matcher.on(&grid).count().matches, 2);
/// assert!(Graph::new(2, [(0, 2)]).is_err());
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    labels: Vec<u32>,
    /// By vertex, where its neighbours begin; one more at the end.
    starts: Vec<usize>,
    /// By vertex, ascending.
    neighbours: Vec<u32>,
    /// Ascending.
    loops: Vec<u32>,
    /// The vertices by label, then by degree, highest first, then by number.
    by_kind: Vec<u32>,
    /// By vertex, its neighbours' kinds: by label, then by degree, highest first.
    around: Vec<Kind>,
}

/// What can be said of a vertex without looking around: its label, and its degree, highest first.
pub(crate) type Kind = (u32, Reverse<u32>);

impl Graph {
    /// The most vertices that a graph may have.
    pub const MAX_VERTICES: usize = 1 << 24;

    /// A graph without labels from its edges. O(n + m log m) time for n vertices and m edges, O(n + m) memory.
    ///
    /// # Errors
    /// More than [`Graph::MAX_VERTICES`] vertices; an edge with an end out of range. The message names the edge, counted
    /// from 0.
    pub fn new(vertices: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Result<Self, Error> {
        if vertices > Self::MAX_VERTICES {
            return Err(ErrorKind::GraphTooLarge(vertices).into());
        }
        Self::labelled(vec![0; vertices], edges)
    }

    /// A graph with as many vertices as there are labels.
    ///
    /// # Errors
    /// As [`Graph::new`].
    pub fn labelled(labels: Vec<u32>, edges: impl IntoIterator<Item = (u32, u32)>) -> Result<Self, Error> {
        let vertices = labels.len();
        if vertices > Self::MAX_VERTICES {
            return Err(ErrorKind::GraphTooLarge(vertices).into());
        }
        let (mut arcs, mut loops) = (Vec::new(), Vec::new());
        for (edge, (a, b)) in edges.into_iter().enumerate() {
            if a.max(b) as usize >= vertices {
                return Err(ErrorKind::GraphEdgeOutOfRange { edge, a, b, vertices }.into());
            }
            if a == b {
                loops.push(a);
            } else {
                arcs.extend([(a, b), (b, a)]);
            }
        }
        loops.sort_unstable();
        loops.dedup();
        arcs.sort_unstable();
        arcs.dedup();
        let starts = (0..=vertices).map(|v| arcs.partition_point(|&(a, _)| (a as usize) < v)).collect();
        let neighbours = arcs.into_iter().map(|(_, b)| b).collect();
        let bare = Self { labels, starts, neighbours, loops, by_kind: Vec::new(), around: Vec::new() };
        Ok(bare.indexed())
    }

    /// With what filters look up, so that many patterns on one graph work it out once.
    fn indexed(mut self) -> Self {
        let mut by_kind: Vec<u32> = (0..self.len() as u32).collect();
        by_kind.sort_by_key(|&v| self.kind(v));
        let mut around: Vec<Kind> = self.neighbours.iter().map(|&v| self.kind(v)).collect();
        self.starts.windows(2).for_each(|ends| around[ends[0]..ends[1]].sort_unstable());
        (self.by_kind, self.around) = (by_kind, around);
        self
    }

    /// How many vertices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether it has no vertex.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// By vertex.
    #[must_use]
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Each edge once, loops too, ascending; the lower end first.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let upper = |a: u32| self.neighbours(a).iter().copied().filter(move |&b| a < b);
        let own_loop = |a: u32| self.loops.binary_search(&a).is_ok().then_some(a);
        (0..self.len() as u32).flat_map(move |a| own_loop(a).into_iter().chain(upper(a)).map(move |b| (a, b)))
    }

    /// How many edges, loops too.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.neighbours.len() / 2 + self.loops.len()
    }

    /// The vertices with a loop, ascending.
    #[must_use]
    pub fn loops(&self) -> &[u32] {
        &self.loops
    }

    /// The vertices joined to `v`, ascending, `v` itself never among them; none if `v` is not there.
    #[must_use]
    pub fn neighbours(&self, v: u32) -> &[u32] {
        &self.neighbours[self.row(v)]
    }

    /// How many vertices are joined to `v`.
    #[must_use]
    pub fn degree(&self, v: u32) -> usize {
        self.row(v).len()
    }

    fn row(&self, v: u32) -> std::ops::Range<usize> {
        let v = v as usize;
        if v < self.len() { self.starts[v]..self.starts[v + 1] } else { 0..0 }
    }

    pub(crate) fn kind(&self, v: u32) -> Kind {
        (self.labels[v as usize], Reverse(self.degree(v) as u32))
    }

    /// The kinds of the neighbours of `v`, sorted.
    pub(crate) fn around(&self, v: u32) -> &[Kind] {
        &self.around[self.row(v)]
    }

    /// The vertices with the label of `kind` and at least its degree, in no particular order.
    pub(crate) fn at_least(&self, kind: Kind) -> &[u32] {
        let first = self.by_kind.partition_point(|&v| self.labels[v as usize] < kind.0);
        let end = self.by_kind.partition_point(|&v| self.kind(v) <= kind);
        &self.by_kind[first..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_count_once_and_loops_are_apart() {
        let graph = Graph::labelled(vec![7, 0, 7], [(2, 0), (0, 2), (1, 1), (0, 2), (1, 0)]).unwrap();
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 1)]);
        assert_eq!((graph.edge_count(), graph.degree(1), graph.loops()), (3, 1, &[1][..]));
        assert_eq!(graph.neighbours(0), [1, 2]);
        assert_eq!(graph.neighbours(9), [0; 0]);
        assert_eq!(graph.at_least((7, Reverse(2))), [0]);
        assert_eq!(graph.at_least((7, Reverse(1))), [0, 2]);
    }

    #[test]
    fn bad_graphs_are_named() {
        let error = Graph::new(3, [(0, 1), (1, 3)]).unwrap_err();
        assert_eq!(error.to_string(), "edge 1 (1-3) leaves the graph: expected vertices below 3");
        assert!(Graph::new(Graph::MAX_VERTICES + 1, []).is_err());
    }
}
