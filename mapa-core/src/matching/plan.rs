//! Compiling a pattern: the order in which ranks are placed, and what each step requires.

use smallvec::SmallVec;

use super::symmetry::{Coloured, Symmetry};
use crate::pattern::{Demand, Pattern};
use crate::topology::MAX_DEVICES;

/// What counts as a match, and in which order ranks are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchConfig {
    pub(super) induced: bool,
    pub(super) distinct: bool,
    by_rank: bool,
}

impl MatchConfig {
    /// Non-induced, distinct matches, as allocation needs them, with ranks placed in the fastest
    /// order.
    #[must_use]
    pub fn new() -> Self {
        Self {
            induced: false,
            distinct: true,
            by_rank: false,
        }
    }

    /// Whether pairs of ranks without an edge must lie on devices without a connection. Default:
    /// no.
    #[must_use]
    pub fn induced(self, induced: bool) -> Self {
        Self { induced, ..self }
    }

    /// Whether matches that are equal up to an automorphism of the pattern count once. Default:
    /// yes.
    #[must_use]
    pub fn distinct(self, distinct: bool) -> Self {
        Self { distinct, ..self }
    }

    /// Whether ranks are placed by number as far as edges allow: rank 0 first, then always the
    /// lowest of the ranks with most neighbours placed. Matches of rings, trees and all-to-all then
    /// come in ascending rank order.
    ///
    /// Default: no. The order is then chosen for speed: next is the rank with most neighbours
    /// placed, then with most symmetry conditions decided, then with most edges. The order of
    /// placing changes the order in which matches come, not the matches.
    #[must_use]
    pub fn by_rank(self, by_rank: bool) -> Self {
        Self { by_rank, ..self }
    }

    /// Compiles a pattern: its symmetries and the order in which its vertices are placed.
    ///
    /// A pattern larger than any machine ([`MAX_DEVICES`](crate::MAX_DEVICES)) is not analysed, and
    /// matches nothing.
    ///
    /// # Complexity
    ///
    /// Time is polynomial for every pattern whose vertices colour refinement tells apart; the
    /// ready-made shapes are among these. It takes some 8 µs for a ring of 8, 2 ms for a ring of
    /// 512, 5 ms for 900 vertices with 2,400 edges, and 0.1 s for a star of 900. Adversarial
    /// regular graphs can take exponential time, which a [`StopFlag`](crate::StopFlag) can end. Memory is O(k²) for k vertices at worst.
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

/// A pattern compiled to a plan. It is immutable and can be shared between threads.
#[derive(Clone, Debug)]
pub struct Matcher {
    pub(super) pattern_edges: Vec<crate::Edge>,
    /// The demands, by vertex.
    pub(super) demands: Vec<Demand>,
    pub(super) program: MatchProgram,
    /// The program for distinct matches, kept by a matcher of raw matches if the pattern has
    /// symmetries. There are [`Matcher::symmetries`] times as many raw matches as distinct ones, so
    /// it can count both.
    pub(super) of_each_class: Option<MatchProgram>,
    /// By vertex, the lowest vertex of its orbit under the automorphisms.
    pub(super) orbits: Vec<usize>,
    /// `below[u] = Some(i)`: in a distinct match, vertex `i` lies on a lower device than `u`.
    below: Vec<Option<usize>>,
    symmetries: u128,
    is_whole: bool,
}

/// The vertices in the order of placing, and what they require of each other.
#[derive(Clone, Debug, Default)]
pub(super) struct MatchProgram {
    pub(super) steps: Vec<MatchStep>,
    /// The distinct relations; steps name them by number. The first is [`Relation::NONE`].
    pub(super) relations: Vec<Relation>,
}

/// Placing one vertex.
#[derive(Clone, Debug)]
pub(super) struct MatchStep {
    pub(super) vertex: usize,
    /// The relation to the directly preceding step, by number. This relation is kept apart, because
    /// the engine applies it once per candidate and the others once per parent.
    pub(super) previous: u32,
    /// The relations to earlier steps.
    pub(super) tests: SmallVec<[RelationTest; 4]>,
}

/// A relation to a vertex placed before.
#[derive(Clone, Copy, Debug)]
pub(super) struct RelationTest {
    pub(super) vertex: usize,
    pub(super) table: u32,
}

/// What restricts the device of a vertex, given the device of one placed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) talk: Talk,
    pub(super) order: VertexOrder,
}

