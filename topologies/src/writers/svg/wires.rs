//! The lines between devices: direct links, ports of link switches, and the links that the job
//! uses.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{DeviceId, Fabric, FabricWire, HardwareGraph, Link, LinkClass, NodeId, NodeKind};

/// A line between two devices.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrawnWire {
    pub(super) a: DeviceId,
    pub(super) b: DeviceId,
    pub(super) link: Link,
    /// Whether an edge of the job uses it.
    pub(super) used: bool,
}

/// Link switches with the same ports, which are drawn as one.
#[derive(Clone, Debug)]
pub(super) struct DrawnSwitch {
    pub(super) names: Vec<String>,
    /// For each device, its port at each of the switches.
    pub(super) ports: BTreeMap<DeviceId, Link>,
    /// The edges of the job that use the switches.
    pub(super) used: BTreeSet<(DeviceId, DeviceId)>,
}

/// All lines and ports between devices.
#[derive(Clone, Debug, Default)]
pub(super) struct DrawnWires {
    pub(super) direct: Vec<DrawnWire>,
    /// Host paths that the job uses.
    pub(super) host: Vec<DrawnWire>,
    pub(super) switches: Vec<DrawnSwitch>,
}

impl DrawnWires {
    /// Collects the wires of a fabric. `edges` are the job's edges, between vertices of the graph.
    pub(super) fn of(
        fabric: &Fabric,
        graph: &HardwareGraph,
        edges: &[(DeviceId, DeviceId)],
    ) -> Self {
        let mut wires = Self::default();
        let ids: BTreeMap<NodeId, DeviceId> = fabric
            .nodes()
            .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
            .map(|(id, _)| id)
            .zip((0u32..).map(DeviceId))
            .collect();
        let mut ports: BTreeMap<NodeId, BTreeMap<DeviceId, Link>> = BTreeMap::new();
        for (x, y, wire) in fabric.wires() {
            let FabricWire::Link(link) = wire else {
                continue;
            };
            match (ids.get(&x), ids.get(&y)) {
                (Some(&x), Some(&y)) if link.class.is_direct() => {
                    wires.direct.push(DrawnWire {
                        a: x.min(y),
                        b: x.max(y),
                        link,
                        used: false,
                    });
                }
                (Some(&device), None) if link.class.is_direct() => {
                    ports.entry(y).or_default().insert(device, link);
                }
                (None, Some(&device)) if link.class.is_direct() => {
                    ports.entry(x).or_default().insert(device, link);
                }
                _ => {}
            }
        }
        wires.direct.sort_by_key(|wire| (wire.a, wire.b));
        for (id, ports) in ports {
            let name = fabric.node(id).name.clone();
            match wires
                .switches
                .iter_mut()
                .find(|switch| switch.ports == ports)
            {
                Some(twin) => twin.names.push(name),
                None => wires.switches.push(DrawnSwitch {
                    names: vec![name],
                    ports,
                    used: BTreeSet::new(),
                }),
            }
        }
        for &(x, y) in edges {
            wires.carry(graph, x, y);
        }
        wires
    }

    /// Marks the direct links and switches that carry the traffic between two vertices. If a host
    /// path carries it, that path is added.
    fn carry(&mut self, graph: &HardwareGraph, x: DeviceId, y: DeviceId) {
        let link = graph.link(x, y);
        let [x, y] = [x, y].map(|id| graph.device(id).parent);
        let (a, b) = (x.min(y), x.max(y));
        if a == b || link.class == LinkClass::None {
            return;
        }
        if !link.class.is_direct() {
            if !self.host.iter().any(|wire| (wire.a, wire.b) == (a, b)) {
                self.host.push(DrawnWire {
                    a,
                    b,
                    link,
                    used: true,
                });
            }
            return;
        }
        self.direct
            .iter_mut()
            .filter(|wire| (wire.a, wire.b) == (a, b))
            .for_each(|wire| wire.used = true);
        for switch in &mut self.switches {
            if switch.ports.contains_key(&a) && switch.ports.contains_key(&b) {
                switch.used.insert((a, b));
            }
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &DrawnWire> {
        self.direct.iter().chain(&self.host)
    }
}

/// The kinds of links that are drawn, for the legend.
pub(super) fn kinds(wires: &DrawnWires) -> Vec<Link> {
    let mut kinds: BTreeMap<(LinkClass, u64), Link> = BTreeMap::new();
    let mut add = |link: Link| {
        kinds.insert((link.class, link.gbps.to_bits()), link);
    };
    wires.direct.iter().for_each(|wire| add(wire.link));
    wires
        .switches
        .iter()
        .flat_map(|switch| switch.ports.values())
        .for_each(|port| add(*port));
    wires.host.iter().for_each(|wire| add(wire.link));
    kinds.into_values().rev().collect()
}
