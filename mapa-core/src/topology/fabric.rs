//! The machine as it is built.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use petgraph::Undirected;
use petgraph::graph::{Graph, NodeIndex};
use petgraph::visit::EdgeRef;

use super::hardware::{Device, HardwareGraph, Unit};
use super::link::{Link, LinkClass, Pair};
use super::vertices::{Anchor, Anchors};
use super::{DeviceId, MAX_DEVICES};
use crate::error::{Error, ErrorKind};
use crate::mig;

/// A node of a [`Fabric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) NodeIndex);

/// A component of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct FabricNode {
    /// The name by which files and messages call it; unique in its fabric.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// The kinds of components.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// The whole server: devices that meet only here are joined by [`LinkClass::Sys`].
    Machine,
    /// A NUMA node or socket, with its number.
    Numa(u32),
    /// A PCIe host bridge (root complex).
    HostBridge,
    /// A PCIe switch.
    PcieSwitch,
    /// A switch of direct links (an NVSwitch plane): it joins every two devices linked to it, and each device brings
    /// the capacity of its own port, not a link per peer.
    LinkSwitch,
    /// A network card.
    Nic,
    /// An accelerator.
    Device(DeviceInfo),
}

/// What is known of an accelerator beyond its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceInfo {
    /// The vendor's name of the product: `NVIDIA H100 80GB HBM3`.
    pub product: Option<String>,
    /// The number by which the vendor's tools and `CUDA_VISIBLE_DEVICES` know it, where it is not the device id.
    pub index: Option<u32>,
    /// The vendor's UUID.
    pub uuid: Option<String>,
    /// The PCI address.
    pub pci: Option<String>,
    /// The NUMA node, where it is known without a [`NodeKind::Numa`] node above.
    pub numa: Option<u32>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// How it can be cut up, if it can and may be: every instance that could exist becomes a vertex of the graph.
    pub mig: Option<Arc<mig::Model>>,
}

/// A wire of a [`Fabric`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FabricWire {
    /// From a component up to its parent in the host tree; GB/s per direction.
    Up {
        /// Bandwidth of the hop.
        gbps: f64,
    },
    /// Direct links, or a host path that was read off rather than derived from the tree.
    Link(Link),
}

/// A machine as its readers describe it: components, the host tree, and links.
///
/// ```
/// use mapa_core::{Fabric, LinkClass};
///
/// let mut fabric = Fabric::new();
/// let socket = fabric.add_numa("cpu0", 0)?;
/// let [a, b] = [fabric.add_device("GPU0")?, fabric.add_device("GPU1")?];
/// fabric.attach(a, socket, 12.0)?;
/// fabric.attach(b, socket, 12.0)?;
/// fabric.link(a, b, LinkClass::Direct(2), 50.0)?;
/// let graph = fabric.lower()?;
/// let pair = graph.pair(0.into(), 1.into());
/// assert_eq!((pair.direct.class, pair.host.class), (LinkClass::Direct(2), LinkClass::Node));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fabric {
    graph: Graph<FabricNode, FabricWire, Undirected>,
    names: HashSet<String>,
    /// What tells devices apart besides their names: numbers, UUIDs, PCI addresses; and the numbers of NUMA nodes.
    identities: HashSet<String>,
    /// Pairs with a host path, and pairs with direct links.
    joined: HashSet<(NodeIndex, NodeIndex, bool)>,
    /// Parent of each node in the host tree.
    up: BTreeMap<NodeIndex, NodeIndex>,
    devices: Vec<NodeIndex>,
}

impl Fabric {
    /// An empty machine.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a component. Devices get their ids in the order in which they are added.
    ///
    /// # Errors
    /// A second component of the same name, NUMA number, vendor's number, UUID or PCI address; a name that is empty or, of
    /// a device, a number; more than [`MAX_DEVICES`] devices.
    pub fn add(&mut self, node: FabricNode) -> Result<NodeId, Error> {
        let identities = self.identities(&node);
        if node.name.trim().is_empty() || matches!(node.kind, NodeKind::Device(_)) && node.name.parse::<u32>().is_ok() {
            return Err(ErrorKind::BadName(node.name).into());
        }
        let is_device = matches!(node.kind, NodeKind::Device(_));
        if is_device && self.devices.len() == MAX_DEVICES {
            return Err(ErrorKind::TooManyDevices(self.devices.len() + 1).into());
        }
        if let Some(twice) = identities.iter().find(|identity| self.identities.contains(*identity)) {
            return Err(ErrorKind::DuplicateIdentity { name: node.name, identity: twice.clone() }.into());
        }
        if !self.names.insert(node.name.clone()) {
            return Err(ErrorKind::DuplicateName(node.name).into());
        }
        self.identities.extend(identities);
        let id = self.graph.add_node(node);
        if is_device {
            self.devices.push(id);
        }
        Ok(NodeId(id))
    }

