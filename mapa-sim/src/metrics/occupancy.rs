//! Who was on which device or MIG instance, and when.
//!
//! An outcome has the stays of jobs that have finished. It has no layouts, and nothing of jobs that
//! wait for ever. So this looks at the fleet itself, instant by instant.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use mapa_core::{DeviceId, MachineId, Stamp, Unit, View};
use mapa_sched::{Fleet, Tenant, Time};

/// A device or an instance of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seat {
    /// The machine.
    pub machine: MachineId,
    /// The device or the instance.
    pub device: DeviceId,
}

/// A tenant on a device or an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// Where.
    pub seat: Seat,
    /// The job or the task.
    pub tenant: Tenant,
    /// When it came.
    pub from: Time,
    /// When it left.
    pub until: Time,
    /// The memory that it holds there, bytes.
    pub bytes: u64,
    /// Whether nobody else may be there.
    pub exclusive: bool,
}

/// A time during which a device or an instance existed, or a repartition was under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which one; for a repartition, the whole device.
    pub seat: Seat,
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub until: Time,
}

/// Who was on which device or instance when, as
/// [`Simulation::observe`](crate::Simulation::observe) passes the fleet.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use mapa_core::{Fabric, Pattern, Request, lowest_id};
/// use mapa_sched::{Fifo, Fleet, Job, JobId, Time};
/// use mapa_sim::{Fixed, Occupancy, Simulation, Submission, Workload};
///
/// let mut fabric = Fabric::new();
/// fabric.add_device("GPU0")?;
/// let fleet = Fleet::new([std::sync::Arc::new(fabric.lower()?)]);
/// let job = Job::new(JobId(7), Request::new(Pattern::ring(1)));
/// let workload = Workload::new("one job", [Submission::new(job, Duration::from_secs(5))]);
/// let mut occupancy = Occupancy::default();
/// let simulation = Simulation::new(&workload, fleet).observe(|now, fleet| occupancy.observe(now, fleet));
/// let end = simulation.run(&mut Fifo::new(lowest_id()), &Fixed)?.end;
/// occupancy.end(end);
/// assert_eq!(occupancy.occupants()[0].until, Time::from_secs(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    occupants: Vec<Occupant>,
    present: Vec<Span>,
    changing: Vec<Span>,
    /// What lasts, with the moment at which it began.
    held: BTreeMap<(Seat, Tenant), Occupant>,
    there: BTreeMap<Seat, Time>,
    under_way: BTreeMap<Seat, Time>,
    seen: BTreeMap<MachineId, Stamp>,
}

impl Occupancy {
    /// Notes what has changed since the last call.
    ///
    /// # Complexity
    /// O(m) for m machines, and O(t + v) for t tenants, and v devices and instances, if anything has
    /// changed.
    pub fn observe(&mut self, now: Time, fleet: &Fleet) {
        let is_new = |view: &View<'_>| self.seen.get(&view.machine()) != Some(&view.stamp());
        let changed: Vec<View<'_>> = fleet.views().filter(is_new).collect();
        if changed.is_empty() {
            return;
        }
        let mut held: BTreeMap<(Seat, Tenant), (u64, bool)> = BTreeMap::new();
        for (tenant, machine, lease) in fleet.tenants() {
            let machine = changed.iter().find(|view| view.machine() == machine);
            let lease = machine.and_then(|view| {
                let machine = fleet.machine(view.machine()).ok()?;
                Some((view.machine(), machine.lease(lease)?))
            });
            let Some((machine, lease)) = lease else {
                continue;
            };
            for (&device, demand) in lease.placement.iter().zip(lease.pattern.demands()) {
                let pair = held.entry((Seat { machine, device }, tenant)).or_default();
                pair.0 = pair.0.saturating_add(demand.memory_bytes);
                pair.1 |= !demand.is_shared();
            }
        }
        for view in changed {
            self.seen.insert(view.machine(), view.stamp());
            self.observe_layout(now, &view);
            self.observe_tenants(now, view.machine(), &held);
        }
    }

    fn observe_layout(&mut self, now: Time, view: &View<'_>) {
        let machine = view.machine();
        let seats: Vec<Seat> = view
            .present()
            .iter()
            .filter(|&id| matches!(view.graph().device(id).unit, Unit::Whole | Unit::Slice(_)))
            .map(|device| Seat { machine, device })
            .collect();
        let (present, until) = (&mut self.present, now);
        self.there.retain(|&seat, &mut from| {
            let stays = seat.machine != machine || seats.contains(&seat);
            if !stays && from < until {
                present.push(Span { seat, from, until });
            }
            stays
        });
        for seat in seats {
            self.there.entry(seat).or_insert(now);
        }
        for device in view.graph().wholes().iter() {
            let seat = Seat { machine, device };
            match (view.changing_to(device), self.under_way.entry(seat)) {
                (Some(_), Entry::Vacant(place)) => drop(place.insert(now)),
                (None, Entry::Occupied(entry)) => {
                    let (from, until) = (entry.remove(), now);
                    self.changing.push(Span { seat, from, until });
                }
                _ => {}
            }
        }
    }

    fn observe_tenants(
        &mut self,
        now: Time,
        machine: MachineId,
        held: &BTreeMap<(Seat, Tenant), (u64, bool)>,
    ) {
        let occupants = &mut self.occupants;
        self.held.retain(|pair, was| {
            let is = held.get(pair);
            let stays = pair.0.machine != machine || is == Some(&(was.bytes, was.exclusive));
            // Who came and left at one moment was never there.
            if !stays && was.from < now {
                let until = now;
                occupants.push(Occupant {
                    until,
                    ..was.clone()
                });
            }
            stays
        });
        for (&(seat, tenant), &(bytes, exclusive)) in held {
            if seat.machine == machine {
                self.held.entry((seat, tenant)).or_insert(Occupant {
                    seat,
                    tenant,
                    from: now,
                    until: now,
                    bytes,
                    exclusive,
                });
            }
        }
    }

    /// Ends what still lasts. To be called once, with the moment at which the simulation ended.
    pub fn end(&mut self, end: Time) {
        let held = std::mem::take(&mut self.held).into_values();
        self.occupants.extend(held.map(|occupant| Occupant {
            until: end,
            ..occupant
        }));
        self.occupants
            .sort_by_key(|occupant| (occupant.from, occupant.seat, occupant.tenant));
        let until = end;
        let there = std::mem::take(&mut self.there).into_iter();
        let last = |(seat, from)| Span { seat, from, until };
        self.present.extend(there.map(last));
        self.present.sort_by_key(|span| (span.seat, span.from));
        let under_way = std::mem::take(&mut self.under_way).into_iter();
        self.changing.extend(under_way.map(last));
        self.changing.sort_by_key(|span| (span.seat, span.from));
    }

    /// The tenants, by the moment at which each came.
    #[must_use]
    pub fn occupants(&self) -> &[Occupant] {
        &self.occupants
    }

    /// When each device and each instance existed, by place. A partitioned device does not exist:
    /// its instances do.
    #[must_use]
    pub fn present(&self) -> &[Span] {
        &self.present
    }

    /// When repartitions were under way, by device.
    #[must_use]
    pub fn changing(&self) -> &[Span] {
        &self.changing
    }
}
