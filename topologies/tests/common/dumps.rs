//! Helpers for tests that read descriptions of machines.

use mapa_core::{
    DeviceId, DeviceInfo, Fabric, FabricNode, HardwareGraph, LinkClass, NodeId, NodeKind,
};
use mapa_topologies::{Dump, Kind, Machine, read};

/// Reads a text, which must be recognised as this kind.
pub(crate) fn read_as(kind: Kind, text: &str) -> Dump {
    let dump = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(dump.kind, kind, "{text}");
    dump
}

/// Asserts that reading a text fails with exactly this message.
pub(crate) fn refused(text: &str, message: &str) {
    let error = read(text.as_bytes()).expect_err(text);
    assert_eq!(error.to_string(), message, "{text}");
}

/// The machine's graph of a dump that says enough of it.
pub(crate) fn graph(dump: &Dump) -> HardwareGraph {
    dump.machine.graph().unwrap()
}

/// The devices of a dump that has nothing else.
pub(crate) fn devices(dump: &Dump) -> Vec<DeviceInfo> {
    let nodes = dump.machine.fabric.nodes();
    let devices = nodes.map(|(_, node)| match &node.kind {
        NodeKind::Device(info) => info.clone(),
        other => panic!("{other:?}"),
    });
    devices.collect()
}

/// The warnings of a machine, as they are printed.
pub(crate) fn warnings(machine: &Machine) -> Vec<String> {
    machine.warnings.iter().map(ToString::to_string).collect()
}

/// The number of network cards of a machine.
pub(crate) fn cards(machine: &Machine) -> usize {
    let nodes = machine.fabric.nodes();
    nodes.filter(|(_, node)| node.kind == NodeKind::Nic).count()
}

/// The devices of a graph.
pub(crate) fn ids(graph: &HardwareGraph) -> impl Iterator<Item = DeviceId> + use<> {
    (0..graph.len() as u32).map(DeviceId)
}

/// Every two devices of a graph, the lower first.
pub(crate) fn pairs(graph: &HardwareGraph) -> Vec<(DeviceId, DeviceId)> {
    ids(graph)
        .flat_map(|b| (0..b.0).map(move |a| (DeviceId(a), b)))
        .collect()
}

/// The classes of the direct link and of the host path between two devices.
pub(crate) fn classes(graph: &HardwareGraph, a: u32, b: u32) -> (LinkClass, LinkClass) {
    let pair = graph.pair(DeviceId(a), DeviceId(b));
    (pair.direct.class, pair.host.class)
}

/// The number of direct links that a class stands for.
pub(crate) fn count(class: LinkClass) -> u32 {
    match class {
        LinkClass::Direct(links) => u32::from(links),
        _ => 0,
    }
}

/// A machine without devices: two NUMA nodes, joined at `gbps`.
pub(crate) fn two_numa_nodes(gbps: f64) -> (Fabric, Vec<NodeId>) {
    let mut fabric = Fabric::new();
    let name = "machine".to_owned();
    let kind = NodeKind::Machine;
    let machine = fabric.add(FabricNode { name, kind }).unwrap();
    let mut numa = Vec::new();
    for i in 0..2 {
        let node = fabric.add_numa(format!("numa{i}"), i).unwrap();
        fabric.attach(node, machine, gbps).unwrap();
        numa.push(node);
    }
    (fabric, numa)
}

/// Asserts, of a text of this kind that makes a machine, that every pair is the same both ways and
/// that the machine file keeps the machine. Any other text passes.
pub(crate) fn keeps_what_it_reads(kind: Kind, text: &str) {
    let Ok(dump) = kind.read(text) else {
        return;
    };
    if let Ok(machine) = dump.into_machine() {
        let graph = machine.graph().unwrap();
        for (a, b) in pairs(&graph) {
            assert_eq!(graph.pair(a, b), graph.pair(b, a));
        }
        let again = Machine::from_toml(&machine.to_toml().unwrap()).unwrap();
        assert_eq!(again.fabric, machine.fabric);
    }
}
