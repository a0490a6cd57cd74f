//! Patterns from and to graphs of petgraph.

use petgraph::graph::UnGraph;
use petgraph::visit::EdgeRef;

use super::{Demand, Pattern};
use crate::error::{Error, ErrorKind};
use crate::ids::MAX_DEVICES;

/// A node for each rank, with its demand, and an edge for each edge, with its traffic.
///
/// ```
/// use mapa_core::{Demand, Pattern};
/// use petgraph::graph::UnGraph;
///
/// let graph: UnGraph<Demand, f64> = (&Pattern::ring(4)).into();
/// assert_eq!(petgraph::algo::connected_components(&graph), 1);
/// assert_eq!(Pattern::try_from(&graph)?, Pattern::ring(4));
/// # Ok::<(), mapa_core::Error>(())
/// ```
impl From<&Pattern> for UnGraph<Demand, f64> {
    fn from(pattern: &Pattern) -> Self {
        let mut graph = Self::with_capacity(pattern.len(), pattern.edges().len());
        let demands = pattern.demands().iter().copied();
        // A pattern larger than any machine keeps the demands of the first ranks only.
        let demands = demands.chain(std::iter::repeat(Demand::whole()));
        let ids: Vec<_> = demands
            .take(pattern.len())
            .map(|demand| graph.add_node(demand))
            .collect();
        for edge in pattern.edges() {
            let [a, b] = [edge.a, edge.b].map(|rank| ids[usize::from(rank)]);
            graph.add_edge(a, b, edge.traffic);
        }
        graph
    }
}

/// Ranks in the order of the nodes.
///
/// # Errors
/// As [`Pattern::from_edges`].
impl TryFrom<&UnGraph<Demand, f64>> for Pattern {
    type Error = Error;

    fn try_from(graph: &UnGraph<Demand, f64>) -> Result<Self, Error> {
        let ranks = graph.node_count();
        if ranks > MAX_DEVICES {
            return Err(ErrorKind::PatternTooLarge(ranks).into());
        }
        let rank = |node: petgraph::graph::NodeIndex| node.index() as u16;
        let edges = graph.edge_references();
        let edges = edges.map(|edge| (rank(edge.source()), rank(edge.target()), *edge.weight()));
        let pattern = Self::from_edges(ranks, edges)?;
        let demands = graph.node_weights().copied().collect();
        Ok(Self::with(ranks, pattern.edges().to_vec(), demands))
    }
}
