//! The host as a network: slots, uplinks of switches, root ports, sockets, and what joins these.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::host_hops::HopTree;
use super::memo::MemoKey;
use super::{DeviceId, DeviceSet, HardwareGraph, LinkClass};

/// The places through which data passes between devices that have no direct links, or between a
/// device and the host's memory: the slots of devices, the uplinks of PCIe switches, root ports,
/// sockets and what joins them.
///
/// It is derived from the classes of all pairs. Devices that `Pix` joins are below one switch.
/// Devices that `Pxb` or better joins are below one upper switch, and those that `Phb` or better
/// joins share a root. A switch with one device of the machine is no switch: nothing is shared
/// there. An uplink is as wide as a slot, unless the host tree says otherwise.
///
/// Sockets follow from NUMA numbers: the highest number plus one, rounded up to a power of two, is
/// the number of nodes, and half of them are in each socket. Devices that `Node` or better joins
/// share a socket, and so do devices near the same cores. Nodes that different parts of a drawn tree
/// hold are not of one socket.
///
/// Where the host tree is drawn and tells more than classes do (a shared hop has another speed than the
/// slots, or switches are not in two regular levels), the tree counts: the hops above switches at any depth, above host bridges, and above NUMA nodes
/// and what holds them ([`trunks`](Self::trunks)), each with its own capacity. A bridge or NUMA node whose
/// hop has the speed of slots has no capacity here: descriptions give that speed to hops that they know
/// nothing of.
///
/// # Examples
///
/// ```
/// use mapa_core::{DeviceId, Fabric, HostNetwork, LinkClass};
///
/// // Two switches with two devices each.
/// let mut fabric = Fabric::new();
/// let ids = [0, 1, 2, 3].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
/// for a in 0..4 {
///     for b in a + 1..4 {
///         let class = if a / 2 == b / 2 { LinkClass::Pix } else { LinkClass::Node };
///         fabric.link(ids[a], ids[b], class, 31.5)?;
///     }
/// }
/// let graph = fabric.lower()?;
/// let host = HostNetwork::of(&graph);
/// assert!(host.share_a_switch(DeviceId(0), DeviceId(1)));
/// assert!(!host.share_a_switch(DeviceId(1), DeviceId(2)));
/// assert_eq!((host.socket(DeviceId(0)), host.uplinks()), (host.socket(DeviceId(3)), &[31.5; 2][..]));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HostNetwork {
    places: Vec<HostPlace>,
    /// GB/s per direction of each uplink.
    uplinks: Vec<f64>,
    /// By device, its uplinks from the device up.
    above: Vec<SmallVec<[u32; 4]>>,
    /// GB/s per direction of each hop above NUMA nodes that has a speed of its own.
    trunks: Vec<f64>,
    /// By device, its trunks from the device up; empty if there are none.
    beyond: Vec<SmallVec<[u32; 4]>>,
    /// By device, its place in a walk through the tree; empty where the classes of pairs count.
    order: Vec<u32>,
    /// Roots below which at least two switches hang.
    busy_roots: Vec<bool>,
    has_paths: bool,
    is_open: bool,
    all_known: bool,
    all_linked: bool,
    /// Whether numbers of NUMA nodes, four and more, are all that tells sockets.
    numbered: bool,
}

/// Where one device is in the host.
#[derive(Clone, Copy, Debug, PartialEq)]
struct HostPlace {
    slot: f64,
    /// The fastest path to another device, GB/s: that by which paths of pairs are compared.
    path: f64,
    known: bool,
    leaf: Option<u32>,
    upper: Option<u32>,
    root: u32,
    node: u32,
    socket: u32,
    memory: Option<u32>,
}

/// The key under which the network is kept with its machine.
#[derive(Clone, PartialEq, Eq, Hash)]
struct NetworkKey;

impl MemoKey for NetworkKey {
    type Table = HostNetwork;
}

impl HostNetwork {
    /// The network of a machine. It is made once and kept with the machine.
    ///
    /// # Complexity
    ///
    /// O(n²) for n devices at the first call, then O(1).
    #[must_use]
    pub fn of(graph: &HardwareGraph) -> Arc<Self> {
        graph.memo().get_or_make(&NetworkKey, || {
            let network = Self::new(graph);
            let each = size_of::<HostPlace>() + 2 * size_of::<SmallVec<[u32; 4]>>() + 4;
            let hops = network.uplinks.len() + network.trunks.len();
            let bytes = each * network.places.len() + 8 * hops;
            (bytes, network)
        })
    }

