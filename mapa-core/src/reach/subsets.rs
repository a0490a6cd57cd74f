//! Subsets of up to sixteen devices as numbers, and where each is kept in a table.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use super::kinds::MOST;

/// A set of devices of a table, one bit each.
pub(crate) type Mask = u32;

/// The place of a set among those of its size, in ascending order of their numbers. It does not depend on how many devices
/// there are: further ones only make further sets.
pub(crate) fn place(set: Mask) -> usize {
    usize::from(places()[set as usize])
}

/// By set.
pub(super) fn places() -> &'static [u16] {
    static PLACES: LazyLock<Vec<u16>> = LazyLock::new(|| {
        let mut next = [0; MOST + 1];
        let place = |set: Mask| {
            let next = &mut next[set.count_ones() as usize];
            *next += 1;
            *next - 1
        };
        (0..1 << MOST).map(place).collect()
    });
    &PLACES
}

/// How many sets of `k` of `n` there are.
pub(crate) fn choose(n: usize, k: usize) -> u64 {
    if k > n { 0 } else { (1..=k as u64).fold(1, |c, i| c * (n as u64 - k as u64 + i) / i) }
}

/// The sets of `k` of the first `n`, ascending.
pub(crate) fn of_size(n: usize, k: usize) -> impl Iterator<Item = Mask> {
    let end: Mask = 1 << n;
    let first: Mask = (1 << k) - 1;
    let next = |&set: &Mask| {
        // Gosper's hack: the lowest run of ones moves one of them up, the others go down.
        let lowest = set & set.wrapping_neg();
        let up = set + lowest;
        (lowest != 0).then(|| up | ((up ^ set) >> 2 >> lowest.trailing_zeros()))
    };
    std::iter::successors(Some(first), next).take_while(move |&set| set < end)
}

/// The devices of a set, ascending.
pub(crate) fn members(set: Mask) -> Members {
    Members(set)
}

/// See [`members`].
#[derive(Clone)]
pub(crate) struct Members(Mask);

impl Iterator for Members {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let set = NonZeroU32::new(self.0)?;
        self.0 &= self.0 - 1;
        Some(set.trailing_zeros() as usize)
    }
}

/// The higher, the earlier a set comes when sets of one size are compared as sorted lists of ids.
pub(crate) fn earliness(set: Mask) -> u32 {
    set.reverse_bits()
}

/// Subsets of a set from subsets of `0..`: the lowest number stands for the lowest member.
pub(crate) struct Spread {
    /// By byte of the number, and by its value.
    parts: [[u16; 256]; 2],
}

impl Spread {
    pub(crate) fn new(set: Mask) -> Self {
        let mut parts = [[0; 256]; 2];
        for (at, member) in members(set).enumerate() {
            let (part, bit) = (&mut parts[at / 8], 1 << (at % 8));
            for value in bit..2 * bit {
                part[value] = part[value - bit] | 1 << member;
            }
        }
        // Bits that were set last were combined only with lower ones, which are there already.
        Self { parts }
    }

    pub(crate) fn of(&self, chosen: Mask) -> Mask {
        Mask::from(self.parts[0][chosen as usize & 255] | self.parts[1][chosen as usize >> 8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_a_size_are_counted_ascending_and_placed() {
        for n in 0..=MOST {
            for k in 0..=n {
                let sets: Vec<Mask> = of_size(n, k).collect();
                assert_eq!(sets.len() as u64, choose(n, k));
                assert!(sets.is_sorted() && sets.iter().all(|set| set.count_ones() as usize == k));
                assert!(sets.iter().enumerate().all(|(i, &set)| place(set) == i));
            }
        }
    }

    #[test]
    fn the_earlier_of_two_sets_has_the_lower_ids() {
        let list = |set| members(set).collect::<Vec<_>>();
        for a in of_size(6, 3) {
            for b in of_size(6, 3) {
                assert_eq!(earliness(a).cmp(&earliness(b)), list(b).cmp(&list(a)));
            }
        }
    }
}
