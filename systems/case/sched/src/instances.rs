//! The instances of a fleet, and the processes that are bound to them.

use std::collections::BTreeMap;

use mapa_core::{Demand, Device, DeviceId, DeviceSet, MachineId, Stamp, Unit, View, mig};

use crate::settings::{ContextMemory, MemoryFit, slices};
use mapa_sched::Fleet;
use mapa_sched::JobId;

/// MPS clients that a whole GPU admits (NVIDIA's MPS guide, from Volta on).
pub(super) const MPS_CLIENTS: u32 = 48;

/// An instance or a whole device: where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InstanceRef {
    pub(super) machine: MachineId,
    pub(super) id: DeviceId,
}

/// What kind of instance one is: equal kinds can take each other's place. Ordered by memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InstanceKind {
    /// Bytes; `None` if not known.
    pub(super) capacity: Option<u64>,
    pub(super) size: Option<mig::Size>,
    is_slice: bool,
}

impl InstanceKind {
    pub(super) fn of(device: &Device) -> Self {
        Self {
            capacity: device.memory_bytes,
            size: device.size,
            is_slice: matches!(device.unit, Unit::Slice(_)),
        }
    }
}

/// An instance that is present, and whom it serves.
#[derive(Clone, Debug)]
pub(super) struct ServingInstance {
    pub(super) seat: InstanceRef,
    pub(super) kind: InstanceKind,
    /// Its compute slices; 1 where there is no partition table.
    pub(super) slices: u32,
    /// Those of its whole device.
    of: u32,
    /// The hard cap of MPS clients.
    pub(super) most_clients: u32,
    /// The processes with a context there, each with the number of its tasks there now.
    pub(super) clients: BTreeMap<JobId, u32>,
}

impl ServingInstance {
    fn new(view: &View<'_>, id: DeviceId) -> Self {
        let graph = view.graph();
        let device = graph.device(id);
        let (slices, of) = slices(graph, device);
        Self {
            seat: InstanceRef {
                machine: view.machine(),
                id,
            },
            kind: InstanceKind::of(device),
            slices,
            of,
            // Fewer clients in proportion to the instance, rounded down: 6 on a seventh.
            most_clients: (MPS_CLIENTS * slices / of.max(1)).max(1),
            clients: BTreeMap::new(),
        }
    }

    /// The bytes that so many contexts take.
    pub(super) fn contexts(&self, context: ContextMemory, count: usize) -> u64 {
        let each = context.on(self.slices, self.of);
        each.saturating_mul(count as u64)
    }

    /// The bytes that neither leases nor contexts take; `None` if memory is not known.
    pub(super) fn free(&self, view: &View<'_>, context: ContextMemory) -> Option<u64> {
        let contexts = self.contexts(context, self.clients.len());
        Some(view.free_memory(self.seat.id)?.saturating_sub(contexts))
    }
}

/// The present instances and unpartitioned devices of a fleet, by machine and id.
#[derive(Clone, Debug, Default)]
pub(super) struct PresentInstances {
    list: Vec<ServingInstance>,
    /// The kinds of the present instances, the smallest first, each with the first instance of it.
    kinds: BTreeMap<InstanceKind, usize>,
    /// What each machine had when it was last seen.
    seen: Vec<(Stamp, DeviceSet)>,
}

impl PresentInstances {
    pub(super) fn list(&self) -> &[ServingInstance] {
        &self.list
    }

    pub(super) fn position(&self, seat: InstanceRef) -> Option<usize> {
        self.list
            .binary_search_by_key(&seat, |instance| instance.seat)
            .ok()
    }

    pub(super) fn at(&mut self, seat: InstanceRef) -> Option<&mut ServingInstance> {
        let at = self.position(seat)?;
        self.list.get_mut(at)
    }

    /// The least memory of an empty instance that suits a demand and holds its bytes; the inner
    /// `None` for instances of unknown memory. `None` if no present instance does. O(kinds).
    pub(super) fn class(
        &self,
        fleet: &Fleet,
        demand: &Demand,
        fit: MemoryFit,
    ) -> Option<Option<u64>> {
        let suits = |at: usize| {
            let own = self.list.get(at)?;
            let machine = fleet.machine(own.seat.machine).ok()?;
            let device = machine.graph().devices().get(own.seat.id.index())?;
            (demand.fits(device) && fit.fits(demand.memory_bytes, own.kind.capacity)).then_some(())
        };
        let mut kinds = self.kinds.iter();
        kinds
            .find(|&(_, &first)| suits(first).is_some())
            .map(|(kind, _)| kind.capacity)
    }

    /// Brings the list up to date with the layouts of the fleet. Processes stay bound to instances
    /// that are still there. Returns whether the list has changed.
    ///
    /// # Complexity
    /// O(m) for m machines, and O(instances) if a layout has changed.
    pub(super) fn refresh(&mut self, fleet: &Fleet) -> bool {
        let count = fleet.machines().len();
        let mut is_other = self.seen.len() != count;
        for (seen, view) in self.seen.iter_mut().zip(fleet.views()) {
            if seen.0 != view.stamp() {
                seen.0 = view.stamp();
                is_other |= seen.1 != *view.present();
            }
        }
        if !is_other {
            return false;
        }
        let state = |view: View<'_>| (view.stamp(), view.present().clone());
        self.seen = fleet.views().map(state).collect();
        let before = std::mem::take(&mut self.list);
        let mut bound: BTreeMap<InstanceRef, BTreeMap<JobId, u32>> = before
            .into_iter()
            .map(|instance| (instance.seat, instance.clients))
            .collect();
        for view in fleet.views() {
            let wants = Demand::any().shared();
            for id in view.present().iter() {
                // NUMA nodes and network cards are vertices too, and no instances.
                if !wants.fits(view.graph().device(id)) {
                    continue;
                }
                let mut own = ServingInstance::new(&view, id);
                own.clients = bound.remove(&own.seat).unwrap_or_default();
                self.list.push(own);
            }
        }
        self.list.sort_by_key(|instance| instance.seat);
        self.kinds.clear();
        for (at, instance) in self.list.iter().enumerate() {
            self.kinds.entry(instance.kind).or_insert(at);
        }
        true
    }
}
