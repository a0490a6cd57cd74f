//! A plan on a machine: what is searched, how far, and what comes of it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::Placement;
use super::engine::{Cursor, bits, pop_lowest};
use super::plan::Matcher;
use crate::pattern::Edge;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, Link};

/// How far a search may go. Time belongs to the caller: see [`Search::until`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most matches to deliver. Default: no limit.
    pub matches: u64,
    /// The most nodes (ranks placed) to visit. Default: no limit.
    pub nodes: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self { matches: u64::MAX, nodes: u64::MAX };

    /// As it is, but at most so many nodes.
    #[must_use]
    pub fn nodes(self, nodes: u64) -> Self {
        Self { nodes, ..self }
    }

    /// As it is, but at most so many matches.
    #[must_use]
    pub fn matches(self, matches: u64) -> Self {
        Self { matches, ..self }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::NONE
    }
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// Everything was searched: the answer is complete.
    #[default]
    Exhausted,
    /// There is at least one match more than [`Limits::matches`].
    MatchLimit,
    /// [`Limits::nodes`] was reached.
    NodeLimit,
    /// The caller's [`Search::until`] said so.
    Caller,
    /// The visitor broke off.
    Visitor,
}

impl StopReason {
    /// For messages: "because ...".
    #[must_use]
    pub fn because(self) -> &'static str {
        match self {
            Self::Exhausted => "everything was searched",
            Self::MatchLimit => "the limit on matches was reached",
            Self::NodeLimit => "the limit on nodes was reached",
            Self::Caller => "the caller's time was up",
            Self::Visitor => "the visitor had seen enough",
        }
    }
}

/// What a search did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchStats {
    /// Ranks placed; of a decision, also sets of devices looked at (see [`Request::NODES`](crate::Request::NODES)).
    pub nodes: u64,
    /// Matches delivered or counted.
    pub matches: u64,
    /// Why it ended.
    pub stopped: StopReason,
}

impl SearchStats {
    /// Whether everything was searched.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.stopped == StopReason::Exhausted
    }
}

/// What a visit brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<B> {
    /// The value with which the visitor broke off.
    pub broke: Option<B>,
    /// What the search did.
    pub stats: SearchStats,
}

/// All matches that differ only in the device of one rank.
#[derive(Debug)]
pub struct Leaf<'s> {
    /// The devices of all ranks; the entry of [`Leaf::rank`] means nothing.
    pub placement: &'s [DeviceId],
    /// The rank left open.
    pub rank: usize,
    /// The devices it may have; at least one.
    pub devices: &'s DeviceSet,
}

/// Whether an edge may lie on a link.
pub type LinkTest<'a> = &'a (dyn Fn(&Edge, Link) -> bool + Sync);

/// Whether these ranks, all of which share, can be on one device together.
pub type ShareTest<'a> = &'a (dyn Fn(DeviceId, &[usize]) -> bool + Sync);

