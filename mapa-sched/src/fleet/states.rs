//! Machines by the state they are in.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use mapa_core::{Allocator, DeviceSet};

/// A machine as built, by where its graph is, which equal machines of a fleet share, and what is free of it.
type State = (usize, DeviceSet);

/// Which machines are in the same state, where a free set says all of it; and a log of the states whose first machine has
/// changed. A change of a machine is O(log machines).
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    known: HashMap<State, usize, BuildHasherDefault<DefaultHasher>>,
    /// By state, the machines that are in it.
    machines: Vec<BTreeSet<u32>>,
    /// By machine, its state; none where more than a free set is to be known of it.
    state_of: Vec<Option<usize>>,
    /// The machines that have none.
    others: BTreeSet<u32>,
    /// States whose first machine is another one than before.
    log: Vec<usize>,
    /// How many entries of the log are forgotten.
    forgotten: u64,
}

impl States {
    /// Every machine in its state. O(machines x log(machines)).
    pub(super) fn of(machines: &[Allocator]) -> Self {
        let mut states = Self::default();
        machines.iter().for_each(|machine| states.put(machine));
        states
    }

    /// Puts a machine into the state it is in now.
    pub(super) fn put(&mut self, machine: &Allocator) {
        let (id, view) = (machine.id().0, machine.view());
        let state = view.is_of_free_set().then(|| {
            let next = self.machines.len();
            let state = *self.known.entry((Arc::as_ptr(machine.graph()) as usize, view.free().clone())).or_insert(next);
            if state == next {
                self.machines.push(BTreeSet::new());
            }
            state
        });
        let at = id as usize;
        if at >= self.state_of.len() {
            self.state_of.resize(at + 1, None);
            self.others.insert(id);
        }
        let before = std::mem::replace(&mut self.state_of[at], state);
        if before == state {
            return;
        }
        match before {
            Some(before) => self.change(before, |machines| machines.remove(&id)),
            None => drop(self.others.remove(&id)),
        }
        match state {
            Some(state) => self.change(state, |machines| machines.insert(id)),
            None => drop(self.others.insert(id)),
        }
    }

    fn change(&mut self, state: usize, change: impl FnOnce(&mut BTreeSet<u32>) -> bool) {
        let machines = &mut self.machines[state];
        let first = machines.first().copied();
        change(machines);
        if machines.first().copied() == first {
            return;
        }
        self.log.push(state);
        // Whoever has not read so much goes through all states instead, which is no more.
        let most = 2 * self.machines.len().max(64);
        if self.log.len() > most {
            self.forgotten += (most / 2) as u64;
            self.log.drain(..most / 2);
        }
    }

    /// How many states there are, in some of which no machine is any more.
    pub(super) fn len(&self) -> usize {
        self.machines.len()
    }

    /// The machines of a state.
    pub(super) fn machines(&self, state: usize) -> &BTreeSet<u32> {
        &self.machines[state]
    }

    /// The state of a machine.
    pub(super) fn state_of(&self, machine: u32) -> Option<usize> {
        self.state_of.get(machine as usize).copied().flatten()
    }

    /// The machines of which more than a free set is to be known, by id.
    pub(super) fn others(&self) -> &BTreeSet<u32> {
        &self.others
    }

    /// Where the log ends.
    pub(super) fn now(&self) -> u64 {
        self.forgotten + self.log.len() as u64
    }

    /// What the log says since then; none if that is forgotten.
    pub(super) fn since(&self, then: u64) -> Option<&[usize]> {
        self.log.get(usize::try_from(then.checked_sub(self.forgotten)?).ok()?..)
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        let state = size_of::<State>() + size_of::<usize>() + size_of::<BTreeSet<u32>>();
        self.machines.len() * state + self.state_of.len() * (size_of::<Option<usize>>() + 8) + self.log.capacity() * 8
    }
}
