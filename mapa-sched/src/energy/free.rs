//! Which slices are free, by size and by how many compute slices of their GPU are busy.

use super::job::{SIZES, class_of};
use super::machine::Machine;

/// A set of slices, one bit each, that knows how many it holds.
#[derive(Clone, Debug, Default)]
struct Bits {
    words: Vec<u64>,
    len: u32,
}

impl Bits {
    fn set(&mut self, slice: usize, is_in: bool) {
        let (word, bit) = (&mut self.words[slice / 64], 1 << (slice % 64));
        if (*word & bit != 0) != is_in {
            *word ^= bit;
            self.len = if is_in { self.len + 1 } else { self.len - 1 };
        }
    }

    fn first(&self) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let word = self.words.iter().position(|&word| word != 0)?;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }
}

/// The free slices. The lowest of a size, or of a size on a GPU that is busy to some degree, is
/// found without a visit to every slice: O(slices / 64).
#[derive(Clone, Debug)]
pub(super) struct Free {
    by_class: [Bits; 5],
    by_use: [[Bits; 8]; 5],
}

impl Free {
    /// All slices of a machine, all free.
    pub(super) fn new(machine: &Machine) -> Self {
        let none = Bits {
            words: vec![0; machine.sizes().len().div_ceil(64)],
            len: 0,
        };
        let mut own = Self {
            by_class: std::array::from_fn(|_| none.clone()),
            by_use: std::array::from_fn(|_| std::array::from_fn(|_| none.clone())),
        };
        for (slice, &size) in machine.sizes().iter().enumerate() {
            own.set(slice, size, 0, true);
        }
        own
    }

    /// Books that a slice, whose GPU has this many busy compute slices, is free or is not.
    pub(super) fn set(&mut self, slice: usize, size: u8, used: u8, is_free: bool) {
        if let Some(class) = class_of(size) {
            self.by_class[class].set(slice, is_free);
            self.by_use[class][usize::from(used)].set(slice, is_free);
        }
    }

    /// The lowest free slice of a class of size.
    pub(super) fn first(&self, class: usize) -> Option<usize> {
        self.by_class[class].first()
    }

    /// The lowest free slice of a class on a GPU with this many busy compute slices.
    pub(super) fn first_with(&self, class: usize, used: u8) -> Option<usize> {
        self.by_use[class][usize::from(used)].first()
    }

    /// How many slices are free.
    pub(super) fn len(&self) -> usize {
        self.by_class.iter().map(|own| own.len as usize).sum()
    }

    /// The free slice with this position among the free ones in ascending order.
    pub(super) fn nth(&self, mut place: usize) -> Option<usize> {
        for word in 0..self.by_class[0].words.len() {
            let mut bits = self
                .by_class
                .iter()
                .fold(0, |all, own| all | own.words[word]);
            let count = bits.count_ones() as usize;
            if place >= count {
                place -= count;
                continue;
            }
            for _ in 0..place {
                bits &= bits - 1;
            }
            return Some(word * 64 + bits.trailing_zeros() as usize);
        }
        None
    }

    /// The classes of size, largest first, of which a slice is free.
    pub(super) fn classes(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..SIZES.len())
            .rev()
            .filter(|&class| self.by_class[class].len > 0)
    }
}