    fn new(graph: &HardwareGraph) -> Self {
        let n = graph.wholes().len();
        let fabric = graph.fabric();
        let tree = HopTree::new(fabric);
        let by = |class: LinkClass| numbers(n, &graph.host_tree().held_by(class));
        let [leaf, upper, root, node] = [
            LinkClass::Pix,
            LinkClass::Pxb,
            LinkClass::Phb,
            LinkClass::Node,
        ]
        .map(by);
        let numbered = half_of_nodes(graph).is_some_and(|half| half > 1);
        let sockets = sockets(graph, &tree, &node);
        let mut places: Vec<HostPlace> = (0..n)
            .map(|i| {
                let id = DeviceId(i as u32);
                let own = fabric.facts.slots.get(&id.0).copied();
                let fastest = (0..n)
                    .filter(|&other| other != i)
                    .map(|other| graph.pair(id, DeviceId(other as u32)).host.gbps)
                    .fold(0.0, f64::max);
                let hop = tree.way(tree.devices[i]).unwrap_or(fastest);
                HostPlace {
                    slot: own.unwrap_or(hop),
                    path: fastest,
                    known: own.is_some(),
                    leaf: None,
                    upper: None,
                    root: root[i],
                    node: node[i],
                    socket: sockets[i],
                    memory: graph.device(id).numa,
                }
            })
            .collect();
        let mut uplinks = Vec::new();
        let mut roots: BTreeMap<u32, usize> = BTreeMap::new();
        for group in members(&leaf) {
            if group.len() < 2 {
                continue;
            }
            let number = uplinks.len() as u32;
            uplinks.push(tree.uplink(&group, |i| places[i].slot));
            *roots.entry(root[group[0]]).or_default() += 1;
            for &i in &group {
                places[i].leaf = Some(number);
            }
        }
        for group in members(&upper) {
            // A switch of the upper level is one only if it holds more than its leaf.
            let lone = places[group[0]].leaf;
            if group.len() < 2 || lone.is_some() && group.iter().all(|&i| places[i].leaf == lone) {
                continue;
            }
            let number = uplinks.len() as u32;
            uplinks.push(tree.uplink(&group, |i| places[i].slot));
            for &i in &group {
                places[i].upper = Some(number);
            }
        }
        let drawn = graph.host_hops();
        let (uplinks, above) = match drawn {
            Some(hops) => (hops.uplinks.clone(), hops.above.clone()),
            None => {
                let of = |place: &HostPlace| place.leaf.into_iter().chain(place.upper).collect();
                (uplinks, places.iter().map(of).collect())
            }
        };
        let all = |holds: &dyn Fn(DeviceId, DeviceId) -> bool| {
            let ids = |n: usize| (0..n as u32).map(DeviceId);
            ids(n).all(|b| ids(b.index()).all(|a| holds(a, b)))
        };
        let most = root
            .iter()
            .copied()
            .max()
            .map_or(0, |last| last as usize + 1);
        let busy = |root: usize| {
            roots
                .get(&(root as u32))
                .is_some_and(|&switches| switches > 1)
        };
        Self {
            busy_roots: (0..most).map(busy).collect(),
            trunks: drawn.map_or_else(Vec::new, |hops| hops.trunks.clone()),
            beyond: drawn.map_or_else(Vec::new, |hops| hops.beyond.clone()),
            order: drawn.map_or_else(Vec::new, |hops| hops.order.clone()),
            has_paths: places.iter().any(|place| place.path > 0.0),
            is_open: all(&|a, b| graph.peer_access(a, b).on),
            all_linked: all(&|a, b| graph.pair(a, b).direct.exists() && graph.peer_access(a, b).on),
            all_known: places.iter().all(|place| place.known)
                && (graph.link_generation().is_some()
                    || all(&|a, b| !graph.pair(a, b).direct.exists())),
            places,
            uplinks,
            above,
            numbered,
        }
    }

    fn place(&self, id: DeviceId) -> &HostPlace {
        const NOWHERE: &HostPlace = &HostPlace {
            slot: 0.0,
            path: 0.0,
            known: false,
            leaf: None,
            upper: None,
            root: 0,
            node: 0,
            socket: 0,
            memory: None,
        };
        self.places.get(id.index()).unwrap_or(NOWHERE)
    }

    /// The nominal bandwidth of a device's slot, GB/s per direction: that which is known, else that
    /// of the device's paths in the description.
    #[must_use]
    pub fn slot_gbps(&self, id: DeviceId) -> f64 {
        self.place(id).slot
    }

