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
const MOST_RANKINGS: usize = 64;

/// The expected ends of the leases of each machine, and the machines in order of the moment at which
/// they have so many free devices.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeMoments {
    machines: Vec<MachineEnds>,
    /// By number of devices.
    rankings: BTreeMap<usize, Ranking>,
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

/// The machines in order of the moment at which so many devices are free.
#[derive(Clone, Debug, Default)]
struct Ranking {
    order: BTreeSet<(Time, MachineId)>,
    /// The moment of each machine; none for one that never has so many.
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

    /// The first moment at which so many devices are free, those that are shared or cordoned counted
    /// as well: not later than when that many can be had. [`Time::ZERO`] if they are free now.
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

impl Ranking {
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
            for (&need, ranking) in &mut self.rankings {
                ranking.put(id, ends.moment(need));
            }
            self.machines[id.0 as usize] = ends;
        }
        self.read = Some(fleet.state());
    }

    fn ranking(&mut self, need: usize) -> &Ranking {
        if !self.rankings.contains_key(&need) && self.rankings.len() >= MOST_RANKINGS {
            self.rankings.clear();
        }
        let machines = &self.machines;
        self.rankings.entry(need).or_insert_with(|| {
            let mut ranking = Ranking::default();
            for (id, ends) in (0..).map(MachineId).zip(machines) {
                ranking.put(id, ends.moment(need));
            }
            ranking
        })
    }

    /// The first machine by the moment from which on it has so many free devices, with that moment.
    /// Reservations do not count.
    pub(super) fn first(&mut self, need: usize) -> Option<(Time, MachineId)> {
        self.ranking(need).order.first().copied()
    }

    /// The next machine in that order. Call [`FreeMoments::first`] first.
    pub(super) fn after(&self, need: usize, last: (Time, MachineId)) -> Option<(Time, MachineId)> {
        let order = &self.rankings.get(&need)?.order;
        order.range((Excluded(last), Unbounded)).next().copied()
    }

    /// The first moment to come at which a machine, as it will be then, `fits`, and all machines that
    /// fit at that moment, as they will be. `need` is the least number of free devices that fits.
    /// `None` if no machine ever fits.
    ///
    /// # Complexity
    /// O(m) for m machines that have so many devices now, and do not fit. A copy of a machine for each
    /// end on it up to that moment.
    pub(super) fn earliest(
        &mut self,
        need: usize,
        now: Time,
        (fleet, running): (&Fleet, &RunningEstimates),
        mut fits: impl FnMut(&Allocator) -> bool,
    ) -> Option<(Time, Vec<Allocator>)> {
        self.refresh(fleet, running);
        self.ranking(need);
        let mut candidates = self.rankings[&need].order.iter().copied().peekable();
        // Machines that do not fit at the moment at which they have enough devices by number, with the
        // next moment to come at which they may.
        let mut later: BTreeSet<(Time, MachineId)> = BTreeSet::new();
        let next_end = |machine: MachineId, after: Time| {
            let next = self.machines.get(machine.0 as usize)?.next_end(after)?;
            Some((next, machine))
        };
        let (mut found, mut there) = (None, Vec::new());
        loop {
            let (at, id) = match (candidates.peek(), later.first()) {
                (Some(candidate), Some(waits)) if waits < candidate => later.pop_first()?,
                (Some(_), _) => candidates.next()?,
                (None, Some(_)) => later.pop_first()?,
                (None, None) => break,
            };
            if found.is_some_and(|found| at > found) || at == Time(u64::MAX) {
                break;
            }
            // What is free now did not fit, or the job would have started.
            if at > now {
                let Some(then) = self.at(id, at, fleet) else {
                    continue;
                };
                if fits(&then) {
                    found = Some(at);
                    there.push(then);
                    continue;
                }
            }
            later.extend(next_end(id, at.max(now)));
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
