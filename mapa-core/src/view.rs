//! The state as a policy sees it: read-only.

use std::fmt;

use crate::allocator::LeaseId;
use crate::matching::Stop;
use crate::mig::{Instance, Layout};
use crate::pattern::Demand;
use crate::policy::{Decision, Policy, Refusal, Request};
use crate::state::{State, Usage};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, PortId};

/// A machine of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct MachineId(pub u32);

impl fmt::Display for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which state a decision was made on. Only a decision on the present state can be committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stamp {
    /// The machine.
    pub machine: MachineId,
    /// Its graph's [fingerprint](HardwareGraph::fingerprint): ids are only told apart within a fleet.
    pub fingerprint: u64,
    /// How often its state has changed.
    pub generation: u64,
    /// A hash of all those changes, so that the states of two copies that went different ways are told apart.
    pub lineage: u64,
    /// The lease that was taken for gone: committing the decision replaces it.
    pub vacated: Option<LeaseId>,
    /// Whether the state was imagined: such decisions say what would be, and cannot be committed.
    pub imagined: bool,
}

/// What is present, free and used on a machine at some moment. Cheap to copy; made by
/// [`Allocator::view`](crate::Allocator::view) or [`HardwareGraph::with_free`].
///
/// Questions about usage cost a look into a table. A view of a bare free set knows of no usage: what is not free in it has
/// one tenant that shares with nobody, and groups of devices are idle.
#[derive(Clone, Copy)]
pub struct View<'a> {
    graph: &'a HardwareGraph,
    present: &'a DeviceSet,
    free: &'a DeviceSet,
    /// What has no tenant indeed; `free` may have been limited.
    vacant: &'a DeviceSet,
    /// Where a tenant that shares may go, as far as `limit` allows.
    open: &'a DeviceSet,
    limit: Option<&'a DeviceSet>,
    state: Option<&'a State>,
    /// Whether all tenants are taken for gone.
    idle: bool,
    /// Whether what is present need not exist in one layout.
    any_layout: bool,
    stamp: Stamp,
    until: Option<Stop<'a>>,
}

impl<'a> View<'a> {
    pub(crate) fn new(graph: &'a HardwareGraph, state: &'a State, stamp: Stamp) -> Self {
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

    pub(crate) fn imagined(graph: &'a HardwareGraph, free: &'a DeviceSet) -> Self {
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

    /// Which machine of a fleet it is.
    #[must_use]
    pub fn machine(&self) -> MachineId {
        self.stamp.machine
    }

    /// What exists in the layouts of the moment. A device that is cut up is not there itself; while one is being cut up
    /// anew, what is in both layouts is there.
    #[must_use]
    pub fn present(&self) -> &'a DeviceSet {
        self.present
    }

    /// What is present and has no tenant.
    #[must_use]
    pub fn free(&self) -> &'a DeviceSet {
        self.free
    }

    /// Whether the graph and what is free are all there is to know: every device is whole and stays so, whoever is there
    /// shares with nobody, nothing is imagined, and nothing limits what may be had. O(devices) on machines that can be cut up.
    #[must_use]
    pub fn is_of_free_set(&self) -> bool {
        let state = self.state.filter(|_| self.limit.is_none() && self.until.is_none() && !self.stamp.imagined);
        state.is_some_and(|state| state.is_of_free_set(self.graph)) && self.stamp.vacated.is_none()
    }