    /// Whether the speed of the device's slot is known, rather than assumed.
    #[must_use]
    pub fn is_known(&self, id: DeviceId) -> bool {
        self.place(id).known
    }

    /// The uplinks of switches, and of host bridges where they have a speed of their own, GB/s per
    /// direction.
    #[must_use]
    pub fn uplinks(&self) -> &[f64] {
        &self.uplinks
    }

    /// The uplinks between a device and its root, by their positions in [`uplinks`](Self::uplinks),
    /// from the device up.
    pub fn above(&self, id: DeviceId) -> impl Iterator<Item = usize> + '_ {
        let above = self.above.get(id.index());
        above.into_iter().flatten().map(|&at| at as usize)
    }

    /// The hops above NUMA nodes, and above what holds these, that have a speed of their own, GB/s per
    /// direction. Without such hops, what lies between sockets goes by the speed of slots.
    #[must_use]
    pub fn trunks(&self) -> &[f64] {
        &self.trunks
    }

    /// The trunks above a device, by their positions in [`trunks`](Self::trunks), from the device up.
    pub fn beyond(&self, id: DeviceId) -> impl Iterator<Item = usize> + '_ {
        let beyond = self.beyond.get(id.index());
        beyond.into_iter().flatten().map(|&at| at as usize)
    }

    /// Whether the capacities of shared hops are those of a drawn tree that tells more than the classes
    /// of pairs.
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        !self.order.is_empty()
    }

    /// The bandwidth of the path between two devices, GB/s, where it is given, and is narrower than both
    /// devices' other paths: on machines without a tree, which says where the narrow hop is. `None` for a device that
    /// `graph` does not have.
    #[must_use]
    pub fn narrow_path_gbps(&self, graph: &HardwareGraph, a: DeviceId, b: DeviceId) -> Option<f64> {
        if a.max(b).index() >= graph.len() {
            return None;
        }
        let (x, y) = (self.place(a), self.place(b));
        let usual = x.path.min(y.path);
        let own = graph.pair(a, b).host.gbps;
        (!self.is_drawn() && own > 0.0 && own < 0.99 * usual)
            .then(|| x.slot.min(y.slot) * own / usual)
    }

    /// Whether two devices are below one switch.
    #[must_use]
    pub fn share_a_switch(&self, a: DeviceId, b: DeviceId) -> bool {
        let (x, y) = (self.place(a), self.place(b));
        (x.leaf.is_some() && x.leaf == y.leaf) || (x.upper.is_some() && x.upper == y.upper)
    }

    /// Whether two devices share a root port (host bridge).
    #[must_use]
    pub fn share_a_root(&self, a: DeviceId, b: DeviceId) -> bool {
        self.place(a).root == self.place(b).root
    }

    /// The root of a device, and whether several switches hang below it.
    #[must_use]
    pub fn root(&self, id: DeviceId) -> (u32, bool) {
        let root = self.place(id).root;
        (
            root,
            self.busy_roots.get(root as usize).is_some_and(|&busy| busy),
        )
    }

    /// The socket of a device.
    #[must_use]
    pub fn socket(&self, id: DeviceId) -> u32 {
        self.place(id).socket
    }

    /// Whether it is assumed which socket each of two devices is on: they are on different NUMA nodes
    /// of four and more, of which half are taken to be in each of two sockets. One socket may have
    /// all of them.
    #[must_use]
    pub fn sockets_are_assumed(&self, a: DeviceId, b: DeviceId) -> bool {
        let (x, y) = (self.place(a), self.place(b));
        self.numbered && x.memory != y.memory && x.memory.is_some() && y.memory.is_some()
    }

    /// Whether two devices use the same memory of the host: that of their NUMA node, or of their
    /// socket where the node is not known.
    #[must_use]
    pub fn share_memory(&self, a: DeviceId, b: DeviceId) -> bool {
        let (x, y) = (self.place(a), self.place(b));
        x.socket == y.socket && x.memory == y.memory
    }

    /// Whether any two devices have a path through the host.
    #[must_use]
    pub fn has_paths(&self) -> bool {
        self.has_paths
    }

    /// Whether all devices reach each other's memory.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the speed of every slot is known, and the generation of direct links if there are any.
    #[must_use]
    pub fn all_known(&self) -> bool {
        self.all_known
    }

    /// Whether direct links join every two devices, and all reach each other's memory, so that nothing
    /// between devices goes over the host.
    #[must_use]
    pub fn all_linked(&self) -> bool {
        self.all_linked
    }

    /// The devices in the order of the host tree: by socket, NUMA node, root, upper switch and
    /// switch, then by id; as a walk through the tree meets them where that [is
    /// drawn](Self::is_drawn). A ring in this order enters and leaves every part of the tree once.
    #[must_use]
    pub fn in_order(&self, set: &DeviceSet) -> Vec<DeviceId> {
        let mut ids: Vec<DeviceId> = set.iter().collect();
        if self.is_drawn() {
            ids.sort_by_key(|id| self.order.get(id.index()));
            return ids;
        }
        ids.sort_by_key(|&id| {
            let place = self.place(id);
            (
                place.socket,
                place.node,
                place.root,
                place.upper,
                place.leaf,
                id,
            )
        });
        ids
    }
}

