//! The read-only state of a machine, as policies see it.

use std::fmt;

use crate::ids::{DeviceId, LeaseId, MachineId, PortId};
use crate::mig::{Instance, Layout};
use crate::pattern::Demand;
use crate::state::{AllocationState, Usage};
use crate::stop_flag::StopFlag;
use crate::topology::{DeviceSet, HardwareGraph};

/// Returns whether a search should stop. A closure of the caller, as the library reads no clock.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Identifies the state on which a decision was made. Only a decision on the present state can be
/// committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stamp {
    /// The machine's id in its fleet.
    pub machine: MachineId,
    /// The [fingerprint](HardwareGraph::fingerprint) of the machine's graph, as machines of
    /// different fleets may have equal ids.
    pub fingerprint: u64,
    /// The number of changes of the state so far.
    pub generation: u64,
    /// A hash of all changes. It distinguishes two copies of a machine that have changed
    /// differently.
    pub lineage: u64,
    /// The lease that was left out ([`Allocator::without`](crate::Allocator::without)). Committing
    /// the decision replaces it.
    pub vacated: Option<LeaseId>,
    /// Whether the state was hypothetical (`View::as_if_*`, [`HardwareGraph::with_free`]). Such
    /// decisions cannot be committed.
    pub imagined: bool,
}

/// The present, free and used vertices of a machine at some moment. Cheap to copy. Made by
/// [`Allocator::view`](crate::Allocator::view) or [`HardwareGraph::with_free`].
///
/// Queries of usage are table lookups. A view of a bare free set ([`HardwareGraph::with_free`]) has
/// no data on usage: it reports one exclusive tenant on each vertex that is not free, and no usage
/// of groups of devices.
#[derive(Clone, Copy)]
pub struct View<'a> {
    graph: &'a HardwareGraph,
    present: &'a DeviceSet,
    free: &'a DeviceSet,
    /// The vertices without a tenant. `free` may have been limited further.
    vacant: &'a DeviceSet,
    /// The vertices that can take a tenant that shares; `limit` may exclude some.
    open: &'a DeviceSet,
    limit: Option<&'a DeviceSet>,
    state: Option<&'a AllocationState>,
    /// Whether all tenants are ignored.
    idle: bool,
    /// Whether present vertices may exclude each other, as they are of several layouts.
    any_layout: bool,
    stamp: Stamp,
    until: Option<Stop<'a>>,
}

impl<'a> View<'a> {
    pub(crate) fn new(graph: &'a HardwareGraph, state: &'a AllocationState, stamp: Stamp) -> Self {
        Self {
            graph,
            present: &state.present,
            free: &state.free,
            vacant: &state.free,
            open: &state.open,
            limit: None,
            state: Some(state),
            idle: false,
            any_layout: false,
            stamp,
            until: None,
        }
    }

    fn imagined(graph: &'a HardwareGraph, free: &'a DeviceSet) -> Self {
        let fingerprint = graph.fingerprint();
        Self {
            graph,
            present: graph.everything(),
            free,
            vacant: free,
            open: free,
            limit: None,
            state: None,
            idle: false,
            any_layout: graph.can_be_cut(),
            stamp: Stamp {
                machine: MachineId::default(),
                fingerprint,
                generation: 0,
                lineage: 0,
                vacated: None,
                imagined: true,
            },
            until: None,
        }
    }