/// Whether the two devices must be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Talk {
    Any,
    Joined,
    /// Joined by a link that the edge accepts; the number of a table of the search.
    Special(u16),
    /// Not joined.
    Apart,
}

/// Whether the vertex must be on a higher or a lower device than the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VertexOrder {
    Any,
    Above,
    Below,
}

impl Relation {
    /// The number of the relation that requires nothing (but different devices, unless ranks share).
    pub(super) const NONE: u32 = 0;

    /// The number of this relation among those known; it is added if it is new.
    pub(super) fn number(self, known: &mut Vec<Self>) -> u32 {
        let number = known
            .iter()
            .position(|other| *other == self)
            .unwrap_or_else(|| {
                known.push(self);
                known.len() - 1
            });
        number as u32
    }
}

impl MatchProgram {
    /// The program that places vertices in this order under these symmetry conditions.
    fn new(graph: &Coloured, order: &[usize], below: &[Option<usize>], induced: bool) -> Self {
        let mut relations = vec![Relation {
            talk: Talk::Any,
            order: VertexOrder::Any,
        }];
        let mut place = vec![usize::MAX; order.len()];
        for (i, &vertex) in order.iter().enumerate() {
            place[vertex] = i;
        }
        let above = conditions_above(below);
        let steps = order.iter().enumerate().map(|(i, &vertex)| {
            // Every earlier vertex to which this one has an edge or an order; induced, every
            // earlier one.
            let mut others: Vec<usize> = graph.neighbours(vertex).chain(below[vertex]).collect();
            others.extend(&above[vertex]);
            if induced {
                others.extend(&order[..i]);
            }
            others.retain(|&u| place[u] < i);
            others.sort_unstable_by_key(|&u| place[u]);
            others.dedup();
            let mut step = MatchStep {
                vertex,
                previous: Relation::NONE,
                tests: SmallVec::new(),
            };
            for u in others {
                let talk = match graph.joined(u, vertex) {
                    true => Talk::Joined,
                    false if induced => Talk::Apart,
                    false => Talk::Any,
                };
                let order = if below[vertex] == Some(u) {
                    VertexOrder::Above
                } else if below[u] == Some(vertex) {
                    VertexOrder::Below
                } else {
                    VertexOrder::Any
                };
                let table = Relation { talk, order }.number(&mut relations);
                if place[u] + 1 == i {
                    step.previous = table;
                } else {
                    step.tests.push(RelationTest { vertex: u, table });
                }
            }
            step
        });
        let steps = steps.collect();
        Self { steps, relations }
    }
}

