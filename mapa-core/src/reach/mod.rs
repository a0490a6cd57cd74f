//! Reachable counts: for every set of devices, the numbers of links of each kind on which a pattern
//! can lie.
//!
//! On up to sixteen devices with at most three kinds of link, the answer for *all* sets is a table:
//! one bit for each pair of counts, the edges on links of the first kind and those on links of the
//! second. The other edges lie on the third kind. The exact optimum of an objective on a set is
//! then its best value over the counts of that set, whether the objective is monotone or not. No
//! rank order is enumerated. The table does not depend on which devices are free, so it is made
//! once for a machine and a shape.
//!
//! Three ways lead to the counts. Rings and chains are built by dynamic programming over subsets
//! (`paths`). Stars and all-to-all need no table (`closed`). Every other pattern is placed rank by
//! rank, and a state keeps only the devices of ranks that still have neighbours to be placed
//! (`frontier`). Rings and chains over larger machines that consist of islands have a table of
//! their own (`islands`), and where the devices of each island are alike, no table is needed (`spread`).

mod closed;
mod counts;
mod family;
mod frontier;
mod grid;
mod islands;
mod kinds;
mod of_pattern;
mod paths;
mod ranks_by_island;
mod subsets;

use std::sync::OnceLock;

pub(crate) use counts::{IslandEdges, KindCounts};
pub(crate) use family::Family;
pub(crate) use islands::{Archipelago, Closing, Covers, Island, MOST_RANKS, islands};
pub(crate) use kinds::{KINDS, PairKinds};
pub(crate) use ranks_by_island::RanksByIsland;
pub(crate) use subsets::{MOST, Mask, SubsetMap, choose, earliness, members, of_size, place};

use self::frontier::Frontier;
pub(crate) use self::frontier::{RankPlan, Sums, highest_sums};
use self::paths::Paths;
use crate::pattern::Pattern;

/// The table of a family, or of one other pattern, on some devices.
pub(crate) struct ReachTable {
    kinds: PairKinds,
    form: TableForm,
}

enum TableForm {
    /// A formula gives the counts.
    Closed,
    Small(Paths<1>),
    Large(Paths<4>),
    Frontier(OnceLock<Option<Frontier>>),
}

/// How much work may be spent on a table. Only tables of [`Family::Other`] take noticeable time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Some 20 ms at most: less than the search that the table replaces may take.
    Little,
    /// Up to a second.
    Any,
}

impl Effort {
    /// Whether this effort covers so much work, as [`RankPlan`] counts it.
    pub(crate) fn covers(self, work: u64) -> bool {
        self == Self::Any || work <= 2_500_000
    }
}

/// The result of filling a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FillResult {
    /// The table has what the pattern needs.
    Filled,
    /// There is no plan, or there are too many edges to count.
    TooMuch,
    /// The caller stopped the work first.
    Stopped,
}

impl ReachTable {
    /// An empty table; [`ReachTable::build`] fills it.
    pub(crate) fn new(family: Family, kinds: PairKinds) -> Self {
        let n = kinds.len();
        let form = match family {
            Family::Chain | Family::Ring if n <= 8 => {
                TableForm::Small(Paths::new(family == Family::Ring, n))
            }
            Family::Chain | Family::Ring => TableForm::Large(Paths::new(family == Family::Ring, n)),
            Family::Other => TableForm::Frontier(OnceLock::new()),
            _ => TableForm::Closed,
        };
        Self { kinds, form }
    }

    /// The most memory that a table will take, bytes.
    pub(crate) fn bytes(family: Family, n: usize) -> usize {
        match family {
            Family::Chain | Family::Ring if n <= 8 => Paths::<1>::bytes(n),
            Family::Chain | Family::Ring => Paths::<4>::bytes(n),
            Family::Other => choose(n, n / 2) as usize * size_of::<grid::PairSet<16>>(),
            _ => 0,
        }
    }

    /// Fills the table as far as a pattern of its family needs. A pattern of [`Family::Other`]
    /// needs a plan. `stop` returns true if the work must stop.
    pub(crate) fn build(
        &self,
        pattern: &Pattern,
        plan: Option<&RankPlan>,
        stop: &dyn Fn() -> bool,
    ) -> FillResult {
        let filled = match &self.form {
            TableForm::Closed => true,
            TableForm::Small(paths) => paths.build(&self.kinds, pattern.len(), stop),
            TableForm::Large(paths) => paths.build(&self.kinds, pattern.len(), stop),
            TableForm::Frontier(frontier) => {
                let Some(plan) = plan else {
                    return FillResult::TooMuch;
                };
                if frontier.get().is_none() && stop() {
                    return FillResult::Stopped;
                }
                let table = frontier.get_or_init(|| Frontier::new(pattern, plan, &self.kinds));
                if table.is_none() {
                    return FillResult::TooMuch;
                }
                true
            }
        };
        if filled {
            FillResult::Filled
        } else {
            FillResult::Stopped
        }
    }

