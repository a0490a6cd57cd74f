//! The answers of policies on the present state of the fleet, kept so that each is computed once.

use std::collections::BTreeMap;

use crate::fleet::{Fleet, FleetState};

/// Answers by class of job, valid while the fleet stays as it is.
#[derive(Clone, Debug)]
pub struct Memo<T> {
    state: Option<FleetState>,
    answers: BTreeMap<u64, T>,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self {
            state: None,
            answers: BTreeMap::new(),
        }
    }
}

impl<T> Memo<T> {
    /// No answers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything if the fleet has changed. Returns whether it has. O(1), besides what is
    /// forgotten.
    pub fn refresh(&mut self, fleet: &Fleet) -> bool {
        let state = Some(fleet.state());
        let changed = self.state != state;
        if changed {
            self.answers.clear();
            self.state = state;
        }
        changed
    }

    /// Forgets all answers.
    pub fn clear(&mut self) {
        self.answers.clear();
    }

    /// The answer for this class of jobs, if there is one.
    pub fn get(&self, class: u64) -> Option<&T> {
        self.answers.get(&class)
    }

    /// The answer for this class of jobs, to be changed.
    pub fn get_mut(&mut self, class: u64) -> Option<&mut T> {
        self.answers.get_mut(&class)
    }

    /// All answers, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.answers.values_mut()
    }

    /// Keeps the answer for a class of jobs.
    pub fn insert(&mut self, class: u64, answer: T) {
        self.answers.insert(class, answer);
    }
}
