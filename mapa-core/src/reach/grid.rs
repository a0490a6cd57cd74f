//! Sets of counts, one bit each.

/// A set of pairs `(x, y)` of small numbers, in which `(x, y)` is bit `x * SIDE + y`. To add an
/// edge to every member of the set is therefore one shift of the whole bit string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairSet<const W: usize>([u64; W]);

impl<const W: usize> PairSet<W> {
    /// Both numbers of a pair are below this side: 8, 16 or 32 for `W` of 1, 4 or 16 words.
    pub(crate) const SIDE: u32 = 8 * W.isqrt() as u32;

    pub(crate) const EMPTY: Self = Self([0; W]);

    /// The set of (0, 0).
    pub(crate) fn origin() -> Self {
        let mut words = [0; W];
        words[0] = 1;
        Self(words)
    }

    /// Whether the set has no member.
    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; W]
    }

    /// Adds the members of another set.
    pub(crate) fn join(&mut self, other: &Self) {
        for (bits, others) in self.0.iter_mut().zip(&other.0) {
            *bits |= others;
        }
    }

    /// The set with `(x, y)` added to every member. No sum may reach `SIDE`: a sum of `y` would
    /// carry into `x`.
    #[inline]
    pub(crate) fn moved(&self, x: u32, y: u32) -> Self {
        let by = x * Self::SIDE + y;
        let (words, bits) = ((by / 64) as usize, by % 64);
        Self(std::array::from_fn(|i| {
            let word = |i: Option<usize>| i.map_or(0, |i| self.0[i]);
            let low = word(i.checked_sub(words)) << bits;
            // Two shifts: one by 64 would overflow.
            let high = word(i.checked_sub(words + 1)) >> 1 >> (63 - bits);
            low | high
        }))
    }

    /// The sums of every member of this set with every member of the other.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut sums = Self::EMPTY;
        self.each(|x, y| sums.join(&other.moved(x, y)));
        sums
    }

    /// Whether `(x, y)` is in the set.
    pub(crate) fn has(&self, x: u32, y: u32) -> bool {
        let bit = x * Self::SIDE + y;
        x < Self::SIDE && y < Self::SIDE && self.0[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    /// Calls `f` with every member.
    pub(crate) fn each(&self, mut f: impl FnMut(u32, u32)) {
        for (i, &word) in (0u32..).zip(&self.0) {
            let mut word = word;
            while word != 0 {
                let bit = i * 64 + word.trailing_zeros();
                f(bit / Self::SIDE, bit % Self::SIDE);
                word &= word - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn moves_as_sets_do<const W: usize>(members: &[(u32, u32)], (dx, dy): (u32, u32)) {
        let mut grid = PairSet::<W>::EMPTY;
        let half = PairSet::<W>::SIDE / 2;
        let members: BTreeSet<_> = members.iter().map(|(x, y)| (x % half, y % half)).collect();
        for &(x, y) in &members {
            grid.join(&PairSet::origin().moved(x, y));
        }
        let (dx, dy) = (dx % half, dy % half);
        let mut moved = BTreeSet::new();
        grid.moved(dx, dy).each(|x, y| {
            assert!(moved.insert((x, y)));
        });
        assert_eq!(
            moved,
            members.iter().map(|(x, y)| (x + dx, y + dy)).collect()
        );
        assert!(moved.iter().all(|&(x, y)| grid.moved(dx, dy).has(x, y)));
        assert_eq!(grid.is_empty(), members.is_empty());
    }

    proptest! {
        #[test]
        fn moving_a_grid_moves_every_member(members in proptest::collection::vec((0u32..16, 0u32..16), 0..20), by in (0u32..16, 0u32..16)) {
            moves_as_sets_do::<1>(&members, by);
            moves_as_sets_do::<4>(&members, by);
            moves_as_sets_do::<16>(&members, by);
        }
    }
}
