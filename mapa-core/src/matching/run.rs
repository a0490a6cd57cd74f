//! Running a search: visiting, counting, folding and streaming its matches.

use std::ops::ControlFlow;

use super::Placement;
use super::bits::{Bits, each, pop_lowest, size};
use super::careful::Careful;
use super::engine::{Cursor, LeafWalk};
use super::limits::{Limits, SearchStats};
use super::meter::Meter;
use super::parallel::SearchParts;
use super::plan::MatchProgram;
use super::search::Search;
use crate::topology::DeviceId;

/// The result of a visit.
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
    /// The devices of all ranks; the entry of [`Leaf::rank`] is undefined.
    pub placement: &'s [DeviceId],
    /// The rank left open.
    pub rank: usize,
    /// The devices that the open rank may have, at least one: one bit each, 64 per word, the lowest
    /// device first. Trailing words may be zero.
    pub words: &'s [u64],
    len: u64,
}

impl Leaf<'_> {
    /// The number of matches. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Always false: a leaf that is shown has a match.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The devices that the open rank may have, ascending.
    pub fn devices(&self) -> impl Iterator<Item = DeviceId> + '_ {
        (0u32..)
            .step_by(64)
            .zip(self.words)
            .flat_map(|(first, &word)| {
                let mut rest = word;
                std::iter::from_fn(move || {
                    pop_lowest(std::array::from_mut(&mut rest)).map(|bit| DeviceId(first + bit))
                })
            })
    }
}

