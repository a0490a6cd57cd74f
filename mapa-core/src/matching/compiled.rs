//! The matchers of a pattern, compiled once and kept with it.

use std::sync::OnceLock;

use super::plan::{MatchConfig, Matcher};
use crate::pattern::Pattern;

/// What [`Pattern::derived`] keeps for matching.
#[derive(Default)]
struct Compiled {
    fastest: OnceLock<Matcher>,
    by_rank: OnceLock<Matcher>,
}

impl Pattern {
    /// The matcher of this pattern, for distinct non-induced matches. It is compiled on first use
    /// and kept.
    #[must_use]
    pub fn matcher(&self) -> &Matcher {
        self.derived::<Compiled>()
            .fastest
            .get_or_init(|| MatchConfig::new().compile(self))
    }

    /// A matcher that places ranks by number, so that a search for the smallest rank order may end
    /// at the first match. Compiled on first use and kept.
    pub(crate) fn rank_matcher(&self) -> &Matcher {
        self.derived::<Compiled>()
            .by_rank
            .get_or_init(|| MatchConfig::new().by_rank(true).compile(self))
    }
}