/// Whether it is time to stop: a closure of the caller's, so that the clock is the caller's too.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// A compiled pattern on a machine. Cheap to copy; the terminal methods run it.
///
/// Matches come in lexicographic order of the plan's placing order, on every run. The empty pattern has no match. A rank lies
/// only on vertices of the kind that its [`Demand`](crate::Demand) wants, whole devices by default; no two on devices
/// that cannot exist at once.
///
/// ```
/// use std::ops::ControlFlow;
/// use mapa_core::{Fabric, LinkClass, Pattern};
///
/// let mut fabric = Fabric::new();
/// let nodes: Vec<_> = (0..8).map(|i| fabric.add_device(format!("GPU{i}"))).collect::<Result<_, _>>()?;
/// for (i, &a) in nodes.iter().enumerate() {
///     for &b in &nodes[..i] {
///         fabric.link(a, b, LinkClass::Sys, 12.0)?;
///     }
/// }
/// let graph = fabric.lower()?;
/// let ring = Pattern::ring(5);
/// let search = ring.matcher().on(&graph);
/// assert_eq!(search.count().matches, 672); // C(8,5) 4! / 2
/// let third = search.iter().nth(2).unwrap();
/// assert_eq!(third.set().len(), 5);
/// let mut seen = 0;
/// let outcome = search.visit(|_placement| {
///     seen += 1;
///     if seen == 10 { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
/// });
/// assert_eq!((outcome.broke, outcome.stats.complete()), (Some("enough"), false));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Search<'a> {
    pub(super) matcher: &'a Matcher,
    pub(super) graph: &'a HardwareGraph,
    pub(super) within: Option<&'a DeviceSet>,
    pub(super) domains: Option<&'a [DeviceSet]>,
    pub(super) links: Option<LinkTest<'a>>,
    pub(super) sharing: Option<ShareTest<'a>>,
    pub(super) twins: Option<&'a BTreeMap<DeviceId, DeviceId>>,
    limits: Limits,
    until: Option<Stop<'a>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(matcher: &'a Matcher, graph: &'a HardwareGraph) -> Self {
        Self {
            matcher,
            graph,
            within: None,
            domains: None,
            links: None,
            sharing: None,
            twins: None,
            limits: Limits::NONE,
            until: None,
        }
    }

    /// Only devices of this set. Ids that the machine does not have are never found.
    #[must_use]
    pub fn within(self, devices: &'a DeviceSet) -> Self {
        Self { within: Some(devices), ..self }
    }

    /// For each rank, only devices of its set, instead of all that are what its [`Demand`](crate::Demand) wants
    /// ([`HardwareGraph::candidates`]). For distinct matches, ranks that an automorphism of the pattern swaps must have
    /// equal sets, or matches are lost.
    #[must_use]
    pub fn domains(self, per_rank: &'a [DeviceSet]) -> Self {
        Self { domains: Some(per_rank), ..self }
    }

    /// Each edge only on links that `ok` accepts. For distinct matches it must not tell edges of equal traffic apart.
    #[must_use]
    pub fn links(self, ok: LinkTest<'a>) -> Self {
        Self { links: Some(ok), ..self }
    }

    /// Puts ranks whose demand is shared on one device too, where `together` accepts them. Without it every rank has a
    /// device of its own. `together` is asked of all ranks that would be there, and of more only once it has accepted
    /// fewer.
    ///
    /// A class of matches that put ranks together may be shown more than once, in several rank orders, its
    /// lexicographically smallest among them: swapping ranks of one device changes nothing that symmetry conditions see.
    #[must_use]
    pub fn sharing(self, together: ShareTest<'a>) -> Self {
        Self { sharing: Some(together), ..self }
    }

    /// For devices that only their ids tell apart, by device the next lower one: a rank takes the lower as long as nobody has
    /// it. Of matches that swapping such devices turns into each other, the lexicographically smallest is always shown; only
    /// for matchers [in rank order](Matcher::in_rank_order).
    pub(crate) fn twins(self, below: &'a BTreeMap<DeviceId, DeviceId>) -> Self {
        Self { twins: Some(below), ..self }
    }

    /// How far to go.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Stops soon after `stop` has begun to answer true; asked every thousand nodes or so. For deadlines.
    #[must_use]
    pub fn until(self, stop: Stop<'a>) -> Self {
        Self { until: Some(stop), ..self }
    }

    fn meter(&self) -> Meter<'a> {
        Meter::new(self.limits, self.until)
    }

    /// Shows every match to `f` until it breaks off: `placement[rank]` is the rank's device. O(k) memory beyond the
    /// machine's tables.
    pub fn visit<B>(&self, mut f: impl FnMut(&[DeviceId]) -> ControlFlow<B>) -> Outcome<B> {
        match self.graph.len() {
            0..=64 => self.run_visit::<1, B>(&mut f),
            65..=128 => self.run_visit::<2, B>(&mut f),
            129..=256 => self.run_visit::<4, B>(&mut f),
            _ => self.run_visit::<16, B>(&mut f),
        }
    }

    fn run_visit<const W: usize, B>(&self, f: &mut impl FnMut(&[DeviceId]) -> ControlFlow<B>) -> Outcome<B> {
        let mut cursor = Cursor::<W>::new(self);
        let mut meter = self.meter();
        let rank = cursor.leaf_rank();
        while let Some(mut leaf) = cursor.next_leaf(&mut meter) {
            let placement = cursor.placement();
            while let Some(device) = pop_lowest(&mut leaf) {
                if !meter.node() || !meter.found(1) {
                    return Outcome { broke: None, stats: meter.stats };
                }
                placement[rank] = DeviceId(device);
                if let ControlFlow::Break(value) = f(placement) {
                    return Outcome { broke: Some(value), stats: meter.broken_off() };
                }
            }
        }
        Outcome { broke: None, stats: meter.stats }
    }

    /// Shows the matches to `f` in groups that differ only in the device of one rank. A group that would pass a limit is
    /// not shown, so that limits are kept, if not always reached.
    pub fn visit_leaves<B>(&self, mut f: impl FnMut(Leaf<'_>) -> ControlFlow<B>) -> Outcome<B> {
        match self.graph.len() {
            0..=64 => self.run_leaves::<1, B>(&mut f),
            65..=128 => self.run_leaves::<2, B>(&mut f),
            129..=256 => self.run_leaves::<4, B>(&mut f),
            _ => self.run_leaves::<16, B>(&mut f),
        }
    }

    fn run_leaves<const W: usize, B>(&self, f: &mut impl FnMut(Leaf<'_>) -> ControlFlow<B>) -> Outcome<B> {
        let mut cursor = Cursor::<W>::new(self);
        let mut meter = self.meter();
        let rank = cursor.leaf_rank();
        while let Some(leaf) = cursor.next_leaf(&mut meter) {
            let size = leaf.iter().map(|word| u64::from(word.count_ones())).sum();
            if !meter.nodes(size) || !meter.found(size) {
                break;
            }
            let devices = DeviceSet::from_words(&leaf);
            if let ControlFlow::Break(value) = f(Leaf { placement: cursor.placement(), rank, devices: &devices }) {
                return Outcome { broke: Some(value), stats: meter.broken_off() };
            }
        }
        Outcome { broke: None, stats: meter.stats }
    }

    /// How many matches there are, up to the limits.
    #[must_use]
    pub fn count(&self) -> SearchStats {
        match self.graph.len() {
            0..=64 => self.run_count::<1>(),
            65..=128 => self.run_count::<2>(),
            129..=256 => self.run_count::<4>(),
            _ => self.run_count::<16>(),
        }
    }

    fn run_count<const W: usize>(&self) -> SearchStats {
        let mut cursor = Cursor::<W>::new(self);
        let mut meter = self.meter();
        while let Some(leaf) = cursor.next_leaf(&mut meter) {
            let size: u64 = leaf.iter().map(|word| u64::from(word.count_ones())).sum();
            // Counting stops exactly at a limit, in the middle of a leaf level too.
            let room = meter.room().min(size);
            if !meter.nodes(room) {
                break;
            }
            meter.found(room);
            if room < size {
                let _ = meter.node() && meter.found(1);
                break;
            }
        }
        meter.stats
    }

    /// The first match.
    #[must_use]
    pub fn first(&self) -> Option<Placement> {
        self.visit(|placement| ControlFlow::Break(Placement::from(placement))).broke
    }

    /// The matches one after another, as [`Search::visit`] shows them.
    #[must_use]
    pub fn iter(&self) -> Matches<'a> {
        let source: Box<dyn Source + 'a> = match self.graph.len() {
            0..=64 => Box::new(Streamed::<1>::new(self)),
            65..=128 => Box::new(Streamed::<2>::new(self)),
            129..=256 => Box::new(Streamed::<4>::new(self)),
            _ => Box::new(Streamed::<16>::new(self)),
        };
        Matches { source }
    }
}

