//! The matchers of a pattern, compiled once and kept with it.

use std::sync::OnceLock;

use super::plan::{MatchConfig, Matcher};
use crate::pattern::Pattern;

/// What [`Pattern::derived`] keeps for matching.
#[derive(Default)]
struct Compiled {
    fastest: CompiledMatcher,
    by_rank: CompiledMatcher,
}

/// A matcher that is compiled on first use.
#[derive(Default)]
struct CompiledMatcher {
    whole: OnceLock<Matcher>,
    /// For searches of a thread whose [`StopFlag`](crate::StopFlag) ended the compilation. Others compile again.
    part: OnceLock<Matcher>,
}

impl CompiledMatcher {
    fn get(&self, config: MatchConfig, pattern: &Pattern) -> &Matcher {
        if let Some(matcher) = self.whole.get() {
            return matcher;
        }
        let matcher = config.compile(pattern);
        let place = if matcher.is_whole() {
            &self.whole
        } else {
            &self.part
        };
        place.get_or_init(|| matcher)
    }
}

impl Pattern {
    /// The matcher of this pattern, for distinct non-induced matches. It is compiled on first use
    /// and kept.
    #[must_use]
    pub fn matcher(&self) -> &Matcher {
        let compiled = self.derived::<Compiled>();
        compiled.fastest.get(MatchConfig::new(), self)
    }

    /// A matcher that places ranks by number, so that a search for the smallest rank order may end
    /// at the first match. Compiled on first use and kept.
    pub(crate) fn rank_matcher(&self) -> &Matcher {
        let compiled = self.derived::<Compiled>();
        compiled.by_rank.get(MatchConfig::new().by_rank(true), self)
    }
}
