//! Plain graphs, as data for matching outside of machines.
//!
//! A [`Graph`] has vertices, undirected edges, and perhaps a label for each vertex, like the public
//! instances of subgraph matching. It has no devices, links or bandwidth, and may have many
//! thousands of vertices. It serves as pattern and as target: see
//! [`MatchConfig::compile_graph`](crate::MatchConfig::compile_graph).

use std::cmp::Reverse;

use petgraph::graph::UnGraph;
use petgraph::visit::EdgeRef;

use crate::error::{Error, ErrorKind};

/// An undirected graph with a label for each vertex, in compressed rows.
///
/// An edge given twice, in either direction, counts once. In a graph without labels all labels are
/// 0. Loops (edges from a vertex to itself) are kept, but count neither among a vertex's neighbours
/// nor in its degree. In a target they change nothing, whether matching is induced or not; in a
/// pattern they are rejected.
///
/// # Examples
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
    /// The neighbours of each vertex, ascending.
    neighbours: Vec<u32>,
    /// The vertices with a loop, ascending.
    loops: Vec<u32>,
    /// The vertices by label, then by degree, highest first, then by number.
    by_kind: Vec<u32>,
    /// The kinds of the neighbours of each vertex, sorted.
    around: Vec<VertexKind>,
}

/// The label and the degree of a vertex. Kinds are sorted by label, then by degree, highest first.
pub(crate) type VertexKind = (u32, Reverse<u32>);

impl Graph {
    /// The most vertices that a graph may have.
    pub const MAX_VERTICES: usize = 1 << 24;

    /// A graph without labels from its edges.
    ///
    /// # Complexity
    ///
    /// O((n + m) log (n + m)) time and O(n + m) memory for n vertices and m edges.
    ///
    /// # Errors
    /// More than [`Graph::MAX_VERTICES`] vertices; an edge with an end out of range. The message
    /// names the edge, counted from 0.
    pub fn new(
        vertices: usize,
        edges: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self, Error> {
        if vertices > Self::MAX_VERTICES {
            return Err(ErrorKind::GraphTooLarge {
                vertices,
                most: Self::MAX_VERTICES,
            }
            .into());
        }
        Self::labelled(vec![0; vertices], edges)
    }

    /// A graph with one vertex for each label, from its edges.
    ///
    /// # Complexity
    ///
    /// As [`Graph::new`].
    ///
    /// # Errors
    /// As [`Graph::new`].
    pub fn labelled(
        labels: Vec<u32>,
        edges: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self, Error> {
        let vertices = labels.len();
        if vertices > Self::MAX_VERTICES {
            return Err(ErrorKind::GraphTooLarge {
                vertices,
                most: Self::MAX_VERTICES,
            }
            .into());
        }
        let (mut arcs, mut loops) = (Vec::new(), Vec::new());
        for (edge, (a, b)) in edges.into_iter().enumerate() {
            if a.max(b) as usize >= vertices {
                return Err(ErrorKind::GraphEdgeOutOfRange {
                    edge,
                    a,
                    b,
                    vertices,
                }
                .into());
            }
            if a == b {
                loops.push(a);
            } else {
                arcs.extend([(a, b), (b, a)]);
            }
        }
        loops.sort_unstable();
        loops.dedup();
        // Sorted by source, then by target: the rows of all vertices, one after another.
        arcs.sort_unstable();
        arcs.dedup();
        let starts = (0..=vertices)
            .map(|v| arcs.partition_point(|&(a, _)| (a as usize) < v))
            .collect();
        let neighbours = arcs.into_iter().map(|(_, b)| b).collect();
        let bare = Self {
            labels,
            starts,
            neighbours,
            loops,
            by_kind: Vec::new(),
            around: Vec::new(),
        };
        Ok(bare.indexed())
    }

    /// The graph with the tables that filters of a search use. They are made once and serve every
    /// search.
    fn indexed(mut self) -> Self {
        let mut by_kind: Vec<u32> = (0..self.len() as u32).collect();
        by_kind.sort_by_key(|&v| self.kind(v));
        let mut around: Vec<VertexKind> = self.neighbours.iter().map(|&v| self.kind(v)).collect();
        self.starts
            .windows(2)
            .for_each(|ends| around[ends[0]..ends[1]].sort_unstable());
        (self.by_kind, self.around) = (by_kind, around);
        self
    }

    /// The number of vertices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether the graph has no vertex.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The labels, by vertex.
    #[must_use]
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Each edge once, loops included, ascending, with the lower end first.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.len() as u32).flat_map(move |a| {
            let own_loop = self.loops.binary_search(&a).is_ok().then_some(a);
            let upper = self.neighbours(a).iter().copied().filter(move |&b| a < b);
            own_loop.into_iter().chain(upper).map(move |b| (a, b))
        })
    }

