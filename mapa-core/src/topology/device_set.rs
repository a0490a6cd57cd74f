//! Sets of devices.

use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::{BitAnd, BitOr, Range, Sub};

use bitvec::order::Lsb0;
use bitvec::slice::BitSlice;
use smallvec::SmallVec;

use crate::ids::DeviceId;
use crate::ids::MAX_VERTICES;

/// The bits of a word. Words are those of the machine: where they have 32 bits, as in WebAssembly, bitvec knows
/// none of 64.
const BITS: usize = usize::BITS as usize;

/// A set of devices: one bit each, inline up to 256 devices.
///
/// Two sets are ordered as their sorted id lists are: `{0, 3} < {1, 2}`. "Lowest ids" in every tie
/// rule of this crate means the least set in this order.
///
/// # Examples
///
/// ```
/// use mapa_core::{DeviceId, DeviceSet};
///
/// let free = DeviceSet::from([0, 2, 3]);
/// let busy = DeviceSet::from([3]);
/// assert_eq!(&free - &busy, DeviceSet::from([0, 2]));
/// assert!(free.contains(DeviceId(2)));
/// assert!(DeviceSet::from([0, 3]) < DeviceSet::from([1, 2]));
/// ```
#[derive(Default, PartialEq, Eq, Hash)]
pub struct DeviceSet {
    /// No trailing zero word, so that equal sets have equal words.
    words: SmallVec<[usize; 256 / BITS]>,
}

impl DeviceSet {
    pub(crate) const EMPTY: Self = Self {
        words: SmallVec::new_const(),
    };

    /// The empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The devices `0..n`; all that there can be, if `n` is more than [`MAX_VERTICES`].
    #[must_use]
    pub fn first_n(n: usize) -> Self {
        let n = n.min(MAX_VERTICES);
        let mut words = SmallVec::from_elem(usize::MAX, n / BITS);
        if !n.is_multiple_of(BITS) {
            words.push((1 << (n % BITS)) - 1);
        }
        Self { words }
    }

    /// The devices `64 at` to `64 at + 63` as bits, the lowest first. `word(0)` is the whole set of a machine with
    /// at most 64 devices.
    #[must_use]
    #[inline]
    pub fn word(&self, at: usize) -> u64 {
        // One part where words have 64 bits, two where they have 32.
        const PARTS: usize = 64 / BITS;
        (0..PARTS).fold(0, |bits, part| {
            let own = self.words.get(at * PARTS + part).copied().unwrap_or(0);
            bits | (own as u64) << (part * BITS)
        })
    }

    /// The words as bits. Loops over all devices go by words instead: decisions make many, and `iter_ones` does more for
    /// each bit than the lowest bit of a word needs.
    fn bits(&self) -> &BitSlice<usize, Lsb0> {
        BitSlice::from_slice(&self.words)
    }

    fn bits_mut(&mut self) -> &mut BitSlice<usize, Lsb0> {
        BitSlice::from_slice_mut(&mut self.words)
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    /// Adds a device; false if the set had it already. The set takes one bit of memory for each id
    /// up to the highest.
    pub fn insert(&mut self, device: DeviceId) -> bool {
        let (word, bit) = (device.index() / BITS, 1 << (device.index() % BITS));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Adds the devices whose ids are in the range, word by word.
    pub(super) fn insert_range(&mut self, ids: Range<u32>) {
        let (start, end) = (ids.start as usize, ids.end as usize);
        if start >= end {
            return;
        }
        let words = end.div_ceil(BITS);
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        self.bits_mut()[start..end].fill(true);
    }

    /// Removes a device; false if the set did not have it.
    pub fn remove(&mut self, device: DeviceId) -> bool {
        let there = self.contains(device);
        if there {
            self.words[device.index() / BITS] &= !(1 << (device.index() % BITS));
            self.trim();
        }
        there
    }

    /// Whether the device is in the set.
    #[must_use]
    pub fn contains(&self, device: DeviceId) -> bool {
        self.words
            .get(device.index() / BITS)
            .is_some_and(|word| word >> (device.index() % BITS) & 1 == 1)
    }

    /// The number of devices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether the set has no device.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The lowest id.
    #[must_use]
    pub fn first(&self) -> Option<DeviceId> {
        self.bits().first_one().map(|i| DeviceId(i as u32))
    }

    /// The highest id.
    #[must_use]
    pub fn last(&self) -> Option<DeviceId> {
        self.bits().last_one().map(|i| DeviceId(i as u32))
    }

    /// The devices, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = DeviceId> + '_ {
        let words = self.words.iter().enumerate();
        words.flat_map(|(at, &word)| WordMembers {
            word,
            base: at * BITS,
        })
    }

    /// Whether every device of `self` is in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words.len() <= other.words.len()
            && self
                .words
                .iter()
                .zip(&other.words)
                .all(|(a, b)| a & !b == 0)
    }

