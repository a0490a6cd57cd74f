//! A pattern graph, compiled.

use std::sync::OnceLock;

use super::search::GraphSearch;
use crate::error::{Error, ErrorKind};
use crate::graph::Graph;
use crate::matching::plan::{MatchConfig, Matcher};
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
    config: MatchConfig,
    /// The same for the engine of machines, once it has been asked for.
    dense: OnceLock<Option<Matcher>>,
}

/// The most vertices of a pattern that the engine for machines is asked to count.
const MOST_DENSE: usize = 64;

impl MatchConfig {
    /// Compiles a pattern to be searched for in other graphs. It may have labels, and need not be connected.
    ///
    /// [`MatchConfig::by_rank`] makes no difference: the order of placing depends on the target. Raw matching takes next to no
    /// time here. For distinct matches the pattern's symmetries are worked out, in time and memory as for
    /// [`MatchConfig::compile`].
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
        let dense = OnceLock::new();
        Ok(GraphMatcher { pattern: pattern.clone(), induced: self.induced, below, class, config: self, dense })
    }
}

impl GraphMatcher {
    /// The pattern.
    #[must_use]
    pub fn pattern(&self) -> &Graph {
        &self.pattern
    }

    /// For small patterns.
    pub(super) fn dense(&self) -> Option<&Matcher> {
        let compile = || Some(self.config.compile(&as_job(&self.pattern).ok()?));
        if self.pattern.len() > MOST_DENSE {
            return None;
        }
        self.dense.get_or_init(compile).as_ref()
    }

    /// The search for it in a graph.
    #[must_use]
    pub fn on<'a>(&'a self, target: &'a Graph) -> GraphSearch<'a> {
        GraphSearch::new(self, target)
    }
}

/// A job whose ranks differ as the vertices' labels do.
fn as_job(pattern: &Graph) -> Result<Pattern, Error> {
    let edges = pattern.edges().map(|(a, b)| (a as u16, b as u16, 1.0));
    let demands = pattern.labels().iter().map(|&label| Demand { warps: label, ..Demand::default() }).collect();
    let edges = Pattern::from_edges(pattern.len(), edges)?.edges().to_vec();
    Ok(Pattern::with(pattern.len(), edges, demands))
}

/// Conditions, and the order of the group.
fn symmetry(pattern: &Graph) -> Result<(Vec<Option<u32>>, u128), Error> {
    let symmetry = Coloured::new(&as_job(pattern)?).symmetry();
    Ok((symmetry.below.into_iter().map(|lower| lower.map(|i| i as u32)).collect(), symmetry.order))
}