    /// Which state this is.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// What the tenants of a vertex use.
    #[must_use]
    pub fn usage(&self, id: DeviceId) -> &'a Usage {
        match self.state.filter(|_| !self.idle) {
            Some(state) => state.usage(id).unwrap_or(&Usage::IDLE),
            None if self.vacant.contains(id) => &Usage::IDLE,
            None => &Usage::TAKEN,
        }
    }

    fn usage_of(&self, group: impl Fn(&'a State) -> Option<&'a Usage>) -> &'a Usage {
        self.state.filter(|_| !self.idle).and_then(group).unwrap_or(&Usage::IDLE)
    }

    /// What the tenants of a whole device and of its instances use.
    #[must_use]
    pub fn usage_of_whole(&self, whole: DeviceId) -> &'a Usage {
        self.usage_of(|state| state.usage_of_whole(whole))
    }

    /// What the tenants of all devices behind a host bridge use.
    #[must_use]
    pub fn usage_of_port(&self, port: PortId) -> &'a Usage {
        self.usage_of(|state| state.usage_of_port(port))
    }

    /// What the tenants of all vertices of a NUMA node use.
    #[must_use]
    pub fn usage_of_numa(&self, numa: u32) -> &'a Usage {
        self.usage_of(|state| state.usage_of_numa(numa))
    }

    /// The leases on a vertex, ascending; none known on a bare free set.
    #[must_use]
    pub fn tenants(&self, id: DeviceId) -> &'a [LeaseId] {
        self.state.filter(|_| !self.idle).map_or(&[], |state| state.tenants(id))
    }

    /// Memory that is not given away; none if it is not known.
    #[must_use]
    pub fn free_memory(&self, id: DeviceId) -> Option<u64> {
        Some(self.graph.devices().get(id.index())?.memory_bytes?.saturating_sub(self.usage(id).memory_bytes))
    }

    /// What is present of a whole device.
    pub fn parts_of(&self, whole: DeviceId) -> impl Iterator<Item = DeviceId> + use<'a> {
        let present = self.present;
        self.graph.vertices(whole).iter().filter(move |&id| present.contains(id))
    }

    /// The instances of a whole device that have tenants, by start: those that a new layout must keep.
    #[must_use]
    pub fn instances_in_use(&self, whole: DeviceId) -> Vec<Instance> {
        let in_use = self.graph.vertices(whole).iter().filter(|&id| !self.tenants(id).is_empty());
        let mut instances: Vec<_> = in_use.filter_map(|id| self.graph.device(id).unit.instance()).collect();
        instances.sort_unstable();
        instances
    }

    /// How a device is cut up; whole, if nothing else is known.
    #[must_use]
    pub fn layout_of(&self, whole: DeviceId) -> Layout {
        self.state.map_or_else(Layout::whole, |state| state.layout(whole))
    }

    /// The layout that a device is being given at the moment.
    #[must_use]
    pub fn changing_to(&self, whole: DeviceId) -> Option<&'a Layout> {
        self.state?.changing().get(&whole)
    }

    /// The vertices on which a tenant with this demand could be put now, if it came alone. O(V), less for whole devices.
    #[must_use]
    pub fn room_for(&self, demand: &Demand) -> DeviceSet {
        let room = &self.graph.candidates(demand) & if demand.is_shared() { self.open } else { self.vacant };
        if self.limit.is_none() && demand.memory_bytes == 0 {
            return room;
        }
        room.iter().filter(|&id| self.has_room(demand, id)).collect()
    }

    /// Whether a tenant with this demand could be put there now, if it came alone. O(1).
    #[must_use]
    pub fn has_room(&self, demand: &Demand, id: DeviceId) -> bool {
        let there = if demand.is_shared() { self.open } else { self.vacant };
        there.contains(id)
            && self.limit.is_none_or(|limit| self.is_within(limit, id))
            && self.graph.devices().get(id.index()).is_some_and(|device| demand.fits(device))
            && self.holds(id, [*demand].into_iter())
    }

    /// Whether a limit allows a vertex: by name, or where layouts are open by naming anything of its device.
    fn is_within(&self, limit: &DeviceSet, id: DeviceId) -> bool {
        let whole = |id: DeviceId| self.graph.device(id).parent;
        limit.contains(id)
            || self.any_layout && id.index() < self.graph.len() && !self.graph.vertices(whole(id)).is_disjoint(limit)
    }

    /// Whether several tenants with these demands, all of which share, can be put on one vertex together.
    pub(crate) fn holds(&self, id: DeviceId, mut demands: impl Iterator<Item = Demand>) -> bool {
        let sum = demands.try_fold(0u64, |sum, demand| sum.checked_add(demand.memory_bytes));
        match (sum, self.free_memory(id)) {
            (Some(0), _) => true,
            (Some(sum), Some(free)) => sum <= free,
            _ => false,
        }
    }

    /// Whether it shows layouts that could be others.
    pub(crate) fn knows_layouts(&self) -> bool {
        self.state.is_some() && self.graph.can_be_cut()
    }

    /// Whether what is present need not exist in one layout.
    pub(crate) fn is_of_any_layout(&self) -> bool {
        self.any_layout
    }

    /// The same state with fewer devices to choose from: only those of `fewer` that are free indeed may be had, and `fewer`
    /// counts as all that is free, for "what stays free" too. Decisions on it can be committed.
    #[must_use]
    pub fn limited_to(self, fewer: &'a DeviceSet) -> Self {
        Self { free: fewer, limit: Some(fewer), ..self }
    }

    /// The same state with `free` free instead, and nothing in use: imagined.
    #[must_use]
    pub fn as_if_free(self, free: &'a DeviceSet) -> Self {
        let stamp = Stamp { imagined: true, ..self.stamp };
        let any_layout = self.graph.can_be_cut();
        Self { free, vacant: free, open: free, limit: None, idle: true, any_layout, stamp, ..self }
    }

    /// The same layouts, all tenants gone: imagined.
    #[must_use]
    pub fn as_if_idle(self) -> Self {
        let (any_layout, present) = (self.any_layout, self.present);
        Self { any_layout, ..self.as_if_free(present) }
    }

    /// The same tenants, with every device cut up anew around them in whatever way: imagined. What could be created is
    /// present and free, also where it excludes something else that could be created; a placement takes only what can
    /// exist together, and beside the tenants there are. A device that is being cut up anew already stays as it is. A limit
    /// to some devices holds for all they could be cut into. A view of a bare free set is of any layout anyway.
    #[must_use]
    pub fn as_if_repartitioned(self) -> Self {
        let stamp = Stamp { imagined: true, ..self.stamp };
        let Some(state) = self.state else { return Self { stamp, ..self } };
        if self.idle {
            let everything = self.graph.everything();
            return Self { present: everything, limit: self.limit, ..self.as_if_free(everything) };
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

    /// Makes searches stop soon after `stop` has begun to answer true: the caller's deadline.
    #[must_use]
    pub fn until(self, stop: Stop<'a>) -> Self {
        Self { until: Some(stop), ..self }
    }

    pub(crate) fn stop(&self) -> Option<Stop<'a>> {
        self.until
    }

    /// Asks a policy. The same as `policy.decide(request, self)`, the other way round for reading aloud. By value, so that
    /// a policy that borrows its scheduler is gone before the answer is acted on; `&policy` is a policy too.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn decide(&self, policy: impl Policy, request: &Request) -> Result<Decision, Refusal> {
        policy.decide(request, self)
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("free", self.free).field("stamp", &self.stamp).finish_non_exhaustive()
    }
}
