//! Chains and rings: dynamic programming over subsets, after Held and Karp (1962).
//!
//! Their algorithm keeps, for each set of cities and each last city, the least length of a path
//! through the set. Here a set of counts takes the place of the length.

use std::sync::OnceLock;

use super::counts::KindCounts;
use super::grid::PairSet;
use super::kinds::{KINDS, PairKinds};
use super::subsets::{MOST, Mask, choose, members, of_size, place, places};

/// For every set of devices and each device of it, the counts of all paths through the whole set
/// that end at that device. Paths of a ring start at the lowest device of the set: a ring passes
/// every device, so no other start is needed.
///
/// Level k holds the sets of k devices. Each level is made when it is first needed. It has
/// `k C(n, k)` grids; for 16 devices these are 32 bytes each and 16.8 MB in all.
pub(crate) struct Paths<const W: usize> {
    closed: bool,
    /// By size of the set less one; then by place of the set and by the end's position in it.
    levels: Vec<OnceLock<Vec<PairSet<W>>>>,
}

impl<const W: usize> Paths<W> {
    pub(super) fn new(closed: bool, n: usize) -> Self {
        Self {
            closed,
            levels: (0..n).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The memory of all levels for `n` devices, bytes.
    pub(super) fn bytes(n: usize) -> usize {
        (1..=n)
            .map(|k| k * choose(n, k) as usize * size_of::<PairSet<W>>())
            .sum()
    }

    /// Makes every level up to sets of `k` devices. Returns false if `stop` returned true first.
    ///
    /// # Complexity
    ///
    /// O(k² C(n, k)) operations on grids for the level of sets of k of n devices.
    pub(super) fn build(&self, kinds: &PairKinds, k: usize, stop: &dyn Fn() -> bool) -> bool {
        for size in 1..=k {
            if self.levels[size - 1].get().is_none() {
                if stop() {
                    return false;
                }
                let _ = self.levels[size - 1].get_or_init(|| self.level(kinds, size));
            }
        }
        true
    }

    /// The level of sets of `size` devices, from the level below it.
    fn level(&self, kinds: &PairKinds, size: usize) -> Vec<PairSet<W>> {
        let n = kinds.len();
        if size == 1 {
            return vec![PairSet::origin(); n];
        }
        let shorter = self.levels[size - 2].get().map_or(&[][..], Vec::as_slice);
        let places = places();
        let mut grids = Vec::with_capacity(size * choose(n, size) as usize);
        let mut positions = [0; MOST];
        for set in of_size(n, size) {
            for (position, member) in members(set).enumerate() {
                positions[member] = position;
            }
            // Grids of the same set lie together, so `row` has the paths through `rest` by last
            // device.
            for end in members(set) {
                let rest = set & !(1 << end);
                let row = &shorter[usize::from(places[rest as usize]) * (size - 1)..][..size - 1];
                grids.push(self.paths_to(kinds, row, &positions, (rest, end)));
            }
        }
        grids
    }

    /// The paths through `rest` and then `end`: those through `rest`, which are in `row`, extended
    /// by one link.
    #[inline]
    fn paths_to(
        &self,
        kinds: &PairKinds,
        row: &[PairSet<W>],
        positions: &[usize; MOST],
        (rest, end): (Mask, usize),
    ) -> PairSet<W> {
        let start = rest & rest.wrapping_neg();
        // A ring's paths start at the lowest device of their set, so none ends below it.
        if self.closed && 1 << end < start {
            return PairSet::EMPTY;
        }
        // The start of a ring's path is its last device only while the path has no other.
        let lasts = if self.closed && rest != start {
            rest & !start
        } else {
            rest
        };
        // Join all paths whose last link is of one kind first: each kind then needs a single shift.
        let mut by_kind = [PairSet::<W>::EMPTY; KINDS];
        for (grid, around) in by_kind.iter_mut().zip(kinds.around(end)) {
            for last in members(lasts & around) {
                // `row` is of the set without `end`, so members above it are one position lower.
                grid.join(&row[positions[last] - usize::from(last > end)]);
            }
        }
        // Links of the third kind are not counted.
        let mut grid = by_kind[2];
        grid.join(&by_kind[0].moved(1, 0));
        grid.join(&by_kind[1].moved(0, 1));
        grid
    }

    /// The paths through a set, by the end's position in it.
    fn row(&self, set: Mask) -> &[PairSet<W>] {
        let size = set.count_ones() as usize;
        let level = self.levels[size - 1].get().map_or(&[][..], Vec::as_slice);
        &level[place(set) * size..][..size]
    }

    /// The counts of every path through exactly this set.
    pub(super) fn through(&self, set: Mask) -> PairSet<W> {
        let mut all = PairSet::EMPTY;
        self.row(set).iter().for_each(|grid| all.join(grid));
        all
    }

    /// Calls `f` with the counts of every chain, or ring, through exactly this set. Counts may come
    /// more than once.
    pub(super) fn counts(&self, kinds: &PairKinds, set: Mask, f: &mut impl FnMut(KindCounts)) {
        if !self.closed {
            return self.through(set).each(|x, y| f(KindCounts { x, y }));
        }
        // A ring is a path from the lowest device, closed by the link from its end back to it.
        let start = set.trailing_zeros() as usize;
        let mut by_kind = [PairSet::<W>::EMPTY; KINDS];
        let around = kinds.around(start);
        for (end, grid) in members(set).zip(self.row(set)) {
            if let Some(kind) = around.iter().position(|around| around >> end & 1 == 1) {
                by_kind[kind].join(grid);
            }
        }
        for (kind, grid) in by_kind.iter().enumerate() {
            grid.each(|x, y| f(KindCounts { x, y }.with(kind)));
        }
    }

    /// The smallest rank order of a chain, or ring, through this set that has one of these counts.
    ///
    /// Devices are chosen rank by rank, always the lowest with which a wanted count can still be
    /// reached. The table answers that: the ranks to come, read backwards, are a path through the
    /// devices left that ends at the candidate. For a ring this path starts at the lowest device,
    /// on which rank 0 lies.
    ///
    /// # Complexity
    ///
    /// O(k² c) for k devices and c counts wanted.
    pub(super) fn smallest(
        &self,
        kinds: &PairKinds,
        set: Mask,
        wanted: &[KindCounts],
    ) -> Option<Vec<usize>> {
        let mut wanted = wanted.to_vec();
        let start = set & set.wrapping_neg();
        let mut order: Vec<usize> = Vec::with_capacity(set.count_ones() as usize);
        let mut left = set;
        if self.closed {
            order.push(start.trailing_zeros() as usize);
            left &= !start;
        }
        while left != 0 {
            let through = if self.closed { left | start } else { left };
            let ends = members(through)
                .zip(self.row(through))
                .filter(|(device, _)| left >> device & 1 == 1);
            let next = { ends }.find_map(|(device, ends)| {
                let kind = match order.last() {
                    Some(&last) => Some(kinds.between(last, device)?),
                    None => None,
                };
                // What is wanted of the ranks to come, after the link to this device.
                let rest = wanted
                    .iter()
                    .filter_map(|counts| kind.map_or(Some(*counts), |kind| counts.without(kind)));
                let rest: Vec<KindCounts> =
                    rest.filter(|counts| ends.has(counts.x, counts.y)).collect();
                (!rest.is_empty()).then_some((device, rest))
            })?;
            order.push(next.0);
            wanted = next.1;
            left &= !(1 << next.0);
        }
        Some(order)
    }
}