    /// The machine's graph.
    #[must_use]
    pub fn graph(&self) -> &'a HardwareGraph {
        self.graph
    }

    /// The machine's id in its fleet.
    #[must_use]
    pub fn machine(&self) -> MachineId {
        self.stamp.machine
    }

    /// The vertices that exist in the current layouts. A partitioned device is not present itself,
    /// only its instances. While a device is being repartitioned, the instances in both layouts are
    /// present.
    #[must_use]
    pub fn present(&self) -> &'a DeviceSet {
        self.present
    }

    /// The present vertices without a tenant.
    #[must_use]
    pub fn free(&self) -> &'a DeviceSet {
        self.free
    }

    /// Whether the graph and the free set describe the state fully: every device is whole and is
    /// not being repartitioned, every tenant is exclusive, the state is not hypothetical and no
    /// lease is left out, and the view has neither a limit to some devices nor a deadline.
    ///
    /// # Complexity
    /// O(devices) on machines with devices that can be partitioned, otherwise O(1).
    #[must_use]
    pub fn is_of_free_set(&self) -> bool {
        let state = self
            .state
            .filter(|_| self.limit.is_none() && self.until.is_none() && !self.stamp.imagined);
        state.is_some_and(|state| state.is_of_free_set(self.graph)) && self.stamp.vacated.is_none()
    }

    /// Whether a policy that [promises](crate::Policy::of_free_set) to see the free set alone has one answer
    /// for this view and for every other with the same graph and free set. Unlike
    /// [`View::is_of_free_set`], this holds for hypothetical states and those with a deadline too.
    pub(crate) fn is_as_its_free_set(&self) -> bool {
        self.limit.is_none()
            && !self.idle
            && !self.any_layout
            && self.free == self.vacant
            && (self.state).is_none_or(|state| state.is_of_free_set(self.graph))
    }

    /// The stamp of the state, as decisions on it carry it.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The usage of the tenants of a vertex.
    #[must_use]
    pub fn usage(&self, id: DeviceId) -> &'a Usage {
        match self.state.filter(|_| !self.idle) {
            Some(state) => state.usage(id).unwrap_or(&Usage::IDLE),
            None if self.vacant.contains(id) => &Usage::IDLE,
            None => &Usage::TAKEN,
        }
    }

    fn usage_of(&self, group: impl Fn(&'a AllocationState) -> Option<&'a Usage>) -> &'a Usage {
        self.state
            .filter(|_| !self.idle)
            .and_then(group)
            .unwrap_or(&Usage::IDLE)
    }

    /// The usage of the tenants of a whole device and of its instances.
    #[must_use]
    pub fn usage_of_whole(&self, whole: DeviceId) -> &'a Usage {
        self.usage_of(|state| state.usage_of_whole(whole))
    }

    /// The usage of the tenants of all devices behind a host bridge.
    #[must_use]
    pub fn usage_of_port(&self, port: PortId) -> &'a Usage {
        self.usage_of(|state| state.usage_of_port(port))
    }

    /// The usage of the tenants of all vertices of a NUMA node.
    #[must_use]
    pub fn usage_of_numa(&self, numa: u32) -> &'a Usage {
        self.usage_of(|state| state.usage_of_numa(numa))
    }

    /// The leases on a vertex, ascending. Empty on a bare free set, where leases are not known.
    #[must_use]
    pub fn tenants(&self, id: DeviceId) -> &'a [LeaseId] {
        self.state
            .filter(|_| !self.idle)
            .map_or(&[], |state| state.tenants(id))
    }

    /// The memory of a vertex that no tenant has requested, bytes; `None` if its memory is not
    /// known.
    #[must_use]
    pub fn free_memory(&self, id: DeviceId) -> Option<u64> {
        Some(
            self.graph
                .devices()
                .get(id.index())?
                .memory_bytes?
                .saturating_sub(self.usage(id).memory_bytes),
        )
    }

    /// The present vertices of a whole device.
    pub fn parts_of(&self, whole: DeviceId) -> impl Iterator<Item = DeviceId> + use<'a> {
        let present = self.present;
        self.graph
            .vertices(whole)
            .iter()
            .filter(move |&id| present.contains(id))
    }

    /// The instances of a whole device that have tenants, in the order of their starts. A new
    /// layout must keep them.
    #[must_use]
    pub fn instances_in_use(&self, whole: DeviceId) -> Vec<Instance> {
        let in_use = self
            .graph
            .vertices(whole)
            .iter()
            .filter(|&id| !self.tenants(id).is_empty());
        let mut instances: Vec<_> = in_use
            .filter_map(|id| self.graph.device(id).unit.instance())
            .collect();
        instances.sort_unstable();
        instances
    }

    /// The current layout of a device; whole if it is not known.
    #[must_use]
    pub fn layout_of(&self, whole: DeviceId) -> Layout {
        self.state
            .map_or_else(Layout::whole, |state| state.layout(whole))
    }

    /// The new layout of a device that is being repartitioned.
    #[must_use]
    pub fn changing_to(&self, whole: DeviceId) -> Option<&'a Layout> {
        self.state?.changing().get(&whole)
    }

    /// Whether a device or instance is cordoned: it gets no new tenants. False for a view of a bare
    /// free set.
    #[must_use]
    pub fn is_cordoned(&self, id: DeviceId) -> bool {
        self.state
            .is_some_and(|state| state.cordoned().contains(id))
    }

    /// The vertices that have room now for a tenant with this demand, if no other tenant is added.
    ///
    /// # Complexity
    /// O(V) for V vertices, less for whole devices.
    #[must_use]
    pub fn room_for(&self, demand: &Demand) -> DeviceSet {
        let room = &self.graph.candidates(demand)
            & if demand.is_shared() {
                self.open
            } else {
                self.vacant
            };
        if self.limit.is_none() && demand.memory_bytes == 0 {
            return room;
        }
        room.iter()
            .filter(|&id| self.has_room(demand, id))
            .collect()
    }

    /// Whether a vertex has room now for a tenant with this demand, if no other tenant is added.
    ///
    /// # Complexity
    /// O(1).
    #[must_use]
    pub fn has_room(&self, demand: &Demand, id: DeviceId) -> bool {
        let there = if demand.is_shared() {
            self.open
        } else {
            self.vacant
        };
        there.contains(id)
            && self.limit.is_none_or(|limit| self.is_within(limit, id))
            && self
                .graph
                .devices()
                .get(id.index())
                .is_some_and(|device| demand.fits(device))
            && self.holds(id, [*demand].into_iter())
    }

    /// Whether a limit allows a vertex: because it names the vertex, or if layouts are open because
    /// it names any vertex of the same device.
    fn is_within(&self, limit: &DeviceSet, id: DeviceId) -> bool {
        let whole = |id: DeviceId| self.graph.device(id).parent;
        limit.contains(id)
            || self.any_layout
                && id.index() < self.graph.len()
                && !self.graph.vertices(whole(id)).is_disjoint(limit)
    }

    /// Whether a vertex has memory for several tenants with these demands together, all of which
    /// share.
    pub(crate) fn holds(&self, id: DeviceId, mut demands: impl Iterator<Item = Demand>) -> bool {
        let sum = demands.try_fold(0u64, |sum, demand| sum.checked_add(demand.memory_bytes));
        match (sum, self.free_memory(id)) {
            (Some(0), _) => true,
            (Some(sum), Some(free)) => sum <= free,
            _ => false,
        }
    }

    /// Whether the view knows the current layouts and a device could have another one.
    pub(crate) fn knows_layouts(&self) -> bool {
        self.state.is_some() && self.graph.can_be_cut()
    }

    /// Whether present vertices may exclude each other, as they are of several layouts.
    pub(crate) fn is_of_any_layout(&self) -> bool {
        self.any_layout
    }

    /// This state with only the devices of `fewer` to choose from. A placement may use those of
    /// `fewer` that are free. Objectives see `fewer` as the whole free set, also for the devices
    /// that stay free ([`Objective::rest`](crate::Objective::rest)). Decisions on the view can be
    /// committed.
    #[must_use]
    pub fn limited_to(self, fewer: &'a DeviceSet) -> Self {
        Self {
            free: fewer,
            limit: Some(fewer),
            ..self
        }
    }

    /// A hypothetical state in which exactly `free` is free and nothing is in use. Decisions on it
    /// cannot be committed.
    #[must_use]
    pub fn as_if_free(self, free: &'a DeviceSet) -> Self {
        let stamp = Stamp {
            imagined: true,
            ..self.stamp
        };
        let any_layout = self.graph.can_be_cut();
        Self {
            free,
            vacant: free,
            open: free,
            limit: None,
            idle: true,
            any_layout,
            stamp,
            ..self
        }
    }

    /// A hypothetical state with the same layouts and no tenants. Decisions on it cannot be
    /// committed.
    #[must_use]
    pub fn as_if_idle(self) -> Self {
        let (any_layout, present) = (self.any_layout, self.present);
        Self {
            any_layout,
            ..self.as_if_free(present)
        }
    }

    /// A hypothetical state with the same tenants, in which every device can be repartitioned
    /// around them in any way. Decisions on it cannot be committed.
    ///
    /// Every instance that could be created is present and free, also those that exclude each
    /// other. A placement uses only instances that can exist together and beside the present
    /// tenants. A device that is being repartitioned already stays as it is. A limit to some
    /// devices holds for all instances that they could have. A view of a bare free set is of any
    /// layout anyway.
    #[must_use]
    pub fn as_if_repartitioned(self) -> Self {
        let stamp = Stamp {
            imagined: true,
            ..self.stamp
        };
        let Some(state) = self.state else {
            return Self { stamp, ..self };
        };
        if self.idle {
            let everything = self.graph.everything();
            return Self {
                present: everything,
                limit: self.limit,
                ..self.as_if_free(everything)
            };
        }
        let (free, open) = state.reachable(self.graph);
        Self {
            present: self.graph.everything(),
            free,
            vacant: free,
            open,
            any_layout: self.graph.can_be_cut(),
            stamp,
            ..self
        }
    }

    /// This view with a deadline of the caller: searches stop soon after `stop` returns true.
    #[must_use]
    pub fn until(self, stop: Stop<'a>) -> Self {
        Self {
            until: Some(stop),
            ..self
        }
    }

    pub(crate) fn stop(&self) -> Option<Stop<'a>> {
        self.until
    }

    /// Whether the time for a decision is over: by the caller's deadline, or by the [flag](StopFlag) of this thread.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.until.is_some_and(|stop| stop()) || StopFlag::is_current_set()
    }
}

impl HardwareGraph {
    /// A view in which exactly `free` is free, for callers that do their own accounting. Decisions
    /// on it cannot be committed to an [`Allocator`](crate::Allocator).
    #[must_use]
    pub fn with_free<'a>(&'a self, free: &'a DeviceSet) -> View<'a> {
        View::imagined(self, free)
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("free", self.free)
            .field("stamp", &self.stamp)
            .finish_non_exhaustive()
    }
}
