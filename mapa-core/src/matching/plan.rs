//! Compiling a pattern.

use smallvec::SmallVec;

use super::search::Search;
use super::symmetry::Coloured;
use crate::pattern::{Demand, Pattern};
use crate::topology::{HardwareGraph, MAX_DEVICES};

/// What counts as a match, and in which order ranks are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchConfig {
    pub(super) induced: bool,
    pub(super) distinct: bool,
    by_rank: bool,
}

impl MatchConfig {
    /// Non-induced, distinct: what allocation needs; ranks in the order that is fastest.
    #[must_use]
    pub fn new() -> Self {
        Self { induced: false, distinct: true, by_rank: false }
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

    /// Whether ranks are placed by number as far as edges allow: rank 0 first, then always the lowest of those with most
    /// neighbours placed. Rings, trees and all-to-all then come by smallest rank order. Default: no; the order is then chosen
    /// for speed: most neighbours placed, most conditions of symmetry decided, most edges. It changes the order in
    /// which matches come, not the matches.
    #[must_use]
    pub fn by_rank(self, by_rank: bool) -> Self {
        Self { by_rank, ..self }
    }

    /// Compiles a pattern: its symmetries and the order in which its vertices are placed.
    ///
    /// Time is polynomial for every pattern whose vertices colour refinement tells apart, the ready-made shapes among
    /// them: some 8 µs for a ring of 8, 2 ms for a ring of 512, 5 ms for 900 vertices with 2,400 edges, 0.1 s for a star of
    /// 900. A pattern larger than any machine ([`MAX_DEVICES`](crate::MAX_DEVICES)) is not looked at and matches nothing.
    /// Adversarial regular graphs can take exponential time. Memory O(k²) for k vertices at worst.
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
    pub(super) program: Program,
    /// For a matcher of raw matches of a pattern with symmetries, the program for distinct ones; with
    /// [`Matcher::symmetries`] it counts the raw ones.
    pub(super) of_each_class: Option<Program>,
    /// By vertex, its orbit under the automorphisms.
    pub(super) orbits: Vec<usize>,
    /// `below[u] = Some(i)`: in a distinct match, vertex `i` lies on a lower device than `u`.
    below: Vec<Option<usize>>,
    symmetries: u128,
}

/// The vertices in the order of placing, and what they demand of each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// Each once; steps name them by number. The first is [`Relation::NONE`].
    pub(super) relations: Vec<Relation>,
}

/// Placing one vertex.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) vertex: usize,
    /// What the step before demands, by number.
    pub(super) previous: u32,
    /// What steps before that demand.
    pub(super) tests: SmallVec<[Test; 4]>,
}

/// What a vertex placed before demands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    pub(super) vertex: usize,
    pub(super) table: u32,
}

/// Where a vertex may be, given the device of one placed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) talk: Talk,
    pub(super) order: Order,
}

/// Whether they must be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Talk {
    Any,
    Joined,
    /// Joined as the edge wants it: a table of the search.
    Special(u16),
    /// Not joined.
    Apart,
}

/// On which side of the other the vertex must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Any,
    Above,
    Below,
}

impl Relation {
    /// The number of no demand at all.
    pub(super) const NONE: u32 = 0;

    /// Its number, a new one if it has none yet.
    pub(super) fn number(self, known: &mut Vec<Self>) -> u32 {
        let number = known.iter().position(|other| *other == self).unwrap_or_else(|| {
            known.push(self);
            known.len() - 1
        });
        number as u32
    }
}

impl Program {
    fn new(graph: &Coloured, order: &[usize], below: &[Option<usize>], induced: bool) -> Self {
        let mut relations = vec![Relation { talk: Talk::Any, order: Order::Any }];
        let place = {
            let mut place = vec![usize::MAX; order.len()];
            order.iter().enumerate().for_each(|(i, &vertex)| place[vertex] = i);
            place
        };
        let above = conditions_above(below);
        let steps = order.iter().enumerate().map(|(i, &vertex)| {
            let mut others: Vec<usize> = graph.neighbours(vertex).chain(below[vertex]).collect();
            others.extend(&above[vertex]);
            if induced {
                others.extend(&order[..i]);
            }
            others.retain(|&u| place[u] < i);
            others.sort_unstable_by_key(|&u| place[u]);
            others.dedup();
            let mut step = Step { vertex, previous: Relation::NONE, tests: SmallVec::new() };
            for u in others {
                let talk = match graph.joined(u, vertex) {
                    true => Talk::Joined,
                    false if induced => Talk::Apart,
                    false => Talk::Any,
                };
                let order = if below[vertex] == Some(u) {
                    Order::Above
                } else if below[u] == Some(vertex) {
                    Order::Below
                } else {
                    Order::Any
                };
                let table = Relation { talk, order }.number(&mut relations);
                if place[u] + 1 == i {
                    step.previous = table;
                } else {
                    step.tests.push(Test { vertex: u, table });
                }
            }
            step
        });
        let steps = steps.collect();
        Self { steps, relations }
    }
}