    /// Calls `f` with the counts that the pattern can have on exactly this set of devices; counts
    /// may come more than once. [`ReachTable::build`] must have run.
    pub(crate) fn counts(
        &self,
        family: Family,
        pattern: &Pattern,
        set: Mask,
        mut f: impl FnMut(KindCounts),
    ) {
        match &self.form {
            TableForm::Small(paths) => paths.counts(&self.kinds, set, &mut f),
            TableForm::Large(paths) => paths.counts(&self.kinds, set, &mut f),
            TableForm::Closed => closed::counts(family, pattern, &self.kinds, set, &mut f),
            TableForm::Frontier(frontier) => {
                if let Some(Some(frontier)) = frontier.get() {
                    frontier.counts(set, &mut f);
                }
            }
        }
    }

    /// The smallest rank order on exactly this set that has one of these counts, as positions in
    /// the table; none where only a search can find it.
    pub(crate) fn smallest(
        &self,
        family: Family,
        set: Mask,
        wanted: &[KindCounts],
    ) -> Option<Vec<usize>> {
        match &self.form {
            TableForm::Small(paths) => paths.smallest(&self.kinds, set, wanted),
            TableForm::Large(paths) => paths.smallest(&self.kinds, set, wanted),
            TableForm::Closed => closed::smallest(family, &self.kinds, set, wanted),
            TableForm::Frontier(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::oracle::injections;
    use crate::pattern::Edge;
    use crate::testing::patterns;
    use crate::topology::DeviceId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Every injective map, its counts and, by set and counts, the smallest.
    fn by_hand(pattern: &Pattern, kinds: &PairKinds) -> BTreeMap<(Mask, KindCounts), Vec<usize>> {
        let devices: Vec<DeviceId> = (0..kinds.len() as u32).map(DeviceId).collect();
        let mut all = BTreeMap::new();
        for map in injections(pattern.len(), &devices) {
            let kind = |edge: &Edge| {
                kinds.between(
                    map[usize::from(edge.a)].index(),
                    map[usize::from(edge.b)].index(),
                )
            };
            let counts = pattern
                .edges()
                .iter()
                .try_fold(KindCounts::default(), |sum, edge| {
                    Some(sum.with(kind(edge)?))
                });
            let set = map.iter().fold(0, |set, device| set | 1 << device.0);
            if let Some(counts) = counts {
                all.entry((set, counts))
                    .or_insert_with(|| map.iter().map(|device| device.index()).collect());
            }
        }
        all
    }

    fn agrees_with_all_maps(pattern: &Pattern, kinds: &PairKinds) {
        let family = Family::of(pattern);
        let table = ReachTable::new(family, kinds.clone());
        assert_eq!(
            table.build(
                pattern,
                RankPlan::new(pattern, kinds.len()).as_ref(),
                &|| false
            ),
            FillResult::Filled
        );
        let expected = by_hand(pattern, kinds);
        let mut found = std::collections::BTreeSet::new();
        for set in of_size(kinds.len(), pattern.len()) {
            table.counts(family, pattern, set, |counts| {
                found.insert((set, counts));
            });
        }
        assert!(
            found.iter().eq(expected.keys()),
            "{family:?}: {found:?} and {:?}",
            expected.keys()
        );
        for (&(set, counts), order) in &expected {
            if let Some(smallest) = table.smallest(family, set, &[counts]) {
                assert_eq!(&smallest, order, "{family:?} on {set:b} with {counts:?}");
            }
            // The smallest of several.
            let all: Vec<KindCounts> = expected
                .keys()
                .filter(|(other, _)| *other == set)
                .map(|(_, counts)| *counts)
                .collect();
            let best = expected
                .iter()
                .filter(|((other, _), _)| *other == set)
                .map(|(_, order)| order)
                .min();
            assert!(
                table
                    .smallest(family, set, &all)
                    .is_none_or(|order| Some(&order) == best)
            );
        }
    }

    fn kinds_of(n: usize, links: &[usize]) -> PairKinds {
        PairKinds::new(n, |a, b| {
            Some(links[b * (b - 1) / 2 + a]).filter(|kind| *kind < KINDS)
        })
    }

    proptest! {
        #[test]
        fn counts_and_smallest_orders_are_those_of_all_maps(
            pattern in patterns(1..=5),
            n in 5usize..=6,
            links in proptest::collection::vec(0usize..=3, 15),
        ) {
            agrees_with_all_maps(&pattern, &kinds_of(n, &links));
        }
    }

    #[test]
    fn tables_of_more_than_eight_devices_agree_with_all_maps() {
        let links: Vec<usize> = (0..36).map(|i| (i * i + 3 * i) % 7 % 4).collect();
        for shape in crate::Shape::ALL {
            for k in 1..=4 {
                agrees_with_all_maps(&shape.pattern(k), &kinds_of(9, &links));
            }
        }
    }
}
