//! Sets of fixed width, on machine words.

use std::ops::ControlFlow;

use crate::topology::DeviceSet;

/// A set of vertices, 64 a word.
pub(super) type Bits<const W: usize> = [u64; W];

/// The set as `W` words; devices beyond them are dropped.
pub(super) fn bits<const W: usize>(set: &DeviceSet) -> Bits<W> {
    std::array::from_fn(|i| set.word(i))
}

#[inline]
pub(super) fn and<const W: usize>(a: &Bits<W>, b: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|i| a[i] & b[i])
}

#[inline]
pub(super) fn and_not<const W: usize>(a: &Bits<W>, b: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|i| a[i] & !b[i])
}

#[inline]
pub(super) fn or<const W: usize>(a: &Bits<W>, b: &Bits<W>) -> Bits<W> {
    std::array::from_fn(|i| a[i] | b[i])
}

/// Whether the set has no vertex. Folding all words avoids a branch per word.
#[inline]
pub(super) fn is_empty<const W: usize>(set: &Bits<W>) -> bool {
    set.iter().fold(0, |all, word| all | word) == 0
}

/// The number of vertices.
#[inline]
pub(super) fn size<const W: usize>(set: &Bits<W>) -> u64 {
    set.iter().map(|word| u64::from(word.count_ones())).sum()
}

pub(super) fn put<const W: usize>(set: &mut Bits<W>, vertex: u32) {
    set[vertex as usize / 64] |= 1 << (vertex % 64);
}

pub(super) fn has<const W: usize>(set: &Bits<W>, vertex: u32) -> bool {
    set[vertex as usize / 64] >> (vertex % 64) & 1 == 1
}

/// The set of one vertex.
pub(super) fn only<const W: usize>(vertex: u32) -> Bits<W> {
    let mut set = [0; W];
    put(&mut set, vertex);
    set
}

/// All vertices with a higher number than `vertex`.
pub(super) fn above<const W: usize>(vertex: u32) -> Bits<W> {
    let at = vertex as usize / 64;
    // Two shifts: one by 64 would overflow.
    let here = u64::MAX << (vertex % 64) << 1;
    std::array::from_fn(|i| {
        if i < at {
            0
        } else if i > at {
            u64::MAX
        } else {
            here
        }
    })
}

/// All vertices with a lower number than `vertex`.
pub(super) fn below<const W: usize>(vertex: u32) -> Bits<W> {
    let at = vertex as usize / 64;
    let here = (1 << (vertex % 64)) - 1;
    std::array::from_fn(|i| {
        if i < at {
            u64::MAX
        } else if i > at {
            0
        } else {
            here
        }
    })
}

/// Removes the lowest vertex and returns it.
#[inline]
pub(super) fn pop_lowest<const W: usize>(set: &mut Bits<W>) -> Option<u32> {
    let (i, word) = set.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
    let bit = word.trailing_zeros();
    *word &= *word - 1;
    Some(i as u32 * 64 + bit)
}

/// Calls `f` with each vertex, lowest first, until `f` breaks off.
#[inline]
pub(super) fn each<const W: usize, B>(
    set: &Bits<W>,
    mut f: impl FnMut(u32) -> ControlFlow<B>,
) -> ControlFlow<B> {
    for (i, &word) in set.iter().enumerate() {
        let mut word = word;
        while word != 0 {
            let bit = word.trailing_zeros();
            word &= word - 1;
            f(i as u32 * 64 + bit)?;
        }
    }
    ControlFlow::Continue(())
}
