//! Limits, and what was done so far.

use super::search::{Limits, SearchStats, Stop, StopReason};

/// How many nodes pass between two questions to [`Search::until`](super::Search::until).
const ASKED_EVERY: u64 = 4096;

/// Counts nodes and matches against the limits. A match is a node too, so limits on nodes bound matches.
pub(super) struct Meter<'a> {
    limits: Limits,
    until: Option<Stop<'a>>,
    nodes: u64,
    matches: u64,
    stopped: StopReason,
    /// Up to this many nodes nothing needs to be looked at.
    quiet: u64,
    /// Up to this many nodes no limit can be passed.
    hard: u64,
    /// With this many nodes it is time to ask.
    ask: u64,
}

impl<'a> Meter<'a> {
    pub(super) fn new(limits: Limits, until: Option<Stop<'a>>) -> Self {
        let ask = if until.is_some() { ASKED_EVERY } else { u64::MAX };
        let hard = limits.nodes.min(limits.matches);
        let stopped = StopReason::default();
        Self { limits, until, nodes: 0, matches: 0, stopped, quiet: hard.min(ask), hard, ask }
    }

    pub(super) fn stats(&self) -> SearchStats {
        SearchStats { nodes: self.nodes, matches: self.matches, stopped: self.stopped }
    }

    pub(super) fn broken_off(&self) -> SearchStats {
        SearchStats { stopped: StopReason::Visitor, ..self.stats() }
    }

    /// Takes one node; false, and the reason noted, if the search must stop.
    #[inline]
    pub(super) fn node(&mut self) -> bool {
        if self.nodes >= self.quiet && !self.look() {
            return false;
        }
        self.nodes += 1;
        true
    }

    /// Takes a node that is a match; false, and the reason noted, if the search must stop.
    pub(super) fn found(&mut self) -> bool {
        if !self.node() {
            return false;
        }
        if self.matches == self.limits.matches {
            self.stopped = StopReason::MatchLimit;
            return false;
        }
        self.matches += 1;
        true
    }

    /// Takes a match whose nodes have been taken; false, and the reason noted, if the search must stop.
    pub(super) fn matched(&mut self) -> bool {
        self.matched_up_to(1)
    }

    /// Takes as many matches as the limit allows, whose nodes have been taken; false, and the reason noted, if these are
    /// fewer.
    pub(super) fn matched_up_to(&mut self, n: u128) -> bool {
        let left = self.limits.matches - self.matches;
        let taken = u64::try_from(n).map_or(left, |n| n.min(left));
        self.matches += taken;
        if u128::from(taken) < n {
            self.stopped = StopReason::MatchLimit;
        }
        u128::from(taken) == n
    }

    /// Takes a group of matches; false, and the reason noted, if it would pass a limit.
    #[inline]
    pub(super) fn group(&mut self, matches: u64) -> bool {
        let keeps = self.is_quiet(matches) || self.look() && self.keeps(matches);
        if keeps {
            self.add(matches, matches);
        }
        keeps
    }

    fn keeps(&mut self, matches: u64) -> bool {
        if matches > self.limits.nodes - self.nodes {
            self.stopped = StopReason::NodeLimit;
        } else if matches > self.limits.matches - self.matches {
            self.stopped = StopReason::MatchLimit;
        }
        self.stopped == StopReason::Exhausted
    }

    /// Whether so many nodes can pass without a look.
    #[inline]
    pub(super) fn is_quiet(&self, nodes: u64) -> bool {
        self.nodes.saturating_add(nodes) <= self.quiet
    }

    /// Whether so many nodes, all of them matches perhaps, keep the limits. Asking may come later than it should.
    #[inline]
    pub(super) fn has_room(&self, nodes: u64) -> bool {
        self.nodes.saturating_add(nodes) <= self.hard
    }

    /// Takes what there is room for.
    #[inline]
    pub(super) fn add(&mut self, nodes: u64, matches: u64) {
        self.nodes += nodes;
        self.matches += matches;
    }

    #[cold]
    fn look(&mut self) -> bool {
        if self.nodes >= self.limits.nodes {
            self.stopped = StopReason::NodeLimit;
            return false;
        }
        if self.nodes >= self.ask {
            if self.until.is_some_and(|stop| stop()) {
                self.stopped = StopReason::Caller;
                return false;
            }
            self.ask = self.nodes.saturating_add(ASKED_EVERY);
        }
        let matches = self.limits.matches - self.matches;
        self.hard = self.nodes.saturating_add(matches).min(self.limits.nodes);
        self.quiet = self.hard.min(self.ask);
        true
    }
}
