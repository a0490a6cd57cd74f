//! A fleet as the slices that rules know.

use std::collections::BTreeMap;

use mapa_core::{Allocator, DeviceId, MachineId, Stamp};

use super::machine::SlicedGpus;
use super::state::{Running, State};
use mapa_sched::Fleet;
use mapa_sched::slices::class_of;
use mapa_sched::slices::{Power, PowerTable};
use mapa_sched::{JobId, Tenant};

/// The number of whatever runs on a slice without having waited here.
const OTHER: u32 = u32::MAX;

/// A slice: an instance, or a whole GPU that could be partitioned and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MirrorSlice {
    id: DeviceId,
    size: u8,
    /// The position of its GPU among those of its machine.
    gpu: usize,
}

/// A machine as it was last seen.
#[derive(Clone, Debug, Default)]
struct MachineCopy {
    stamp: Option<Stamp>,
    slices: Vec<MirrorSlice>,
    gpus: usize,
    /// The number of its first slice in the state.
    first: usize,
}

/// Who runs where, of those that waited here.
pub(super) type TrackedJobs = BTreeMap<JobId, Running>;

/// What of a fleet has become slices, machine by machine.
///
/// Slices are numbered by machine, by GPU, and on a GPU by where instances start. GPUs that cannot be
/// partitioned are left out, and so are instances of other than 1, 2, 3, 4 or 7 compute slices.
#[derive(Clone, Debug, Default)]
pub(super) struct Mirror {
    machines: Vec<MachineCopy>,
}

impl Mirror {
    /// The machine and the device of a slice. O(log m) for m machines.
    pub(super) fn place(&self, slice: usize) -> Option<(MachineId, DeviceId)> {
        let at = self
            .machines
            .partition_point(|machine| machine.first <= slice);
        let at = at.checked_sub(1)?;
        let seen = &self.machines[at];
        let own = seen.slices.get(slice - seen.first)?;
        Some((MachineId(at as u32), own.id))
    }

    /// Brings the state up to date with the fleet: layouts, tenants of others, cordons, and what
    /// has ended. `own` has the jobs of the state that run.
    ///
    /// # Complexity
    /// O(m) for m machines, and O(v) for each that has changed, of v devices and instances. If a
    /// layout has changed, O(all slices and jobs).
    pub(super) fn refresh(&mut self, fleet: &Fleet, state: &mut State, values: &TrackedJobs) {
        let count = fleet.machines().len();
        let mut changed = Vec::new();
        let mut is_other = self.machines.len() != count;
        self.machines.resize_with(count, MachineCopy::default);
        for (at, (seen, machine)) in self.machines.iter_mut().zip(fleet.machines()).enumerate() {
            if seen.stamp == Some(machine.stamp()) {
                continue;
            }
            let (slices, gpus) = slices_of(machine);
            is_other |= (&slices, gpus) != (&seen.slices, seen.gpus);
            seen.stamp = Some(machine.stamp());
            (seen.slices, seen.gpus) = (slices, gpus);
            changed.push(at);
        }
        if is_other {
            self.build(fleet, state);
            changed = (0..count).collect();
        }
        for at in changed {
            self.occupy(at, fleet, state, values);
        }
    }

    /// Notes that a machine has changed in a way that the state knows already.
    pub(super) fn note(&mut self, machine: &Allocator) {
        if let Some(seen) = self.machines.get_mut(machine.id().0 as usize) {
            seen.stamp = Some(machine.stamp());
        }
    }

    /// Makes the state anew, with the same queue at the same moment.
    fn build(&mut self, fleet: &Fleet, state: &mut State) {
        let mut gpus: Vec<Vec<u8>> = Vec::new();
        let mut first = 0;
        for seen in &mut self.machines {
            let from = gpus.len();
            gpus.resize_with(from + seen.gpus, Vec::new);
            for slice in &seen.slices {
                gpus[from + slice.gpu].push(slice.size);
            }
            seen.first = first;
            first += seen.slices.len();
        }
        // `slices_of` names only what a machine can have.
        if let Ok(machine) = SlicedGpus::of(gpus, power(fleet)) {
            *state = State::new(machine).with_queue_of(state);
        }
    }

    /// Brings what the state says of the slices of a machine up to date.
    fn occupy(&self, at: usize, fleet: &Fleet, state: &mut State, own: &TrackedJobs) {
        let (seen, machine) = (&self.machines[at], &fleet.machines()[at]);
        let view = machine.view();
        for (slice, place) in (seen.first..).zip(&seen.slices) {
            let is_free = view.free().contains(place.id);
            let mut tenants = view.tenants(place.id).iter().map(|&lease| {
                let tenant = fleet.tenant_of(machine.id(), lease);
                tenant.and_then(|tenant| match tenant {
                    Tenant::Job(job) => own.get(&job),
                    Tenant::Task(..) => None,
                })
            });
            let other = Running {
                id: OTHER,
                slice,
                begins: 0.0,
                finish: f64::INFINITY,
                deadline: f64::INFINITY,
            };
            let holder = tenants.next().map(|held| match held {
                Some(held) => Running { slice, ..*held },
                None => other,
            });
            let now = state.running().get(slice).copied().flatten();
            if now.map(|running| running.id) != holder.map(|running| running.id) {
                state.end(slice);
                // The slice is idle, so it can be held.
                holder.map(|holder| state.hold(holder));
            }
            let blocked = holder.is_none() && !is_free;
            if state.is_blocked(slice) != blocked {
                state.block(slice, blocked);
            }
        }
    }
}

/// The slices of a machine, and how many GPUs of it can be partitioned.
fn slices_of(machine: &Allocator) -> (Vec<MirrorSlice>, usize) {
    let view = machine.view();
    let graph = view.graph();
    let mut slices = Vec::new();
    let mut gpus = 0;
    for whole in graph.wholes().iter() {
        if graph.model(whole).is_none() {
            continue;
        }
        let (first, mut sum) = (slices.len(), 0);
        for id in (graph.vertices(whole) & view.present()).iter() {
            let size = graph.device(id).size.map_or(0, |size| size.compute);
            if class_of(size).is_some() {
                sum += u32::from(size);
                slices.push(MirrorSlice {
                    id,
                    size,
                    gpu: gpus,
                });
            }
        }
        // Vertices of a device are in another order.
        slices[first..].sort_by_key(|slice| graph.device(slice.id).unit.instance());
        // A GPU of more than seven compute slices is none that rules know.
        if sum > 7 {
            slices.truncate(first);
        }
        gpus += 1;
    }
    (slices, gpus)
}

/// The power by which rules reckon: that of the first GPU that has a table; else that of an A100.
fn power(fleet: &Fleet) -> Power {
    for view in fleet.views() {
        for whole in view.graph().wholes().iter() {
            if let Some(table) = PowerTable::of_device(view.graph(), whole) {
                return table.power;
            }
        }
    }
    Power::A100
}
