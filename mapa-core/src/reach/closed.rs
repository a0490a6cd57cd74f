//! Shapes whose counts on a set need no table: a formula gives them.

use super::counts::KindCounts;
use super::family::Family;
use super::kinds::PairKinds;
use super::subsets::{Mask, members};
use crate::pattern::Pattern;

/// The counts of a star with this root, if the root is joined to every other device of the set.
fn star(kinds: &PairKinds, set: Mask, root: usize) -> Option<KindCounts> {
    let others = set & !(1 << root);
    let [first, second, third] = kinds
        .around(root)
        .map(|around| (around & others).count_ones());
    (first + second + third == others.count_ones()).then_some(KindCounts {
        x: first,
        y: second,
    })
}

/// The counts of all pairs of the set, if every two are joined.
fn all_to_all(kinds: &PairKinds, set: Mask) -> Option<KindCounts> {
    // Every pair is an edge of two stars.
    let twice = members(set).try_fold(KindCounts::default(), |sum, root| {
        let counts = star(kinds, set, root)?;
        Some(KindCounts {
            x: sum.x + counts.x,
            y: sum.y + counts.y,
        })
    })?;
    Some(KindCounts {
        x: twice.x / 2,
        y: twice.y / 2,
    })
}

/// Calls `f` with every count that the pattern can have on the set.
pub(super) fn counts(
    family: Family,
    pattern: &Pattern,
    kinds: &PairKinds,
    set: Mask,
    f: &mut impl FnMut(KindCounts),
) {
    match family {
        Family::Star => members(set)
            .filter_map(|root| star(kinds, set, root))
            .for_each(f),
        Family::AllToAll => all_to_all(kinds, set).into_iter().for_each(f),
        Family::Pair => {
            let mut ends = members(set);
            if let (Some(a), Some(b)) = (ends.next(), ends.next()) {
                let kind = kinds.between(a, b);
                kind.map(|kind| {
                    KindCounts::default().with_many(kind, pattern.edges().len() as u32)
                })
                .into_iter()
                .for_each(f);
            }
        }
        _ => f(KindCounts::default()),
    }
}

/// The smallest rank order with one of these counts. In all these shapes, ranks are interchangeable
/// except for the root of a star. So only the root is chosen; the other devices follow in ascending
/// order.
pub(super) fn smallest(
    family: Family,
    kinds: &PairKinds,
    set: Mask,
    wanted: &[KindCounts],
) -> Option<Vec<usize>> {
    if family != Family::Star {
        return Some(members(set).collect());
    }
    let is_wanted =
        |&root: &usize| star(kinds, set, root).is_some_and(|counts| wanted.contains(&counts));
    let root = members(set).find(is_wanted)?;
    Some(
        std::iter::once(root)
            .chain(members(set & !(1 << root)))
            .collect(),
    )
}
