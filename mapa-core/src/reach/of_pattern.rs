//! The family of a pattern, computed once and kept with it.

use std::sync::OnceLock;

use super::Family;
use crate::pattern::Pattern;

/// What [`Pattern::derived`] keeps for tables.
#[derive(Default)]
struct DerivedFamily(OnceLock<Family>);

impl Pattern {
    /// The family of this pattern, which decides what table of reachable counts it needs.
    pub(crate) fn family(&self) -> Family {
        *self
            .derived::<DerivedFamily>()
            .0
            .get_or_init(|| Family::of(self))
    }
}
