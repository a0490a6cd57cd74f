//! A plan on a machine: what is searched, and how far.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::bits::{Bits, and, bits, each, only, or, put};
use super::engine::{Ground, RankDomains};
use super::limits::Limits;
use super::meter::Meter;
use super::plan::{MatchProgram, Matcher};
use crate::pattern::{Demand, Edge};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, Link, LinkClass};
use crate::view::Stop;

/// Whether an edge may lie on a link.
pub type LinkTest<'a> = &'a (dyn Fn(&Edge, Link) -> bool + Sync);

/// Whether these ranks can be on one device together. All of them have demands that allow sharing.
pub type ShareTest<'a> = &'a (dyn Fn(DeviceId, &[usize]) -> bool + Sync);

/// A compiled pattern on a machine. It is cheap to copy; its terminal methods run it.
///
/// Matches come in lexicographic order along the plan's placing order, on every run. The empty
/// pattern has no match. A rank lies only on vertices of the kind that its
/// [`Demand`](crate::Demand) wants, which is whole devices by default. No two ranks lie on devices
/// that cannot exist at once.
///
/// # Examples
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

    /// Restricts the search to devices of this set. Ids that the machine does not have are never
    /// found.
    #[must_use]
    pub fn within(self, devices: &'a DeviceSet) -> Self {
        Self {
            within: Some(devices),
            ..self
        }
    }

    /// Restricts each rank to the devices of its set. Without this call, each rank may have every
    /// device that its [`Demand`](crate::Demand) accepts ([`HardwareGraph::candidates`]).
    ///
    /// For distinct matches, ranks that an automorphism of the pattern swaps must have equal sets;
    /// else matches are lost.
    #[must_use]
    pub fn domains(self, per_rank: &'a [DeviceSet]) -> Self {
        Self {
            domains: Some(per_rank),
            ..self
        }
    }

    /// Restricts each edge to links that `ok` accepts. For distinct matches, `ok` must not tell
    /// edges of equal traffic apart.
    #[must_use]
    pub fn links(self, ok: LinkTest<'a>) -> Self {
        Self {
            links: Some(ok),
            ..self
        }
    }

    /// Lets ranks whose demands are shared be on one device together, if `together` accepts them.
    /// Without this call every rank has a device of its own. `together` is called with all ranks
    /// that would be on the device, and with a larger group only once it has accepted a smaller
    /// one.
    ///
    /// A class of matches that put ranks together may be shown more than once, in several rank
    /// orders; the lexicographically smallest is among them. The reason is that swapping two ranks
    /// of one device changes nothing that the symmetry conditions see.
    #[must_use]
    pub fn sharing(self, together: ShareTest<'a>) -> Self {
        Self {
            sharing: Some(together),
            ..self
        }
    }

    /// Breaks the symmetry of twins: devices that only their ids tell apart. `below` gives the next
    /// lower twin of a device. A rank takes a device only if no lower twin is free. Of the matches
    /// that differ only by swapped twins, the lexicographically smallest is always shown. Only for
    /// matchers [in rank order](Matcher::in_rank_order).
    pub(crate) fn twins(self, below: &'a BTreeMap<DeviceId, DeviceId>) -> Self {
        Self {
            twins: Some(below),
            ..self
        }
    }

    /// Sets how far the search may go.
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

    /// Lets [`Search::count`] and [`Search::fold`] run on up to so many threads of rayon's current
    /// pool. Default: 1, the caller's.
    ///
    /// Answers, statistics and limits are those of one thread, to the last node. Only a search that
    /// [`Search::until`] stops depends on time. Parts of a search do not see each other's matches,
    /// so a search with t threads that ends at a limit may do up to t times the work. Searches for
    /// ranks that [share](Search::sharing) run on one thread.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    pub(super) fn meter(&self) -> Meter<'a> {
        Meter::new(self.limits, self.until).of_matcher(self.matcher.is_whole())
    }

    /// Whether all conditions on a rank's place depend on pairs of ranks alone.
    pub(super) fn goes_by_pairs(&self) -> bool {
        self.sharing.is_none() && self.twins.is_none()
    }

    pub(super) fn program(&self) -> &'a MatchProgram {
        &self.matcher.program
    }
}

impl Matcher {
    /// The search for this pattern on a machine.
    #[must_use]
    pub fn on<'a>(&'a self, graph: &'a HardwareGraph) -> Search<'a> {
        Search::new(self, graph)
    }
}

impl<const W: usize> Ground<W> for Search<'_> {
    fn len(&self) -> usize {
        self.graph.len()
    }

    fn domains(&self) -> RankDomains<W> {
        let all: Bits<W> = bits(self.graph.everything());
        let within = self.within.map_or(all, |set| and(&all, &bits(set)));
        let only_wholes = self.graph.has_only_wholes();
        // Mostly all ranks have the same demand: the last answer is kept.
        let mut known: Option<(Demand, Bits<W>)> = None;
        let mut all_domains = RankDomains::new();
        for (rank, &demand) in self.matcher.demands.iter().enumerate() {
            let own = if let Some(set) = self.domains.and_then(|domains| domains.get(rank)) {
                bits(set)
            } else if only_wholes && demand == Demand::whole() {
                all
            } else if let Some((_, set)) = known.filter(|(other, _)| *other == demand) {
                set
            } else {
                let set = bits(&self.graph.candidates(&demand));
                known = Some((demand, set));
                set
            };
            all_domains.push(and(&within, &own));
        }
        all_domains
    }

    fn joined(&self, vertex: u32) -> Bits<W> {
        bits(self.graph.neighbours(DeviceId(vertex)))
    }

    fn excluded(&self, vertex: u32) -> Bits<W> {
        let own = only(vertex);
        if self.graph.can_be_cut() {
            or(&own, &bits(self.graph.overlap(DeviceId(vertex))))
        } else {
            own
        }
    }

    fn excludes_only_itself(&self) -> bool {
        !self.graph.can_be_cut()
    }

    fn edges(&self, among: &Bits<W>) -> Option<impl Fn(usize, usize) -> Vec<Bits<W>>> {
        let ok = self.links?;
        let among = *among;
        Some(move |a: usize, b: usize| {
            let ends = (a.min(b), a.max(b));
            let edges: Vec<&Edge> = self
                .matcher
                .pattern_edges
                .iter()
                .filter(|edge| (usize::from(edge.a), usize::from(edge.b)) == ends)
                .collect();
            let mut rows = vec![[0; W]; self.graph.len()];
            let _ = each(&among, |from| {
                let _ = each(&among, |to| {
                    let link = self.graph.link_of_ranks(DeviceId(from), DeviceId(to));
                    // Links are symmetric: each pair is tested once, and a vertex with itself for
                    // ranks that share it.
                    if to <= from
                        && link.class != LinkClass::None
                        && edges.iter().all(|edge| ok(edge, link))
                    {
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
