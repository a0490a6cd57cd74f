//! The present, free and used vertices of a machine, kept up to date so that every query is one
//! table lookup.
//!
//! All numbers are integers. Releasing subtracts exactly what booking added, so a state after both
//! equals the state before. Sums in floating point would drift, and sums computed for each query
//! would cost milliseconds per decision on a fleet.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use smallvec::SmallVec;

use crate::ids::{DeviceId, LeaseId, PortId};
use crate::mig::Layout;
use crate::pattern::{Demand, Pattern};
use crate::topology::{DeviceSet, HardwareGraph, Unit};

/// The total usage of the tenants of a vertex or of a group of vertices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// The number of ranks placed here, of any jobs. A job with two ranks here counts twice.
    pub tenants: u32,
    /// The number of tenants that do not share.
    pub exclusive: u32,
    /// The memory that the tenants requested, bytes.
    pub memory_bytes: u64,
    /// The warps that the tenants requested.
    pub warps: u64,
    /// The PCIe traffic that the tenants requested, MB/s.
    pub pcie_mb_s: u64,
    /// The number of PCIe-bound tenants: those that requested any PCIe traffic.
    pub pcie_tenants: u32,
}

impl Usage {
    pub(crate) const IDLE: Self = Self {
        tenants: 0,
        exclusive: 0,
        memory_bytes: 0,
        warps: 0,
        pcie_mb_s: 0,
        pcie_tenants: 0,
    };
    /// The usage of a vertex of which only is known that it is not free.
    pub(crate) const TAKEN: Self = Self {
        tenants: 1,
        exclusive: 1,
        ..Self::IDLE
    };

    fn of(demand: &Demand) -> Self {
        Self {
            tenants: 1,
            exclusive: u32::from(!demand.is_shared()),
            memory_bytes: demand.memory_bytes,
            warps: demand.warps.into(),
            pcie_mb_s: demand.pcie_mb_s.into(),
            pcie_tenants: u32::from(demand.pcie_mb_s > 0),
        }
    }

    // Wrapping, so that a sum over absurd demands comes back to where it was all the same.
    fn change(&mut self, other: Self, sign: Sign) {
        let (by32, by64) = match sign {
            Sign::Book => (
                u32::wrapping_add as fn(u32, u32) -> u32,
                u64::wrapping_add as fn(u64, u64) -> u64,
            ),
            Sign::Release => (
                u32::wrapping_sub as fn(u32, u32) -> u32,
                u64::wrapping_sub as fn(u64, u64) -> u64,
            ),
        };
        self.tenants = by32(self.tenants, other.tenants);
        self.exclusive = by32(self.exclusive, other.exclusive);
        self.memory_bytes = by64(self.memory_bytes, other.memory_bytes);
        self.warps = by64(self.warps, other.warps);
        self.pcie_mb_s = by64(self.pcie_mb_s, other.pcie_mb_s);
        self.pcie_tenants = by32(self.pcie_tenants, other.pcie_tenants);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Book,
    Release,
}

#[derive(Clone, Debug)]
pub(crate) struct AllocationState {
    /// The vertices that exist in the current layouts.
    pub(crate) present: DeviceSet,
    /// Present vertices without a tenant.
    pub(crate) free: DeviceSet,
    /// Present vertices without an exclusive tenant.
    pub(crate) open: DeviceSet,
    /// By vertex.
    usage: Vec<Usage>,
    /// By vertex, the leases on it in ascending order, so that a restored state lists them as the
    /// saved one did.
    tenants: Vec<SmallVec<[LeaseId; 2]>>,
    /// By whole device, the usage of the device and its instances.
    wholes: Vec<Usage>,
    layouts: Vec<Layout>,
    ports: Vec<Usage>,
    numa: BTreeMap<u32, Usage>,
    changing: BTreeMap<DeviceId, Layout>,
    /// The vertices of cordoned devices. They are neither free nor open, with a tenant or without.
    cordoned: DeviceSet,
    /// The free and open vertices if every device could be repartitioned around its tenants.
    /// Computed on first use.
    reachable: OnceLock<(DeviceSet, DeviceSet)>,
}

impl AllocationState {
    /// The state in which every device is whole and idle.
    pub(crate) fn new(graph: &HardwareGraph) -> Self {
        let wholes = graph.wholes().len();
        let host = graph
            .everything()
            .iter()
            .filter(|&id| matches!(graph.device(id).unit, Unit::Numa | Unit::Nic));
        let present: DeviceSet = &graph.wholes() | &host.collect();
        Self {
            free: present.clone(),
            open: present.clone(),
            present,
            usage: vec![Usage::IDLE; graph.len()],
            tenants: vec![SmallVec::new(); graph.len()],
            wholes: vec![Usage::IDLE; wholes],
            layouts: vec![Layout::whole(); wholes],
            ports: vec![Usage::IDLE; graph.port_count()],
            numa: graph
                .numa_nodes()
                .into_iter()
                .map(|(number, _)| (number, Usage::IDLE))
                .collect(),
            changing: BTreeMap::new(),
            cordoned: DeviceSet::new(),
            reachable: OnceLock::new(),
        }
    }

