//! Who will run when and where, if all goes as expected.
//!
//! A plan is replayed rather than drawn on a chart of devices: at each planned start, in order of time, a job takes the
//! devices that it was promised if they are free then, or what its policy decides on those that are. So a moment can be
//! promised whenever counts allow it, as in published schedulers. On a chart with fixed devices it could not: of two devices
//! one may be free now and the other later, and neither for as long as a job runs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::{DeviceSet, MachineId};

use crate::estimate::Running;
use crate::fleet::Fleet;
use crate::job::Job;
use crate::time::Time;

/// Devices of one machine.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) machine: MachineId,
    pub(super) set: DeviceSet,
}

/// What is free now, and what those that run will give back.
#[derive(Clone, Debug, Default)]
pub(super) struct Outlook {
    /// By machine.
    pub(super) free: Vec<DeviceSet>,
    /// By time. A device that several share is free when the last of them has ended.
    ends: Vec<(Time, Place)>,
}

impl Outlook {
    pub(super) fn of(fleet: &Fleet, running: &Running) -> Self {
        let free = fleet.views().map(|view| view.free().clone()).collect();
        let mut outlook = Self { free, ends: Vec::new() };
        for (tenant, machine, lease) in fleet.tenants() {
            let held = fleet.machine(machine).ok().and_then(|machine| machine.lease(lease));
            let held = held.map(|lease| lease.placement.set());
            if let (Some(set), Some(until)) = (held, running.until(tenant.job())) {
                outlook.take(&Place { machine, set }, until);
            }
        }
        outlook
    }

    /// Devices are held until then at least.
    pub(super) fn take(&mut self, place: &Place, until: Time) {
        let Place { machine, mut set } = place.clone();
        if let Some(free) = self.free.get_mut(machine.0 as usize) {
            *free = &*free - &set;
        }
        for (end, other) in self.ends.iter_mut().filter(|(_, other)| other.machine == machine) {
            if *end < until {
                other.set = &other.set - &set;
            } else {
                set = &set - &other.set;
            }
        }
        let at = self.ends.partition_point(|(end, _)| *end <= until);
        self.ends.insert(at, (until, Place { machine, set }));
    }
}

/// A reservation.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The job's place in the order of arrival.
    pub(super) told: u64,
    pub(super) job: Arc<Job>,
    pub(super) from: Time,
    pub(super) length: Duration,
    /// None before it was first replayed.
    pub(super) place: Option<Place>,
}

/// How many devices a job needs for itself.
pub(super) fn need(job: &Job) -> i64 {
    job.request.pattern.demands().iter().filter(|demand| !demand.is_shared()).count() as i64
}

/// The reservations, by moment, then by arrival; and how many devices they leave at least.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    slots: Vec<Slot>,
    /// Devices free now.
    count: i64,
    /// What is added to them when, and how many starts and ends that is.
    changes: BTreeMap<Time, (i64, usize)>,
}

impl Plan {
    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(super) fn clear(&mut self) {
        self.slots.clear();
    }

    /// Counts anew from what is free now.
    pub(super) fn count(&mut self, outlook: &Outlook) {
        self.count = outlook.free.iter().map(|free| free.len() as i64).sum();
        self.changes.clear();
        for (until, place) in &outlook.ends {
            self.change(*until, place.set.len() as i64);
        }
        for at in 0..self.slots.len() {
            let Slot { from, length, ref job, .. } = self.slots[at];
            let need = need(job);
            self.change(from, -need);
            self.change(from + length, need);
        }
    }

    fn change(&mut self, at: Time, by: i64) {
        let (sum, times) = self.changes.entry(at).or_default();
        (*sum, *times) = (*sum + by, *times + 1);
    }

    fn undo(&mut self, at: Time, by: i64) {
        if let Some((sum, times)) = self.changes.get_mut(&at) {
            (*sum, *times) = (*sum - by, *times - 1);
            if *times == 0 {
                self.changes.remove(&at);
            }
        }
    }

    pub(super) fn add(&mut self, slot: Slot) {
        let need = need(&slot.job);
        self.change(slot.from, -need);
        self.change(slot.from + slot.length, need);
        let at = self.slots.partition_point(|other| (other.from, other.told) < (slot.from, slot.told));
        self.slots.insert(at, slot);
    }

    pub(super) fn remove(&mut self, told: u64) -> Option<Slot> {
        let at = self.slots.iter().position(|slot| slot.told == told)?;
        let slot = self.slots.remove(at);
        let need = need(&slot.job);
        self.undo(slot.from, -need);
        self.undo(slot.from + slot.length, need);
        Some(slot)
    }

    /// The first moment from `from` on, which is a moment at which something ends or `from` itself, from which so many
    /// devices are free for so long by their number. O(changes).
    pub(super) fn earliest(&self, need: i64, length: Duration, from: Time) -> Option<Time> {
        let before: i64 = self.changes.range(..=from).map(|(_, (by, _))| by).sum();
        let mut free = self.count + before;
        let mut since = (free >= need).then_some(from);
        for (&at, (by, _)) in self.changes.range((Bound::Excluded(from), Bound::Unbounded)) {
            if since.is_some_and(|since| since + length <= at) {
                break;
            }
            free += by;
            since = if free >= need { since.or(Some(at)) } else { None };
        }
        since.filter(|&since| since < Time(u64::MAX))
    }

    /// The first moment after this one at which anything changes.
    pub(super) fn next_change(&self, after: Time) -> Option<Time> {
        self.changes.range((Bound::Excluded(after), Bound::Unbounded)).next().map(|(&at, _)| at)
    }

    /// Replays the plan from an outlook: the place of each slot, by the slots' order; none if one finds no place. `decide` is
    /// shown what is free on each machine. O(slots x log(slots)) and a decision for each slot that must go elsewhere than
    /// planned.
    pub(super) fn replay(
        &self,
        outlook: &Outlook,
        mut decide: impl FnMut(&Job, &[DeviceSet]) -> Option<Place>,
    ) -> Option<Vec<Place>> {
        let mut free = outlook.free.clone();
        let mut running = outlook.ends.iter().peekable();
        let mut ends: BinaryHeap<Reverse<(Time, usize)>> = BinaryHeap::new();
        let mut places: Vec<Place> = Vec::with_capacity(self.slots.len());
        let give_back = |free: &mut [DeviceSet], place: &Place| {
            if let Some(free) = free.get_mut(place.machine.0 as usize) {
                *free = &*free | &place.set;
            }
        };
        for (at, slot) in self.slots.iter().enumerate() {
            while let Some((_, place)) = running.next_if(|(end, _)| *end <= slot.from) {
                give_back(&mut free, place);
            }
            while let Some(&Reverse((end, other))) = ends.peek()
                && end <= slot.from
            {
                ends.pop();
                give_back(&mut free, &places[other]);
            }
            let is_free = |place: &&Place| free.get(place.machine.0 as usize).is_some_and(|f| place.set.is_subset(f));
            let place = match slot.place.as_ref().filter(is_free) {
                Some(place) => place.clone(),
                None => decide(&slot.job, &free)?,
            };
            let left = free.get_mut(place.machine.0 as usize)?;
            *left = &*left - &place.set;
            ends.push(Reverse((slot.from + slot.length, at)));
            places.push(place);
        }
        Some(places)
    }

    /// Makes places that were found the plan's.
    pub(super) fn settle(&mut self, places: Vec<Place>) {
        self.slots.iter_mut().zip(places).for_each(|(slot, place)| slot.place = Some(place));
    }
}