/// The matches of a [`Search`], streamed.
pub struct Matches<'a> {
    source: Box<dyn Source + 'a>,
}

impl Matches<'_> {
    /// What the search did so far; complete once the iterator has ended and no limit was hit.
    #[must_use]
    pub fn stats(&self) -> SearchStats {
        self.source.stats()
    }
}

impl Iterator for Matches<'_> {
    type Item = Placement;
    fn next(&mut self) -> Option<Placement> {
        self.source.next()
    }
}

trait Source {
    fn next(&mut self) -> Option<Placement>;
    fn stats(&self) -> SearchStats;
}

struct Streamed<'a, const W: usize> {
    cursor: Cursor<'a, W>,
    meter: Meter<'a>,
    leaf: [u64; W],
    over: bool,
}

impl<'a, const W: usize> Streamed<'a, W> {
    fn new(search: &Search<'a>) -> Self {
        Self { cursor: Cursor::new(search), meter: search.meter(), leaf: bits(&[]), over: false }
    }
}

impl<const W: usize> Source for Streamed<'_, W> {
    fn next(&mut self) -> Option<Placement> {
        while !self.over {
            let Some(device) = pop_lowest(&mut self.leaf) else {
                match self.cursor.next_leaf(&mut self.meter) {
                    Some(leaf) => self.leaf = leaf,
                    None => self.over = true,
                }
                continue;
            };
            if !self.meter.node() || !self.meter.found(1) {
                self.over = true;
                break;
            }
            let rank = self.cursor.leaf_rank();
            self.cursor.placement()[rank] = DeviceId(device);
            return Some(Placement::from(&*self.cursor.placement()));
        }
        None
    }

    fn stats(&self) -> SearchStats {
        self.meter.stats
    }
}

