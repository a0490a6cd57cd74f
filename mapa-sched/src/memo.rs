//! What policies have answered on the present state of the fleet, so that nobody asks twice.

use std::collections::BTreeMap;

use mapa_core::Stamp;

use crate::fleet::Fleet;

/// Answers by class of job, as long as the fleet stays as it is.
#[derive(Clone, Debug)]
pub(crate) struct Memo<T> {
    stamps: Vec<Stamp>,
    answers: BTreeMap<u64, T>,
}

impl<T> Memo<T> {
    pub(crate) fn new() -> Self {
        Self { stamps: Vec::new(), answers: BTreeMap::new() }
    }

    /// Forgets everything if the fleet has changed; whether it has. O(machines).
    pub(crate) fn refresh(&mut self, fleet: &Fleet) -> bool {
        let stamps = || fleet.views().map(|view| view.stamp());
        let changed = !stamps().eq(self.stamps.iter().copied());
        if changed {
            self.answers.clear();
            self.stamps.clear();
            self.stamps.extend(stamps());
        }
        changed
    }

    pub(crate) fn clear(&mut self) {
        self.answers.clear();
    }

    pub(crate) fn get(&self, class: u64) -> Option<&T> {
        self.answers.get(&class)
    }

    pub(crate) fn get_mut(&mut self, class: u64) -> Option<&mut T> {
        self.answers.get_mut(&class)
    }

    pub(crate) fn insert(&mut self, class: u64, answer: T) {
        self.answers.insert(class, answer);
    }
}
