//! A pattern graph, compiled.

use super::search::GraphSearch;
use crate::error::{Error, ErrorKind};
use crate::graph::Graph;
use crate::matching::plan::MatchConfig;
use crate::matching::symmetry::Coloured;
use crate::pattern::{Demand, Pattern};
use crate::topology::MAX_DEVICES;

/// A pattern graph compiled to be searched for in other graphs. Immutable; shared freely between threads.
#[derive(Clone, Debug)]
pub struct GraphMatcher {
    pub(super) pattern: Graph,
    pub(super) induced: bool,
    /// `below[u] = Some(i)`: in a distinct match, vertex `i` lies on a lower target vertex than `u`.
    pub(super) below: Vec<Option<u32>>,
    /// How many matches count as one; saturates.
    pub(super) class: u128,
}

impl MatchConfig {
    /// Compiles a pattern to be searched for in other graphs. It may have labels, and need not be connected.
    ///
    /// Raw matching takes next to no time here. For distinct matches the pattern's symmetries are worked out, in time and
    /// memory as for [`MatchConfig::compile`].
    ///
    /// # Errors
    /// A loop; more than [`MAX_DEVICES`] vertices.
    pub fn compile_graph(self, pattern: &Graph) -> Result<GraphMatcher, Error> {
        if pattern.len() > MAX_DEVICES {
            return Err(ErrorKind::PatternGraphTooLarge { vertices: pattern.len(), most: MAX_DEVICES }.into());
        }
        if let Some(&vertex) = pattern.loops().first() {
            return Err(ErrorKind::PatternLoop(vertex).into());
        }
        let (below, class) = if self.distinct { symmetry(pattern)? } else { (vec![None; pattern.len()], 1) };
        Ok(GraphMatcher { pattern: pattern.clone(), induced: self.induced, below, class })
    }
}

impl GraphMatcher {
    /// The pattern.
    #[must_use]
    pub fn pattern(&self) -> &Graph {
        &self.pattern
    }

    /// The search for it in a graph.
    #[must_use]
    pub fn on<'a>(&'a self, target: &'a Graph) -> GraphSearch<'a> {
        GraphSearch::new(self, target)
    }
}

/// As of a job whose ranks differ as the vertices' labels do: conditions, and the order of the group.
fn symmetry(pattern: &Graph) -> Result<(Vec<Option<u32>>, u128), Error> {
    let edges = pattern.edges().map(|(a, b)| (a as u16, b as u16, 1.0));
    let demands = pattern.labels().iter().map(|&label| Demand { warps: label, ..Demand::default() }).collect();
    let edges = Pattern::from_edges(pattern.len(), edges)?.edges().to_vec();
    let symmetry = Coloured::new(&Pattern::with(pattern.len(), edges, demands)).symmetry();
    Ok((symmetry.below.into_iter().map(|lower| lower.map(|i| i as u32)).collect(), symmetry.order))
}
