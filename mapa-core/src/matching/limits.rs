//! How far a search may go, why it ended, and what it did.

use crate::stop_flag::StopFlag;

/// How far a search may go. To limit time, use [`Search::until`](super::Search::until), or a [`StopFlag`] for all that a
/// thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// The most matches to deliver. Default: no limit.
    pub matches: u64,
    /// The most nodes (ranks placed) to visit. Default: no limit.
    pub nodes: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        matches: u64::MAX,
        nodes: u64::MAX,
    };

    /// These limits with at most `nodes` nodes.
    #[must_use]
    pub fn nodes(self, nodes: u64) -> Self {
        Self { nodes, ..self }
    }

    /// These limits with at most `matches` matches.
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
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum StopReason {
    /// Everything was searched: the answer is complete.
    #[default]
    Exhausted,
    /// There is at least one match more than [`Limits::matches`].
    MatchLimit,
    /// [`Limits::nodes`] was reached.
    NodeLimit,
    /// The caller's [`Search::until`](super::Search::until) returned true.
    Caller,
    /// The thread's [`StopFlag`] was set, as at a time limit.
    TimeLimit,
    /// The visitor broke off.
    Visitor,
}

impl StopReason {
    /// The reason as a clause, for messages of the form "because ...".
    #[must_use]
    pub fn because(self) -> &'static str {
        match self {
            Self::Exhausted => "everything was searched",
            Self::MatchLimit => "the limit on matches was reached",
            Self::NodeLimit => "the limit on nodes was reached",
            Self::Caller => "the caller's time was up",
            Self::TimeLimit => "the time limit was reached",
            Self::Visitor => "the visitor broke off",
        }
    }

    /// Whether time ended the search: with more of it, there would have been more of an answer.
    pub(crate) fn is_of_time(self) -> bool {
        matches!(self, Self::Caller | Self::TimeLimit)
    }

    /// The reason of a search that time ended just now.
    pub(crate) fn of_time() -> Self {
        if StopFlag::is_current_set() {
            Self::TimeLimit
        } else {
            Self::Caller
        }
    }
}

/// What a search did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SearchStats {
    /// The number of ranks placed. In a decision, sets of devices that were examined count too (see
    /// [`Request::NODES`](crate::Request::NODES)).
    pub nodes: u64,
    /// The number of matches delivered or counted. In a decision made by tables: the number of
    /// placements that it returns.
    pub matches: u64,
    /// Why the search ended.
    pub stopped: StopReason,
}

impl SearchStats {
    /// Whether everything was searched.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.stopped == StopReason::Exhausted
    }
}
