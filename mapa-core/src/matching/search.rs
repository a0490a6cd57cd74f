//! A plan on a machine: what is searched, how far, and what comes of it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::Placement;
use super::bits::{Bits, and, bits, each, only, or, pop_lowest, put, size};
use super::careful::Careful;
use super::engine::{Cursor, Domains, Ground, Walk};
use super::meter::Meter;
use super::parallel::Parts;
use super::plan::{Matcher, Program};
use crate::pattern::{Demand, Edge};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, Link, LinkClass};

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
    /// Matches delivered or counted; of a decision made by tables, the placements it names.
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
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'s> {
    /// The devices of all ranks; the entry of [`Leaf::rank`] means nothing.
    pub placement: &'s [DeviceId],
    /// The rank left open.
    pub rank: usize,
    /// The devices it may have, at least one: a bit each, 64 a word, lowest first. Trailing words may be zero.
    pub words: &'s [u64],
    len: u64,
}

impl Leaf<'_> {
    /// How many matches. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Never: a leaf that is shown has a match.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The devices that the open rank may have, ascending.
    pub fn devices(&self) -> impl Iterator<Item = DeviceId> + '_ {
        (0u32..).step_by(64).zip(self.words).flat_map(|(first, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || pop_lowest(std::array::from_mut(&mut rest)).map(|bit| DeviceId(first + bit)))
        })
    }
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
    pub(super) limits: Limits,
    pub(super) until: Option<Stop<'a>>,
    pub(super) threads: usize,
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
            threads: 1,
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

    /// Stops soon after `stop` has begun to answer true; asked every few thousand nodes. For deadlines.
    #[must_use]
    pub fn until(self, stop: Stop<'a>) -> Self {
        Self { until: Some(stop), ..self }
    }

    /// Lets [`Search::count`] and [`Search::fold`] run on up to so many threads of rayon's current pool. Default: 1, the
    /// caller's. Answers, statistics and limits stay those of one thread, to the last node; only what
    /// [`Search::until`] stops depends on time. Parts do not know of each other's matches, so a search that ends at a limit
    /// may do up to as many times the work as it has threads. Searches for ranks that [share](Search::sharing) run on one thread.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    pub(super) fn meter(&self) -> Meter<'a> {
        Meter::new(self.limits, self.until)
    }

    /// Whether a rank's place depends on pairs of ranks alone.
    pub(super) fn goes_by_pairs(&self) -> bool {
        self.sharing.is_none() && self.twins.is_none()
    }

    /// Shows every match to `f` until it breaks off: `placement[rank]` is the rank's device. O(k) memory beyond the
    /// machine's tables.
    pub fn visit<B>(&self, mut f: impl FnMut(&[DeviceId]) -> ControlFlow<B>) -> Outcome<B> {
        match self.graph.len() {
            0..=64 if self.goes_by_pairs() => self.show::<1, B>(&mut Cursor::new(self.program(), self), f),
            65..=128 if self.goes_by_pairs() => self.show::<2, B>(&mut Cursor::new(self.program(), self), f),
            129..=256 if self.goes_by_pairs() => self.show::<4, B>(&mut Cursor::new(self.program(), self), f),
            _ => {
                let mut broke = None;
                let stats = self.visit_any(&mut |placement| match f(placement) {
                    ControlFlow::Continue(()) => ControlFlow::Continue(()),
                    ControlFlow::Break(value) => {
                        broke = Some(value);
                        ControlFlow::Break(())
                    }
                });
                Outcome { broke, stats }
            }
        }
    }

    /// The same for what is rare, compiled once.
    fn visit_any(&self, f: &mut dyn FnMut(&[DeviceId]) -> ControlFlow<()>) -> SearchStats {
        let outcome = match (self.goes_by_pairs(), self.graph.len()) {
            (true, _) => self.show::<16, ()>(&mut Cursor::new(self.program(), self), f),
            (false, 0..=64) => self.show::<1, ()>(&mut Careful::new(self), f),
            (false, 65..=128) => self.show::<2, ()>(&mut Careful::new(self), f),
            (false, 129..=256) => self.show::<4, ()>(&mut Careful::new(self), f),
            (false, _) => self.show::<16, ()>(&mut Careful::new(self), f),
        };
        outcome.stats
    }

    fn show<const W: usize, B>(
        &self,
        walk: &mut impl Walk<W>,
        mut f: impl FnMut(&[DeviceId]) -> ControlFlow<B>,
    ) -> Outcome<B> {
        let mut meter = self.meter();
        let flow = show(walk, &mut meter, &mut f);
        outcome(flow, &meter)
    }

    /// Shows the matches to `f` in groups that differ only in the device of one rank. A group that would pass a limit is
    /// not shown, so that limits are kept, if not always reached: a low limit may show none.
    pub fn visit_leaves<B>(&self, mut f: impl FnMut(Leaf<'_>) -> ControlFlow<B>) -> Outcome<B> {
        match (self.goes_by_pairs(), self.graph.len()) {
            (true, 0..=64) => self.show_leaves::<1, B>(&mut Cursor::new(self.program(), self), &mut f),
            (true, 65..=128) => self.show_leaves::<2, B>(&mut Cursor::new(self.program(), self), &mut f),
            (true, 129..=256) => self.show_leaves::<4, B>(&mut Cursor::new(self.program(), self), &mut f),
            (true, _) => self.show_leaves::<16, B>(&mut Cursor::new(self.program(), self), &mut f),
            (false, 0..=64) => self.show_leaves::<1, B>(&mut Careful::new(self), &mut f),
            (false, 65..=128) => self.show_leaves::<2, B>(&mut Careful::new(self), &mut f),
            (false, 129..=256) => self.show_leaves::<4, B>(&mut Careful::new(self), &mut f),
            (false, _) => self.show_leaves::<16, B>(&mut Careful::new(self), &mut f),
        }
    }

    fn show_leaves<const W: usize, B>(
        &self,
        walk: &mut impl Walk<W>,
        f: &mut impl FnMut(Leaf<'_>) -> ControlFlow<B>,
    ) -> Outcome<B> {
        let mut meter = self.meter();
        let rank = walk.leaf_rank();
        let flow = walk.each_leaf(&mut meter, |placement, leaf, meter| {
            let len = size(&leaf);
            if !meter.group(len) {
                return ControlFlow::Break(None);
            }
            f(Leaf { placement, rank, words: &leaf, len }).map_break(Some)
        });
        outcome(flow, &meter)
    }

    /// How many matches there are, up to the limits. Raw ones of a pattern with symmetries are counted as the distinct ones,
    /// each as often as the pattern has symmetries, where that is the same number; nodes are those of the search that was
    /// done, so a limit on nodes that stops [`Search::visit`] may not stop this. Stays at [`u64::MAX`] should there be more.
    #[must_use]
    pub fn count(&self) -> SearchStats {
        if let Some(program) = self.counts_by_class() {
            let stats = self.count_with(program);
            // Where a limit came first, as many matches as it leaves are counted one by one, as they are visited.
            if stats.complete() || stats.stopped == StopReason::Caller {
                let order = u64::try_from(self.matcher.symmetries()).unwrap_or(u64::MAX);
                return SearchStats { matches: stats.matches.saturating_mul(order), ..stats };
            }
        }
        self.count_with(self.program())
    }

    /// The program by which distinct matches are counted instead of raw ones.
    ///
    /// An automorphism g of the pattern turns a raw match f into the raw match f after g, and since f is injective, into
    /// another one unless g moves nothing. So if raw matches are closed under all g, they fall into classes of as many as
    /// there are automorphisms, of each of which the conditions keep one. They are closed where edges are all that counts, and
    /// demands, which automorphisms keep; and where ranks of one orbit have equal domains. A link predicate may tell
    /// edges apart, and a limit on matches may stop in the midst of a class: then every match is counted.
    fn counts_by_class(&self) -> Option<&'a Program> {
        let program = self.matcher.of_each_class.as_ref()?;
        let equal_domains = self.domains.is_none_or(|domains| {
            let of = |rank: usize| domains.get(rank);
            self.matcher.orbits.iter().enumerate().all(|(rank, &first)| of(rank) == of(first))
        });
        let closed = self.goes_by_pairs() && self.links.is_none() && equal_domains;
        (closed && self.limits.matches == Limits::NONE.matches).then_some(program)
    }

    fn count_with(&self, program: &'a Program) -> SearchStats {
        match self.graph.len() {
            0..=64 => self.run_count::<1>(program),
            65..=128 => self.run_count::<2>(program),
            129..=256 => self.run_count::<4>(program),
            _ => self.run_count::<16>(program),
        }
    }

    fn run_count<const W: usize>(&self, program: &'a Program) -> SearchStats {
        let mut meter = self.meter();
        if !self.goes_by_pairs() {
            Careful::<W>::new(self).count(&mut meter);
            return meter.stats();
        }
        let mut cursor = Cursor::<W>::new(program, self);
        if let Some(parts) = Parts::new(self, &cursor) {
            return parts.run(&cursor, || (), |(), cursor, meter| cursor.count(meter), |(), ()| ()).1;
        }
        cursor.count(&mut meter);
        meter.stats()
    }

    /// Folds all matches, in the order of [`Search::visit`] as one thread finds them, on
    /// as many as [`Search::threads`] says.
    ///
    /// The search is cut into parts, one after another in that order. Each part begins with an `init()` and has its matches
    /// folded in by `f`; `merge` joins what two neighbouring parts came to. So the result is that of one thread for every
    /// `merge` that makes no difference between the fold of two parts joined and the fold of both in one, with `init()`
    /// being neutral: sums, extrema, lists.
    ///
    /// ```
    /// use mapa_core::{Fabric, LinkClass, Pattern, Placement};
    ///
    /// let mut fabric = Fabric::new();
    /// let nodes: Vec<_> = (0..6).map(|i| fabric.add_device(format!("GPU{i}"))).collect::<Result<_, _>>()?;
    /// for (i, &a) in nodes.iter().enumerate() {
    ///     for &b in &nodes[..i] {
    ///         fabric.link(a, b, LinkClass::Sys, 12.0)?;
    ///     }
    /// }
    /// let graph = fabric.lower()?;
    /// let ring = Pattern::ring(4);
    /// let search = ring.matcher().on(&graph);
    /// let (all, stats) = search.threads(4).fold(
    ///     Vec::new,
    ///     |all, placement| all.push(Placement::from(placement)),
    ///     |mut all, more| {
    ///         all.extend(more);
    ///         all
    ///     },
    /// );
    /// assert_eq!(all, search.iter().collect::<Vec<_>>());
    /// assert_eq!(stats.matches, 45); // C(6,4) 3! / 2
    /// # Ok::<(), mapa_core::Error>(())
    /// ```
    pub fn fold<T: Send>(
        &self,
        init: impl Fn() -> T + Sync,
        f: impl Fn(&mut T, &[DeviceId]) + Sync,
        merge: impl Fn(T, T) -> T + Sync,
    ) -> (T, SearchStats) {
        if self.threads > 1 && self.goes_by_pairs() {
            let folded = match self.graph.len() {
                0..=64 => self.run_fold::<1, T>(&init, &f, &merge),
                65..=128 => self.run_fold::<2, T>(&init, &f, &merge),
                129..=256 => self.run_fold::<4, T>(&init, &f, &merge),
                _ => self.run_fold::<16, T>(&init, &f, &merge),
            };
            if let Some(folded) = folded {
                return folded;
            }
        }
        let mut all = init();
        let outcome = self.visit(|placement| {
            f(&mut all, placement);
            ControlFlow::<()>::Continue(())
        });
        (all, outcome.stats)
    }

    fn run_fold<const W: usize, T: Send>(
        &self,
        init: &(impl Fn() -> T + Sync),
        f: &(impl Fn(&mut T, &[DeviceId]) + Sync),
        merge: &(impl Fn(T, T) -> T + Sync),
    ) -> Option<(T, SearchStats)> {
        let cursor = Cursor::<W>::new(self.program(), self);
        let parts = Parts::new(self, &cursor)?;
        let each = |all: &mut T, cursor: &mut Cursor<'_, W>, meter: &mut Meter<'_>| {
            let _: ControlFlow<Option<()>> = show(cursor, meter, &mut |placement: &[DeviceId]| {
                f(all, placement);
                ControlFlow::Continue(())
            });
        };
        Some(parts.run(&cursor, init, each, merge))
    }

    /// The first match; none, too, if a limit came first.
    #[must_use]
    pub fn first(&self) -> Option<Placement> {
        self.visit(|placement| ControlFlow::Break(Placement::from(placement))).broke
    }

    /// Whether there is a match, found within the limits.
    #[must_use]
    pub fn is_match(&self) -> bool {
        self.visit(|_| ControlFlow::Break(())).broke.is_some()
    }

    /// The matches one after another, as [`Search::visit`] shows them.
    #[must_use]
    pub fn iter(&self) -> Matches<'a> {
        let source: Box<dyn Source + 'a> = match (self.goes_by_pairs(), self.graph.len()) {
            (true, 0..=64) => self.stream::<1>(Cursor::new(self.program(), self)),
            (true, 65..=128) => self.stream::<2>(Cursor::new(self.program(), self)),
            (true, 129..=256) => self.stream::<4>(Cursor::new(self.program(), self)),
            (true, _) => self.stream::<16>(Cursor::new(self.program(), self)),
            (false, 0..=64) => self.stream::<1>(Careful::new(self)),
            (false, 65..=128) => self.stream::<2>(Careful::new(self)),
            (false, 129..=256) => self.stream::<4>(Careful::new(self)),
            (false, _) => self.stream::<16>(Careful::new(self)),
        };
        Matches { source }
    }

    fn stream<const W: usize>(&self, walk: impl Walk<W> + 'a) -> Box<dyn Source + 'a> {
        Box::new(Streamed { walk, meter: self.meter(), leaf: [0; W], over: false })
    }

    fn program(&self) -> &'a Program {
        &self.matcher.program
    }
}

