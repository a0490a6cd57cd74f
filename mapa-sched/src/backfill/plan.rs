//! The plan of one machine: which job starts there when and where, if every job runs as long as
//! expected.
//!
//! A plan is replayed rather than drawn on a chart of devices. The replay goes through the planned
//! starts in order of time. A job takes its planned devices if they are free at that moment;
//! otherwise its policy chooses among the devices that are. So a moment can be reserved whenever
//! enough devices are free by number, as in published schedulers. A chart that fixes devices in
//! advance is too strict: of two devices one may be free now and the other later, and neither for
//! as long as the job runs.
//!
//! Each machine has a plan of its own, so what happens on one costs nothing on the others.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::{Allocator, DeviceSet};

use super::need;
use crate::estimate::RunningEstimates;
use crate::fleet::Fleet;
use crate::job::Job;
use crate::time::Time;

/// The devices of a machine that are free now, and those that running jobs will give back.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeOutlook {
    free: DeviceSet,
    /// What becomes free when, by time. A device that several jobs share becomes free when the last
    /// of them ends.
    ends: Vec<(Time, DeviceSet)>,
}

impl FreeOutlook {
    /// The outlook of a machine whose jobs end when they are expected to.
    ///
    /// # Complexity
    /// O(l (l + log t)) for l leases on the machine and t tenants of the fleet.
    pub(super) fn of(machine: &Allocator, fleet: &Fleet, running: &RunningEstimates) -> Self {
        let view = machine.view();
        let mut outlook = Self {
            free: view.free().clone(),
            ends: Vec::new(),
        };
        for lease in machine.leases() {
            let tenant = fleet.tenant_of(machine.id(), lease.id);
            if let Some(until) = tenant.and_then(|tenant| running.until(tenant.job())) {
                // A cordoned device is not given back to the queue.
                let set = lease.placement.set();
                let set = set.iter().filter(|&id| !view.is_cordoned(id)).collect();
                outlook.take(set, until);
            }
        }
        outlook
    }

    /// Notes that these devices are in use until at least then.
    pub(super) fn take(&mut self, mut set: DeviceSet, until: Time) {
        self.free = &self.free - &set;
        // Each device is given back once, by the entry that holds it longest: it is taken out of
        // the entries that end earlier, and out of the new one where an entry ends later.
        for (end, other) in &mut self.ends {
            if *end < until {
                *other = &*other - &set;
            } else {
                set = &set - other;
            }
        }
        // Sorted by time, because a replay goes through the ends once, in order.
        let at = self.ends.partition_point(|(end, _)| *end <= until);
        self.ends.insert(at, (until, set));
    }
}

/// A reservation: a job, its moment and, once the plan was replayed, its devices.
#[derive(Clone, Debug)]
pub(super) struct PlanSlot {
    /// The number of the job in order of arrival.
    pub(super) serial: u64,
    pub(super) job: Arc<Job>,
    pub(super) from: Time,
    pub(super) length: Duration,
    /// The devices by the latest replay; none before the first.
    pub(super) place: Option<DeviceSet>,
}

/// The reservations on a machine, by moment, then by arrival; and how many devices are free when.
#[derive(Clone, Debug, Default)]
pub(super) struct MachinePlan {
    pub(super) outlook: FreeOutlook,
    slots: Vec<PlanSlot>,
    /// How many devices are free now.
    count: i64,
    /// By how much that number changes at each moment, and how many starts and ends add up to it. A
    /// moment stays here while any start or end lies on it, even if they cancel out.
    changes: BTreeMap<Time, (i64, usize)>,
}

impl MachinePlan {
    /// The reservations, by moment, then by arrival.
    pub(super) fn slots(&self) -> &[PlanSlot] {
        &self.slots
    }

    /// Gives up all reservations, and returns them. The counts stay as they are until
    /// [`MachinePlan::look_out`] is called.
    pub(super) fn clear(&mut self) -> Vec<PlanSlot> {
        std::mem::take(&mut self.slots)
    }

    /// Takes over an outlook, and counts free devices anew: those free now, what running jobs give
    /// back, and the reservations.
    pub(super) fn look_out(&mut self, outlook: FreeOutlook) {
        self.outlook = outlook;
        // Counts only: which devices are free decides the replay, which costs decisions.
        self.count = self.outlook.free.len() as i64;
        self.changes.clear();
        let ends = self.outlook.ends.iter();
        let ends: Vec<_> = ends
            .map(|(until, set)| (*until, set.len() as i64))
            .collect();
        let slots = self.slots.iter().flat_map(|slot| {
            let need = need(&slot.job);
            [(slot.from, -need), (slot.from + slot.length, need)]
        });
        for (at, by) in ends.into_iter().chain(slots.collect::<Vec<_>>()) {
            self.change(at, by);
        }
    }

