//! Chains and rings: dynamic programming over subsets, after Held and Karp (1962), with sets of counts for lengths.

use std::sync::OnceLock;

use super::Counts;
use super::grid::Grid;
use super::kinds::{KINDS, Kinds, MOST};
use super::subsets::{Mask, choose, members, of_size, place, places};

/// For every set of devices and every one of them, the counts of all paths through the whole set that end there. Paths of a
/// ring start at the lowest device of the set. Level by level, each when it is first needed.
///
/// `k C(n, k)` grids at level `k`; of 32 bytes, and 16.8 MB in all, for 16 devices.
pub(crate) struct Paths<const W: usize> {
    closed: bool,
    /// By size of the set less one; then by place of the set and by the end's position in it.
    levels: Vec<OnceLock<Vec<Grid<W>>>>,
}

impl<const W: usize> Paths<W> {
    pub(super) fn new(closed: bool, n: usize) -> Self {
        Self { closed, levels: (0..n).map(|_| OnceLock::new()).collect() }
    }

    pub(super) fn bytes(n: usize) -> usize {
        (1..=n).map(|k| k * choose(n, k) as usize * size_of::<Grid<W>>()).sum()
    }

    /// Makes every level up to sets of `k`. O(k² C(n, k)) for each. Stops early, and says so, when `stop` answers true.
    pub(super) fn build(&self, kinds: &Kinds, k: usize, stop: &dyn Fn() -> bool) -> bool {
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

    fn level(&self, kinds: &Kinds, size: usize) -> Vec<Grid<W>> {
        let n = kinds.len();
        if size == 1 {
            return vec![Grid::origin(); n];
        }
        let shorter = self.levels[size - 2].get().map_or(&[][..], Vec::as_slice);
        let places = places();
        let mut grids = Vec::with_capacity(size * choose(n, size) as usize);
        let mut positions = [0; MOST];
        for set in of_size(n, size) {
            for (position, member) in members(set).enumerate() {
                positions[member] = position;
            }
            for end in members(set) {
                let rest = set & !(1 << end);
                let row = &shorter[usize::from(places[rest as usize]) * (size - 1)..][..size - 1];
                grids.push(self.paths_to(kinds, row, &positions, (rest, end)));
            }
        }
        grids
    }

    /// By extending the paths through `rest`, which are in `row`.
    #[inline]
    fn paths_to(
        &self,
        kinds: &Kinds,
        row: &[Grid<W>],
        positions: &[usize; MOST],
        (rest, end): (Mask, usize),
    ) -> Grid<W> {
        let start = rest & rest.wrapping_neg();
        if self.closed && 1 << end < start {
            return Grid::EMPTY;
        }
        // A path of a ring is where it started only while it is nowhere else.
        let lasts = if self.closed && rest != start { rest & !start } else { rest };
        let mut by_kind = [Grid::<W>::EMPTY; KINDS];
        for (grid, around) in by_kind.iter_mut().zip(kinds.around(end)) {
            for last in members(lasts & around) {
                grid.join(&row[positions[last] - usize::from(last > end)]);
            }
        }
        let mut grid = by_kind[2];
        grid.join(&by_kind[0].moved(1, 0));
        grid.join(&by_kind[1].moved(0, 1));
        grid
    }

    /// The paths through a set, by the end's position in it.
    fn row(&self, set: Mask) -> &[Grid<W>] {
        let size = set.count_ones() as usize;
        let level = self.levels[size - 1].get().map_or(&[][..], Vec::as_slice);
        &level[place(set) * size..][..size]
    }

    /// The counts of every path through exactly this set.
    pub(super) fn through(&self, set: Mask) -> Grid<W> {
        let mut all = Grid::EMPTY;
        self.row(set).iter().for_each(|grid| all.join(grid));
        all
    }

    /// The counts of every chain, or ring, through exactly this set; some may come twice.
    pub(super) fn counts(&self, kinds: &Kinds, set: Mask, f: &mut impl FnMut(Counts)) {
        if !self.closed {
            return self.through(set).each(|x, y| f(Counts { x, y }));
        }
        let start = set.trailing_zeros() as usize;
        let mut by_kind = [Grid::<W>::EMPTY; KINDS];
        let around = kinds.around(start);
        for (end, grid) in members(set).zip(self.row(set)) {
            if let Some(kind) = around.iter().position(|around| around >> end & 1 == 1) {
                by_kind[kind].join(grid);
            }
        }
        for (kind, grid) in by_kind.iter().enumerate() {
            grid.each(|x, y| f(Counts { x, y }.with(kind)));
        }
    }

    /// The smallest rank order of a chain, or ring, through this set that has one of these counts. O(k²).
    ///
    /// What remains, walked backwards, is a path that the table knows: for a ring from its lowest device, on which rank 0
    /// lies.
    pub(super) fn smallest(&self, kinds: &Kinds, set: Mask, wanted: &[Counts]) -> Option<Vec<usize>> {
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
            let ends = members(through).zip(self.row(through)).filter(|(device, _)| left >> device & 1 == 1);
            let next = { ends }.find_map(|(device, ends)| {
                let kind = match order.last() {
                    Some(&last) => Some(kinds.between(last, device)?),
                    None => None,
                };
                let rest = wanted.iter().filter_map(|counts| kind.map_or(Some(*counts), |kind| counts.without(kind)));
                let rest: Vec<Counts> = rest.filter(|counts| ends.has(counts.x, counts.y)).collect();
                (!rest.is_empty()).then_some((device, rest))
            })?;
            order.push(next.0);
            wanted = next.1;
            left &= !(1 << next.0);
        }
        Some(order)
    }
}