    /// The number of edges, loops included.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.neighbours.len() / 2 + self.loops.len()
    }

    /// The vertices with a loop, ascending.
    #[must_use]
    pub fn loops(&self) -> &[u32] {
        &self.loops
    }

    /// The vertices joined to `v`, ascending and without `v` itself; none if the graph has no
    /// vertex `v`.
    #[must_use]
    pub fn neighbours(&self, v: u32) -> &[u32] {
        &self.neighbours[self.row(v)]
    }

    /// The number of vertices joined to `v`.
    #[must_use]
    pub fn degree(&self, v: u32) -> usize {
        self.row(v).len()
    }

    fn row(&self, v: u32) -> std::ops::Range<usize> {
        let v = v as usize;
        if v < self.len() {
            self.starts[v]..self.starts[v + 1]
        } else {
            0..0
        }
    }

    pub(crate) fn kind(&self, v: u32) -> VertexKind {
        (self.labels[v as usize], Reverse(self.degree(v) as u32))
    }

    /// The kinds of the neighbours of `v`, sorted.
    pub(crate) fn around(&self, v: u32) -> &[VertexKind] {
        &self.around[self.row(v)]
    }

    /// The vertices with the label of `kind` and at least its degree, in no particular order.
    pub(crate) fn at_least(&self, kind: VertexKind) -> &[u32] {
        let first = self
            .by_kind
            .partition_point(|&v| self.labels[v as usize] < kind.0);
        let end = self.by_kind.partition_point(|&v| self.kind(v) <= kind);
        &self.by_kind[first..end]
    }
}

/// A node for each vertex, with its label, and an edge for each edge and each loop.
///
/// ```
/// use mapa_core::Graph;
/// use petgraph::graph::UnGraph;
///
/// let square = Graph::new(4, [(0, 1), (1, 2), (2, 3), (3, 0)])?;
/// let graph: UnGraph<u32, ()> = (&square).into();
/// assert_eq!(petgraph::algo::connected_components(&graph), 1);
/// assert_eq!(Graph::try_from(&graph)?, square);
/// # Ok::<(), mapa_core::Error>(())
/// ```
impl From<&Graph> for UnGraph<u32, ()> {
    fn from(graph: &Graph) -> Self {
        let mut made = Self::with_capacity(graph.len(), graph.edge_count());
        let ids: Vec<_> = graph
            .labels()
            .iter()
            .map(|&label| made.add_node(label))
            .collect();
        let loops = graph.loops().iter().map(|&v| (v, v));
        for (a, b) in graph.edges().filter(|(a, b)| a != b).chain(loops) {
            made.add_edge(ids[a as usize], ids[b as usize], ());
        }
        made
    }
}

/// Vertices in the order of the nodes, with their weights as labels. Weights of edges are left out.
///
/// # Errors
/// As [`Graph::labelled`].
impl<E> TryFrom<&UnGraph<u32, E>> for Graph {
    type Error = Error;

    fn try_from(graph: &UnGraph<u32, E>) -> Result<Self, Error> {
        let labels = graph.node_weights().copied().collect();
        let edges = graph.edge_references();
        let ends = edges.map(|edge| (edge.source().index() as u32, edge.target().index() as u32));
        Self::labelled(labels, ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_count_once_and_loops_are_apart() {
        let graph =
            Graph::labelled(vec![7, 0, 7], [(2, 0), (0, 2), (1, 1), (0, 2), (1, 0)]).unwrap();
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 1)]);
        assert_eq!(
            (graph.edge_count(), graph.degree(1), graph.loops()),
            (3, 1, &[1][..])
        );
        assert_eq!(graph.neighbours(0), [1, 2]);
        assert_eq!(graph.neighbours(9), [0; 0]);
        assert_eq!(graph.at_least((7, Reverse(2))), [0]);
        assert_eq!(graph.at_least((7, Reverse(1))), [0, 2]);
    }

    #[test]
    fn bad_graphs_are_named() {
        let error = Graph::new(3, [(0, 1), (1, 3)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "edge 1 (1-3) leaves the graph: expected vertices below 3"
        );
        assert!(Graph::new(Graph::MAX_VERTICES + 1, []).is_err());
    }
}
