//! Which patterns share a table.

use crate::pattern::Pattern;

/// What kind of table a pattern needs. Patterns of one family and different sizes share a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    /// No edges.
    Independent,
    /// Two ranks.
    Pair,
    Chain,
    Ring,
    /// Rank 0 with every other rank.
    Star,
    AllToAll,
    Other,
}

impl Family {
    /// The family of a pattern; traffic is ignored. Ready-made shapes are recognised by their
    /// edges, in any order. A shape whose ranks are renumbered is `Other`.
    pub(crate) fn of(pattern: &Pattern) -> Self {
        let ends = |pattern: &Pattern| {
            let mut ends: Vec<_> = pattern
                .edges()
                .iter()
                .map(|edge| (edge.a, edge.b))
                .collect();
            ends.sort_unstable();
            ends
        };
        let (k, own) = (pattern.len(), ends(pattern));
        // Comparing lengths first spares the sorting of most shapes.
        let is = |shape: Pattern| shape.edges().len() == own.len() && ends(&shape) == own;
        match k {
            _ if own.is_empty() => Self::Independent,
            2 => Self::Pair,
            _ if is(Pattern::chain(k)) => Self::Chain,
            _ if is(Pattern::ring(k)) && k > 3 => Self::Ring,
            _ if is(Pattern::star(k)) => Self::Star,
            _ if is(Pattern::all_to_all(k)) => Self::AllToAll,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_made_shapes_are_known() {
        for (shape, family) in [
            (Pattern::ring(5), Family::Ring),
            (Pattern::ring(3), Family::AllToAll),
            (Pattern::ring(2), Family::Pair),
            (Pattern::chain(4), Family::Chain),
            (Pattern::star(4), Family::Star),
            (Pattern::all_to_all(6), Family::AllToAll),
            (Pattern::binary_tree(6), Family::Other),
            (Pattern::independent(3), Family::Independent),
        ] {
            assert_eq!(Family::of(&shape), family);
        }
    }
}
