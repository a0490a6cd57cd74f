//! Rings and chains over several islands. All links between islands are alike; links within an
//! island may differ. The servers of a cluster are islands, and so are the sockets of some
//! machines.
//!
//! Without its edges between islands, a ring falls into paths, each within one island. An island
//! thus contributes a *cover*: some number of disjoint paths that together visit some of its
//! devices, and the counts of their edges. All edges between islands are alike, so the order of the
//! paths along the ring does not matter, with one condition: two paths of the same island must not
//! be neighbours, since they would then be one path. So counts add up over the islands. The table
//! is a knapsack: the items are islands, the two weights are devices and paths, and the value is a
//! set of counts.

use std::ops::RangeInclusive;

use super::counts::{IslandEdges, KindCounts};
use super::grid::PairSet;
use super::kinds::PairKinds;
use super::paths::Paths;
use super::subsets::{Mask, members};

/// The most devices of an island: making its covers takes 3ⁿ steps.
pub(crate) const MOST_PER_ISLAND: usize = 8;

/// The most ranks: a set of counts grows with their square.
pub(crate) const MOST_RANKS: usize = 32;

/// For each set of one island's devices, all ways to cover it by paths.
pub(crate) struct Covers {
    kinds: PairKinds,
    chains: Paths<1>,
    /// By set and number of paths.
    counts: Vec<[PairSet<1>; MOST_PER_ISLAND + 1]>,
}

impl Covers {
    /// The covers of all subsets of an island.
    ///
    /// # Complexity
    ///
    /// O(3ⁿ n c) for n devices and c counts of a path.
    pub(crate) fn new(kinds: &PairKinds) -> Self {
        let n = kinds.len();
        let chains = Paths::<1>::new(false, n);
        chains.build(kinds, n, &|| false);
        let mut counts = vec![[PairSet::EMPTY; MOST_PER_ISLAND + 1]; 1 << n];
        counts[0][0] = PairSet::origin();
        let path: Vec<PairSet<1>> = (0..1 << n)
            .map(|set| {
                if set == 0 {
                    PairSet::EMPTY
                } else {
                    chains.through(set)
                }
            })
            .collect();
        // Of the paths of a cover, `first` is the one through the lowest device. Choosing it that
        // way makes each cover once, not once for every order of its paths.
        for set in 1..1 << n {
            for first in with_lowest(set) {
                let rest = counts[(set & !first) as usize];
                for paths in 1..=members(set & !first).count() + 1 {
                    let sum = path[first as usize].plus(&rest[paths - 1]);
                    counts[set as usize][paths].join(&sum);
                }
            }
        }
        Self {
            kinds: kinds.clone(),
            chains,
            counts,
        }
    }

    /// The memory for an island of `n` devices, bytes.
    pub(crate) fn bytes(n: usize) -> usize {
        (1 << n) * size_of::<[PairSet<1>; MOST_PER_ISLAND + 1]>() + Paths::<1>::bytes(n)
    }

    /// The counts of all covers of a set by so many paths.
    fn of(&self, set: Mask, paths: usize) -> &PairSet<1> {
        &self.counts[set as usize][paths]
    }

    /// Paths that cover the set and together have these counts, found by going back through the
    /// table.
    fn unfold(&self, set: Mask, paths: usize, counts: KindCounts) -> Option<Vec<Vec<usize>>> {
        if set == 0 {
            return (paths == 0 && counts == KindCounts::default()).then(Vec::new);
        }
        with_lowest(set).find_map(|first| {
            let mut own = None;
            self.chains.through(first).each(|x, y| {
                let rest = counts.x.checked_sub(x).zip(counts.y.checked_sub(y));
                let rest =
                    rest.filter(|&(x, y)| paths > 0 && self.of(set & !first, paths - 1).has(x, y));
                own = own.or(rest.map(|(left_x, left_y)| {
                    (
                        KindCounts { x, y },
                        KindCounts {
                            x: left_x,
                            y: left_y,
                        },
                    )
                }));
            });
            let (counts, rest) = own?;
            let mut all = vec![self.chains.smallest(&self.kinds, first, &[counts])?];
            all.extend(self.unfold(set & !first, paths - 1, rest)?);
            Some(all)
        })
    }
}

