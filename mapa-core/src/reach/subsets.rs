//! Subsets of up to sixteen devices as numbers, and where each is kept in a table.

use std::num::NonZeroU32;
use std::sync::LazyLock;

/// The most devices of a table.
pub(crate) const MOST: usize = 16;

/// A set of devices of a table, one bit each.
pub(crate) type Mask = u32;

/// The place of a set among the sets of its size, in ascending order of their numbers. The place
/// does not depend on how many devices there are: more devices only add sets with higher numbers.
pub(crate) fn place(set: Mask) -> usize {
    usize::from(places()[set as usize])
}

/// The place of every set, by its number.
pub(super) fn places() -> &'static [u16] {
    static PLACES: LazyLock<Vec<u16>> = LazyLock::new(|| {
        // Counting up through all sets meets those of each size in ascending order.
        let mut seen = [0; MOST + 1];
        let mut places = Vec::with_capacity(1 << MOST);
        for set in 0..1u32 << MOST {
            let seen = &mut seen[set.count_ones() as usize];
            places.push(*seen);
            *seen += 1;
        }
        places
    });
    &PLACES
}

/// The number of sets of `k` of `n` devices: the binomial coefficient.
pub(crate) fn choose(n: usize, k: usize) -> u64 {
    if k > n {
        0
    } else {
        (1..=k as u64).fold(1, |c, i| c * (n as u64 - k as u64 + i) / i)
    }
}

/// The sets of `k` of the first `n`, ascending.
pub(crate) fn of_size(n: usize, k: usize) -> impl Iterator<Item = Mask> {
    let end: Mask = 1 << n;
    let first: Mask = (1 << k) - 1;
    std::iter::successors(Some(first), |&set| {
        // Gosper's hack, the next higher number with as many ones: the highest one of the lowest
        // run of ones moves up by one place, and the rest of the run moves down to the bottom.
        let lowest = set & set.wrapping_neg();
        let up = set + lowest;
        (lowest != 0).then(|| up | ((up ^ set) >> 2 >> lowest.trailing_zeros()))
    })
    .take_while(move |&set| set < end)
}

/// The devices of a set, ascending.
pub(crate) fn members(set: Mask) -> Members {
    Members(set)
}

/// The iterator of [`members`].
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

/// A number that is higher for a set that comes earlier, when sets of one size are compared as
/// sorted lists of ids.
///
/// Of two sets the earlier has the lowest device that only one of them has; reversed, that device
/// is the highest bit in which the numbers differ.
pub(crate) fn earliness(set: Mask) -> u32 {
    set.reverse_bits()
}

/// Maps subsets of `0..k` to subsets of a set of k devices: bit i stands for its i-th lowest
/// member.
///
/// Two tables, one for each byte of the number, replace a loop over bits.
pub(crate) struct SubsetMap {
    /// By byte of the subset's number and by that byte's value: the members meant.
    parts: [[u16; 256]; 2],
}

impl SubsetMap {
    pub(crate) fn new(set: Mask) -> Self {
        let mut parts = [[0; 256]; 2];
        for (at, member) in members(set).enumerate() {
            let (part, bit) = (&mut parts[at / 8], 1 << (at % 8));
            // The values whose highest bit is this one: the bits below it are filled in already.
            for value in bit..2 * bit {
                part[value] = part[value - bit] | 1 << member;
            }
        }
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
