//! One search on several threads, with the answer of one.
//!
//! A search is divided into parts by the device of the first rank placed. If that gives too few
//! parts for the threads, parts are divided further by the device of the second rank. The reason is
//! that symmetry conditions leave most of the work to the part of the lowest device. Threads take
//! parts from the front, and results are merged in the order of the parts.
//!
//! Each part runs with the limits of the whole search. The first part that exceeds what earlier
//! parts have left of the limits is run again with exactly that remainder. So the search ends where
//! one thread would have ended it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use super::bits::{Bits, each, only, size};
use super::engine::Cursor;
use super::limits::{Limits, SearchStats, StopReason};
use super::meter::Meter;
use super::search::Search;
use crate::stop_flag::StopFlag;

/// With at least this many parts per thread, division by the first rank alone is enough.
const PARTS_A_THREAD: u64 = 16;

/// The parts of a search.
pub(super) struct SearchParts<'s, 'a, const W: usize> {
    search: &'s Search<'a>,
    /// In the order in which one thread would take them.
    parts: Vec<SearchPart<W>>,
}

/// The matches that begin with these devices.
struct SearchPart<const W: usize> {
    first: u32,
    second: Bits<W>,
    /// Whether the part before begins with the same device, and has counted its node.
    goes_on: bool,
}

impl<'s, 'a, const W: usize> SearchParts<'s, 'a, W> {
    /// The parts of a search; none if one thread is enough.
    pub(super) fn new(search: &'s Search<'a>, cursor: &Cursor<'_, W>) -> Option<Self> {
        if search.threads < 2 || cursor.len() < 2 {
            return None;
        }
        let roots = cursor.domain(0);
        let by_first = size(&roots) >= PARTS_A_THREAD.saturating_mul(search.threads as u64);
        let mut parts = Vec::new();
        let _ = each(&roots, |first| {
            let seconds = cursor.seconds(first);
            if by_first || cursor.len() == 2 || seconds == [0; W] {
                parts.push(SearchPart {
                    first,
                    second: cursor.domain(1),
                    goes_on: false,
                });
                return ControlFlow::<()>::Continue(());
            }
            let mut goes_on = false;
            each(&seconds, |second| {
                parts.push(SearchPart {
                    first,
                    second: only(second),
                    goes_on,
                });
                goes_on = true;
                ControlFlow::Continue(())
            })
        });
        Some(Self { search, parts })
    }

    /// Folds every part by `fold`, starting from `init()`, and merges the results.
    pub(super) fn run<T: Send>(
        &self,
        cursor: &Cursor<'a, W>,
        init: impl Fn() -> T + Sync,
        fold: impl Fn(&mut T, &mut Cursor<'a, W>, &mut Meter<'_>) + Sync,
        merge: impl Fn(T, T) -> T + Sync,
    ) -> (T, SearchStats) {
        let one = |cursor: &mut Cursor<'a, W>, part: &SearchPart<W>, limits: Limits| {
            let mut all = init();
            let stats = self.one(cursor, part, limits, |cursor, meter| {
                fold(&mut all, cursor, meter)
            });
            (all, stats)
        };
        let merged = MergedParts {
            next: 0,
            waiting: BTreeMap::new(),
            all: None,
            stats: SearchStats::default(),
            cut: false,
        };
        let queue = Mutex::new((0, merged));
        let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || {
            let mut cursor = cursor.clone();
            loop {
                let at = {
                    let mut queue = lock();
                    if queue.1.cut || queue.0 == self.parts.len() {
                        return;
                    }
                    queue.0 += 1;
                    queue.0 - 1
                };
                // The lock is not held while a part runs.
                let done = one(&mut cursor, &self.parts[at], self.search.limits);
                lock().1.take(at, done, self.search.limits, &merge);
            }
        };
        let threads = self.search.threads.min(self.parts.len());
        let flag = StopFlag::current();
        // The scope itself may run on a thread of the pool.
        let work = || StopFlag::pass_on(flag.as_ref(), work);
        rayon::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|_| work());
            }
            work();
        });
        // Parts remain if one of them exceeded what was left of the limits: it is run again with
        // exactly that, which ends the search where one thread would have ended it.
        let (_, mut merged) = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut cursor = cursor.clone();
        while merged.stats.complete() && merged.next < self.parts.len() {
            let limits = left(self.search.limits, &merged.stats);
            let (all, stats) = one(&mut cursor, &self.parts[merged.next], limits);
            merged.add(all, &stats, &merge);
        }
        (merged.all.unwrap_or_else(init), merged.stats)
    }

    /// Runs one part within limits.
    fn one(
        &self,
        cursor: &mut Cursor<'a, W>,
        part: &SearchPart<W>,
        limits: Limits,
        f: impl FnOnce(&mut Cursor<'a, W>, &mut Meter<'_>),
    ) -> SearchStats {
        // A small part ends before its meter would look at the time, so this is done here.
        if self.search.until.is_some_and(|stop| stop()) || StopFlag::is_current_set() {
            return SearchStats {
                stopped: StopReason::of_time(),
                ..SearchStats::default()
            };
        }
        // Of the parts that begin with one device, only the first counts the node of that device.
        let counted = u64::from(part.goes_on);
        let mut meter = Meter::new(
            limits.nodes(limits.nodes.saturating_add(counted)),
            self.search.until,
        );
        cursor.restart(part.first, &part.second);
        f(cursor, &mut meter);
        let stats = meter.stats();
        SearchStats {
            nodes: stats.nodes.saturating_sub(counted),
            ..stats
        }
    }
}

/// The merged result of the parts before `next`.
struct MergedParts<T> {
    next: usize,
    /// Results of parts that ended before a part in front of them.
    waiting: BTreeMap<usize, (T, SearchStats)>,
    all: Option<T>,
    stats: SearchStats,
    /// Whether part `next` exceeds a limit, or was stopped.
    cut: bool,
}

impl<T> MergedParts<T> {
    /// Keeps the result of a part, and merges all results whose turn has come.
    fn take(
        &mut self,
        at: usize,
        done: (T, SearchStats),
        limits: Limits,
        merge: impl Fn(T, T) -> T,
    ) {
        self.waiting.insert(at, done);
        while !self.cut
            && let Some((all, stats)) = self.waiting.remove(&self.next)
        {
            let left = left(limits, &self.stats);
            self.cut =
                !stats.complete() || stats.nodes > left.nodes || stats.matches > left.matches;
            if !self.cut {
                self.add(all, &stats, &merge);
            }
        }
    }

    fn add(&mut self, more: T, stats: &SearchStats, merge: impl Fn(T, T) -> T) {
        self.all = Some(match self.all.take() {
            Some(all) => merge(all, more),
            None => more,
        });
        self.stats.nodes += stats.nodes;
        self.stats.matches += stats.matches;
        self.stats.stopped = stats.stopped;
        self.next += 1;
    }
}

/// What is left of the limits.
fn left(limits: Limits, stats: &SearchStats) -> Limits {
    Limits {
        matches: limits.matches - stats.matches,
        nodes: limits.nodes - stats.nodes,
    }
}
