//! Which slices are free, by size and by what a start on them would mean.

use super::machine::SlicedGpus;
use mapa_sched::slices::SIZES;

/// A set of slices, one bit each, that knows how many it holds. It has no words until it holds one.
#[derive(Clone, Debug, Default)]
struct Bits {
    words: Vec<u64>,
    len: u32,
}

impl Bits {
    /// Adds or removes a slice of `all`, which is known not to be in it, or to be in it.
    fn flip(&mut self, slice: usize, all: usize) {
        if self.words.is_empty() {
            self.words = vec![0; all.div_ceil(64)];
        }
        let (word, bit) = (&mut self.words[slice / 64], 1 << (slice % 64));
        *word ^= bit;
        self.len = if *word & bit != 0 {
            self.len + 1
        } else {
            self.len - 1
        };
    }

    fn first(&self) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let word = self.words.iter().position(|&word| word != 0)?;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }

    /// The members, ascending.
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.words.iter().enumerate();
        words.flat_map(|(at, &word)| bits(word.into()).map(move |bit| at * 64 + bit))
    }
}

/// The positions of the bits that are set, ascending.
fn bits(word: u128) -> impl Iterator<Item = usize> {
    let some = |word: u128| (word != 0).then_some(word);
    std::iter::successors(some(word), move |&word| some(word & (word - 1)))
        .map(|word| word.trailing_zeros() as usize)
}

/// What the free slices of one size have in common to which a start on them means the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FreeGroup {
    /// The busy compute slices of the GPU, at most 6.
    pub(super) used: u8,
    /// Whether the instance exists.
    pub(super) exists: bool,
    /// How many other free slices of the GPU a job here would take away, at most [`FreeGroup::MOST`].
    pub(super) lost: u8,
}

impl FreeGroup {
    /// The most slices lost that are told apart. Only a job on a whole GPU takes more away, and it
    /// always takes the same.
    pub(super) const MOST: u8 = 8;

    /// Groups of one degree of use where GPUs are repartitioned. Elsewhere each degree is one group.
    const FLEXIBLE: usize = 2 * (Self::MOST as usize + 1);

    fn index(self, stride: usize) -> usize {
        let place = usize::from(!self.exists) * (Self::FLEXIBLE / 2) + usize::from(self.lost);
        usize::from(self.used) * stride + place
    }

    fn at(index: usize, stride: usize) -> Self {
        let place = index % stride;
        Self {
            used: (index / stride) as u8,
            exists: place < Self::FLEXIBLE / 2,
            lost: (place % (Self::FLEXIBLE / 2)) as u8,
        }
    }
}

/// The free slices of one size by group.
#[derive(Clone, Debug, Default)]
struct Groups {
    /// Which groups have a slice.
    filled: u128,
    sets: Vec<Bits>,
}

/// The free slices. The lowest of a size, or of a size and a group, is found without a visit to
/// every slice: O(slices / 64).
#[derive(Clone, Debug)]
pub(super) struct FreeSlices {
    by_class: [Bits; 5],
    by_group: [Groups; 5],
    /// The group of each slice; `NONE` if it is not free.
    group: Vec<u8>,
    stride: usize,
}

const NONE: u8 = u8::MAX;

impl FreeSlices {
    /// The slices of a machine, none of them free.
    pub(super) fn none(machine: &SlicedGpus) -> Self {
        let stride = match machine.creation_minutes() {
            Some(_) => FreeGroup::FLEXIBLE,
            None => 1,
        };
        let groups = Groups {
            filled: 0,
            sets: vec![Bits::default(); 7 * stride],
        };
        Self {
            by_class: Default::default(),
            by_group: std::array::from_fn(|_| groups.clone()),
            group: vec![NONE; machine.sizes().len()],
            stride,
        }
    }

    /// Books that a slice of this class is free, and of which group, or that it is not.
    pub(super) fn set(&mut self, slice: usize, class: usize, group: Option<FreeGroup>) {
        let all = self.group.len();
        let next = group.map_or(NONE, |group| group.index(self.stride) as u8);
        let before = std::mem::replace(&mut self.group[slice], next);
        if before == next {
            return;
        }
        if (before == NONE) != (next == NONE) {
            self.by_class[class].flip(slice, all);
        }
        let groups = &mut self.by_group[class];
        for index in [before, next]
            .into_iter()
            .filter(|&candidate| candidate != NONE)
        {
            let set = &mut groups.sets[usize::from(index)];
            set.flip(slice, all);
            let bit = 1 << index;
            groups.filled = if set.len > 0 {
                groups.filled | bit
            } else {
                groups.filled & !bit
            };
        }
    }

    /// Whether a slice is free.
    pub(super) fn has(&self, slice: usize) -> bool {
        self.group.get(slice).is_some_and(|&group| group != NONE)
    }

    /// The lowest free slice of a class. Where GPUs are repartitioned, the lowest that exists, if
    /// one does.
    pub(super) fn first(&self, class: usize) -> Option<usize> {
        if self.stride > 1 {
            let existing = self.groups(class).filter(|group| group.exists);
            let lowest = existing
                .filter_map(|group| self.first_of(class, group))
                .min();
            if lowest.is_some() {
                return lowest;
            }
        }
        self.by_class[class].first()
    }

    /// The groups of which a slice of a class is free: of the fullest GPUs first, then those that
    /// exist, then those with which the least is lost.
    pub(super) fn groups(&self, class: usize) -> impl Iterator<Item = FreeGroup> + '_ {
        let (filled, stride) = (self.by_group[class].filled, self.stride);
        (0..7).rev().flat_map(move |used| {
            let own = filled >> (used * stride) & ((1 << stride) - 1);
            bits(own).map(move |place| FreeGroup::at(used * stride + place, stride))
        })
    }

    /// The lowest free slice of a class and group.
    pub(super) fn first_of(&self, class: usize, group: FreeGroup) -> Option<usize> {
        self.by_group[class].sets[group.index(self.stride)].first()
    }

    /// The free slices of a class and group, ascending.
    pub(super) fn all_of(
        &self,
        class: usize,
        group: FreeGroup,
    ) -> impl Iterator<Item = usize> + '_ {
        self.by_group[class].sets[group.index(self.stride)].iter()
    }

    /// How many slices are free.
    pub(super) fn len(&self) -> usize {
        self.by_class.iter().map(|slices| slices.len as usize).sum()
    }

    /// The free slice with this position among the free ones in ascending order.
    pub(super) fn nth(&self, mut place: usize) -> Option<usize> {
        for word in 0..self.group.len().div_ceil(64) {
            let words = self
                .by_class
                .iter()
                .filter_map(|slices| slices.words.get(word));
            let mut bits = words.fold(0, |all, number| all | number);
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