/// The subsets of a set that contain its lowest member, the largest first.
fn with_lowest(set: Mask) -> impl Iterator<Item = Mask> {
    let lowest = set & set.wrapping_neg();
    let others = set & !lowest;
    // Subtracting one and masking counts down through the subsets of `others`.
    std::iter::successors(Some(others), move |&some| {
        (some != 0).then(|| (some - 1) & others)
    })
    .map(move |some| some | lowest)
}

/// An island, and which of its devices are free.
pub(crate) struct Island<'c> {
    pub(crate) covers: &'c Covers,
    pub(crate) free: Mask,
}

/// Whether the paths are joined to a chain or to a ring.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    Chain,
    Ring,
}

impl Closing {
    /// The number of edges between islands, if there are so many paths.
    fn between(self, paths: usize) -> usize {
        if self == Self::Ring { paths } else { paths - 1 }
    }

    /// The most of so many paths that can belong to one island without two of them being
    /// neighbours: every other place, and in a chain both ends.
    fn most_of_one(self, paths: usize) -> usize {
        if self == Self::Ring {
            paths / 2
        } else {
            paths.div_ceil(2)
        }
    }
}

/// The devices chosen on each island, as paths in rank order.
pub(crate) struct IslandLayout {
    pub(crate) sets: Vec<Mask>,
    /// The island of each path, and its devices.
    pub(crate) paths: Vec<(usize, Vec<usize>)>,
}

/// The counts that the islands from some island on can add up to, by devices and paths taken.
struct IslandTotals<const W: usize> {
    paths: usize,
    grids: Vec<PairSet<W>>,
}

impl<const W: usize> IslandTotals<W> {
    fn new(ranks: usize, paths: usize) -> Self {
        Self {
            paths,
            grids: vec![PairSet::EMPTY; (ranks + 1) * (paths + 1)],
        }
    }

    fn of(&self, devices: usize, paths: usize) -> &PairSet<W> {
        &self.grids[devices * (self.paths + 1) + paths]
    }

    fn of_mut(&mut self, devices: usize, paths: usize) -> &mut PairSet<W> {
        &mut self.grids[devices * (self.paths + 1) + paths]
    }
}

/// The knapsack for one total number of paths.
struct Knapsack<const W: usize> {
    closing: Closing,
    paths: usize,
    /// By island, the totals of that island and those after it; last, those of no island. In this
    /// order a layout can be chosen island by island from the front.
    from: Vec<IslandTotals<W>>,
}

