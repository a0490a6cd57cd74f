//! Which machines have changed, for those who look at a fleet again and again.

use std::collections::VecDeque;

use mapa_core::MachineId;

/// How many changes are remembered. Whoever has missed more looks at every machine.
const KEPT: usize = 1 << 10;

/// The machines that have changed, latest last, and how often any has.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    latest: VecDeque<MachineId>,
    count: u64,
}

impl Changes {
    /// Notes that a machine has changed.
    pub(super) fn push(&mut self, machine: MachineId) {
        if self.latest.len() == KEPT {
            self.latest.pop_front();
        }
        self.latest.push_back(machine);
        self.count += 1;
    }

    /// How often any machine has changed.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The machines that have changed since there were so many changes; a machine may be listed more
    /// than once. `None` if that is too long ago, or never was.
    pub(super) fn since(&self, count: u64) -> Option<impl Iterator<Item = MachineId> + '_> {
        let missed = usize::try_from(self.count.checked_sub(count)?).ok()?;
        let first = self.latest.len().checked_sub(missed)?;
        Some(self.latest.range(first..).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_changes_are_listed_and_older_ones_are_not_known() {
        let mut changes = Changes::default();
        (0..3 * KEPT as u32).for_each(|id| changes.push(MachineId(id)));
        let since = |count| {
            changes
                .since(count)
                .map(|machines| machines.map(|id| id.0).collect::<Vec<_>>())
        };
        let now = changes.count();
        assert_eq!(since(now), Some(vec![]));
        assert_eq!(
            since(now - 2),
            Some(vec![3 * KEPT as u32 - 2, 3 * KEPT as u32 - 1])
        );
        assert_eq!(since(now - KEPT as u64).map(|all| all.len()), Some(KEPT));
        assert_eq!(since(now - KEPT as u64 - 1), None);
        assert_eq!(since(now + 1), None);
    }
}
