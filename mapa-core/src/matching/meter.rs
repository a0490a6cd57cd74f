//! The meter of a search: what was done so far, and whether a limit is reached.

use super::limits::{Limits, SearchStats, StopReason};
use crate::stop_flag::StopFlag;
use crate::view::Stop;

/// How many nodes pass between two calls of [`Search::until`](super::Search::until), or two looks at the flag.
const ASKED_EVERY: u64 = 4096;

/// Counts nodes and matches against the limits. A match is a node too, so a limit on nodes bounds
/// the matches.
///
/// The three limits (nodes, matches, the caller's time) fold into one number of nodes, `quiet`,
/// below which no limit can be reached. So a node costs one comparison and one addition.
pub(super) struct Meter<'a> {
    limits: Limits,
    until: Option<Stop<'a>>,
    nodes: u64,
    matches: u64,
    stopped: StopReason,
    /// Up to this many nodes nothing needs to be checked.
    quiet: u64,
    /// Up to this many nodes no limit can be exceeded, even if all of them are matches.
    hard: u64,
    /// At this many nodes `until` is called again.
    ask: u64,
}

impl<'a> Meter<'a> {
    pub(super) fn new(limits: Limits, until: Option<Stop<'a>>) -> Self {
        let ask = if until.is_some() || StopFlag::is_watched() {
            ASKED_EVERY
        } else {
            u64::MAX
        };
        let hard = limits.nodes.min(limits.matches);
        let stopped = StopReason::default();
        Self {
            limits,
            until,
            nodes: 0,
            matches: 0,
            stopped,
            quiet: hard.min(ask),
            hard,
            ask,
        }
    }

    /// This meter for a search with a matcher that was compiled to its end, or was not. The latter must end at its first
    /// node: it would show matches several times.
    pub(super) fn of_matcher(mut self, is_whole: bool) -> Self {
        if !is_whole {
            (self.ask, self.quiet, self.hard) = (0, 0, 0);
        }
        self
    }

    /// What was done so far.
    pub(super) fn stats(&self) -> SearchStats {
        SearchStats {
            nodes: self.nodes,
            matches: self.matches,
            stopped: self.stopped,
        }
    }

    /// What was done until the visitor broke off.
    pub(super) fn broken_off(&self) -> SearchStats {
        SearchStats {
            stopped: StopReason::Visitor,
            ..self.stats()
        }
    }

    /// Counts one node. Returns false, and notes the reason, if the search must stop.
    #[inline]
    pub(super) fn node(&mut self) -> bool {
        if self.nodes >= self.quiet && !self.look() {
            return false;
        }
        self.nodes += 1;
        true
    }

    /// Counts a node that is a match. Returns false, and notes the reason, if the search must stop.
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

    /// Counts a match whose nodes are counted already. Returns false, and notes the reason, if the
    /// search must stop.
    pub(super) fn matched(&mut self) -> bool {
        self.matched_up_to(1)
    }

    /// Counts up to `n` matches whose nodes are counted already, as many as the limit allows.
    /// Returns false, and notes the reason, if these are fewer than `n`.
    pub(super) fn matched_up_to(&mut self, n: u128) -> bool {
        let left = self.limits.matches - self.matches;
        let taken = u64::try_from(n).map_or(left, |n| n.min(left));
        self.matches += taken;
        if u128::from(taken) < n {
            self.stopped = StopReason::MatchLimit;
        }
        u128::from(taken) == n
    }

    /// Counts a group of matches. Returns false, notes the reason and counts nothing, if the group
    /// would exceed a limit.
    #[inline]
    pub(super) fn group(&mut self, matches: u64) -> bool {
        let keeps = self.is_quiet(matches) || self.look() && self.keeps(matches);
        if keeps {
            self.add(matches, matches);
        }
        keeps
    }

    /// Whether so many matches keep the limits; if not, the reason is noted.
    fn keeps(&mut self, matches: u64) -> bool {
        if matches > self.limits.nodes - self.nodes {
            self.stopped = StopReason::NodeLimit;
        } else if matches > self.limits.matches - self.matches {
            self.stopped = StopReason::MatchLimit;
        }
        self.stopped == StopReason::Exhausted
    }

    /// Whether so many nodes can be counted without a check.
    #[inline]
    pub(super) fn is_quiet(&self, nodes: u64) -> bool {
        self.nodes.saturating_add(nodes) <= self.quiet
    }

    /// Whether so many nodes can be counted without a check, after a look at the time if that is all that is due.
    /// Without this, the matches just before each look would be counted one by one.
    #[inline]
    pub(super) fn is_quiet_for(&mut self, nodes: u64) -> bool {
        self.is_quiet(nodes) || self.has_room(nodes) && self.look_early() && self.is_quiet(nodes)
    }

    /// Looks at the time before it is due. Returns false if it is over; the next node then ends the search.
    #[cold]
    fn look_early(&mut self) -> bool {
        let goes_on = !self.is_out_of_time();
        self.ask = if goes_on {
            self.nodes.saturating_add(ASKED_EVERY)
        } else {
            0
        };
        self.quiet = self.hard.min(self.ask);
        goes_on
    }

    /// Whether the flag is set; the reason is noted then.
    pub(super) fn is_over_time(&mut self) -> bool {
        let is_over = StopFlag::is_current_set();
        if is_over {
            self.stopped = StopReason::TimeLimit;
        }
        is_over
    }

    fn is_out_of_time(&self) -> bool {
        self.until.is_some_and(|stop| stop()) || StopFlag::is_current_set()
    }

    /// Whether so many nodes keep the limits, even if all of them are matches. The next call of
    /// `until` may come late by as many nodes.
    #[inline]
    pub(super) fn has_room(&self, nodes: u64) -> bool {
        self.nodes.saturating_add(nodes) <= self.hard
    }

    /// Counts nodes and matches that are known to keep the limits.
    #[inline]
    pub(super) fn add(&mut self, nodes: u64, matches: u64) {
        self.nodes += nodes;
        self.matches += matches;
    }

    /// Checks all limits and finds the next number of nodes at which to check. Returns false, and
    /// notes the reason, if the search must stop.
    #[cold]
    fn look(&mut self) -> bool {
        if self.nodes >= self.limits.nodes {
            self.stopped = StopReason::NodeLimit;
            return false;
        }
        if self.nodes >= self.ask {
            if self.is_out_of_time() {
                self.stopped = StopReason::of_time();
                return false;
            }
            self.ask = self.nodes.saturating_add(ASKED_EVERY);
        }
        // A match is a node too. So within as many nodes as matches are left, no limit on matches
        // can be exceeded.
        let matches = self.limits.matches - self.matches;
        self.hard = self.nodes.saturating_add(matches).min(self.limits.nodes);
        self.quiet = self.hard.min(self.ask);
        true
    }
}
