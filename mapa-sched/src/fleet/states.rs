//! Machines by the state they are in.
//!
//! Machines with equal graphs and equal free sets are in one state: thousands of servers are in a
//! few hundred states. A policy decides once for each state. Only the lowest machine of each state
//! matters for the answer, so a change of any other machine costs nothing. The log records the
//! states whose lowest machine has changed.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use mapa_core::{Allocator, DeviceSet};

/// The state of a machine: the address of its graph, which equal machines of a fleet share, and its
/// free devices.
type MachineStateId = (usize, DeviceSet);

/// The machines in each state, and a log of the states whose lowest machine has changed. Machines
/// with instances or shared devices have no state, as their free set does not describe them fully.
///
/// # Complexity
/// A change of a machine costs O(log m) for m machines.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    known: HashMap<MachineStateId, usize, BuildHasherDefault<DefaultHasher>>,
    /// By state, the machines that are in it.
    machines: Vec<BTreeSet<u32>>,
    /// The state of each machine; `None` for a machine with instances or shared devices.
    state_of: Vec<Option<usize>>,
    /// The machines without a state.
    others: BTreeSet<u32>,
    /// States whose lowest machine has changed, in order of time.
    log: Vec<usize>,
    /// How many entries the log has dropped from its beginning.
    forgotten: u64,
}

impl States {
    /// Puts every machine into its state.
    ///
    /// # Complexity
    /// O(m log m) for m machines.
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
            // The address stands for the graph: the equal machines of a fleet share one, and keep
            // it alive.
            let state = *self
                .known
                .entry((Arc::as_ptr(machine.graph()) as usize, view.free().clone()))
                .or_insert(next);
            // A state that no machine was in before.
            if state == next {
                self.machines.push(BTreeSet::new());
            }
            state
        });
        let at = id as usize;
        if at >= self.state_of.len() {
            // A new machine counts as one without a state, from which it moves below.
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

    /// Changes the machines of a state, and logs it if its lowest machine is another one then.
    fn change(&mut self, state: usize, change: impl FnOnce(&mut BTreeSet<u32>) -> bool) {
        let machines = &mut self.machines[state];
        let first = machines.first().copied();
        change(machines);
        if machines.first().copied() == first {
            return;
        }
        self.log.push(state);
        // The log is kept short. A reader that missed the dropped half goes through all states
        // instead, which is no more work than reading that half.
        let most = 2 * self.machines.len().max(64);
        if self.log.len() > most {
            self.forgotten += (most / 2) as u64;
            self.log.drain(..most / 2);
        }
    }

    /// The number of states, including those that no machine is in any more.
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

    /// The machines without a state, by id.
    pub(super) fn others(&self) -> &BTreeSet<u32> {
        &self.others
    }

    /// The position at which the log ends.
    pub(super) fn now(&self) -> u64 {
        self.forgotten + self.log.len() as u64
    }

    /// The log from a position on; none if that part was dropped.
    pub(super) fn since(&self, then: u64) -> Option<&[usize]> {
        self.log
            .get(usize::try_from(then.checked_sub(self.forgotten)?).ok()?..)
    }

    /// About how many bytes this takes.
    pub(super) fn bytes(&self) -> usize {
        let state = size_of::<MachineStateId>() + size_of::<usize>() + size_of::<BTreeSet<u32>>();
        self.machines.len() * state
            + self.state_of.len() * (size_of::<Option<usize>>() + 8)
            + self.log.capacity() * 8
    }
}