impl<'a> Search<'a> {
    /// Calls `f` with every match until it breaks off: `placement[rank]` is the rank's device.
    ///
    /// # Complexity
    ///
    /// O(k) memory for k ranks, beyond the machine's tables; time in proportion to the nodes
    /// visited, which can grow exponentially with k.
    pub fn visit<B>(&self, mut f: impl FnMut(&[DeviceId]) -> ControlFlow<B>) -> Outcome<B> {
        // The common cases are compiled for each visitor and each width of sets.
        match self.graph.len() {
            0..=64 if self.goes_by_pairs() => {
                self.show::<1, B>(&mut Cursor::new(self.program(), self), f)
            }
            65..=128 if self.goes_by_pairs() => {
                self.show::<2, B>(&mut Cursor::new(self.program(), self), f)
            }
            129..=256 if self.goes_by_pairs() => {
                self.show::<4, B>(&mut Cursor::new(self.program(), self), f)
            }
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

    /// Visits the matches in the rare cases: ranks that share, twins, more than 256 devices. The
    /// visitor is a trait object, so this code is compiled only once.
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

    /// Visits by a given walk.
    fn show<const W: usize, B>(
        &self,
        walk: &mut impl LeafWalk<W>,
        mut f: impl FnMut(&[DeviceId]) -> ControlFlow<B>,
    ) -> Outcome<B> {
        let mut meter = self.meter();
        let flow = show(walk, &mut meter, &mut f);
        outcome(flow, &meter)
    }

    /// Calls `f` with the matches in groups that differ only in the device of one rank. A group
    /// that would exceed a limit is not shown. So a search may end below its limit, and with a low
    /// limit it may show no group at all.
    ///
    /// # Complexity
    ///
    /// As [`Search::visit`], but `f` is called once for each group.
    pub fn visit_leaves<B>(&self, mut f: impl FnMut(Leaf<'_>) -> ControlFlow<B>) -> Outcome<B> {
        match (self.goes_by_pairs(), self.graph.len()) {
            (true, 0..=64) => {
                self.show_leaves::<1, B>(&mut Cursor::new(self.program(), self), &mut f)
            }
            (true, 65..=128) => {
                self.show_leaves::<2, B>(&mut Cursor::new(self.program(), self), &mut f)
            }
            (true, 129..=256) => {
                self.show_leaves::<4, B>(&mut Cursor::new(self.program(), self), &mut f)
            }
            (true, _) => self.show_leaves::<16, B>(&mut Cursor::new(self.program(), self), &mut f),
            (false, 0..=64) => self.show_leaves::<1, B>(&mut Careful::new(self), &mut f),
            (false, 65..=128) => self.show_leaves::<2, B>(&mut Careful::new(self), &mut f),
            (false, 129..=256) => self.show_leaves::<4, B>(&mut Careful::new(self), &mut f),
            (false, _) => self.show_leaves::<16, B>(&mut Careful::new(self), &mut f),
        }
    }

    fn show_leaves<const W: usize, B>(
        &self,
        walk: &mut impl LeafWalk<W>,
        f: &mut impl FnMut(Leaf<'_>) -> ControlFlow<B>,
    ) -> Outcome<B> {
        let mut meter = self.meter();
        let rank = walk.leaf_rank();
        let flow = walk.each_leaf(&mut meter, |placement, leaf, meter| {
            let len = size(&leaf);
            if !meter.group(len) {
                return ControlFlow::Break(None);
            }
            f(Leaf {
                placement,
                rank,
                words: &leaf,
                len,
            })
            .map_break(Some)
        });
        outcome(flow, &meter)
    }

    /// The number of matches, up to the limits; [`u64::MAX`] if there are more.
    ///
    /// For a pattern with symmetries, raw matches are counted as distinct matches times the number
    /// of symmetries if that gives the same number. The statistics then report the nodes of the
    /// search for distinct matches. So a limit on nodes that stops [`Search::visit`] may not stop
    /// `count`.
    ///
    /// # Complexity
    ///
    /// At most that of [`Search::visit`]; twice that if a limit on nodes stops the count of distinct
    /// matches, since raw ones are then counted instead. Matches that differ only in the devices of the last rank,
    /// or mostly of the last two, are counted together.
    #[must_use]
    pub fn count(&self) -> SearchStats {
        if let Some(program) = self.counts_by_class() {
            let stats = self.count_with(program);
            // Where a limit on nodes came first, raw matches are counted one by one instead, so
            // that the count is that of a visit with this limit.
            if stats.complete() || stats.stopped.is_of_time() {
                let order = u64::try_from(self.matcher.symmetries()).unwrap_or(u64::MAX);
                return SearchStats {
                    matches: stats.matches.saturating_mul(order),
                    ..stats
                };
            }
        }
        self.count_with(self.program())
    }

    /// The program for distinct matches, if it can be used to count raw matches.
    ///
    /// An automorphism g of the pattern turns a raw match f into f after g. That is another raw
    /// match, unless g moves nothing, since f is injective. So if the raw matches are closed under
    /// all g, they fall into classes that have as many members as there are automorphisms, and the
    /// conditions keep one of each class.
    ///
    /// Raw matches are closed if only edges and demands count, which automorphisms keep, and if
    /// ranks of one orbit have equal domains. A link predicate may tell edges apart, and a limit on
    /// matches may stop in the middle of a class. In these cases every raw match is counted.
    fn counts_by_class(&self) -> Option<&'a MatchProgram> {
        let program = self.matcher.of_each_class.as_ref()?;
        let equal_domains = self.domains.is_none_or(|domains| {
            self.matcher
                .orbits
                .iter()
                .enumerate()
                .all(|(rank, &first)| domains.get(rank) == domains.get(first))
        });
        let closed = self.goes_by_pairs() && self.links.is_none() && equal_domains;
        (closed && self.limits.matches == Limits::NONE.matches).then_some(program)
    }

    /// Counts by a program, at the width of sets that the machine needs.
    fn count_with(&self, program: &'a MatchProgram) -> SearchStats {
        match self.graph.len() {
            0..=64 => self.run_count::<1>(program),
            65..=128 => self.run_count::<2>(program),
            129..=256 => self.run_count::<4>(program),
            _ => self.run_count::<16>(program),
        }
    }

    fn run_count<const W: usize>(&self, program: &'a MatchProgram) -> SearchStats {
        let mut meter = self.meter();
        if !self.goes_by_pairs() {
            Careful::<W>::new(self).count(&mut meter);
            return meter.stats();
        }
        // Counting in parts merges nothing but the statistics.
        let mut cursor = Cursor::<W>::new(program, self);
        if let Some(parts) = SearchParts::new(self, &cursor) {
            return parts
                .run(
                    &cursor,
                    || (),
                    |(), cursor, meter| cursor.count(meter),
                    |(), ()| (),
                )
                .1;
        }
        cursor.count(&mut meter);
        meter.stats()
    }

    /// Folds all matches on up to [`Search::threads`] threads, in the order of [`Search::visit`].
    ///
    /// The search is divided into parts that follow each other in that order. The fold of each part
    /// starts from `init()` and takes in its matches by `f`; `merge` joins the results of two
    /// neighbouring parts. The result equals that of one thread if `init()` is neutral and merging
    /// the folds of two parts gives the fold of both in one. Sums, extrema and lists have this
    /// property.
    ///
    /// # Complexity
    ///
    /// As [`Search::visit`], divided among the threads. A search on t threads that ends at a limit
    /// may do up to t times the work.
    ///
    /// # Examples
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
        let parts = SearchParts::new(self, &cursor)?;
        Some(parts.run(
            &cursor,
            init,
            |all, cursor, meter| {
                let _: ControlFlow<Option<()>> =
                    show(cursor, meter, &mut |placement: &[DeviceId]| {
                        f(all, placement);
                        ControlFlow::Continue(())
                    });
            },
            merge,
        ))
    }

    /// The first match; none if there is none, or if a limit came first.
    ///
    /// # Complexity
    ///
    /// As [`Search::visit`] until the first match.
    #[must_use]
    pub fn first(&self) -> Option<Placement> {
        self.visit(|placement| ControlFlow::Break(Placement::from(placement)))
            .broke
    }

    /// Whether a match was found within the limits.
    ///
    /// # Complexity
    ///
    /// As [`Search::visit`] until the first match.
    #[must_use]
    pub fn is_match(&self) -> bool {
        self.visit(|_| ControlFlow::Break(())).broke.is_some()
    }

    /// The matches one after another, as [`Search::visit`] shows them.
    ///
    /// # Complexity
    ///
    /// As [`Search::visit`] for as many matches as are taken.
    #[must_use]
    pub fn iter(&self) -> Matches<'a> {
        let source: Box<dyn MatchSource + 'a> = match (self.goes_by_pairs(), self.graph.len()) {
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

    fn stream<const W: usize>(&self, walk: impl LeafWalk<W> + 'a) -> Box<dyn MatchSource + 'a> {
        Box::new(Streamed {
            walk,
            meter: self.meter(),
            leaf: [0; W],
            over: false,
        })
    }
}

/// Calls `f` with every match of a walk.
fn show<const W: usize, B>(
    walk: &mut impl LeafWalk<W>,
    meter: &mut Meter<'_>,
    f: &mut impl FnMut(&[DeviceId]) -> ControlFlow<B>,
) -> ControlFlow<Option<B>> {
    let rank = walk.leaf_rank();
    walk.each_leaf(meter, |placement, leaf, meter| {
        // Near a limit each match is counted before it is shown. Far from any, the whole level is
        // counted afterwards, which keeps the meter out of the inner loop.
        if !meter.is_quiet_for(64 * W as u64) {
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

/// The outcome of a walk, and what the meter counted.
fn outcome<B>(flow: ControlFlow<Option<B>>, meter: &Meter<'_>) -> Outcome<B> {
    match flow {
        ControlFlow::Break(Some(value)) => Outcome {
            broke: Some(value),
            stats: meter.broken_off(),
        },
        _ => Outcome {
            broke: None,
            stats: meter.stats(),
        },
    }
}

/// The matches of a [`Search`], streamed.
pub struct Matches<'a> {
    source: Box<dyn MatchSource + 'a>,
}

impl Matches<'_> {
    /// What the search did so far. It is complete once the iterator has ended without reaching a
    /// limit.
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

/// A stream of matches, whatever the width of its sets.
trait MatchSource {
    fn next(&mut self) -> Option<Placement>;
    fn stats(&self) -> SearchStats;
}

/// A walk whose present leaf level is given out match by match.
struct Streamed<'a, const W: usize, T> {
    walk: T,
    meter: Meter<'a>,
    leaf: Bits<W>,
    over: bool,
}

impl<const W: usize, T: LeafWalk<W>> MatchSource for Streamed<'_, W, T> {
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