    /// Whether no device is in both.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(a, b)| a & b == 0)
    }
}

/// The devices of a word, of which `base` is the lowest that it can have.
struct WordMembers {
    word: usize,
    base: usize,
}

impl Iterator for WordMembers {
    type Item = DeviceId;

    #[inline]
    fn next(&mut self) -> Option<DeviceId> {
        let word = NonZeroUsize::new(self.word)?;
        self.word &= self.word - 1;
        Some(DeviceId(
            (self.base + word.trailing_zeros() as usize) as u32,
        ))
    }
}

impl DoubleEndedIterator for WordMembers {
    #[inline]
    fn next_back(&mut self) -> Option<DeviceId> {
        let at = self.word.checked_ilog2()?;
        self.word ^= 1 << at;
        Some(DeviceId((self.base + at as usize) as u32))
    }
}

/// Clones by copying all words at once; a derived `Clone` would push them one by one.
impl Clone for DeviceSet {
    fn clone(&self) -> Self {
        Self {
            words: SmallVec::from_slice(&self.words),
        }
    }
}

impl Ord for DeviceSet {
    fn cmp(&self, other: &Self) -> Ordering {
        let word = |set: &Self, i: usize| set.words.get(i).copied().unwrap_or(0);
        let n = self.words.len().max(other.words.len());
        let Some(i) = (0..n).find(|&i| word(self, i) != word(other, i)) else {
            return Ordering::Equal;
        };
        // Up to the lowest differing bit the lists are equal; who has it goes first, unless the
        // other list has ended.
        let bit = (word(self, i) ^ word(other, i)).trailing_zeros();
        let goes_on = |set: &Self| word(set, i) >> bit != 0 || set.words.len() > i + 1;
        if word(self, i) >> bit & 1 == 1 {
            if goes_on(other) {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        } else if goes_on(self) {
            Ordering::Greater
        } else {
            Ordering::Less
        }
    }
}

impl PartialOrd for DeviceSet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl BitAnd for &DeviceSet {
    type Output = DeviceSet;
    fn bitand(self, other: Self) -> DeviceSet {
        let (long, short) = if self.words.len() >= other.words.len() {
            (self, other)
        } else {
            (other, self)
        };
        let mut set = short.clone();
        set.words
            .iter_mut()
            .zip(&long.words)
            .for_each(|(a, b)| *a &= b);
        set.trim();
        set
    }
}

impl BitOr for &DeviceSet {
    type Output = DeviceSet;
    fn bitor(self, other: Self) -> DeviceSet {
        let (long, short) = if self.words.len() >= other.words.len() {
            (self, other)
        } else {
            (other, self)
        };
        let mut set = long.clone();
        set.words
            .iter_mut()
            .zip(&short.words)
            .for_each(|(a, b)| *a |= b);
        set
    }
}

impl Sub for &DeviceSet {
    type Output = DeviceSet;
    fn sub(self, other: Self) -> DeviceSet {
        let mut set = self.clone();
        set.words
            .iter_mut()
            .zip(&other.words)
            .for_each(|(a, b)| *a &= !b);
        set.trim();
        set
    }
}

impl FromIterator<DeviceId> for DeviceSet {
    fn from_iter<I: IntoIterator<Item = DeviceId>>(devices: I) -> Self {
        let mut set = Self::new();
        set.extend(devices);
        set
    }
}

impl Extend<DeviceId> for DeviceSet {
    fn extend<I: IntoIterator<Item = DeviceId>>(&mut self, devices: I) {
        for device in devices {
            self.insert(device);
        }
    }
}

impl<const N: usize> From<[u32; N]> for DeviceSet {
    fn from(ids: [u32; N]) -> Self {
        ids.into_iter().map(DeviceId).collect()
    }
}

impl fmt::Debug for DeviceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|d| d.0)).finish()
    }
}