impl<const W: usize> Knapsack<W> {
    fn new(islands: &[Island<'_>], ranks: usize, paths: usize, closing: Closing) -> Self {
        let mut last = IslandTotals::new(ranks, paths);
        *last.of_mut(0, 0) = PairSet::origin();
        let mut from = vec![last];
        for island in islands.iter().rev() {
            let covers = contributions(island, closing.most_of_one(paths), ranks);
            let next = Self::with(&covers, &from[from.len() - 1], ranks, paths);
            from.push(next);
        }
        from.reverse();
        Self {
            closing,
            paths,
            from,
        }
    }

    /// The totals with one more island, whose contributions are given.
    fn with(
        contributions: &[(usize, usize, PairSet<1>)],
        rest: &IslandTotals<W>,
        ranks: usize,
        paths: usize,
    ) -> IslandTotals<W> {
        let mut sums = IslandTotals::new(ranks, paths);
        for devices in 0..=ranks {
            for taken in 0..=paths {
                let rest = rest.of(devices, taken);
                if rest.is_empty() {
                    continue;
                }
                for (own_devices, own_paths, counts) in contributions {
                    let (devices, taken) = (devices + own_devices, taken + own_paths);
                    if devices <= ranks && taken <= paths {
                        let sum = sums.of_mut(devices, taken);
                        // Counts of the island and of the rest add up: a shift of the rest's whole
                        // grid.
                        counts.each(|x, y| sum.join(&rest.moved(x, y)));
                    }
                }
            }
        }
        sums
    }

    /// The counts over all islands.
    fn all(&self, ranks: usize) -> &PairSet<W> {
        self.from[0].of(ranks, self.paths)
    }
}

/// What an island can contribute: devices, paths, counts. Which devices they are does not matter to
/// the counts of other islands, so sets of one size are joined.
fn contributions(
    island: &Island<'_>,
    most: usize,
    ranks: usize,
) -> Vec<(usize, usize, PairSet<1>)> {
    let mut by_size = [[PairSet::EMPTY; MOST_PER_ISLAND + 1]; MOST_PER_ISLAND + 1];
    for set in subsets(island.free) {
        let size = set.count_ones() as usize;
        for (paths, sum) in by_size[size].iter_mut().enumerate() {
            sum.join(island.covers.of(set, paths));
        }
    }
    let all = by_size
        .iter()
        .enumerate()
        .flat_map(|(size, row)| row.iter().enumerate().map(move |(p, g)| (size, p, *g)));
    all.filter(|(size, paths, grid)| *size <= ranks && *paths <= most && !grid.is_empty())
        .collect()
}

/// All subsets of a set, those with the lowest ids first. Of two subsets, the first is the one that
/// has the lowest device in which they differ.
fn subsets(set: Mask) -> impl Iterator<Item = Mask> {
    // Mirrored, the lowest device is the highest bit, and counting down is the order wanted.
    let mirrored = set.reverse_bits();
    std::iter::successors(Some(mirrored), move |&some| {
        (some != 0).then(|| (some - 1) & mirrored)
    })
    .map(Mask::reverse_bits)
}

/// The counts that a ring or chain of so many ranks can have over these islands. A ring spans at
/// least two of them.
pub(crate) struct Archipelago<'c> {
    islands: Vec<Island<'c>>,
    ranks: usize,
    form: TotalsForm,
}

enum TotalsForm {
    Small(Vec<Knapsack<4>>),
    Large(Vec<Knapsack<16>>),
}

impl<'c> Archipelago<'c> {
    /// The table for at most [`MOST_RANKS`] ranks; none if `stop` returned true first.
    ///
    /// # Complexity
    ///
    /// O(r² p² c) words for each island and each number of paths p, with r ranks and c counts of a
    /// cover.
    pub(crate) fn new(
        islands: Vec<Island<'c>>,
        ranks: usize,
        closing: Closing,
        stop: &dyn Fn() -> bool,
    ) -> Option<Self> {
        // A ring within one island has no edge between islands: `paths` finds it. No path has fewer
        // than one device, so there are at most as many paths as ranks.
        let fewest = if closing == Closing::Ring { 2 } else { 1 };
        let paths = fewest..=ranks;
        let form = if ranks <= 16 {
            TotalsForm::Small(knapsacks(&islands, ranks, paths, closing, stop)?)
        } else {
            TotalsForm::Large(knapsacks(&islands, ranks, paths, closing, stop)?)
        };
        Some(Self {
            islands,
            ranks,
            form,
        })
    }

    /// Calls `f` with every reachable number of edges, by kind and between islands.
    pub(crate) fn counts(&self, mut f: impl FnMut(IslandEdges)) {
        match &self.form {
            TotalsForm::Small(all) => each_sum(all, self.ranks, &mut f),
            TotalsForm::Large(all) => each_sum(all, self.ranks, &mut f),
        }
    }

    /// A layout that has one of the wanted counts. If islands are ranges of ids, its devices are
    /// those of lowest ids.
    pub(crate) fn lay_out(&self, wanted: &[IslandEdges]) -> Option<IslandLayout> {
        match &self.form {
            TotalsForm::Small(all) => self.lowest(all, wanted),
            TotalsForm::Large(all) => self.lowest(all, wanted),
        }
    }

