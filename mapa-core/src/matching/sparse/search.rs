//! Searching a pattern graph in a target graph.

use std::ops::ControlFlow;

use super::cursor::SparseCursor;
use super::dense;
use super::domains::domains;
use super::plan::GraphMatcher;
use super::space::Space;
use super::tail::TailScratch;
use crate::graph::Graph;
use crate::matching::limits::{Limits, SearchStats, StopReason};
use crate::matching::meter::Meter;
use crate::matching::run::Outcome;
use crate::stop_flag::StopFlag;
use crate::view::Stop;

/// A compiled pattern graph in a target graph. It is cheap to copy; its terminal methods run it.
///
/// A match maps the pattern's vertices to different target vertices of equal labels, and every edge
/// to an edge. An induced match also maps every pair without an edge to a pair without an edge.
/// Matches come in the same order on every run. The empty pattern has no match. Of a class of
/// matches that are equal up to an automorphism of the pattern, the lexicographically smallest is
/// shown.
///
/// # Complexity
///
/// Memory beyond the graphs is O(sum over pattern edges of the degrees in the domain of one end),
/// and one bit for each candidate of each pattern vertex and each neighbour of that vertex. Each
/// terminal method runs the filters again. A node takes O(c / 64) time for the c candidates of the
/// vertices it touches, so targets with hundreds of thousands of alike vertices are slow.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use mapa_core::{Graph, Limits, MatchConfig};
///
/// let path = Graph::labelled(vec![1, 2, 1], [(0, 1), (1, 2)])?;
/// let target = Graph::labelled(vec![1, 1, 2, 1, 2], [(0, 2), (1, 2), (2, 3), (3, 4)])?;
/// let matcher = MatchConfig::new().compile_graph(&path)?;
/// let search = matcher.on(&target);
/// assert_eq!(search.count().matches, 3);
/// assert_eq!(search.first(), Some(vec![0, 2, 1]));
/// let mut seen = Vec::new();
/// search.visit(|map| {
///     seen.push(map.to_vec());
///     ControlFlow::<()>::Continue(())
/// });
/// assert_eq!(seen, search.iter().collect::<Vec<_>>());
/// assert!(!search.limits(Limits::NONE.matches(2)).count().complete());
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct GraphSearch<'a> {
    matcher: &'a GraphMatcher,
    target: &'a Graph,
    limits: Limits,
    until: Option<Stop<'a>>,
}

impl GraphMatcher {
    /// The search for this pattern in a graph.
    #[must_use]
    pub fn on<'a>(&'a self, target: &'a Graph) -> GraphSearch<'a> {
        GraphSearch::new(self, target)
    }
}

impl<'a> GraphSearch<'a> {
    fn new(matcher: &'a GraphMatcher, target: &'a Graph) -> Self {
        Self {
            matcher,
            target,
            limits: Limits::NONE,
            until: None,
        }
    }

    /// Sets how far the search may go. A node is a pattern vertex placed. Filtering before the
    /// search takes no nodes, and [`GraphSearch::count`] need not place every vertex.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Stops soon after `stop` starts to return true. `stop` is called every few thousand nodes.
    /// Use it for deadlines.
    #[must_use]
    pub fn until(self, stop: Stop<'a>) -> Self {
        Self {
            until: Some(stop),
            ..self
        }
    }

    /// The candidate space with which every terminal method starts; none if some vertex has no
    /// candidate.
    fn space(&self) -> Option<Space> {
        let domains = domains(&self.matcher.pattern, self.target, self.matcher.induced)?;
        Some(Space::new(self.matcher, self.target, domains))
    }