    /// Adds a start or an end to the counts.
    fn change(&mut self, at: Time, by: i64) {
        let (sum, times) = self.changes.entry(at).or_default();
        (*sum, *times) = (*sum + by, *times + 1);
    }

    /// Takes a start or an end out of the counts.
    fn undo(&mut self, at: Time, by: i64) {
        if let Some((sum, times)) = self.changes.get_mut(&at) {
            (*sum, *times) = (*sum - by, *times - 1);
            if *times == 0 {
                self.changes.remove(&at);
            }
        }
    }

    /// Adds a reservation.
    pub(super) fn add(&mut self, slot: PlanSlot) {
        let need = need(&slot.job);
        self.change(slot.from, -need);
        self.change(slot.from + slot.length, need);
        let at = self
            .slots
            .partition_point(|other| (other.from, other.serial) < (slot.from, slot.serial));
        self.slots.insert(at, slot);
    }

    /// Takes the reservation of a job out, if it has one.
    pub(super) fn remove(&mut self, serial: u64) -> Option<PlanSlot> {
        let at = self.slots.iter().position(|slot| slot.serial == serial)?;
        let slot = self.slots.remove(at);
        let need = need(&slot.job);
        self.undo(slot.from, -need);
        self.undo(slot.from + slot.length, need);
        Some(slot)
    }

    /// The first moment from `from` on at which `need` devices are free, by their number, for
    /// `length`. It is `from` itself or a moment at which something ends.
    ///
    /// # Complexity
    /// O(c) for c starts and ends in the plan.
    pub(super) fn earliest(&self, need: i64, length: Duration, from: Time) -> Option<Time> {
        let before: i64 = self.changes.range(..=from).map(|(_, (by, _))| by).sum();
        let mut free = self.count + before;
        // Since when enough devices have been free without a gap.
        let mut since = (free >= need).then_some(from);
        for (&at, (by, _)) in self
            .changes
            .range((Bound::Excluded(from), Bound::Unbounded))
        {
            // The gap-free stretch already lasts as long as the job.
            if since.is_some_and(|since| since + length <= at) {
                break;
            }
            free += by;
            since = if free >= need {
                since.or(Some(at))
            } else {
                None
            };
        }
        // Sums of times stop at the last moment there is, which therefore means "never".
        since.filter(|&since| since < Time(u64::MAX))
    }

    /// The first moment after `after` at which a start or an end is planned.
    pub(super) fn next_change(&self, after: Time) -> Option<Time> {
        self.changes
            .range((Bound::Excluded(after), Bound::Unbounded))
            .next()
            .map(|(&at, _)| at)
    }

    /// Replays the plan from an outlook: the devices of each reservation, in their order, or `None`
    /// if one of them finds none. `decide` chooses among the free devices.
    ///
    /// # Complexity
    /// O(n log n) for n reservations, and a decision for each that cannot have its planned devices.
    pub(super) fn replay(
        &self,
        outlook: &FreeOutlook,
        mut decide: impl FnMut(&Job, &DeviceSet) -> Option<DeviceSet>,
    ) -> Option<Vec<DeviceSet>> {
        let mut free = outlook.free.clone();
        let mut running = outlook.ends.iter().peekable();
        let mut ends: BinaryHeap<Reverse<(Time, usize)>> = BinaryHeap::new();
        let mut places: Vec<DeviceSet> = Vec::with_capacity(self.slots.len());
        for (at, slot) in self.slots.iter().enumerate() {
            // First everything that ends by then: jobs that run now, then reservations replayed
            // before this one, which are in `ends` by the moment at which they end.
            while let Some((_, place)) = running.next_if(|(end, _)| *end <= slot.from) {
                free = &free | place;
            }
            while let Some(&Reverse((end, other))) = ends.peek()
                && end <= slot.from
            {
                ends.pop();
                free = &free | &places[other];
            }
            // The planned devices are kept where possible: that saves a decision, and plans change
            // no more than they must.
            let place = match &slot.place {
                Some(place) if place.is_subset(&free) => place.clone(),
                _ => decide(&slot.job, &free)?,
            };
            free = &free - &place;
            ends.push(Reverse((slot.from + slot.length, at)));
            places.push(place);
        }
        Some(places)
    }

    /// Takes over the devices that a replay has found, in the order of the reservations.
    pub(super) fn settle(&mut self, places: Vec<DeviceSet>) {
        self.slots
            .iter_mut()
            .zip(places)
            .for_each(|(slot, place)| slot.place = Some(place));
    }
}