/// By vertex, the vertices that must lie on higher devices.
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
                program: MatchProgram::default(),
                of_each_class: None,
                orbits: Vec::new(),
                below: Vec::new(),
                symmetries: 1,
                is_whole: true,
            };
        }
        let graph = Coloured::new(pattern);
        let symmetry = graph.symmetry();
        let is_whole = symmetry.is_some();
        let symmetry = symmetry.unwrap_or_else(|| Symmetry::none(pattern.len()));
        let none = vec![None; pattern.len()];
        let order = if config.by_rank {
            placing_order(&graph, &none, |_, _| 0)
        } else {
            placing_order(&graph, &symmetry.below, |vertex, near| {
                // After the degree, prefer neighbours of what was placed first: rings then grow at
                // both ends, and their conditions are decided early.
                graph.degree(vertex) * (pattern.len() + 1) + pattern.len() - near
            })
        };
        let distinct = MatchProgram::new(&graph, &order, &symmetry.below, config.induced);
        let (program, of_each_class) = match config.distinct {
            true => (distinct, None),
            false if symmetry.order == 1 => (distinct, None),
            false => (
                MatchProgram::new(&graph, &order, &none, config.induced),
                Some(distinct),
            ),
        };
        Self {
            pattern_edges: pattern.edges().to_vec(),
            demands: pattern.demands().to_vec(),
            program,
            of_each_class,
            orbits: symmetry.orbits,
            below: symmetry.below,
            symmetries: symmetry.order,
            is_whole,
        }
    }

    /// A lower rank that lies on a lower device than `rank` in the smallest rank order of every
    /// class; none if there is no such condition.
    pub(crate) fn lower(&self, rank: usize) -> Option<usize> {
        self.below[rank]
    }

    /// The number of vertices of the pattern.
    #[must_use]
    pub fn len(&self) -> usize {
        self.program.steps.len()
    }

    /// Whether the pattern has no vertex.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the pattern was compiled to the end. If not, the [`StopFlag`](crate::StopFlag) of the thread was set, and
    /// searches under that flag end at their first node. Without it they would show every match several times.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The number of automorphisms of the pattern; [`u128::MAX`] if there are more.
    /// 1 if the matcher is not [whole](Self::is_whole).
    #[must_use]
    pub fn symmetries(&self) -> u128 {
        self.symmetries
    }

    /// The ranks in the order in which they are placed. Matches come in lexicographic order of the
    /// devices of ranks in this order.
    pub fn placing_order(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.program.steps.iter().map(|step| step.vertex)
    }

    /// Whether ranks are placed in the order 0, 1, 2, ..., so that matches come in ascending rank
    /// order.
    pub(crate) fn in_rank_order(&self) -> bool {
        self.placing_order().eq(0..self.len())
    }
}

/// The order of placing. Next is always the vertex with most neighbours placed. Ties go to the one
/// with most conditions decided, then to the highest worth, then to the lowest rank. `worth(vertex,
/// step)` rates a vertex, given the step that placed the first of its neighbours.
///
/// # Complexity
///
/// O(k² + e) for k vertices and e edges.
fn placing_order(
    graph: &Coloured,
    below: &[Option<usize>],
    worth: impl Fn(usize, usize) -> usize,
) -> Vec<usize> {
    let n = below.len();
    let above = conditions_above(below);
    let mut order = Vec::with_capacity(n);
    let mut left: Vec<usize> = (0..n).collect();
    let (mut near, mut decided, mut first) = (vec![0; n], vec![0; n], vec![n; n]);
    while !left.is_empty() {
        let best = (0..left.len()).max_by_key(|&at| {
            let v = left[at];
            let worth = worth(v, first[v]);
            (near[v], decided[v], worth, std::cmp::Reverse(v))
        });
        let Some(at) = best else { break };
        let next = left.swap_remove(at);
        for w in graph.neighbours(next) {
            near[w] += 1;
            first[w] = first[w].min(order.len());
        }
        // A condition is decided once both of its vertices are placed.
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
        assert_eq!(
            pattern.rank_matcher().placing_order().collect::<Vec<_>>(),
            by_rank
        );
    }

    #[test]
    fn the_fast_order_decides_symmetries_early() {
        check(
            &Pattern::ring(8),
            &[0, 1, 7, 2, 6, 3, 5, 4],
            &[0, 1, 2, 3, 4, 5, 6, 7],
        );
        check(&Pattern::chain(6), &[1, 2, 3, 4, 0, 5], &[0, 1, 2, 3, 4, 5]);
        check(
            &Pattern::binary_tree(7),
            &[1, 0, 2, 3, 4, 5, 6],
            &[0, 1, 2, 3, 4, 5, 6],
        );
        check(&Pattern::all_to_all(4), &[0, 1, 2, 3], &[0, 1, 2, 3]);
        let late = Pattern::from_edges(4, [(0, 3, 1.0), (1, 3, 1.0), (2, 3, 1.0)]).unwrap();
        check(&late, &[3, 0, 1, 2], &[0, 3, 1, 2]);
    }
}
