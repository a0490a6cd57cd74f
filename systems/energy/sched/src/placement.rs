//! Where instances may lie on a GPU that is repartitioned while jobs run.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A size and the first memory slot of an instance on an A100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotPlacement {
    /// Compute slices: one of [`SIZES`](super::SIZES).
    pub size: u8,
    /// The first of its memory slots, 0 to 6. The GPU has eight of them.
    pub start: u8,
}

impl SlotPlacement {
    /// Every placement of an A100, in the order in which
    /// [`SlicedGpus::flexible`](super::SlicedGpus::flexible) numbers the slices of a GPU. An H100 has the
    /// same. Instances may exist together if they share no memory slot: they have at most seven
    /// compute slices in sum then. Source: NVIDIA MIG User Guide, `nvidia-smi mig -lgipp`.
    pub const ALL: [Self; 14] = [
        Self::at(7, 0),
        Self::at(4, 0),
        Self::at(3, 0),
        Self::at(3, 4),
        Self::at(2, 0),
        Self::at(2, 2),
        Self::at(2, 4),
        Self::at(1, 0),
        Self::at(1, 1),
        Self::at(1, 2),
        Self::at(1, 3),
        Self::at(1, 4),
        Self::at(1, 5),
        Self::at(1, 6),
    ];

    const fn at(size: u8, start: u8) -> Self {
        Self { size, start }
    }

    /// How many memory slots it takes: 1, 2, 4, 4 and 8 for the sizes 1, 2, 3, 4 and 7.
    #[must_use]
    pub const fn slots(self) -> u8 {
        match self.size {
            1 | 2 => self.size,
            3 | 4 => 4,
            _ => 8,
        }
    }

    /// Whether the two share a memory slot. A placement shares all of its own with itself.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.start.saturating_add(other.slots())
            && other.start < self.start.saturating_add(self.slots())
    }

    /// The placements that share a memory slot with this one, itself too: bits by position in
    /// [`SlotPlacement::ALL`].
    pub(super) fn conflicts(self) -> u16 {
        let all = Self::ALL.iter().enumerate();
        all.filter(|(_, other)| self.overlaps(**other))
            .fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// Every way to partition a GPU to which no instance can be added: the sizes of its instances,
    /// descending; the ways with the larger instances first. There are 14.
    #[must_use]
    pub fn layouts() -> Vec<Vec<u8>> {
        let conflicts = Self::ALL.map(Self::conflicts);
        let mut found = BTreeSet::new();
        for set in 1_u16..1 << Self::ALL.len() {
            let has = |at: &usize| set >> at & 1 == 1;
            let members = (0..Self::ALL.len()).filter(has);
            let apart = members.clone().all(|at| conflicts[at] & set == 1 << at);
            let covered = members.clone().fold(0, |all, at| all | conflicts[at]);
            if apart && covered == (1 << Self::ALL.len()) - 1 {
                let mut sizes: Vec<u8> = members.map(|at| Self::ALL[at].size).collect();
                sizes.sort_by_key(|&size| Reverse(size));
                found.insert(Reverse(sizes));
            }
        }
        found.into_iter().map(|Reverse(sizes)| sizes).collect()
    }
}