    /// Chooses island by island the first set after which a wanted count can still be reached.
    fn lowest<const W: usize>(
        &self,
        all: &[Knapsack<W>],
        wanted: &[IslandEdges],
    ) -> Option<IslandLayout> {
        // For each knapsack: what is still wanted of the islands to come, as paths and counts.
        let mut open: Vec<(&Knapsack<W>, Vec<(usize, KindCounts)>)> = Vec::new();
        for knapsack in all {
            let between = knapsack.closing.between(knapsack.paths) as u32;
            let own = wanted
                .iter()
                .filter(|edges| edges.between == between)
                .map(|edges| (knapsack.paths, edges.counts));
            let own: Vec<_> = own
                .filter(|(_, c)| knapsack.all(self.ranks).has(c.x, c.y))
                .collect();
            if !own.is_empty() {
                open.push((knapsack, own));
            }
        }
        let mut left = self.ranks;
        let mut sets = Vec::new();
        for (at, island) in self.islands.iter().enumerate() {
            // A set will do if one of its covers leaves a want that the islands to come can meet
            // with exactly the devices that are left.
            let (set, next) = subsets(island.free).find_map(|set| {
                let devices = left.checked_sub(set.count_ones() as usize)?;
                let rest = |(knapsack, wanted): &(&'_ Knapsack<W>, Vec<(usize, KindCounts)>)| {
                    let rest = after(island, set, knapsack, wanted);
                    let sums = &knapsack.from[at + 1];
                    let met = rest
                        .into_iter()
                        .filter(|&(paths, c)| sums.of(devices, paths).has(c.x, c.y));
                    met.collect::<Vec<_>>()
                };
                let next: Vec<_> = open
                    .iter()
                    .map(|open| (open.0, rest(open)))
                    .filter(|(_, rest)| !rest.is_empty())
                    .collect();
                (!next.is_empty()).then_some((set, next))
            })?;
            left -= set.count_ones() as usize;
            sets.push(set);
            open = next;
        }
        // The sets are settled; several covers of them may still lead to a wanted count. Take one.
        all.iter().find_map(|knapsack| {
            let between = knapsack.closing.between(knapsack.paths) as u32;
            let mut own = wanted.iter().filter(|edges| edges.between == between);
            let islands: Vec<Island<'c>> = sets
                .iter()
                .zip(&self.islands)
                .map(|(set, island)| Island {
                    covers: island.covers,
                    free: *set,
                })
                .collect();
            own.find_map(|edges| unfold(&islands, knapsack, edges.counts))
                .map(|by_island| IslandLayout {
                    sets: sets.clone(),
                    paths: in_turn(by_island, knapsack.paths),
                })
        })
    }
}

