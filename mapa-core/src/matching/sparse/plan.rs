//! A pattern graph, compiled.

use std::sync::OnceLock;

use crate::error::{Error, ErrorKind};
use crate::graph::Graph;
use crate::matching::plan::{MatchConfig, Matcher};
use crate::matching::symmetry::{Coloured, Symmetry};
use crate::pattern::{Demand, Pattern};
use crate::topology::MAX_DEVICES;

/// A pattern graph compiled to be searched for in other graphs. It is immutable and can be shared
/// between threads.
#[derive(Clone, Debug)]
pub struct GraphMatcher {
    pub(super) pattern: Graph,
    pub(super) induced: bool,
    /// `below[u] = Some(i)`: in a distinct match, vertex `i` lies on a lower target vertex than
    /// `u`.
    pub(super) below: Vec<Option<u32>>,
    /// How many raw matches count as one; saturates.
    pub(super) class: u128,
    /// Whether the symmetries are known: not if a flag ended the compilation.
    pub(super) is_whole: bool,
    config: MatchConfig,
    /// The pattern compiled for the engine for machines, made at its first use.
    dense: OnceLock<Option<Matcher>>,
}

/// The most vertices of a pattern that the engine for machines counts.
const MOST_DENSE: usize = 64;

impl MatchConfig {
    /// Compiles a pattern to be searched for in other graphs. The pattern may have labels, and need
    /// not be connected.
    ///
    /// [`MatchConfig::by_rank`] makes no difference: the order of placing depends on the target.
    ///
    /// # Complexity
    ///
    /// O(n + m) for raw matches of a pattern with n vertices and m edges. For distinct matches the
    /// pattern's symmetries are computed too, in time and memory as for [`MatchConfig::compile`].
    ///
    /// If the thread's [`StopFlag`](crate::StopFlag) ends this, searches under that flag end at their first node.
    ///
    /// # Errors
    /// A loop; more than [`MAX_DEVICES`] vertices.
    pub fn compile_graph(self, pattern: &Graph) -> Result<GraphMatcher, Error> {
        if pattern.len() > MAX_DEVICES {
            return Err(ErrorKind::PatternGraphTooLarge {
                vertices: pattern.len(),
                most: MAX_DEVICES,
            }
            .into());
        }
        if let Some(&vertex) = pattern.loops().first() {
            return Err(ErrorKind::PatternLoop(vertex).into());
        }
        let raw = || Symmetry::none(pattern.len());
        let symmetry = if self.distinct {
            Coloured::new(&as_job(pattern)?).symmetry()
        } else {
            Some(raw())
        };
        let is_whole = symmetry.is_some();
        let symmetry = symmetry.unwrap_or_else(raw);
        let below = symmetry.below.into_iter();
        let dense = OnceLock::new();
        Ok(GraphMatcher {
            pattern: pattern.clone(),
            induced: self.induced,
            below: below.map(|lower| lower.map(|i| i as u32)).collect(),
            class: symmetry.order,
            is_whole,
            config: self,
            dense,
        })
    }
}

impl GraphMatcher {
    /// The pattern.
    #[must_use]
    pub fn pattern(&self) -> &Graph {
        &self.pattern
    }

    /// The pattern compiled for the engine for machines; none if it has too many vertices.
    pub(super) fn dense(&self) -> Option<&Matcher> {
        if self.pattern.len() > MOST_DENSE {
            return None;
        }
        self.dense
            .get_or_init(|| {
                let matcher = self.config.compile(&as_job(&self.pattern).ok()?);
                matcher.is_whole().then_some(matcher)
            })
            .as_ref()
    }
}

/// A job whose ranks have different demands where the vertices have different labels, so that both
/// have the same symmetries.
fn as_job(pattern: &Graph) -> Result<Pattern, Error> {
    let edges = pattern.edges().map(|(a, b)| (a as u16, b as u16, 1.0));
    let demands = pattern
        .labels()
        .iter()
        .map(|&label| Demand {
            warps: label,
            ..Demand::default()
        })
        .collect();
    let edges = Pattern::from_edges(pattern.len(), edges)?.edges().to_vec();
    Ok(Pattern::with(pattern.len(), edges, demands))
}