    fn meter(&self) -> Meter<'a> {
        Meter::new(self.limits, self.until).of_matcher(self.matcher.is_whole)
    }

    /// Calls `f` with every match until it breaks off: `map[u]` is the target vertex of pattern
    /// vertex `u`.
    ///
    /// # Complexity
    ///
    /// Time in proportion to the nodes visited, which can grow exponentially with the number of
    /// pattern vertices. For the time per node and for memory see [`GraphSearch`].
    pub fn visit<B>(&self, mut f: impl FnMut(&[u32]) -> ControlFlow<B>) -> Outcome<B> {
        let mut matches = self.iter();
        let mut map = vec![0; self.matcher.pattern.len()];
        while matches.advance(&mut map) {
            if let ControlFlow::Break(value) = f(&map) {
                return Outcome {
                    broke: Some(value),
                    stats: matches.meter.broken_off(),
                };
            }
        }
        Outcome {
            broke: None,
            stats: matches.stats(),
        }
    }

    /// The number of matches, up to the limits; [`u64::MAX`], and not complete, if there are more.
    ///
    /// # Complexity
    ///
    /// As [`GraphSearch::visit`], but the last vertices are counted without being placed. That
    /// takes exponential time in the size of the largest group of them that share candidates.
    #[must_use]
    pub fn count(&self) -> SearchStats {
        if let Some(stats) = dense::count(self.matcher, self.target, self.limits, &|| self.meter())
        {
            return stats;
        }
        let Some(mut space) = self.space() else {
            return SearchStats::default();
        };
        // The space is not finished then, and where no vertex has to be placed, no meter would look at the flag.
        if StopFlag::is_current_set() {
            return SearchStats {
                stopped: StopReason::TimeLimit,
                ..SearchStats::default()
            };
        }
        // Each class of matches has as many raw ones as the pattern has automorphisms. Without the
        // symmetry conditions, more of the last vertices may be counted without being placed.
        let class = self.matcher.class;
        let divides = class > 1
            && class < u128::MAX
            && self.limits.matches == u64::MAX
            && !self.matcher.induced;
        if divides && space.raw_if_shorter() {
            let (mut raw, mut meter) = (0u128, self.meter());
            self.run_count(space, &mut meter, |_, ways| {
                raw = raw.saturating_add(ways);
                raw < u128::MAX
            });
            if raw < u128::MAX {
                meter.matched_up_to(raw / class);
                return meter.stats();
            }
            // The raw count overflowed: count distinct matches after all.
            let Some(again) = self.space() else {
                return SearchStats::default();
            };
            space = again;
        }
        let mut meter = self.meter();
        self.run_count(space, &mut meter, Meter::matched_up_to);
        meter.stats()
    }

    /// Calls `add` with the numbers of matches that differ only in their last vertices, until it
    /// returns false.
    fn run_count(
        &self,
        space: Space,
        meter: &mut Meter<'a>,
        mut add: impl FnMut(&mut Meter<'a>, u128) -> bool,
    ) {
        let (core, all) = (space.core, space.steps.len());
        let mut cursor = SparseCursor::new(space, self.target, self.matcher.induced);
        let mut tail = TailScratch::new(self.target.len());
        while cursor.next(core, meter) {
            let ways = if core < all {
                tail.ways(&cursor, meter)
            } else {
                Some(1)
            };
            if !ways.is_some_and(|ways| add(meter, ways)) {
                break;
            }
        }
    }

    /// The first match; none if there is none, or if a limit came first.
    ///
    /// # Complexity
    ///
    /// As [`GraphSearch::visit`] until the first match.
    #[must_use]
    pub fn first(&self) -> Option<Vec<u32>> {
        self.iter().next()
    }

    /// Whether a match was found within the limits.
    ///
    /// # Complexity
    ///
    /// As [`GraphSearch::visit`] until the first match.
    #[must_use]
    pub fn is_match(&self) -> bool {
        self.first().is_some()
    }

    /// The matches one after another, as [`GraphSearch::visit`] shows them.
    ///
    /// # Complexity
    ///
    /// As [`GraphSearch::visit`] for as many matches as are taken.
    #[must_use]
    pub fn iter(&self) -> GraphMatches<'a> {
        let (space, mut meter) = (self.space(), self.meter());
        // The space is not finished then.
        let space = space.filter(|_| !meter.is_over_time());
        let cursor = space.map(|space| SparseCursor::new(space, self.target, self.matcher.induced));
        GraphMatches { cursor, meter }
    }
}

/// The matches of a [`GraphSearch`], streamed.
pub struct GraphMatches<'a> {
    cursor: Option<SparseCursor<'a>>,
    meter: Meter<'a>,
}

impl GraphMatches<'_> {
    /// What the search did so far. It is complete once the iterator has ended without reaching a
    /// limit.
    #[must_use]
    pub fn stats(&self) -> SearchStats {
        self.meter.stats()
    }

    fn advance(&mut self, map: &mut [u32]) -> bool {
        let Some(cursor) = &mut self.cursor else {
            return false;
        };
        let all = cursor.space.steps.len();
        if all > 0 && cursor.next(all, &mut self.meter) && self.meter.matched() {
            cursor.fill(map);
            return true;
        }
        self.cursor = None;
        false
    }
}

impl Iterator for GraphMatches<'_> {
    type Item = Vec<u32>;
    fn next(&mut self) -> Option<Vec<u32>> {
        let mut map = vec![0; self.cursor.as_ref()?.space.steps.len()];
        self.advance(&mut map).then_some(map)
    }
}