fn knapsacks<const W: usize>(
    islands: &[Island<'_>],
    ranks: usize,
    paths: RangeInclusive<usize>,
    closing: Closing,
    stop: &dyn Fn() -> bool,
) -> Option<Vec<Knapsack<W>>> {
    paths
        .map(|paths| (!stop()).then(|| Knapsack::new(islands, ranks, paths, closing)))
        .collect()
}

fn each_sum<const W: usize>(all: &[Knapsack<W>], ranks: usize, f: &mut impl FnMut(IslandEdges)) {
    for knapsack in all {
        let between = knapsack.closing.between(knapsack.paths) as u32;
        knapsack.all(ranks).each(|x, y| {
            f(IslandEdges {
                counts: KindCounts { x, y },
                between,
            })
        });
    }
}

/// What is still wanted after an island has contributed all of `set`, for each cover of it.
fn after<const W: usize>(
    island: &Island<'_>,
    set: Mask,
    knapsack: &Knapsack<W>,
    wanted: &[(usize, KindCounts)],
) -> Vec<(usize, KindCounts)> {
    let most = knapsack
        .closing
        .most_of_one(knapsack.paths)
        .min(MOST_PER_ISLAND);
    let mut rest = Vec::new();
    for used in 0..=most {
        island.covers.of(set, used).each(|x, y| {
            for (paths, counts) in wanted {
                if let (Some(paths), Some(x), Some(y)) = (
                    paths.checked_sub(used),
                    counts.x.checked_sub(x),
                    counts.y.checked_sub(y),
                ) {
                    rest.push((paths, KindCounts { x, y }));
                }
            }
        });
    }
    rest.sort_unstable();
    rest.dedup();
    rest
}

/// Paths for each island, all of whose free devices are taken: forward over the islands to find
/// which sums can be reached, then backward from nothing left to find how.
fn unfold<const W: usize>(
    islands: &[Island<'_>],
    knapsack: &Knapsack<W>,
    wanted: KindCounts,
) -> Option<Vec<Vec<Vec<usize>>>> {
    // By island, what may still be wanted before it contributes.
    let mut open = vec![vec![(knapsack.paths, wanted)]];
    for island in islands {
        let next = after(island, island.free, knapsack, &open[open.len() - 1]);
        open.push(next);
    }
    let nothing = (0, KindCounts::default());
    let mut rest = *open[islands.len()].iter().find(|rest| **rest == nothing)?;
    let mut by_island = Vec::new();
    for (at, island) in islands.iter().enumerate().rev() {
        let (before, paths, counts) = open[at].iter().find_map(|before| {
            let counts = KindCounts {
                x: before.1.x.checked_sub(rest.1.x)?,
                y: before.1.y.checked_sub(rest.1.y)?,
            };
            let paths = before.0.checked_sub(rest.0)?;
            let fits = paths
                <= knapsack
                    .closing
                    .most_of_one(knapsack.paths)
                    .min(MOST_PER_ISLAND)
                && island.covers.of(island.free, paths).has(counts.x, counts.y);
            fits.then_some((*before, paths, counts))
        })?;
        by_island.push(island.covers.unfold(island.free, paths, counts)?);
        rest = before;
    }
    by_island.reverse();
    Some(by_island)
}

/// The paths in an order in which no two of one island are neighbours. The island with the most
/// paths takes every other place, the next island goes on from there, and after the last even place
/// come the odd ones.
fn in_turn(by_island: Vec<Vec<Vec<usize>>>, paths: usize) -> Vec<(usize, Vec<usize>)> {
    let mut islands: Vec<_> = by_island.into_iter().enumerate().collect();
    islands.sort_by_key(|(_, paths)| std::cmp::Reverse(paths.len()));
    let mut places: Vec<Option<(usize, Vec<usize>)>> = vec![None; paths];
    // No island has more paths than the first. So the odd places of an island that goes on from the
    // even ones end before its even places begin.
    let turns = (0..paths).step_by(2).chain((1..paths).step_by(2));
    let all = islands
        .into_iter()
        .flat_map(|(island, paths)| paths.into_iter().map(move |path| (island, path)));
    turns
        .zip(all)
        .for_each(|(place, path)| places[place] = Some(path));
    places.into_iter().flatten().collect()
}

/// The lowest device known to share an island with `v`; paths to it are halved on the way.
fn root(island: &mut [usize], mut v: usize) -> usize {
    while island[v] != v {
        island[v] = island[island[v]];
        v = island[v];
    }
    v
}

/// The background and the islands of `n` devices: all pairs of devices of different islands are
/// joined by links of one kind, the background. None if there are no two such islands, or one would
/// have more than [`MOST_PER_ISLAND`] devices.
///
/// `kind(a, b)` gives the kind of link between two devices. Of several backgrounds, the one whose
/// largest island is smallest is taken.
pub(crate) fn islands(
    n: usize,
    kinds: usize,
    kind: impl Fn(usize, usize) -> Option<usize>,
) -> Option<(usize, Vec<Vec<usize>>)> {
    let split = |background: usize| {
        let mut island: Vec<usize> = (0..n).collect();
        // Devices joined by anything but the background share an island: union-find.
        for b in 0..n {
            for a in 0..b {
                if kind(a, b) != Some(background) {
                    let (a, b) = (root(&mut island, a), root(&mut island, b));
                    island[a.max(b)] = a.min(b);
                }
            }
        }
        let mut members = std::collections::BTreeMap::<usize, Vec<usize>>::new();
        for v in 0..n {
            members.entry(root(&mut island, v)).or_default().push(v);
        }
        (background, members.into_values().collect::<Vec<_>>())
    };
    let largest = |islands: &Vec<Vec<usize>>| islands.iter().map(Vec::len).max().unwrap_or(0);
    let best = (0..kinds)
        .map(split)
        .min_by_key(|(_, islands)| largest(islands))?;
    (largest(&best.1) <= MOST_PER_ISLAND && best.1.len() > 1).then_some(best)
}
