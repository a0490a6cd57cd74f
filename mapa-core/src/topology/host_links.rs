//! The hops over which devices reach the host's memory: what those behind one switch or host bridge share.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::fabric::{Fabric, FabricWire, NodeId, NodeKind};
use super::{DeviceId, DeviceSet};

/// The hops of a machine's host tree that lie between its devices and the host's memory, with their capacities, and by whole device
/// those that its copies cross. Of an instance they are those of its device.
///
/// Copies are taken to go to the memory of the nearest NUMA node above the device, or where there is none to the root of the tree: hops
/// between sockets belong to no path. A device without a place in the tree, such as one read from a table of pairs, has one hop of its own,
/// as fast as its fastest path through the host, and shares it with nobody; one without such a path has none.
///
/// ```
/// use mapa_core::{DeviceId, Fabric, FabricNode, NodeKind};
///
/// let mut fabric = Fabric::new();
/// let node = fabric.add_numa("cpu0", 0)?;
/// let switch = fabric.add(FabricNode { name: "switch".into(), kind: NodeKind::PcieSwitch })?;
/// fabric.attach(switch, node, 31.5)?;
/// for name in ["GPU0", "GPU1"] {
///     let gpu = fabric.add_device(name)?;
///     fabric.attach(gpu, switch, 31.5)?;
/// }
/// let graph = fabric.lower()?;
/// let links = graph.host_links();
/// let path = links.path(DeviceId(1)).unwrap_or_default();
/// let names: Vec<&str> = path.iter().map(|&hop| links.names()[hop as usize].as_str()).collect();
/// assert_eq!(names, ["GPU1", "switch"]);
/// assert_eq!(links.together(DeviceId(1)).to_string(), "0,1");
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostLinks {
    capacities: Vec<f64>,
    names: Vec<String>,
    /// By whole device, from it up; empty if nothing is known of it.
    paths: Vec<SmallVec<[u32; 4]>>,
    /// By whole device.
    together: Vec<DeviceSet>,
}

impl HostLinks {
    /// O(n h + components) for n devices under a tree of height h. `host_gbps` is a device's fastest path through the host, 0 if it has none.
    pub(super) fn new(fabric: &Fabric, host_gbps: impl Fn(usize) -> f64) -> Self {
        let ups = fabric.wires().filter_map(|(child, parent, wire)| match wire {
            FabricWire::Up { gbps } => Some((child, (parent, gbps))),
            FabricWire::Link(_) => None,
        });
        let ups: BTreeMap<NodeId, (NodeId, f64)> = ups.collect();
        let mut links = Self::default();
        let mut known = BTreeMap::new();
        let is_device = |id: &NodeId| matches!(fabric.node(*id).kind, NodeKind::Device(_));
        for (i, device) in fabric.nodes().map(|(id, _)| id).filter(is_device).enumerate() {
            let mut path = SmallVec::new();
            let mut at = device;
            while let Some(&(parent, gbps)) = ups.get(&at) {
                path.push(*known.entry(at).or_insert_with(|| links.add(fabric, at, gbps)));
                if matches!(fabric.node(parent).kind, NodeKind::Numa(_)) {
                    break;
                }
                at = parent;
            }
            if path.is_empty() && host_gbps(i) > 0.0 {
                path.push(links.add(fabric, device, host_gbps(i)));
            }
            links.paths.push(path);
        }
        links.together = links.meeting();
        links
    }

    /// By whole device, those that share a hop with it. Ways up that meet go on together, so they share the last.
    fn meeting(&self) -> Vec<DeviceSet> {
        let mut by_last: BTreeMap<u32, DeviceSet> = BTreeMap::new();
        let last = |path: &SmallVec<[u32; 4]>| path.last().copied();
        for (id, last) in (0u32..).zip(self.paths.iter().map(last)).filter_map(|(id, last)| Some((id, last?))) {
            by_last.entry(last).or_default().insert(DeviceId(id));
        }
        let of = |(id, path): (u32, _)| last(path).and_then(|last| by_last.get(&last).cloned()).unwrap_or([id].into());
        (0u32..).zip(&self.paths).map(of).collect()
    }

    fn add(&mut self, fabric: &Fabric, leaves: NodeId, gbps: f64) -> u32 {
        self.capacities.push(gbps);
        self.names.push(fabric.node(leaves).name.clone());
        (self.capacities.len() - 1) as u32
    }

    /// What each hop carries, GB/s per direction: the links of [`max_min`](crate::sharing::max_min).
    #[must_use]
    pub fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    /// By hop, the component from which it leads up: a device, a switch, a host bridge.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The hops that copies of a whole device cross, from the device up; none if it is not known how it reaches the host, or if it is no
    /// whole device.
    #[must_use]
    pub fn path(&self, whole: DeviceId) -> Option<&[u32]> {
        self.paths.get(whole.index()).map(|path| &path[..]).filter(|path| !path.is_empty())
    }

    /// The whole devices that share a hop with this one, itself among them.
    #[must_use]
    pub fn together(&self, whole: DeviceId) -> &DeviceSet {
        const NONE: &DeviceSet = &DeviceSet::EMPTY;
        self.together.get(whole.index()).unwrap_or(NONE)
    }
}
