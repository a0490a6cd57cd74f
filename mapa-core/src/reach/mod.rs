//! Reachable counts: on which numbers of links of each kind can a pattern lie, for every set of devices?
//!
//! On up to sixteen devices with at most three kinds of link, the answer for *all* sets is a table: a bit for each pair of
//! counts (edges on links of the first kind, of the second; the others lie on the third). Whatever an objective makes of
//! the counts, monotone or not, its exact optimum on a set is then its best value on the counts of that set, and no rank
//! order is ever enumerated. The table knows nothing of what is free: it is made once for a machine and a shape.
//!
//! Rings and chains are built by dynamic programming over subsets (`paths`), stars and all-to-all need no table (`closed`),
//! every other pattern is placed rank by rank with the devices of those ranks remembered that still have neighbours to
//! come (`frontier`).

mod closed;
mod frontier;
mod grid;
mod islands;
mod kinds;
mod paths;
mod subsets;

use std::sync::OnceLock;

pub(crate) use islands::{Archipelago, Closing, Covers, Island, MOST_RANKS, islands};
pub(crate) use kinds::{KINDS, Kinds, MOST};
pub(crate) use subsets::{Mask, Spread, choose, earliness, members, of_size, place};

use self::frontier::Frontier;
pub(crate) use self::frontier::{Plan, Sums, highest_sums};
use self::paths::Paths;
use crate::pattern::Pattern;

/// How many edges lie on links of the first kind and of the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Counts {
    pub(crate) x: u32,
    pub(crate) y: u32,
}

impl Counts {
    fn with(self, kind: usize) -> Self {
        self.with_many(kind, 1)
    }

    fn with_many(self, kind: usize, edges: u32) -> Self {
        match kind {
            0 => Self { x: self.x + edges, ..self },
            1 => Self { y: self.y + edges, ..self },
            _ => self,
        }
    }

    fn without(self, kind: usize) -> Option<Self> {
        match kind {
            0 => Some(Self { x: self.x.checked_sub(1)?, ..self }),
            1 => Some(Self { y: self.y.checked_sub(1)?, ..self }),
            _ => Some(self),
        }
    }
}

/// How the edges of a pattern that spans islands lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Edges {
    /// Of those within islands.
    pub(crate) counts: Counts,
    /// How many lead from one island to another.
    pub(crate) between: u32,
}

/// What kind of table a pattern needs. Patterns of one family and different sizes share a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    /// Nobody talks.
    Independent,
    /// Two ranks.
    Pair,
    Chain,
    Ring,
    /// Rank 0 with everyone else.
    Star,
    AllToAll,
    Other,
}

impl Family {
    /// Traffic aside. Ready-made shapes are known by their edges, in any order; the same with ranks renamed is `Other`.
    pub(crate) fn of(pattern: &Pattern) -> Self {
        let ends = |pattern: &Pattern| {
            let mut ends: Vec<_> = pattern.edges().iter().map(|edge| (edge.a, edge.b)).collect();
            ends.sort_unstable();
            ends
        };
        let (k, own) = (pattern.len(), ends(pattern));
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

/// The table of a family, or of one other pattern, on some devices.
pub(crate) struct Table {
    kinds: Kinds,
    form: Form,
}

enum Form {
    /// Nothing needs to be kept.
    Closed,
    Small(Paths<1>),
    Large(Paths<4>),
    Frontier(OnceLock<Option<Frontier>>),
}

/// How much work a table may be. Only tables of other patterns than the ready-made ones take their time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Some 20 ms at most: less than what a search may take that a table would spare.
    Little,
    /// Up to a second.
    Any,
}

impl Effort {
    /// Whether it covers so much work, as [`Plan`] counts it.
    pub(crate) fn covers(self, work: u64) -> bool {
        self == Self::Any || work <= 2_500_000
    }
}

impl Table {
    /// Made empty; filled by [`Table::build`].
    pub(crate) fn new(family: Family, kinds: Kinds) -> Self {
        let n = kinds.len();
        let form = match family {
            Family::Chain | Family::Ring if n <= 8 => Form::Small(Paths::new(family == Family::Ring, n)),
            Family::Chain | Family::Ring => Form::Large(Paths::new(family == Family::Ring, n)),
            Family::Other => Form::Frontier(OnceLock::new()),
            _ => Form::Closed,
        };
        Self { kinds, form }
    }

    /// The most memory that it will take.
    pub(crate) fn bytes(family: Family, n: usize) -> usize {
        match family {
            Family::Chain | Family::Ring if n <= 8 => Paths::<1>::bytes(n),
            Family::Chain | Family::Ring => Paths::<4>::bytes(n),
            Family::Other => choose(n, n / 2) as usize * size_of::<grid::Grid<16>>(),
            _ => 0,
        }
    }