/// The number of the group of each device.
fn numbers(n: usize, groups: &[DeviceSet]) -> Vec<u32> {
    let mut of = vec![0; n];
    for (number, group) in (0u32..).zip(groups) {
        for id in group.iter().filter(|id| id.index() < n) {
            of[id.index()] = number;
        }
    }
    of
}

/// The devices of each group.
fn members(groups: &[u32]) -> Vec<Vec<usize>> {
    let mut of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, &group) in groups.iter().enumerate() {
        of.entry(group).or_default().push(i);
    }
    of.into_values().collect()
}

/// The number of NUMA nodes in each of two sockets, where nodes are numbered: numbers run through the
/// sockets, so half of them are in each.
fn half_of_nodes(graph: &HardwareGraph) -> Option<u64> {
    let wholes = graph.wholes();
    let highest = wholes.iter().filter_map(|id| graph.device(id).numa).max()?;
    let nodes = u64::from(highest).saturating_add(1).next_power_of_two();
    Some(nodes.max(2) / 2)
}

/// The socket of each device.
fn sockets(graph: &HardwareGraph, tree: &HopTree<'_>, node: &[u32]) -> Vec<u32> {
    let n = node.len();
    let device = |i: usize| graph.device(DeviceId(i as u32));
    let half = half_of_nodes(graph);
    let mut parts = petgraph::unionfind::UnionFind::new(n);
    let cores = &graph.fabric().facts.cores;
    for b in 0..n {
        for a in 0..b {
            let side = |i: usize| {
                device(i)
                    .numa
                    .zip(half)
                    .map(|(bytes, half)| u64::from(bytes) / half)
            };
            let by_numa = side(a).is_some()
                && side(a) == side(b)
                && !are_apart(graph, a, b)
                && tree.package(a) == tree.package(b);
            let near = |i: usize| cores.get(&(i as u32));
            if by_numa || node[a] == node[b] || near(a).is_some() && near(a) == near(b) {
                parts.union(a, b);
            }
        }
    }
    let mut names: BTreeMap<usize, u32> = BTreeMap::new();
    (0..n)
        .map(|i| {
            let next = names.len() as u32;
            *names.entry(parts.find(i)).or_insert(next)
        })
        .collect()
}

