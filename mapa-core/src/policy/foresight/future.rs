//! The bandwidth that the next job can expect.
//!
//! All orders in which l leases can end are equally likely. So the first d leases to end are any
//! set of d leases with equal probability, and the next one is any of the others. Let A be the
//! leases that have ended, and j the next one. A ring of k becomes possible with j if fewer than k
//! devices are free after A and at least k after A and j. The pair (A, j) has probability 1 / C(l,
//! |A|) / (l - |A|). Nₖ is the sum over all such pairs of this probability times the bandwidth of
//! the best ring then free. One lookup in the table of sums adds up all sizes that become possible
//! at one step.

use super::tables::RingMix;
use crate::ids::{DeviceId, LeaseId};
use crate::matching::Few;
use crate::reach::Mask;
use crate::view::View;

/// The free devices, and the leases whose devices will become free.
pub(super) struct Leases {
    pub(super) free: Mask,
    /// The devices of each lease, in the order of the leases' lowest devices. A device with an
    /// unknown tenant counts as a lease of its own.
    pub(super) held: Few<Mask>,
    pub(super) ids: Few<LeaseId>,
}

impl Leases {
    /// The leases on a machine of whole devices. `None` if a device has several tenants.
    pub(super) fn of(view: &View<'_>) -> Option<Self> {
        let mut leases = Self {
            free: 0,
            held: Few::new(),
            ids: Few::new(),
        };
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
                // No tenant, but not free either, as the view excludes it: it never becomes free.
                [] => {}
                _ => return None,
            }
        }
        Some(leases)
    }
}

impl RingMix {
    /// The sum over sizes k of share × Nₖ, GB/s, with these devices free and these leases ending in
    /// random order. A size that never fits contributes 0.
    pub(super) fn expected(&self, free: Mask, leases: &[Mask]) -> f64 {
        let there = free.count_ones() as usize;
        self.up_to(there, free)
            + self.later(
                free,
                leases,
                EndedLeases {
                    leases: 0,
                    count: 0,
                    from: 0,
                    chance: 1.0,
                },
            )
    }

    /// The contribution of the sizes that do not fit on `free`, after the leases in `ended`.
    fn later(&self, free: Mask, leases: &[Mask], ended: EndedLeases) -> f64 {
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
        // A set of leases is visited once, with its highest lease added last. It can have ended in
        // any order, so its probability is 1 / C(l, d + 1) = 1 / C(l, d) × (d + 1) / (l - d).
        let chance = ended.chance * (ended.count + 1) as f64 / left as f64;
        for at in ended.from..leases.len() {
            let ended = EndedLeases {
                leases: ended.leases | 1 << at,
                count: ended.count + 1,
                from: at + 1,
                chance,
            };
            sum += self.later(free | leases[at], leases, ended);
        }
        sum
    }
}

/// The leases that have ended, before all others.
#[derive(Clone, Copy)]
struct EndedLeases {
    leases: u32,
    count: usize,
    /// The position after the highest of them: only later leases may be added.
    from: usize,
    /// The probability that exactly these end first.
    chance: f64,
}
