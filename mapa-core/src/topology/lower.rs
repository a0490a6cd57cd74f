//! Lowering a fabric to the graph that the engine runs on, with what joins every two devices.

use std::collections::BTreeMap;
use std::sync::Arc;

use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::device::{Device, Unit};
use super::fabric::{DeviceInfo, Fabric, FabricNode, FabricWire, NodeKind};
use super::hardware::HardwareGraph;
use super::link::{Link, Pair};
use super::vertices::{Anchor, Anchors, Climb, HopUp};
use crate::error::{Error, ErrorKind};
use crate::ids::{DeviceId, LinkClass};

impl Fabric {
    /// Computes what joins every two devices.
    ///
    /// The host class of a pair is the one given by [`Fabric::link`], if any. Otherwise it follows
    /// from the component at which their ways up the host tree meet: a PCIe switch is `Pix`, or
    /// `Pxb` if the path crosses several switches; a host bridge is `Phb`, a NUMA node is `Node`,
    /// the machine is `Sys`. The bandwidth is that of the narrowest hop. Two devices at one link
    /// switch have as many direct links as the smaller of their two ports.
    ///
    /// The devices come first, in the order in which they were added. The MIG instances that could
    /// exist on them follow, device by device, in their models' order of profiles, then starts.
    ///
    /// # Complexity
    ///
    /// O(n² h + l) for n devices and network cards under a host tree of height h, and l links.
    ///
    /// # Errors
    /// A machine without devices; more than 255 direct links between two devices; a device that
    /// names another NUMA node than the one above it; more than [`MAX_VERTICES`](crate::MAX_VERTICES)
    /// devices, instances and parts of the host.
    pub fn lower(self) -> Result<HardwareGraph, Error> {
        self.lower_anchors(false)
    }