/// The ids, separated by commas.
impl fmt::Display for DeviceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, device) in self.iter().enumerate() {
            write!(f, "{}{device}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for DeviceSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for DeviceSet {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DeviceSet".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<DeviceId>::json_schema(generator)
    }
}

/// Rejects ids that no machine can have. Otherwise a short text could allocate a large set.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for DeviceSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ids = Vec::<DeviceId>::deserialize(deserializer)?;
        match ids.iter().find(|id| id.index() >= MAX_VERTICES) {
            Some(id) => Err(serde::de::Error::custom(format_args!(
                "device {id} is out of range: a machine has at most {} devices and instances of them",
                MAX_VERTICES
            ))),
            None => Ok(ids.into_iter().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ids() -> impl Strategy<Value = BTreeSet<u32>> {
        prop::collection::btree_set(0u32..300, 0..12)
    }

    fn set(ids: &BTreeSet<u32>) -> DeviceSet {
        ids.iter().copied().map(DeviceId).collect()
    }

    proptest! {
        #[test]
        fn agrees_with_a_tree_set(a in ids(), b in ids()) {
            let (x, y) = (set(&a), set(&b));
            prop_assert_eq!(&x & &y, set(&(&a & &b)));
            prop_assert_eq!(&x | &y, set(&(&a | &b)));
            prop_assert_eq!(&x - &y, set(&(&a - &b)));
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x.is_disjoint(&y), a.is_disjoint(&b));
            prop_assert_eq!(x.cmp(&y), a.iter().cmp(b.iter()));
            prop_assert_eq!(x.len(), a.len());
            prop_assert_eq!(x.first().map(|d| d.0), a.first().copied());
            prop_assert_eq!(x.last().map(|d| d.0), a.last().copied());
            prop_assert_eq!(x.iter().map(|d| d.0).collect::<BTreeSet<_>>(), a);
        }

        #[test]
        fn a_range_adds_each_of_its_devices(a in ids(), start in 0u32..300, len in 0u32..200) {
            let mut found = set(&a);
            found.insert_range(start..start + len);
            let all: BTreeSet<u32> = a.into_iter().chain(start..start + len).collect();
            prop_assert_eq!(found, set(&all));
        }

        #[test]
        fn insert_and_remove_restore_the_set(a in ids(), id in 0u32..300) {
            let before = set(&a);
            let mut after = before.clone();
            let new = after.insert(DeviceId(id));
            prop_assert_eq!(new, !a.contains(&id));
            prop_assert!(after.contains(DeviceId(id)));
            if new {
                prop_assert!(after.remove(DeviceId(id)));
            }
            prop_assert_eq!(after, before);
        }
    }

    #[test]
    fn a_word_has_the_bits_of_64_devices() {
        let set = DeviceSet::from([0, 31, 32, 63, 64, 130]);
        assert_eq!(
            [0, 1, 2, 3].map(|at| set.word(at)),
            [1 << 63 | 1 << 32 | 1 << 31 | 1, 1, 4, 0]
        );
    }

    #[test]
    fn first_n_holds_exactly_the_first_n() {
        for n in [0, 1, 63, 64, 65, 256, 300] {
            assert_eq!(DeviceSet::first_n(n), (0..n as u32).map(DeviceId).collect());
        }
    }
}
