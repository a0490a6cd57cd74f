//! What the next job will find.
//!
//! Of l leases any order of ends is as likely as any other. So the first d that end are any d of them alike, and the
//! next any of the others. A ring of k becomes possible when lease j ends after those of A if fewer than k devices are
//! free with those of A, and at least k with j's: that has probability 1 / C(l, |A|) / (l - |A|), and summing what is
//! best then over all such (A, j) gives Nₖ. All sizes that become possible at one step are added up by one look into
//! the table of sums.

use super::tables::Mix;
use crate::matching::Few;
use crate::reach::Mask;
use crate::view::View;
use crate::{DeviceId, LeaseId};

/// Who holds what, as far as it will come back.
pub(super) struct Leases {
    pub(super) free: Mask,
    /// The devices of each lease, by the lowest of them; of tenants that nobody knows, one each.
    pub(super) held: Few<Mask>,
    pub(super) ids: Few<LeaseId>,
}

impl Leases {
    /// On a machine of whole devices. None where a device has several tenants.
    pub(super) fn of(view: &View<'_>) -> Option<Self> {
        let mut leases = Self { free: 0, held: Few::new(), ids: Few::new() };
        for id in (0..view.graph().len() as u32).map(DeviceId) {
            let device: Mask = 1 << id.0;
            match view.tenants(id) {
                _ if view.free().contains(id) => leases.free |= device,
                [lease] => match leases.ids.iter().position(|known| known == lease) {
                    Some(at) => leases.held[at] |= device,
                    None => {
                        leases.ids.push(*lease);
                        leases.held.push(device);
                    }
                },
                // The lease of an unknown tenant has an id that no other has.
                [] if view.usage(id).tenants > 0 => {
                    leases.ids.push(LeaseId(u64::MAX));
                    leases.held.push(device);
                }
                // Nobody has it, and nobody may have it.
                [] => {}
                _ => return None,
            }
        }
        Some(leases)
    }
}

impl Mix {
    /// The sum over sizes of share x Nₖ, GB/s: with these devices free, and these leases to end in random order. Sizes
    /// for which there are never enough devices count nothing.
    pub(super) fn expected(&self, free: Mask, leases: &[Mask]) -> f64 {
        let there = free.count_ones() as usize;
        self.up_to(there, free) + self.later(free, leases, Ended { leases: 0, count: 0, from: 0, chance: 1.0 })
    }

    /// The part of those sizes that do not fit yet.
    fn later(&self, free: Mask, leases: &[Mask], ended: Ended) -> f64 {
        let there = free.count_ones() as usize;
        let left = leases.len() - ended.count;
        if there >= self.longest || left == 0 {
            return 0.0;
        }
        let mut sum = 0.0;
        for (at, lease) in leases.iter().enumerate() {
            if ended.leases >> at & 1 == 0 {
                let next = free | lease;
                sum += self.up_to(next.count_ones() as usize, next) - self.up_to(there, next);
            }
        }
        sum *= ended.chance / left as f64;
        // Each set of leases once: with the highest of them last.
        let chance = ended.chance * (ended.count + 1) as f64 / left as f64;
        for at in ended.from..leases.len() {
            let ended = Ended { leases: ended.leases | 1 << at, count: ended.count + 1, from: at + 1, chance };
            sum += self.later(free | leases[at], leases, ended);
        }
        sum
    }
}

/// Some leases that end before all others.
#[derive(Clone, Copy)]
struct Ended {
    leases: u32,
    count: usize,
    /// All of them are below this one.
    from: usize,
    /// How likely it is that just these end first.
    chance: f64,
}