    /// The graph of [`Fabric::lower`] with the host's own parts as further vertices. A pattern may
    /// then request a device near a core, or a network card near a device. The parts are the NUMA
    /// nodes by number, then the network cards. NUMA nodes that only devices name are included. A
    /// device and its own NUMA node are joined by `Phb`; a device and another NUMA node by `Sys`.
    ///
    /// # Complexity
    ///
    /// As [`Fabric::lower`], with NUMA nodes and network cards counted among the n devices.
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
        let nics = self.nics()?;
        let mut anchors = self.anchors(with_host)?;
        for (anchor, nics) in anchors.list.iter_mut().zip(nics) {
            anchor.device.nics = nics.into();
        }
        anchors.join_by_tree();
        let position: BTreeMap<NodeIndex, usize> = anchors
            .list
            .iter()
            .enumerate()
            .filter_map(|(i, anchor)| Some((anchor.node?, i)))
            .collect();
        let mut ports: BTreeMap<NodeIndex, Vec<(usize, Link)>> = BTreeMap::new();
        for edge in self.graph.edge_references() {
            let FabricWire::Link(link) = *edge.weight() else {
                continue;
            };
            match (position.get(&edge.source()), position.get(&edge.target())) {
                (Some(&a), Some(&b)) => {
                    let pair = anchors.pair_mut(a, b);
                    if link.class.is_direct() {
                        pair.direct = self.bond(pair.direct, link, (a, b))?;
                    } else {
                        pair.host = link;
                    }
                }
                (Some(&a), None) if link.class.is_direct() => {
                    ports.entry(edge.target()).or_default().push((a, link))
                }
                (None, Some(&a)) if link.class.is_direct() => {
                    ports.entry(edge.source()).or_default().push((a, link))
                }
                _ => {}
            }
        }
        // A link switch joins every two devices with a port there.
        for ends in ports.values() {
            for (i, &(a, mine)) in ends.iter().enumerate() {
                let port = self.bond(
                    anchors.list[a].device.switch_port.unwrap_or_default(),
                    mine,
                    (a, a),
                )?;
                anchors.list[a].device.switch_port = Some(port);
                for &(b, other) in &ends[i + 1..] {
                    let shared = Link {
                        class: mine.class.min(other.class),
                        gbps: mine.gbps.min(other.gbps),
                    };
                    let pair = anchors.pair_mut(a, b);
                    pair.direct = self.bond(pair.direct, shared, (a, b))?;
                }
            }
        }
        anchors.join_numa_nodes();
        HardwareGraph::new(anchors, self)
    }

    /// The class of the path from each device to each network card, the closest first; empty if there are no cards.
    fn nics(&self) -> Result<Vec<Vec<LinkClass>>, Error> {
        let is_nic = |id: NodeIndex| self.graph[id].kind == NodeKind::Nic;
        if !self.graph.node_indices().any(is_nic) {
            return Ok(Vec::new());
        }
        let mut anchors = self.anchors(true)?;
        anchors.join_by_tree();
        let mut found = Vec::with_capacity(anchors.devices);
        for a in 0..anchors.devices {
            let device = anchors.list[a].node;
            let mut near = Vec::new();
            for b in anchors.devices..anchors.list.len() {
                let Some(nic) = anchors.list[b].node.filter(|&id| is_nic(id)) else {
                    continue;
                };
                // A path that the description states comes before that of the tree.
                let stated = device
                    .and_then(|device| self.graph.find_edge(device, nic))
                    .and_then(|wire| match self.graph[wire] {
                        FabricWire::Link(link) if link.class.is_host() => Some(link.class),
                        _ => None,
                    });
                near.push(stated.unwrap_or(anchors.pair_mut(a, b).host.class));
            }
            near.retain(|class| *class > LinkClass::None);
            near.sort_unstable_by(|a, b| b.cmp(a));
            found.push(near);
        }
        Ok(found)
    }

    /// The devices and, on request, the host's own parts, each with its way up.
    fn anchors(&self, with_host: bool) -> Result<Anchors, Error> {
        let mut list = Vec::new();
        for &id in &self.devices {
            let way = self.way_up(id);
            list.push(Anchor {
                node: Some(id),
                device: self.device(id, &way)?,
                way,
            });
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
                        let here = HopUp {
                            node: id,
                            climb: Climb::Numa(number),
                            gbps: f64::INFINITY,
                        };
                        let way = std::iter::once(here).chain(way).collect();
                        let device = Device::host(name, Unit::Numa, Some(number));
                        numa.insert(
                            number,
                            Anchor {
                                node: Some(id),
                                device,
                                way,
                            },
                        );
                    }
                    NodeKind::Nic => {
                        let device = Device::host(name, Unit::Nic, numa_above(&way));
                        cards.push(Anchor {
                            node: Some(id),
                            device,
                            way,
                        });
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
        Ok(Anchors {
            list,
            devices,
            models,
            pairs,
        })
    }

    fn device(&self, id: NodeIndex, way: &[HopUp]) -> Result<Device, Error> {
        let FabricNode { name, kind } = &self.graph[id];
        let info = if let NodeKind::Device(info) = kind {
            info.clone()
        } else {
            DeviceInfo::default()
        };
        let above = numa_above(way);
        if let (Some(said), Some(above)) = (info.numa, above)
            && said != above
        {
            return Err(ErrorKind::TwoNumaNodes {
                name: name.clone(),
                said,
                above,
            }
            .into());
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
            nics: Arc::default(),
        })
    }

    /// Two bonds of direct links between the same ends, as one.
    fn bond(&self, a: Link, b: Link, (x, y): (usize, usize)) -> Result<Link, Error> {
        let count = |link: Link| {
            if let LinkClass::Direct(n) = link.class {
                n
            } else {
                0
            }
        };
        match count(a).checked_add(count(b)) {
            Some(n) => Ok(Link {
                class: LinkClass::Direct(n),
                gbps: a.gbps + b.gbps,
            }),
            None => {
                let name = |i: usize| {
                    self.devices
                        .get(i)
                        .map_or_else(String::new, |&id| self.name(id).to_owned())
                };
                Err(ErrorKind::TooManyLinks {
                    a: name(x),
                    b: name(y),
                }
                .into())
            }
        }
    }

    /// The components that a component meets on its way up, with the narrowest hop so far.
    fn way_up(&self, node: NodeIndex) -> Vec<HopUp> {
        let mut gbps = f64::INFINITY;
        let mut way = Vec::new();
        for (below, above) in self.chain(node).zip(self.chain(node).skip(1)) {
            let hop = self
                .graph
                .edges_connecting(below, above)
                .find_map(|e| match e.weight() {
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
            way.push(HopUp {
                node: above,
                climb,
                gbps,
            });
        }
        way
    }
}

fn numa_above(way: &[HopUp]) -> Option<u32> {
    way.iter().find_map(|hop| {
        if let Climb::Numa(number) = hop.climb {
            Some(number)
        } else {
            None
        }
    })
}