    pub(crate) fn book(
        &mut self,
        graph: &HardwareGraph,
        lease: LeaseId,
        pattern: &Pattern,
        placement: &[DeviceId],
    ) {
        self.change(graph, lease, pattern, placement, Sign::Book);
    }

    pub(crate) fn release(
        &mut self,
        graph: &HardwareGraph,
        lease: LeaseId,
        pattern: &Pattern,
        placement: &[DeviceId],
    ) {
        self.change(graph, lease, pattern, placement, Sign::Release);
    }

    fn change(
        &mut self,
        graph: &HardwareGraph,
        lease: LeaseId,
        pattern: &Pattern,
        placement: &[DeviceId],
        sign: Sign,
    ) {
        for (demand, &id) in pattern.demands().iter().zip(placement) {
            let device = graph.device(id);
            let use_of = Usage::of(demand);
            self.usage[id.index()].change(use_of, sign);
            // NUMA nodes and network cards are vertices, but no part of a device.
            let is_part = matches!(device.unit, Unit::Whole | Unit::Slice(_));
            if let Some(whole) = self
                .wholes
                .get_mut(device.parent.index())
                .filter(|_| is_part)
            {
                whole.change(use_of, sign);
            }
            if let Some(port) = device.port {
                self.ports[port.0 as usize].change(use_of, sign);
            }
            if let Some(numa) = device.numa {
                self.numa.entry(numa).or_default().change(use_of, sign);
            }
            let tenants = &mut self.tenants[id.index()];
            match (sign, tenants.binary_search(&lease)) {
                (Sign::Book, Err(at)) => tenants.insert(at, lease),
                (Sign::Release, Ok(at)) => drop(tenants.remove(at)),
                _ => {}
            }
        }
        self.reachable = OnceLock::new();
        for &id in placement {
            self.refresh(id);
        }
    }

    /// Inserts a vertex into the sets of free and open vertices or removes it, by its usage.
    fn refresh(&mut self, id: DeviceId) {
        let usage = self.usage[id.index()];
        let present = self.present.contains(id) && !self.cordoned.contains(id);
        let (free, open) = (usage.tenants == 0, usage.exclusive == 0);
        for (set, belongs) in [(&mut self.free, free), (&mut self.open, open)] {
            if present && belongs {
                set.insert(id);
            } else {
                set.remove(id);
            }
        }
    }

    /// Whether every device is whole and stays so, and every tenant is exclusive.
    pub(crate) fn is_of_free_set(&self, graph: &HardwareGraph) -> bool {
        let is_whole = || self.changing.is_empty() && self.layouts.iter().all(Layout::is_whole);
        self.open == self.free && (!graph.can_be_cut() || is_whole())
    }

