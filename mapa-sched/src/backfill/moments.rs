//! When each machine will have devices free, if running jobs end when they are expected to.
//!
//! A job cannot start on a machine before enough devices are free there by number. So machines are
//! kept in order of that moment, for each number that was asked for, and a policy is asked about few
//! of them. Only machines that have changed are looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use mapa_core::{Allocator, LeaseId, MachineId};

use crate::estimate::RunningEstimates;
use crate::fleet::{Fleet, FleetState};
use crate::job::JobId;
use crate::time::Time;

/// How many numbers of devices are kept in order. If more are asked for, all are made anew.
const MOST_ORDERS: usize = 64;

/// The expected ends of the leases of each machine, and the machines in order of the moment at which
/// they have a number of devices free.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeMoments {
    machines: Vec<MachineEnds>,
    /// By number of devices.
    orders: BTreeMap<usize, MomentOrder>,
    /// The state of the fleet that is known here.
    read: Option<FleetState>,
    /// The machines with jobs that run for longer than expected.
    late: BTreeSet<MachineId>,
}

/// The expected ends on one machine.
#[derive(Clone, Debug, Default)]
struct MachineEnds {
    /// How many devices are free now.
    free: usize,
    /// The leases by the moment at which they are expected to end, with their numbers of devices.
    ends: Vec<(Time, LeaseId, usize)>,
}

/// The machines in order of the moment at which a number of devices is free.
#[derive(Clone, Debug, Default)]
struct MomentOrder {
    order: BTreeSet<(Time, MachineId)>,
    /// The moment of each machine; `None` if it never has that number.
    of: Vec<Option<Time>>,
}

impl MachineEnds {
    fn of(machine: &Allocator, fleet: &Fleet, running: &RunningEstimates) -> Self {
        let end = |lease: &mapa_core::Lease| {
            let tenant = fleet.tenant_of(machine.id(), lease.id)?;
            Some((
                running.until(tenant.job())?,
                lease.id,
                lease.placement.len(),
            ))
        };
        let mut ends: Vec<_> = machine.leases().filter_map(end).collect();
        ends.sort_unstable();
        Self {
            free: machine.view().free().len(),
            ends,
        }
    }

    /// The first moment at which `need` devices are free, those that are shared or cordoned counted
    /// as well: no later than the moment at which a job can have them. [`Time::ZERO`] if they are free
    /// now.
    fn moment(&self, need: usize) -> Option<Time> {
        let mut free = self.free;
        if free >= need {
            return Some(Time::ZERO);
        }
        let reached = self.ends.iter().find(|(_, _, devices)| {
            free += devices;
            free >= need
        });
        reached.map(|&(at, ..)| at)
    }

    /// The first end after a moment.
    fn next_end(&self, after: Time) -> Option<Time> {
        let next = self.ends.partition_point(|&(at, ..)| at <= after);
        self.ends.get(next).map(|&(at, ..)| at)
    }
}

impl MomentOrder {
    fn put(&mut self, machine: MachineId, moment: Option<Time>) {
        let at = machine.0 as usize;
        if at >= self.of.len() {
            self.of.resize(at + 1, None);
        }
        let before = std::mem::replace(&mut self.of[at], moment);
        if before == moment {
            return;
        }
        if let Some(before) = before {
            self.order.remove(&(before, machine));
        }
        self.order.extend(moment.map(|moment| (moment, machine)));
    }
}

impl FreeMoments {
    /// Notes that a job runs for longer than expected.
    pub(super) fn is_late(&mut self, job: JobId, fleet: &Fleet) {
        self.late.extend(fleet.machines_of(job));
    }

    /// Looks again at the machines that have changed.
    ///
    /// # Complexity
    /// O(l log t) for each of them, for l leases and t tenants.
    pub(super) fn refresh(&mut self, fleet: &Fleet, running: &RunningEstimates) {
        let mut changed = std::mem::take(&mut self.late);
        match self.read.and_then(|read| fleet.changed_since(read)) {
            Some(machines) => changed.extend(machines),
            None => {
                self.machines = vec![MachineEnds::default(); fleet.machines().len()];
                changed.extend(fleet.machines().iter().map(Allocator::id));
            }
        }
        for id in changed {
            let Ok(machine) = fleet.machine(id) else {
                continue;
            };
            let ends = MachineEnds::of(machine, fleet, running);
            for (&need, order) in &mut self.orders {
                order.put(id, ends.moment(need));
            }
            self.machines[id.0 as usize] = ends;
        }
        self.read = Some(fleet.state());
    }