/// Whether two devices are in different servers.
fn are_apart(graph: &HardwareGraph, a: usize, b: usize) -> bool {
    let pair = graph.pair(DeviceId(a as u32), DeviceId(b as u32));
    pair.host.class <= LinkClass::Network
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{DeviceInfo, Fabric, FabricNode, NodeId, NodeKind};

    fn all_sys(numa: &[u32]) -> HardwareGraph {
        let mut fabric = Fabric::new();
        let ids: Vec<NodeId> = (numa.iter().enumerate())
            .map(|(i, &numa)| {
                let info = DeviceInfo {
                    numa: Some(numa),
                    ..DeviceInfo::default()
                };
                let kind = NodeKind::Device(info);
                let name = format!("GPU{i}");
                fabric.add(FabricNode { name, kind }).unwrap()
            })
            .collect();
        for b in 0..ids.len() {
            for a in 0..b {
                fabric.link(ids[a], ids[b], LinkClass::Sys, 12.0).unwrap();
            }
        }
        fabric.lower().unwrap()
    }

    #[test]
    fn half_of_the_numa_nodes_are_in_each_socket() {
        for (numa, sockets) in [
            (&[3, 2, 1, 0, 7, 6, 5, 4][..], &[0, 0, 0, 0, 1, 1, 1, 1][..]),
            (&[0, 8], &[0, 1]),
            (&[1, 3], &[0, 1]),
            (&[0, 2], &[0, 1]),
            (&[0, 0], &[0, 0]),
            (&[0, 1], &[0, 1]),
        ] {
            let host = HostNetwork::new(&all_sys(numa));
            let found: Vec<u32> = (0..numa.len() as u32)
                .map(|i| host.socket(DeviceId(i)))
                .collect();
            assert_eq!(found, sockets, "{numa:?}");
            assert!(host.uplinks().is_empty());
        }
    }

    #[test]
    fn a_slot_is_as_wide_as_the_narrowest_hop_that_is_the_devices_own() {
        let mut fabric = Fabric::new();
        let add = |fabric: &mut Fabric, name: &str, kind: NodeKind| {
            let name = name.to_owned();
            fabric.add(FabricNode { name, kind }).unwrap()
        };
        let machine = add(&mut fabric, "m", NodeKind::Machine);
        let numa = fabric.add_numa("cpu0", 0).unwrap();
        fabric.attach(numa, machine, 1.0).unwrap();
        let upper = add(&mut fabric, "upper", NodeKind::PcieSwitch);
        fabric.attach(upper, numa, 31.5).unwrap();
        let lone = [0, 1].map(|i| add(&mut fabric, &format!("lone{i}"), NodeKind::PcieSwitch));
        fabric.attach(lone[0], upper, 15.75).unwrap();
        fabric.attach(lone[1], upper, 31.5).unwrap();
        for (i, above) in lone.into_iter().enumerate() {
            let id = fabric.add_device(format!("GPU{i}")).unwrap();
            fabric.attach(id, above, 31.5).unwrap();
        }
        let host = HostNetwork::of(&fabric.clone().lower().unwrap());
        let slots = [0, 1].map(|i| host.slot_gbps(DeviceId(i)));
        // The hop of the socket, and the shared one, are no part of the slot.
        assert_eq!((slots, host.uplinks()), ([15.75, 31.5], &[31.5][..]));
        let [first, ..] = fabric.own_ways().into_values().collect::<Vec<_>>()[..] else {
            panic!("no ways");
        };
        assert_eq!(first, 15.75);
    }

    #[test]
    fn half_of_four_nodes_and_more_in_each_socket_is_assumed() {
        let assumed = |numa: &[u32]| {
            let host = HostNetwork::new(&all_sys(numa));
            host.sockets_are_assumed(DeviceId(0), DeviceId(1))
        };
        assert!(assumed(&[0, 1, 2, 3]) && assumed(&[1, 2, 0, 3]));
        assert!(!assumed(&[0, 1]) && !assumed(&[3, 3, 1]));
    }

    #[test]
    fn the_tree_says_how_wide_uplinks_and_sockets_are() {
        let mut fabric = Fabric::new();
        let machine = fabric
            .add(FabricNode {
                name: "m".into(),
                kind: NodeKind::Machine,
            })
            .unwrap();
        let numa = [0, 1].map(|i| fabric.add_numa(format!("cpu{i}"), i).unwrap());
        numa.iter()
            .for_each(|&id| fabric.attach(id, machine, 16.0).unwrap());
        let switch = fabric
            .add(FabricNode {
                name: "s".into(),
                kind: NodeKind::PcieSwitch,
            })
            .unwrap();
        fabric.attach(switch, numa[0], 15.75).unwrap();
        let ids = [0, 1, 2].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
        for (id, above) in [(ids[0], switch), (ids[1], switch), (ids[2], numa[1])] {
            fabric.attach(id, above, 31.5).unwrap();
        }
        fabric.set_slot_gbps(ids[0], 63.0).unwrap();
        let host = HostNetwork::of(&fabric.lower().unwrap());
        assert_eq!(host.uplinks(), [31.5], "half as wide as the wider slot");
        // Device hops of 31.5 make the sockets' 16 a speed of their own.
        assert_eq!(host.trunks(), [16.0; 2]);
        let [near, far] = [0, 2].map(|i| host.beyond(DeviceId(i)).collect::<Vec<_>>());
        assert!(near.len() == 1 && far.len() == 1 && near != far);
        assert_eq!(
            (host.slot_gbps(DeviceId(2)), host.is_known(DeviceId(2))),
            (31.5, false)
        );
        let order: Vec<u32> = host
            .in_order(&DeviceSet::first_n(3))
            .iter()
            .map(|id| id.0)
            .collect();
        assert_eq!(order, [0, 1, 2]);
    }
}