    /// Lets a device get no new tenants, or lets it get some again.
    pub(crate) fn cordon(&mut self, graph: &HardwareGraph, whole: DeviceId, cordoned: bool) {
        let vertices = graph.vertices(whole);
        self.cordoned = if cordoned {
            &self.cordoned | vertices
        } else {
            &self.cordoned - vertices
        };
        self.reachable = OnceLock::new();
        for id in vertices.iter() {
            self.refresh(id);
        }
    }

    pub(crate) fn cordoned(&self) -> &DeviceSet {
        &self.cordoned
    }

    pub(crate) fn layout(&self, whole: DeviceId) -> Layout {
        self.layouts.get(whole.index()).cloned().unwrap_or_default()
    }

    pub(crate) fn changing(&self) -> &BTreeMap<DeviceId, Layout> {
        &self.changing
    }

    /// The vertices of a whole device that have a tenant.
    pub(crate) fn in_use(&self, graph: &HardwareGraph, whole: DeviceId) -> DeviceSet {
        let used = |id: &DeviceId| self.usage[id.index()].tenants > 0;
        graph.vertices(whole).iter().filter(used).collect()
    }

    /// Sets the layout of a whole device to `now`, with `next` under way; `there` are its vertices
    /// that are present.
    pub(crate) fn set_layout(
        &mut self,
        graph: &HardwareGraph,
        whole: DeviceId,
        now: Layout,
        next: Option<Layout>,
        there: &DeviceSet,
    ) {
        self.layouts[whole.index()] = now;
        match next {
            Some(next) => drop(self.changing.insert(whole, next)),
            None => drop(self.changing.remove(&whole)),
        }
        self.present = &(&self.present - graph.vertices(whole)) | there;
        self.reachable = OnceLock::new();
        for id in graph.vertices(whole).iter() {
            self.refresh(id);
        }
    }

    /// The free and the open vertices if every device could be repartitioned around its tenants.
    pub(crate) fn reachable(&self, graph: &HardwareGraph) -> &(DeviceSet, DeviceSet) {
        self.reachable.get_or_init(|| {
            let used = |id: &DeviceId| self.usage[id.index()].tenants > 0;
            let taken =
                graph
                    .everything()
                    .iter()
                    .filter(used)
                    .fold(DeviceSet::new(), |mut taken, id| {
                        taken.insert(id);
                        &taken | graph.overlap(id)
                    });
            let changing = self
                .changing
                .keys()
                .map(|&whole| graph.vertices(whole) - &self.present);
            let taken = changing.fold(taken, |taken, absent| &taken | &absent);
            let free = &(graph.everything() - &taken) - &self.cordoned;
            let open = &free | &self.open;
            (free, open)
        })
    }

    pub(crate) fn usage(&self, id: DeviceId) -> Option<&Usage> {
        self.usage.get(id.index())
    }

    pub(crate) fn usage_of_whole(&self, whole: DeviceId) -> Option<&Usage> {
        self.wholes.get(whole.index())
    }

    pub(crate) fn usage_of_port(&self, port: PortId) -> Option<&Usage> {
        self.ports.get(port.0 as usize)
    }

    pub(crate) fn usage_of_numa(&self, numa: u32) -> Option<&Usage> {
        self.numa.get(&numa)
    }

    pub(crate) fn tenants(&self, id: DeviceId) -> &[LeaseId] {
        self.tenants.get(id.index()).map_or(&[], |leases| leases)
    }
}

/// Compares everything but `reachable`, which is computed on first use.
impl PartialEq for AllocationState {
    fn eq(&self, other: &Self) -> bool {
        (&self.present, &self.free, &self.open) == (&other.present, &other.free, &other.open)
            && (&self.usage, &self.wholes, &self.ports)
                == (&other.usage, &other.wholes, &other.ports)
            && (&self.layouts, &self.numa, &self.changing)
                == (&other.layouts, &other.numa, &other.changing)
            && self.cordoned == other.cordoned
            && self.tenants == other.tenants
    }
}
