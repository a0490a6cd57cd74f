//! The packings of the last sets of a machine.
//!
//! Several criteria and reports of one decision ask for the packing of one set: the model, the part of it
//! that the host shares, and the scores that are printed. It takes tens of microseconds on few devices,
//! and seconds on many.
//! A packing is a pure function of the machine, the set and the rates, so a kept one changes no answer.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::topology::DeviceSet;

/// How many are kept for each machine and model. The last few are enough for one decision.
const KEPT: usize = 8;

/// The packings of the last sets, the newest first.
pub(super) struct LastPackings<T>(Mutex<VecDeque<(DeviceSet, T)>>);

impl<T: Clone> LastPackings<T> {
    /// No packings, and the bytes that they will take, without what they have on the heap.
    pub(super) fn new() -> (usize, Self) {
        let list = VecDeque::with_capacity(KEPT);
        (KEPT * size_of::<(DeviceSet, T)>(), Self(Mutex::new(list)))
    }

    /// The packing of a set, as it is kept or as `make` makes it.
    pub(super) fn get_or_make(&self, set: &DeviceSet, make: impl FnOnce() -> T) -> T {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept()
            .iter()
            .find(|(of, _)| of == set)
            .map(|(_, packing)| packing.clone());
        // The lock is not held while a packing is made, which takes long.
        known.unwrap_or_else(|| {
            let made = make();
            let mut kept = kept();
            kept.truncate(KEPT - 1);
            kept.push_front((set.clone(), made.clone()));
            made
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_packings_are_kept_and_older_ones_are_made_again() {
        let (_, last) = LastPackings::new();
        let set = |id: u32| DeviceSet::from([id, 99]);
        for id in 0..=KEPT as u32 {
            assert_eq!(last.get_or_make(&set(id), || id), id);
        }
        for id in 1..=KEPT as u32 {
            assert_eq!(last.get_or_make(&set(id), || 1000), id, "it is kept");
        }
        assert_eq!(
            last.get_or_make(&set(0), || 1000),
            1000,
            "eight came after it"
        );
    }
}