    fn order_for(&mut self, need: usize) -> &MomentOrder {
        if !self.orders.contains_key(&need) && self.orders.len() >= MOST_ORDERS {
            self.orders.clear();
        }
        let machines = &self.machines;
        self.orders.entry(need).or_insert_with(|| {
            let mut order = MomentOrder::default();
            for (id, ends) in (0..).map(MachineId).zip(machines) {
                order.put(id, ends.moment(need));
            }
            order
        })
    }

    /// The machine that is the first to have `need` devices free, and the moment.
    /// Reservations do not count.
    pub(super) fn first(&mut self, need: usize) -> Option<(Time, MachineId)> {
        self.order_for(need).order.first().copied()
    }

    /// The next machine in that order. Call [`FreeMoments::first`] first.
    pub(super) fn after(&self, need: usize, last: (Time, MachineId)) -> Option<(Time, MachineId)> {
        let order = &self.orders.get(&need)?.order;
        order.range((Excluded(last), Unbounded)).next().copied()
    }

    /// The first moment to come at which a machine, as it will be then, `fits`, and all machines that
    /// fit at that moment, as they will be. `need` is the least number of free devices that fits.
    /// `None` if no machine ever fits.
    ///
    /// # Complexity
    /// O(m) for m machines that have `need` devices now, and do not fit. A copy of a machine for each
    /// end on it up to that moment.
    pub(super) fn earliest(
        &mut self,
        need: usize,
        (fleet, running): (&Fleet, &RunningEstimates),
        mut fits: impl FnMut(&Allocator) -> bool,
    ) -> Option<(Time, Vec<Allocator>)> {
        self.refresh(fleet, running);
        self.order_for(need);
        let mut candidates = self.orders[&need].order.iter().copied().peekable();
        // Machines that do not fit at the moment at which they have enough devices by number, with the
        // next moment to come at which they may.
        let mut later: BTreeSet<(Time, MachineId)> = BTreeSet::new();
        let (mut found, mut there) = (None, Vec::new());
        loop {
            let (at, id, is_first) = match (candidates.peek(), later.first()) {
                (Some(&candidate), Some(&waits)) if waits < candidate => {
                    later.pop_first();
                    (waits.0, waits.1, false)
                }
                (Some(&(at, id)), _) => {
                    candidates.next();
                    (at, id, true)
                }
                (None, Some(&(at, id))) => {
                    later.pop_first();
                    (at, id, false)
                }
                (None, None) => break,
            };
            if found.is_some_and(|found| at > found) || at == Time(u64::MAX) {
                break;
            }
            let Some(machine) = self.machines.get(id.0 as usize) else {
                continue;
            };
            // Devices that are free now did not fit, or the job would have started. An end may be due
            // at this very moment: that of a job that takes no time.
            let next = if is_first && machine.free >= need {
                machine.ends.first().map(|&(at, ..)| at)
            } else {
                let Some(then) = self.at(id, at, fleet) else {
                    continue;
                };
                if fits(&then) {
                    found = Some(at);
                    there.push(then);
                    continue;
                }
                machine.next_end(at)
            };
            later.extend(next.map(|next| (next, id)));
        }
        Some((found?, there))
    }

    /// A machine as it will be at a moment.
    fn at(&self, id: MachineId, at: Time, fleet: &Fleet) -> Option<Allocator> {
        let mut machine = fleet.machine(id).ok()?.clone();
        let ended = self.machines.get(id.0 as usize)?.ends.iter();
        for &(_, lease, _) in ended.take_while(|(until, ..)| *until <= at) {
            // A lease that the machine holds can be released.
            let _ = machine.release(lease);
        }
        Some(machine)
    }
}
