//! The machine as files and dumps describe it: components and wires.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use petgraph::Undirected;
use petgraph::graph::{Graph, NodeIndex};
use petgraph::visit::EdgeRef;

use super::facts::FabricFacts;
use super::link::Link;
use crate::error::{Error, ErrorKind};
use crate::ids::{DeviceId, LinkClass, MAX_DEVICES};
use crate::mig;

/// A node of a [`Fabric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) NodeIndex);

/// A component of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct FabricNode {
    /// The name in files and messages; unique in its fabric.
    pub name: String,
    /// The kind of component.
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
    /// A switch of direct links (an NVSwitch plane). It joins every two devices linked to it. Each
    /// device has the capacity of its own port there, not a link per peer.
    LinkSwitch,
    /// A network card.
    Nic,
    /// An accelerator.
    Device(DeviceInfo),
}

/// Facts about an accelerator, other than its place in the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceInfo {
    /// The vendor's name of the product: `NVIDIA H100 80GB HBM3`.
    pub product: Option<String>,
    /// The number in the vendor's tools and variables, where it is not the device id.
    pub index: Option<u32>,
    /// The vendor's UUID.
    pub uuid: Option<String>,
    /// The PCI address.
    pub pci: Option<String>,
    /// The NUMA node, where it is known without a [`NodeKind::Numa`] node above.
    pub numa: Option<u32>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The ways in which the device can be partitioned, if that is possible and allowed. Every
    /// instance that could exist then becomes a vertex of the graph.
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
    /// Direct links, or a host path that was given rather than derived from the tree.
    Link(Link),
}