/// Counts nodes and matches against the limits.
pub(super) struct Meter<'a> {
    limits: Limits,
    until: Option<Stop<'a>>,
    stats: SearchStats,
}

impl<'a> Meter<'a> {
    pub(super) fn new(limits: Limits, until: Option<Stop<'a>>) -> Self {
        Self { limits, until, stats: SearchStats::default() }
    }

    pub(super) fn stats(&self) -> SearchStats {
        self.stats
    }

    /// Takes as many matches as the limit allows; false, and the reason noted, if these are fewer.
    pub(super) fn found_up_to(&mut self, n: u128) -> bool {
        let left = self.limits.matches - self.stats.matches;
        let taken = u64::try_from(n).map_or(left, |n| n.min(left));
        self.found(taken) && (u128::from(taken) == n || self.found(1))
    }

    /// Takes one node; false, and the reason noted, if the search must stop.
    pub(super) fn node(&mut self) -> bool {
        self.nodes(1)
    }

    fn nodes(&mut self, n: u64) -> bool {
        if n > self.limits.nodes - self.stats.nodes {
            self.stats.stopped = StopReason::NodeLimit;
            return false;
        }
        let before = self.stats.nodes;
        self.stats.nodes += n;
        if before >> 10 != self.stats.nodes >> 10 && self.until.is_some_and(|stop| stop()) {
            self.stats.stopped = StopReason::Caller;
            return false;
        }
        true
    }

    pub(super) fn found(&mut self, n: u64) -> bool {
        if n > self.limits.matches - self.stats.matches {
            self.stats.stopped = StopReason::MatchLimit;
            return false;
        }
        self.stats.matches += n;
        true
    }

    /// How many matches may still be found.
    fn room(&self) -> u64 {
        (self.limits.matches - self.stats.matches).min(self.limits.nodes - self.stats.nodes)
    }

    pub(super) fn broken_off(mut self) -> SearchStats {
        self.stats.stopped = StopReason::Visitor;
        self.stats
    }
}