    /// Makes what a pattern of its family needs; one of no ready-made shape needs a plan. No answer if `stop` said so first;
    /// false if there is no plan, or there are too many edges to count.
    pub(crate) fn build(&self, pattern: &Pattern, plan: Option<&Plan>, stop: &dyn Fn() -> bool) -> Option<bool> {
        match &self.form {
            Form::Closed => Some(true),
            Form::Small(paths) => paths.build(&self.kinds, pattern.len(), stop).then_some(true),
            Form::Large(paths) => paths.build(&self.kinds, pattern.len(), stop).then_some(true),
            Form::Frontier(frontier) => {
                let Some(plan) = plan else { return Some(false) };
                if frontier.get().is_none() && stop() {
                    return None;
                }
                Some(frontier.get_or_init(|| Frontier::new(pattern, plan, &self.kinds)).is_some())
            }
        }
    }

    /// The counts that the pattern can have on exactly this set of devices, some of them perhaps more than once. After
    /// [`Table::build`].
    pub(crate) fn counts(&self, family: Family, pattern: &Pattern, set: Mask, mut f: impl FnMut(Counts)) {
        match &self.form {
            Form::Small(paths) => paths.counts(&self.kinds, set, &mut f),
            Form::Large(paths) => paths.counts(&self.kinds, set, &mut f),
            Form::Closed => closed::counts(family, pattern, &self.kinds, set, &mut f),
            Form::Frontier(frontier) => {
                if let Some(Some(frontier)) = frontier.get() {
                    frontier.counts(set, &mut f);
                }
            }
        }
    }

    /// The smallest rank order on exactly this set that has one of these counts, as positions in the table; none where
    /// only a search can tell.
    pub(crate) fn smallest(&self, family: Family, set: Mask, wanted: &[Counts]) -> Option<Vec<usize>> {
        match &self.form {
            Form::Small(paths) => paths.smallest(&self.kinds, set, wanted),
            Form::Large(paths) => paths.smallest(&self.kinds, set, wanted),
            Form::Closed => closed::smallest(family, &self.kinds, set, wanted),
            Form::Frontier(_) => None,
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
    fn by_hand(pattern: &Pattern, kinds: &Kinds) -> BTreeMap<(Mask, Counts), Vec<usize>> {
        let devices: Vec<DeviceId> = (0..kinds.len() as u32).map(DeviceId).collect();
        let mut all = BTreeMap::new();
        for map in injections(pattern.len(), &devices) {
            let kind = |edge: &Edge| kinds.between(map[usize::from(edge.a)].index(), map[usize::from(edge.b)].index());
            let counts = pattern.edges().iter().try_fold(Counts::default(), |sum, edge| Some(sum.with(kind(edge)?)));
            let set = map.iter().fold(0, |set, device| set | 1 << device.0);
            if let Some(counts) = counts {
                all.entry((set, counts)).or_insert_with(|| map.iter().map(|device| device.index()).collect());
            }
        }
        all
    }

    fn agrees_with_all_maps(pattern: &Pattern, kinds: &Kinds) {
        let family = Family::of(pattern);
        let table = Table::new(family, kinds.clone());
        assert_eq!(table.build(pattern, Plan::new(pattern, kinds.len()).as_ref(), &|| false), Some(true));
        let expected = by_hand(pattern, kinds);
        let mut found = std::collections::BTreeSet::new();
        for set in of_size(kinds.len(), pattern.len()) {
            table.counts(family, pattern, set, |counts| {
                found.insert((set, counts));
            });
        }
        assert!(found.iter().eq(expected.keys()), "{family:?}: {found:?} and {:?}", expected.keys());
        for (&(set, counts), order) in &expected {
            if let Some(smallest) = table.smallest(family, set, &[counts]) {
                assert_eq!(&smallest, order, "{family:?} on {set:b} with {counts:?}");
            }
            // The smallest of several.
            let all: Vec<Counts> =
                expected.keys().filter(|(other, _)| *other == set).map(|(_, counts)| *counts).collect();
            let best = expected.iter().filter(|((other, _), _)| *other == set).map(|(_, order)| order).min();
            assert!(table.smallest(family, set, &all).is_none_or(|order| Some(&order) == best));
        }
    }

    fn kinds_of(n: usize, links: &[usize]) -> Kinds {
        Kinds::new(n, |a, b| Some(links[b * (b - 1) / 2 + a]).filter(|kind| *kind < KINDS))
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