/// A machine as files and dumps describe it: components, the host tree, and links.
///
/// # Examples
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
    pub(super) graph: Graph<FabricNode, FabricWire, Undirected>,
    names: HashSet<String>,
    /// What must be unique, like names: the devices' numbers, UUIDs and PCI addresses, and the
    /// numbers of NUMA nodes.
    identities: HashSet<String>,
    /// Pairs with direct links (`true`), and pairs with a given host path (`false`).
    joined: HashSet<(NodeIndex, NodeIndex, bool)>,
    /// Parent of each node in the host tree.
    up: BTreeMap<NodeIndex, NodeIndex>,
    pub(super) devices: Vec<NodeIndex>,
    /// What is known of links beside the wires.
    pub(super) facts: FabricFacts,
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
    /// A second component of the same name, NUMA number, vendor's number, UUID or PCI address; a
    /// name that is empty or, of a device, a number; more than [`MAX_DEVICES`] devices.
    pub fn add(&mut self, node: FabricNode) -> Result<NodeId, Error> {
        let identities = self.identities(&node);
        if node.name.trim().is_empty()
            || matches!(node.kind, NodeKind::Device(_)) && node.name.parse::<u32>().is_ok()
        {
            return Err(ErrorKind::BadName(node.name).into());
        }
        let is_device = matches!(node.kind, NodeKind::Device(_));
        if is_device && self.devices.len() == MAX_DEVICES {
            return Err(ErrorKind::TooManyDevices(self.devices.len() + 1).into());
        }
        if let Some(twice) = identities
            .iter()
            .find(|identity| self.identities.contains(*identity))
        {
            return Err(ErrorKind::DuplicateIdentity {
                name: node.name,
                identity: twice.clone(),
            }
            .into());
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

    /// The identities of a component: no other component may have one of them.
    fn identities(&self, node: &FabricNode) -> Vec<String> {
        match &node.kind {
            NodeKind::Numa(number) => vec![format!("NUMA number {number}")],
            NodeKind::Device(info) => {
                let index = info
                    .index
                    .map_or(self.devices.len(), |index| index as usize);
                let uuid = info
                    .uuid
                    .iter()
                    .map(|uuid| format!("UUID {}", uuid.to_ascii_lowercase()));
                let pci = info
                    .pci
                    .iter()
                    .map(|pci| format!("PCI address {}", pci.to_ascii_lowercase()));
                std::iter::once(format!("number {index}"))
                    .chain(uuid)
                    .chain(pci)
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Adds a device of which only the name is known.
    ///
    /// # Errors
    /// As [`Fabric::add`].
    pub fn add_device(&mut self, name: impl Into<String>) -> Result<NodeId, Error> {
        self.add(FabricNode {
            name: name.into(),
            kind: NodeKind::Device(DeviceInfo::default()),
        })
    }

    /// Adds a NUMA node.
    ///
    /// # Errors
    /// As [`Fabric::add`].
    pub fn add_numa(&mut self, name: impl Into<String>, number: u32) -> Result<NodeId, Error> {
        self.add(FabricNode {
            name: name.into(),
            kind: NodeKind::Numa(number),
        })
    }

    /// Attaches `child` below `parent` in the host tree, by a hop of `gbps` GB/s per direction.
    ///
    /// # Complexity
    ///
    /// O(h log c) for a parent at depth h of a tree of c components.
    ///
    /// # Errors
    /// A child that has a parent; a parent that is a device, a card or a link switch; a cycle; a
    /// bandwidth that is not a positive number.
    pub fn attach(&mut self, child: NodeId, parent: NodeId, gbps: f64) -> Result<(), Error> {
        self.own(&[child, parent])?;
        let names = || {
            (
                self.name(child.0).to_owned(),
                self.name(parent.0).to_owned(),
            )
        };
        check_gbps(gbps, || names().0)?;
        if matches!(
            self.graph[parent.0].kind,
            NodeKind::Device(_) | NodeKind::Nic | NodeKind::LinkSwitch
        ) {
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
        self.graph
            .add_edge(child.0, parent.0, FabricWire::Up { gbps });
        Ok(())
    }

    /// Joins two components by direct links ([`LinkClass::Direct`], between devices or between a
    /// device and a link switch), or by a host path, which then overrides the host tree. `gbps` is
    /// the sum of bonded links, per direction.
    ///
    /// # Errors
    /// A component joined to itself; two host paths, or two direct links, for one pair; a class
    /// that joins nothing (`None`, `SameDevice`, `Direct(0)`); direct links at a component that
    /// cannot have any; a bandwidth that is not a positive number.
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
                (
                    NodeKind::Device(_),
                    NodeKind::Device(_) | NodeKind::LinkSwitch
                ) | (NodeKind::LinkSwitch, NodeKind::Device(_))
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
        self.graph
            .add_edge(a.0, b.0, FabricWire::Link(Link { class, gbps }));
        Ok(())
    }

    /// Gives every hop and every path through the host the same bandwidth, GB/s per direction: the
    /// paper uses 12, the released code 10, whatever the path.
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

    /// Gives every direct link the same bandwidth, GB/s per direction; a bond of n has n times as
    /// much. Use it for dumps that do not say which generation of links they show.
    ///
    /// # Errors
    /// A bandwidth that is not a positive number.
    pub fn set_direct_gbps(&mut self, gbps: f64) -> Result<(), Error> {
        check_gbps(gbps, || "direct links".to_owned())?;
        for wire in self.graph.edge_weights_mut() {
            if let FabricWire::Link(Link {
                class: LinkClass::Direct(n),
                gbps: bond,
            }) = wire
            {
                *bond = f64::from(*n) * gbps;
            }
        }
        Ok(())
    }

    /// Sets for every device how it can be partitioned, or with `None` that it cannot. Use it for
    /// dumps, which do not show whether partitioning is allowed.
    pub fn set_mig(&mut self, model: Option<&Arc<mig::Model>>) {
        for node in self.graph.node_weights_mut() {
            if let NodeKind::Device(info) = &mut node.kind {
                info.mig = model.cloned();
            }
        }
    }

    /// Leaves at most `most` direct links from a device to its link switches, evenly over the switches: links that are down
    /// carry nothing.
    ///
    /// # Errors
    /// A component of another machine.
    pub fn limit_switch_links(&mut self, device: NodeId, most: u32) -> Result<(), Error> {
        self.own(&[device])?;
        let is_switch = |id: NodeIndex| self.graph[id].kind == NodeKind::LinkSwitch;
        let wires: Vec<_> = (self.graph.edges(device.0))
            .filter(|wire| is_switch(wire.source()) || is_switch(wire.target()))
            .filter_map(|wire| match wire.weight() {
                FabricWire::Link(Link {
                    class: LinkClass::Direct(count),
                    ..
                }) => Some((wire.id(), *count)),
                _ => None,
            })
            .collect();
        let all: u32 = wires.iter().map(|(_, count)| u32::from(*count)).sum();
        if all <= most {
            return Ok(());
        }
        let share = f64::from(most) / f64::from(all);
        for (wire, count) in wires {
            if let FabricWire::Link(link) = &mut self.graph[wire] {
                link.gbps *= share;
                // The class counts whole links, and at least one.
                let left = (f64::from(count) * share).round().max(1.0);
                link.class = LinkClass::Direct(left as u8);
            }
        }
        Ok(())
    }

    /// Sets for one device how it can be partitioned. Another component stays as it is.
    ///
    /// # Errors
    /// A component of another machine.
    pub fn set_mig_of(&mut self, device: NodeId, model: &Arc<mig::Model>) -> Result<(), Error> {
        self.own(&[device])?;
        if let NodeKind::Device(info) = &mut self.graph[device.0].kind {
            info.mig = Some(model.clone());
        }
        Ok(())
    }

    /// Names the product of every device that has none.
    pub fn set_products(&mut self, product: &str) {
        for node in self.graph.node_weights_mut() {
            if let NodeKind::Device(info) = &mut node.kind {
                info.product.get_or_insert_with(|| product.to_owned());
            }
        }
    }

    /// The components, in the order in which they were added.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &FabricNode)> {
        self.graph
            .node_indices()
            .map(|id| (NodeId(id), &self.graph[id]))
    }

    /// The wires, in the order in which they were added; of [`FabricWire::Up`], the child comes
    /// first.
    pub fn wires(&self) -> impl Iterator<Item = (NodeId, NodeId, FabricWire)> {
        self.graph
            .edge_references()
            .map(|e| (NodeId(e.source()), NodeId(e.target()), *e.weight()))
    }

    /// A component.
    ///
    /// # Panics
    /// If the id is of another fabric, with more components.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &FabricNode {
        &self.graph[id.0]
    }

    /// The number of devices.
    #[must_use]
    pub fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// Checks that these ids are in the range of this fabric's components.
    fn own(&self, nodes: &[NodeId]) -> Result<(), Error> {
        let foreign = nodes
            .iter()
            .any(|node| self.graph.node_weight(node.0).is_none());
        if foreign {
            Err(ErrorKind::ForeignNode.into())
        } else {
            Ok(())
        }
    }

    pub(super) fn name(&self, id: NodeIndex) -> &str {
        &self.graph[id].name
    }

    /// The node and its ancestors, up to the root.
    pub(super) fn chain(&self, from: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        std::iter::successors(Some(from), |id| self.up.get(id).copied())
    }
}

/// Equal devices in the same order, equal other components and equal wires in any.
impl PartialEq for Fabric {
    fn eq(&self, other: &Self) -> bool {
        fn devices(f: &Fabric) -> impl Iterator<Item = &FabricNode> {
            f.devices.iter().map(|&id| &f.graph[id])
        }
        fn others(f: &Fabric) -> BTreeMap<&str, &NodeKind> {
            f.graph
                .node_weights()
                .map(|node| (node.name.as_str(), &node.kind))
                .collect()
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
            // One pair may have a hop, a direct link and a host path: never two alike, so this
            // order is total.
            wires.sort_by_key(|&(a, b, wire)| {
                (
                    a,
                    b,
                    if let FabricWire::Link(link) = wire {
                        Some(link.class)
                    } else {
                        None
                    },
                )
            });
            wires
        }
        devices(self).eq(devices(other))
            && others(self) == others(other)
            && wires(self) == wires(other)
    }
}

/// The largest bandwidth. No wire is as fast, and sums over all pairs of the largest machine stay
/// finite.
pub(crate) const MOST_GBPS: f64 = 1e9;

fn check_gbps(gbps: f64, place: impl Fn() -> String) -> Result<(), Error> {
    if gbps > 0.0 && gbps <= MOST_GBPS {
        Ok(())
    } else {
        Err(ErrorKind::BadBandwidth {
            place: place(),
            gbps,
        }
        .into())
    }
}

impl From<u32> for DeviceId {
    fn from(id: u32) -> Self {
        Self(id)
    }
}
