//! The hops over which devices reach the host's memory. Devices behind one switch or host bridge
//! share some of them.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::fabric::{Fabric, FabricWire, NodeId, NodeKind};
use super::{DeviceId, DeviceSet};

/// The hops of a machine's host tree between its devices and the host's memory: their capacities,
/// and for each whole device the hops that its copies cross. The hops of an instance are those of
/// its device.
///
/// Copies are assumed to go to the memory of the nearest NUMA node above the device, or to the root
/// of the tree if there is no such node. So no path has a hop between sockets. A device without a
/// place in the tree, such as one read from a table of pairs, has one hop that no other device
/// shares. That hop is as fast as the device's fastest path through the host. A device without
/// such a path has no hop.
///
/// # Examples
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
    /// By whole device, its hops from the device up; empty if they are unknown.
    paths: Vec<SmallVec<[u32; 4]>>,
    /// By whole device, the devices that share a hop with it.
    together: Vec<DeviceSet>,
}

impl HostLinks {
    /// The hops of a fabric. `host_gbps` gives a device's fastest path through the host, 0 if it
    /// has none. O(n h + c) for n devices under a tree of height h and c components.
    pub(super) fn new(fabric: &Fabric, host_gbps: impl Fn(usize) -> f64) -> Self {
        let ups = fabric
            .wires()
            .filter_map(|(child, parent, wire)| match wire {
                FabricWire::Up { gbps } => Some((child, (parent, gbps))),
                FabricWire::Link(_) => None,
            });
        let ups: BTreeMap<NodeId, (NodeId, f64)> = ups.collect();
        let mut links = Self::default();
        let mut known = BTreeMap::new();
        let devices = fabric
            .nodes()
            .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)));
        for (i, (device, _)) in devices.enumerate() {
            let mut path = SmallVec::new();
            let mut at = device;
            while let Some(&(parent, gbps)) = ups.get(&at) {
                // Devices below one component share its hop upwards.
                path.push(
                    *known
                        .entry(at)
                        .or_insert_with(|| links.add(fabric, at, gbps)),
                );
                // Copies end at the nearest NUMA node, whose memory they use.
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

    /// By whole device, the devices that share a hop with it. Two ways up that meet continue
    /// together, so devices that share any hop share the last.
    fn meeting(&self) -> Vec<DeviceSet> {
        let mut by_last: BTreeMap<u32, DeviceSet> = BTreeMap::new();
        let last = |path: &SmallVec<[u32; 4]>| path.last().copied();
        for (id, last) in (0u32..)
            .zip(self.paths.iter().map(last))
            .filter_map(|(id, last)| Some((id, last?)))
        {
            by_last.entry(last).or_default().insert(DeviceId(id));
        }
        (0u32..)
            .zip(&self.paths)
            .map(|(id, path): (u32, _)| {
                last(path)
                    .and_then(|last| by_last.get(&last).cloned())
                    .unwrap_or([id].into())
            })
            .collect()
    }

    fn add(&mut self, fabric: &Fabric, leaves: NodeId, gbps: f64) -> u32 {
        self.capacities.push(gbps);
        self.names.push(fabric.node(leaves).name.clone());
        (self.capacities.len() - 1) as u32
    }

    /// The capacity of each hop, GB/s per direction: the links of
    /// [`max_min`](crate::sharing::max_min).
    #[must_use]
    pub fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    /// By hop, the name of the component from which it leads up: a device, a switch, a host bridge.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The hops that copies of a whole device cross, from the device up; none if its way to the
    /// host is unknown, or if it is not a whole device.
    #[must_use]
    pub fn path(&self, whole: DeviceId) -> Option<&[u32]> {
        self.paths
            .get(whole.index())
            .map(|path| &path[..])
            .filter(|path| !path.is_empty())
    }

    /// The whole devices that share a hop with this one, including itself.
    #[must_use]
    pub fn together(&self, whole: DeviceId) -> &DeviceSet {
        const NONE: &DeviceSet = &DeviceSet::EMPTY;
        self.together.get(whole.index()).unwrap_or(NONE)
    }
}
