//! The machine as the tables see it: up to sixteen devices, every two of them joined by one of at
//! most three kinds of link, or not joined.

use super::subsets::{MOST, Mask};

/// The most kinds of link. Tables count the edges on the first kind and on the second; the rest lie
/// on the third.
pub(crate) const KINDS: usize = 3;

/// The kind of link between every two of up to [`MOST`] devices, if any.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PairKinds {
    n: usize,
    /// By device and kind, the devices that it is joined to by links of that kind.
    by_kind: [[Mask; KINDS]; MOST],
}

impl PairKinds {
    /// The kinds of `n` devices. `kind(a, b)` is called for `a < b` and gives none where no edge
    /// may lie.
    pub(crate) fn new(n: usize, kind: impl Fn(usize, usize) -> Option<usize>) -> Self {
        let mut by_kind = [[0; KINDS]; MOST];
        for b in 0..n {
            for a in 0..b {
                if let Some(kind) = kind(a, b) {
                    by_kind[a][kind] |= 1 << b;
                    by_kind[b][kind] |= 1 << a;
                }
            }
        }
        Self { n, by_kind }
    }

    /// The number of devices.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// By kind of link, the devices that a device is joined to.
    pub(crate) fn around(&self, device: usize) -> &[Mask; KINDS] {
        &self.by_kind[device]
    }

    /// The kind of link between two devices.
    pub(crate) fn between(&self, a: usize, b: usize) -> Option<usize> {
        self.by_kind[a].iter().position(|mask| mask >> b & 1 == 1)
    }

    /// The kinds as words, for use as a key: a word per device, 16 bits per kind.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        let rows = self.by_kind[..self.n].iter();
        rows.map(|row| u64::from(row[0]) | u64::from(row[1]) << 16 | u64::from(row[2]) << 32)
    }
}