/// By vertex, those that must lie on higher devices.
fn conditions_above(below: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut above = vec![Vec::new(); below.len()];
    for (u, i) in below.iter().enumerate() {
        if let Some(i) = *i {
            above[i].push(u);
        }
    }
    above
}

impl Matcher {
    fn new(config: MatchConfig, pattern: &Pattern) -> Self {
        if pattern.len() > MAX_DEVICES {
            // It fits no machine, and its tables might not fit in memory.
            return Self {
                pattern_edges: Vec::new(),
                demands: Vec::new(),
                program: Program::default(),
                of_each_class: None,
                orbits: Vec::new(),
                below: Vec::new(),
                symmetries: 1,
            };
        }
        let graph = Coloured::new(pattern);
        let symmetry = graph.symmetry();
        let none = vec![None; pattern.len()];
        let order = if config.by_rank {
            placing_order(&graph, &none, |_, _| 0)
        } else {
            placing_order(&graph, &symmetry.below, |vertex, near| {
                // Of the first to be near, so that rings grow at both ends.
                graph.degree(vertex) * (pattern.len() + 1) + pattern.len() - near
            })
        };
        let distinct = Program::new(&graph, &order, &symmetry.below, config.induced);
        let (program, of_each_class) = match config.distinct {
            true => (distinct, None),
            false if symmetry.order == 1 => (distinct, None),
            false => (Program::new(&graph, &order, &none, config.induced), Some(distinct)),
        };
        Self {
            pattern_edges: pattern.edges().to_vec(),
            demands: pattern.demands().to_vec(),
            program,
            of_each_class,
            orbits: symmetry.orbits,
            below: symmetry.below,
            symmetries: symmetry.order,
        }
    }

    /// By rank, a lower one that lies on a lower device in the smallest rank order of every class.
    pub(crate) fn lower(&self, rank: usize) -> Option<usize> {
        self.below[rank]
    }

    /// How many vertices the pattern has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.program.steps.len()
    }

    /// Whether the pattern has no vertex.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many automorphisms the pattern has; [`u128::MAX`] if there are more.
    #[must_use]
    pub fn symmetries(&self) -> u128 {
        self.symmetries
    }

    /// The ranks in the order in which they are placed. Matches come in lexicographic order of their devices.
    pub fn placing_order(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.program.steps.iter().map(|step| step.vertex)
    }

    /// Whether ranks are placed in the order 0, 1, 2, ..., so that matches come by smallest rank order.
    pub(crate) fn in_rank_order(&self) -> bool {
        self.placing_order().eq(0..self.len())
    }

    /// The search for it on a machine.
    #[must_use]
    pub fn on<'a>(&'a self, graph: &'a HardwareGraph) -> Search<'a> {
        Search::new(self, graph)
    }
}

/// Always the vertex with most neighbours placed; of those the one with most conditions decided, then of highest worth
/// (of a vertex and the step that placed the first of its neighbours), then of lowest rank. O(k² + edges).
fn placing_order(graph: &Coloured, below: &[Option<usize>], worth: impl Fn(usize, usize) -> usize) -> Vec<usize> {
    let n = below.len();
    let above = conditions_above(below);
    let mut order = Vec::with_capacity(n);
    let mut left: Vec<usize> = (0..n).collect();
    let (mut near, mut decided, mut first) = (vec![0; n], vec![0; n], vec![n; n]);
    while !left.is_empty() {
        let key = |&v: &usize| (near[v], decided[v], worth(v, first[v]), std::cmp::Reverse(v));
        let Some(at) = (0..left.len()).max_by_key(|&at| key(&left[at])) else { break };
        let next = left.swap_remove(at);
        for w in graph.neighbours(next) {
            near[w] += 1;
            first[w] = first[w].min(order.len());
        }
        for &w in above[next].iter().chain(&below[next]) {
            decided[w] += 1;
        }
        order.push(next);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &Pattern, fast: &[usize], by_rank: &[usize]) {
        assert_eq!(pattern.matcher().placing_order().collect::<Vec<_>>(), fast);
        assert_eq!(pattern.rank_matcher().placing_order().collect::<Vec<_>>(), by_rank);
    }

    #[test]
    fn the_fast_order_decides_symmetries_early() {
        check(&Pattern::ring(8), &[0, 1, 7, 2, 6, 3, 5, 4], &[0, 1, 2, 3, 4, 5, 6, 7]);
        check(&Pattern::chain(6), &[1, 2, 3, 4, 0, 5], &[0, 1, 2, 3, 4, 5]);
        check(&Pattern::binary_tree(7), &[1, 0, 2, 3, 4, 5, 6], &[0, 1, 2, 3, 4, 5, 6]);
        check(&Pattern::all_to_all(4), &[0, 1, 2, 3], &[0, 1, 2, 3]);
        let late = Pattern::from_edges(4, [(0, 3, 1.0), (1, 3, 1.0), (2, 3, 1.0)]).unwrap();
        check(&late, &[3, 0, 1, 2], &[0, 3, 1, 2]);
    }
}
