//! Compiling a pattern.

use super::search::Search;
use super::symmetry::Coloured;
use crate::pattern::{Demand, Pattern};
use crate::topology::{HardwareGraph, MAX_DEVICES};

/// What counts as a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchConfig {
    pub(super) induced: bool,
    pub(super) distinct: bool,
}

impl MatchConfig {
    /// Non-induced, distinct: what allocation needs.
    #[must_use]
    pub fn new() -> Self {
        Self { induced: false, distinct: true }
    }

    /// Whether pairs of ranks without an edge must lie on devices without a connection. Default: no.
    #[must_use]
    pub fn induced(self, induced: bool) -> Self {
        Self { induced, ..self }
    }

    /// Whether matches equal up to an automorphism of the pattern count once. Default: yes.
    #[must_use]
    pub fn distinct(self, distinct: bool) -> Self {
        Self { distinct, ..self }
    }

    /// Compiles a pattern: its symmetries and the order in which its vertices are placed.
    ///
    /// Time is polynomial for every pattern whose vertices colour refinement tells apart, the ready-made shapes among
    /// them: some 8 µs for a ring of 8, 70 ms for a ring of 512. A pattern larger than any machine
    /// ([`MAX_DEVICES`](crate::MAX_DEVICES)) is not looked at and matches nothing. Adversarial regular graphs can
    /// take exponential time. Memory O(k²) for k vertices.
    #[must_use]
    pub fn compile(self, pattern: &Pattern) -> Matcher {
        Matcher::new(self, pattern)
    }
}

impl Default for MatchConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// A pattern compiled to a plan. Immutable; shared freely between threads.
#[derive(Clone, Debug)]
pub struct Matcher {
    pub(super) pattern_edges: Vec<crate::Edge>,
    /// By vertex.
    pub(super) demands: Vec<Demand>,
    pub(super) steps: Vec<Step>,
    symmetries: u128,
}

/// Placing one vertex; everything it names is placed before.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    pub(super) vertex: usize,
    /// Joined to it.
    pub(super) near: Vec<usize>,
    /// Not joined to it (induced matching only).
    pub(super) apart: Vec<usize>,
    /// On lower devices.
    pub(super) above: Vec<usize>,
    /// On higher devices.
    pub(super) below: Vec<usize>,
}

impl Matcher {
    fn new(config: MatchConfig, pattern: &Pattern) -> Self {
        if pattern.len() > MAX_DEVICES {
            // It fits no machine, and its tables might not fit in memory.
            return Self { pattern_edges: Vec::new(), demands: Vec::new(), steps: Vec::new(), symmetries: 1 };
        }
        let graph = Coloured::new(pattern);
        let symmetry = graph.symmetry();
        let mut steps = Vec::with_capacity(pattern.len());
        let order = placing_order(&graph, pattern.len());
        for (i, &vertex) in order.iter().enumerate() {
            let (near, apart): (Vec<usize>, Vec<usize>) = order[..i].iter().partition(|&&u| graph.joined(u, vertex));
            let mut step = Step { vertex, near, ..Step::default() };
            if config.induced {
                step.apart = apart;
            }
            if config.distinct {
                let lower = |a: usize, b: usize| symmetry.below[b] == Some(a);
                step.above = order[..i].iter().copied().filter(|&u| lower(u, vertex)).collect();
                step.below = order[..i].iter().copied().filter(|&u| lower(vertex, u)).collect();
            }
            steps.push(step);
        }
        let (pattern_edges, demands) = (pattern.edges().to_vec(), pattern.demands().to_vec());
        Self { pattern_edges, demands, steps, symmetries: symmetry.order }
    }

    /// How many vertices the pattern has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether the pattern has no vertex.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many automorphisms the pattern has; [`u128::MAX`] if there are more.
    #[must_use]
    pub fn symmetries(&self) -> u128 {
        self.symmetries
    }

    /// Whether ranks are placed in the order 0, 1, 2, ..., so that matches come by smallest rank order.
    pub(crate) fn in_rank_order(&self) -> bool {
        self.steps.iter().enumerate().all(|(i, step)| step.vertex == i)
    }

    /// The search for it on a machine.
    #[must_use]
    pub fn on<'a>(&'a self, graph: &'a HardwareGraph) -> Search<'a> {
        Search::new(self, graph)
    }
}

/// Rank 0 first, then always the vertex with most neighbours placed; lowest rank on a tie. O(k²).
fn placing_order(graph: &Coloured, n: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(n);
    let mut placed = vec![false; n];
    let mut near = vec![0; n];
    for _ in 0..n {
        let next = (0..n).filter(|&v| !placed[v]).max_by_key(|&v| (near[v], std::cmp::Reverse(v)));
        let Some(next) = next else { break };
        placed[next] = true;
        order.push(next);
        for &w in &graph.neighbours[next] {
            near[w] += 1;
        }
    }
    order
}
