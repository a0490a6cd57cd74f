//! Which machines have changed, for those who look at a fleet again and again.

use std::collections::VecDeque;

use mapa_core::{Allocator, MachineId};

/// How many changes are remembered. A reader that has missed more looks at every machine.
const KEPT: usize = 1 << 10;

/// A state of a fleet: two are equal if no machine has changed between them. A number, compared in
/// O(1).
///
/// Fleets of other machines, and copies of a fleet that have changed differently, have other states.
/// (States are hashes of 64 bits, with the number of changes.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetState {
    /// A hash of all changes so far, in order.
    chain: u64,
    changes: u64,
}

/// The machines that have changed, latest last, each with the state before.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangeLog {
    latest: VecDeque<(FleetState, MachineId)>,
    now: FleetState,
}

/// A number with all bits mixed: the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl ChangeLog {
    /// No changes yet of these machines.
    pub(super) fn of(machines: &[Allocator]) -> Self {
        let mut changes = Self::default();
        for machine in machines {
            changes.now.chain = changes.then(machine);
        }
        changes
    }

    /// The hash of all changes, with the state that this machine is in now.
    fn then(&self, machine: &Allocator) -> u64 {
        let stamp = machine.stamp();
        let state =
            stamp.lineage ^ stamp.fingerprint.rotate_left(32) ^ u64::from(stamp.machine.0) << 16;
        mixed(mixed(state) ^ self.now.chain.rotate_left(1))
    }

    /// Notes that a machine has changed.
    pub(super) fn push(&mut self, machine: &Allocator) {
        if self.latest.len() == KEPT {
            self.latest.pop_front();
        }
        self.latest.push_back((self.now, machine.id()));
        self.now = FleetState {
            chain: self.then(machine),
            changes: self.now.changes + 1,
        };
    }

    /// The state after all changes.
    pub(super) fn now(&self) -> FleetState {
        self.now
    }

    /// The machines that have changed since a state; a machine may be listed more than once. `None` if
    /// that is too long ago, or never was.
    pub(super) fn since(&self, then: FleetState) -> Option<impl Iterator<Item = MachineId> + '_> {
        let missed = usize::try_from(self.now.changes.checked_sub(then.changes)?).ok()?;
        let first = self.latest.len().checked_sub(missed)?;
        let there = self
            .latest
            .get(first)
            .map_or(self.now, |(before, _)| *before);
        (there == then).then(|| self.latest.range(first..).map(|&(_, machine)| machine))
    }
}

#[cfg(test)]
mod tests {
    use mapa_core::{Pattern, Request, lowest_id};

    use super::*;
    use crate::testing::joined;

    fn machines(count: u32) -> Vec<Allocator> {
        let machine = |id| Allocator::with_id(MachineId(id), joined(&[1.0; 2]));
        (0..count).map(machine).collect()
    }

    fn since(changes: &ChangeLog, then: FleetState) -> Option<Vec<u32>> {
        Some(changes.since(then)?.map(|id| id.0).collect())
    }

    #[test]
    fn the_latest_changes_are_listed_and_older_ones_are_not_known() {
        let machines = machines(3);
        let mut changes = ChangeLog::of(&machines);
        let mut states = vec![changes.now()];
        for at in 0..3 * KEPT {
            changes.push(&machines[at % 3]);
            states.push(changes.now());
        }
        let last = states.len() - 1;
        assert_eq!(since(&changes, states[last]), Some(vec![]));
        assert_eq!(since(&changes, states[last - 2]), Some(vec![1, 2]));
        assert_eq!(
            since(&changes, states[last - KEPT]).map(|all| all.len()),
            Some(KEPT)
        );
        assert_eq!(since(&changes, states[last - KEPT - 1]), None);
    }

    #[test]
    fn what_happened_to_a_copy_or_to_other_machines_is_not_taken_for_the_own() {
        let mut machines = machines(2);
        let mut changes = ChangeLog::of(&machines);
        let before = changes.now();
        let mut copy = changes.clone();
        changes.push(&machines[0]);
        copy.push(&machines[1]);
        assert_eq!(since(&changes, copy.now()), None);
        assert_eq!(since(&changes, before), Some(vec![0]));
        // One machine in two states.
        let mut other = ChangeLog::of(&machines);
        machines[0]
            .allocate(lowest_id(), &Request::new(Pattern::ring(1)))
            .unwrap();
        other.push(&machines[0]);
        assert_eq!(since(&changes, other.now()), None);
        assert_eq!(since(&changes, ChangeLog::of(&machines[..1]).now()), None);
    }
}