/// Shows every match of a walk.
fn show<const W: usize, B>(
    walk: &mut impl Walk<W>,
    meter: &mut Meter<'_>,
    f: &mut impl FnMut(&[DeviceId]) -> ControlFlow<B>,
) -> ControlFlow<Option<B>> {
    let rank = walk.leaf_rank();
    walk.each_leaf(meter, |placement, leaf, meter| {
        if !meter.is_quiet(64 * W as u64) {
            return each(&leaf, |device| {
                if !meter.found() {
                    return ControlFlow::Break(None);
                }
                placement[rank] = DeviceId(device);
                f(placement).map_break(Some)
            });
        }
        let mut shown = 0;
        let flow = each(&leaf, |device| {
            shown += 1;
            placement[rank] = DeviceId(device);
            f(placement)
        });
        meter.add(shown, shown);
        flow.map_break(Some)
    })
}

fn outcome<B>(flow: ControlFlow<Option<B>>, meter: &Meter<'_>) -> Outcome<B> {
    match flow {
        ControlFlow::Break(Some(value)) => Outcome { broke: Some(value), stats: meter.broken_off() },
        _ => Outcome { broke: None, stats: meter.stats() },
    }
}

impl<const W: usize> Ground<W> for Search<'_> {
    fn len(&self) -> usize {
        self.graph.len()
    }

    fn domains(&self) -> Domains<W> {
        let all: Bits<W> = bits(self.graph.everything().words());
        let within = self.within.map_or(all, |set| and(&all, &bits(set.words())));
        let only_wholes = self.graph.has_only_wholes();
        let mut known: Option<(Demand, Bits<W>)> = None;
        let mut wanted = |demand: Demand| {
            if only_wholes && demand == Demand::whole() {
                return all;
            }
            let fresh = || (demand, bits(self.graph.candidates(&demand).words()));
            let (_, set) = *known.insert(known.filter(|(other, _)| *other == demand).unwrap_or_else(fresh));
            set
        };
        let domain = |(rank, demand): (usize, &Demand)| {
            let own = self.domains.and_then(|domains| domains.get(rank));
            and(&within, &own.map_or_else(|| wanted(*demand), |set| bits(set.words())))
        };
        self.matcher.demands.iter().enumerate().map(domain).collect()
    }

    fn joined(&self, vertex: u32) -> Bits<W> {
        bits(self.graph.neighbours(DeviceId(vertex)).words())
    }

    fn excluded(&self, vertex: u32) -> Bits<W> {
        let own = only(vertex);
        if self.graph.can_be_cut() { or(&own, &bits(self.graph.overlap(DeviceId(vertex)).words())) } else { own }
    }

    fn excludes_only_itself(&self) -> bool {
        !self.graph.can_be_cut()
    }

    fn edges(&self, among: &Bits<W>) -> Option<impl Fn(usize, usize) -> Vec<Bits<W>>> {
        let ok = self.links?;
        let among = *among;
        Some(move |a: usize, b: usize| {
            let ends = (a.min(b), a.max(b));
            let is_between = |edge: &&Edge| (usize::from(edge.a), usize::from(edge.b)) == ends;
            let edges: Vec<&Edge> = self.matcher.pattern_edges.iter().filter(is_between).collect();
            let mut rows = vec![[0; W]; self.graph.len()];
            let _ = each(&among, |from| {
                let _ = each(&among, |to| {
                    let link = self.graph.link_of_ranks(DeviceId(from), DeviceId(to));
                    if to <= from && link.class != LinkClass::None && edges.iter().all(|edge| ok(edge, link)) {
                        put(&mut rows[from as usize], to);
                        put(&mut rows[to as usize], from);
                    }
                    ControlFlow::<()>::Continue(())
                });
                ControlFlow::<()>::Continue(())
            });
            rows
        })
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

struct Streamed<'a, const W: usize, T> {
    walk: T,
    meter: Meter<'a>,
    leaf: Bits<W>,
    over: bool,
}

impl<const W: usize, T: Walk<W>> Source for Streamed<'_, W, T> {
    fn next(&mut self) -> Option<Placement> {
        while !self.over {
            let Some(device) = pop_lowest(&mut self.leaf) else {
                match self.walk.next_leaf(&mut self.meter) {
                    Some(leaf) => self.leaf = leaf,
                    None => self.over = true,
                }
                continue;
            };
            if !self.meter.found() {
                self.over = true;
                break;
            }
            let rank = self.walk.leaf_rank();
            self.walk.placement()[rank] = DeviceId(device);
            return Some(Placement::from(&*self.walk.placement()));
        }
        None
    }

    fn stats(&self) -> SearchStats {
        self.meter.stats()
    }
}