    /// What no other component may share with this one, in words.
    fn identities(&self, node: &FabricNode) -> Vec<String> {
        match &node.kind {
            NodeKind::Numa(number) => vec![format!("NUMA number {number}")],
            NodeKind::Device(info) => {
                let index = info.index.map_or(self.devices.len(), |index| index as usize);
                let uuid = info.uuid.iter().map(|uuid| format!("UUID {}", uuid.to_ascii_lowercase()));
                let pci = info.pci.iter().map(|pci| format!("PCI address {}", pci.to_ascii_lowercase()));
                std::iter::once(format!("number {index}")).chain(uuid).chain(pci).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Adds a device of which only the name is known.
    ///
    /// # Errors
    /// As [`Fabric::add`].
    pub fn add_device(&mut self, name: impl Into<String>) -> Result<NodeId, Error> {
        self.add(FabricNode { name: name.into(), kind: NodeKind::Device(DeviceInfo::default()) })
    }

    /// Adds a NUMA node.
    ///
    /// # Errors
    /// As [`Fabric::add`].
    pub fn add_numa(&mut self, name: impl Into<String>, number: u32) -> Result<NodeId, Error> {
        self.add(FabricNode { name: name.into(), kind: NodeKind::Numa(number) })
    }

    /// Hangs `child` below `parent` in the host tree, by a hop of `gbps` GB/s per direction.
    ///
    /// # Errors
    /// A child that has a parent; a parent that is a device, a card or a link switch; a cycle; a bandwidth that is not a
    /// positive number.
    pub fn attach(&mut self, child: NodeId, parent: NodeId, gbps: f64) -> Result<(), Error> {
        self.own(&[child, parent])?;
        let names = || (self.name(child.0).to_owned(), self.name(parent.0).to_owned());
        check_gbps(gbps, || names().0)?;
        if matches!(self.graph[parent.0].kind, NodeKind::Device(_) | NodeKind::Nic | NodeKind::LinkSwitch) {
            let (child, parent) = names();
            return Err(ErrorKind::NoParent { child, parent }.into());
        }
        if self.up.contains_key(&child.0) {
            return Err(ErrorKind::TwoParents(names().0).into());
        }
        if self.chain(parent.0).any(|above| above == child.0) {
            return Err(ErrorKind::Cycle(names().0).into());
        }
        self.up.insert(child.0, parent.0);
        self.graph.add_edge(child.0, parent.0, FabricWire::Up { gbps });
        Ok(())
    }

    /// Joins two components: [`LinkClass::Direct`] between devices, or a device and a link switch; or a host path that
    /// was read off, which then overrides what the host tree says. `gbps` is the sum of bonded links, per direction.
    ///
    /// # Errors
    /// A component joined to itself; two host paths, or two direct links, for one pair; a class that joins nothing
    /// (`None`, `SameDevice`, `Direct(0)`); direct links at something that has none; a bandwidth that is not a positive
    /// number.
    pub fn link(&mut self, a: NodeId, b: NodeId, class: LinkClass, gbps: f64) -> Result<(), Error> {
        self.own(&[a, b])?;
        let names = || (self.name(a.0).to_owned(), self.name(b.0).to_owned());
        check_gbps(gbps, || format!("{} - {}", names().0, names().1))?;
        if a == b {
            return Err(ErrorKind::SelfLink(names().0).into());
        }
        let (x, y) = (&self.graph[a.0].kind, &self.graph[b.0].kind);
        let end = |kind: &NodeKind| matches!(kind, NodeKind::Device(_) | NodeKind::Nic);
        let fits = match class {
            LinkClass::Direct(0) | LinkClass::None | LinkClass::SameDevice => false,
            LinkClass::Direct(_) => matches!(
                (x, y),
                (NodeKind::Device(_), NodeKind::Device(_) | NodeKind::LinkSwitch)
                    | (NodeKind::LinkSwitch, NodeKind::Device(_))
            ),
            _ => end(x) && end(y),
        };
        if !fits {
            let (a, b) = names();
            return Err(ErrorKind::BadLink { a, b, class }.into());
        }
        let pair = (a.0.min(b.0), a.0.max(b.0), class.is_direct());
        if self.joined.contains(&pair) {
            let (a, b) = names();
            return Err(ErrorKind::LinkedTwice { a, b }.into());
        }
        self.joined.insert(pair);
        self.graph.add_edge(a.0, b.0, FabricWire::Link(Link { class, gbps }));
        Ok(())
    }

    /// Gives every hop and every path through the host the same bandwidth, GB/s per direction: the paper uses 12, the
    /// released code 10, whatever the path.
    ///
    /// # Errors
    /// A bandwidth that is not a positive number.
    pub fn set_host_gbps(&mut self, gbps: f64) -> Result<(), Error> {
        check_gbps(gbps, || "paths through the host".to_owned())?;
        for wire in self.graph.edge_weights_mut() {
            match wire {
                FabricWire::Link(link) if link.class.is_host() => link.gbps = gbps,
                FabricWire::Up { gbps: hop } => *hop = gbps,
                FabricWire::Link(_) => {}
            }
        }
        Ok(())
    }

    /// Gives every direct link the same bandwidth, GB/s per direction; a bond of n has n times as much. For dumps that do
    /// not say which generation of links they show.
    ///
    /// # Errors
    /// A bandwidth that is not a positive number.
    pub fn set_direct_gbps(&mut self, gbps: f64) -> Result<(), Error> {
        check_gbps(gbps, || "direct links".to_owned())?;
        for wire in self.graph.edge_weights_mut() {
            if let FabricWire::Link(Link { class: LinkClass::Direct(n), gbps: bond }) = wire {
                *bond = f64::from(*n) * gbps;
            }
        }
        Ok(())
    }

    /// Says of every device how it can be cut up, or that none can. For dumps, which do not say whether it may.
    pub fn set_mig(&mut self, model: Option<&Arc<mig::Model>>) {
        for node in self.graph.node_weights_mut() {
            if let NodeKind::Device(info) = &mut node.kind {
                info.mig = model.cloned();
            }
        }
    }

    /// The components, in the order in which they were added.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &FabricNode)> {
        self.graph.node_indices().map(|id| (NodeId(id), &self.graph[id]))
    }

    /// The wires, in the order in which they were added; of [`FabricWire::Up`], the child comes first.
    pub fn wires(&self) -> impl Iterator<Item = (NodeId, NodeId, FabricWire)> {
        self.graph.edge_references().map(|e| (NodeId(e.source()), NodeId(e.target()), *e.weight()))
    }

    /// A component.
    ///
    /// # Panics
    /// If the id is of another fabric, with more components.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &FabricNode {
        &self.graph[id.0]
    }

    /// How many devices it has.
    #[must_use]
    pub fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// That these components can be of this fabric.
    fn own(&self, nodes: &[NodeId]) -> Result<(), Error> {
        let foreign = nodes.iter().any(|node| self.graph.node_weight(node.0).is_none());
        if foreign { Err(ErrorKind::ForeignNode.into()) } else { Ok(()) }
    }

    fn name(&self, id: NodeIndex) -> &str {
        &self.graph[id].name
    }

    /// The node and what is above it, up to the root.
    fn chain(&self, from: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        std::iter::successors(Some(from), |id| self.up.get(id).copied())
    }

    /// Works out what joins every two devices. O(n² h + links) for n devices under a host tree of height h.
    ///
    /// The host class of a pair is the one read off, if any; else it follows from where their ways up the host tree
    /// meet: one PCIe switch `Pix`, below a switch but over several `Pxb`, host bridge `Phb`, NUMA node `Node`, machine
    /// `Sys`; and its bandwidth is that of the narrowest hop. Direct links through link switches count as many as the
    /// smaller of the two ports.
    ///
    /// The devices come first, in the order in which they were added; the MIG instances that could exist on them follow,
    /// device by device, in their models' order of profiles, then starts.
    ///
    /// # Errors
    /// A machine without devices; more than 255 direct links between two devices; a device that says it is on another NUMA
    /// node than it hangs below; more than [`MAX_DEVICES`] devices and instances.
    pub fn lower(self) -> Result<HardwareGraph, Error> {
        self.lower_anchors(false)
    }

    /// As [`Fabric::lower`], with the host's own parts as vertices too, so that a pattern may ask for a device near a
    /// core or a network card near a device: the NUMA nodes by number (those that devices merely name among them), then
    /// the network cards. A device and its own NUMA node are joined by `Phb`, one and another by `Sys`.
    ///
    /// # Errors
    /// As [`Fabric::lower`].
    pub fn lower_with_host(self) -> Result<HardwareGraph, Error> {
        self.lower_anchors(true)
    }

    fn lower_anchors(self, with_host: bool) -> Result<HardwareGraph, Error> {
        if self.devices.is_empty() {
            return Err(ErrorKind::NoDevices.into());
        }
        let mut anchors = self.anchors(with_host)?;
        anchors.join_by_tree();
        let position: BTreeMap<NodeIndex, usize> =
            anchors.list.iter().enumerate().filter_map(|(i, anchor)| Some((anchor.node?, i))).collect();
        let mut ports: BTreeMap<NodeIndex, Vec<(usize, Link)>> = BTreeMap::new();
        for edge in self.graph.edge_references() {
            let FabricWire::Link(link) = *edge.weight() else { continue };
            match (position.get(&edge.source()), position.get(&edge.target())) {
                (Some(&a), Some(&b)) => {
                    let pair = anchors.pair_mut(a, b);
                    if link.class.is_direct() {
                        pair.direct = self.bond(pair.direct, link, (a, b))?;
                    } else {
                        pair.host = link;
                    }
                }
                (Some(&a), None) if link.class.is_direct() => ports.entry(edge.target()).or_default().push((a, link)),
                (None, Some(&a)) if link.class.is_direct() => ports.entry(edge.source()).or_default().push((a, link)),
                _ => {}
            }
        }
        for ends in ports.values() {
            for (i, &(a, mine)) in ends.iter().enumerate() {
                let port = self.bond(anchors.list[a].device.switch_port.unwrap_or_default(), mine, (a, a))?;
                anchors.list[a].device.switch_port = Some(port);
                for &(b, other) in &ends[i + 1..] {
                    let shared = Link { class: mine.class.min(other.class), gbps: mine.gbps.min(other.gbps) };
                    let pair = anchors.pair_mut(a, b);
                    pair.direct = self.bond(pair.direct, shared, (a, b))?;
                }
            }
        }
        anchors.join_numa_nodes();
        HardwareGraph::new(anchors, self)
    }

    /// Devices and, if wanted, the host's own parts, each with its way up.
    fn anchors(&self, with_host: bool) -> Result<Anchors, Error> {
        let mut list = Vec::new();
        for &id in &self.devices {
            let way = self.way_up(id);
            list.push(Anchor { node: Some(id), device: self.device(id, &way)?, way });
        }
        let devices = list.len();
        if with_host {
            let mut numa: BTreeMap<u32, Anchor> = BTreeMap::new();
            let mut cards = Vec::new();
            for id in self.graph.node_indices() {
                let way = self.way_up(id);
                let name = self.name(id).to_owned();
                match self.graph[id].kind {
                    NodeKind::Numa(number) => {
                        let here = Hop { node: id, climb: Climb::Numa(number), gbps: f64::INFINITY };
                        let way = std::iter::once(here).chain(way).collect();
                        let device = Device::host(name, Unit::Numa, Some(number));
                        numa.insert(number, Anchor { node: Some(id), device, way });
                    }
                    NodeKind::Nic => {
                        let device = Device::host(name, Unit::Nic, numa_above(&way));
                        cards.push(Anchor { node: Some(id), device, way });
                    }
                    _ => {}
                }
            }
            for number in list.iter().filter_map(|anchor| anchor.device.numa) {
                numa.entry(number).or_insert_with(|| Anchor {
                    node: None,
                    device: Device::host(format!("numa{number}"), Unit::Numa, Some(number)),
                    way: Vec::new(),
                });
            }
            list.extend(numa.into_values().chain(cards));
        }
        let models = self.devices.iter().map(|&id| match &self.graph[id].kind {
            NodeKind::Device(info) => info.mig.clone(),
            _ => None,
        });
        let models = models.collect();
        let pairs = vec![Pair::default(); list.len() * list.len()];
        Ok(Anchors { list, devices, models, pairs })
    }

    fn device(&self, id: NodeIndex, way: &[Hop]) -> Result<Device, Error> {
        let FabricNode { name, kind } = &self.graph[id];
        let info = if let NodeKind::Device(info) = kind { info.clone() } else { DeviceInfo::default() };
        let above = numa_above(way);
        if let (Some(said), Some(above)) = (info.numa, above)
            && said != above
        {
            return Err(ErrorKind::TwoNumaNodes { name: name.clone(), said, above }.into());
        }
        Ok(Device {
            name: name.clone(),
            index: info.index,
            product: info.product,
            uuid: info.uuid,
            pci: info.pci,
            memory_bytes: info.memory_bytes,
            numa: above.or(info.numa),
            switch_port: None,
            unit: Unit::Whole,
            parent: DeviceId::default(),
            size: info.mig.map(|model| model.size()),
            port: None,
        })
    }

    /// Direct links side by side.
    fn bond(&self, a: Link, b: Link, (x, y): (usize, usize)) -> Result<Link, Error> {
        let count = |link: Link| if let LinkClass::Direct(n) = link.class { n } else { 0 };
        match count(a).checked_add(count(b)) {
            Some(n) => Ok(Link { class: LinkClass::Direct(n), gbps: a.gbps + b.gbps }),
            None => {
                let name = |i: usize| self.devices.get(i).map_or_else(String::new, |&id| self.name(id).to_owned());
                Err(ErrorKind::TooManyLinks { a: name(x), b: name(y) }.into())
            }
        }
    }

    /// What a component meets on its way up, with the narrowest hop so far.
    fn way_up(&self, node: NodeIndex) -> Vec<Hop> {
        let mut gbps = f64::INFINITY;
        let mut way = Vec::new();
        for (below, above) in self.chain(node).zip(self.chain(node).skip(1)) {
            let hop = self.graph.edges_connecting(below, above).find_map(|e| match e.weight() {
                FabricWire::Up { gbps } => Some(*gbps),
                FabricWire::Link(_) => None,
            });
            gbps = gbps.min(hop.unwrap_or(f64::INFINITY));
            let climb = match self.graph[above].kind {
                NodeKind::PcieSwitch => Climb::Switch,
                NodeKind::HostBridge => Climb::Bridge,
                NodeKind::Numa(number) => Climb::Numa(number),
                _ => Climb::Machine,
            };
            way.push(Hop { node: above, climb, gbps });
        }
        way
    }
}

/// Equal devices in the same order, equal other components and equal wires in any.
impl PartialEq for Fabric {
    fn eq(&self, other: &Self) -> bool {
        fn devices(f: &Fabric) -> impl Iterator<Item = &FabricNode> {
            f.devices.iter().map(|&id| &f.graph[id])
        }
        fn others(f: &Fabric) -> BTreeMap<&str, &NodeKind> {
            f.graph.node_weights().map(|node| (node.name.as_str(), &node.kind)).collect()
        }
        fn wires(f: &Fabric) -> Vec<(&str, &str, FabricWire)> {
            let name = |id: NodeId| f.name(id.0);
            let mut wires: Vec<_> = f
                .wires()
                .map(|(a, b, wire)| match wire {
                    FabricWire::Link(_) => (name(a).min(name(b)), name(a).max(name(b)), wire),
                    FabricWire::Up { .. } => (name(a), name(b), wire),
                })
                .collect();
            // One pair may have a hop, a direct link and a host path: never two alike, so this order is total.
            wires.sort_by_key(|&(a, b, wire)| {
                (a, b, if let FabricWire::Link(link) = wire { Some(link.class) } else { None })
            });
            wires
        }
        devices(self).eq(devices(other)) && others(self) == others(other) && wires(self) == wires(other)
    }
}

/// What a hop leads to.
#[derive(Clone, Copy)]
pub(super) enum Climb {
    Switch,
    Bridge,
    Numa(u32),
    Machine,
}

/// A step on the way up the host tree.
pub(super) struct Hop {
    pub(super) node: NodeIndex,
    pub(super) climb: Climb,
    /// Of the narrowest hop so far.
    pub(super) gbps: f64,
}

fn numa_above(way: &[Hop]) -> Option<u32> {
    way.iter().find_map(|hop| if let Climb::Numa(number) = hop.climb { Some(number) } else { None })
}

/// No wire is as fast, and sums over all pairs of the largest machine stay finite.
pub(crate) const MOST_GBPS: f64 = 1e9;

fn check_gbps(gbps: f64, place: impl Fn() -> String) -> Result<(), Error> {
    if gbps > 0.0 && gbps <= MOST_GBPS { Ok(()) } else { Err(ErrorKind::BadBandwidth { place: place(), gbps }.into()) }
}

impl From<u32> for DeviceId {
    fn from(id: u32) -> Self {
        Self(id)
    }
}
