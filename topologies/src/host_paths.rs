//! Assumed paths through the host, for machines whose description lacks them.

use mapa_core::{DeviceId, FabricNode, FabricWire, LinkClass, NodeId, NodeKind};

use crate::error::Error;
use crate::links::ASSUMED_HOST_GBPS;
use crate::machine::Machine;

/// Joins every two devices that have no path through the host by an assumed one: `NODE` if both
/// are known to be in one NUMA node, else `SYS`, at [`ASSUMED_HOST_GBPS`]. If a path was added, the
/// machine gets a note that says so.
///
/// # Errors
/// As [`Machine::graph`].
///
/// # Complexity
/// O(n²) for n devices.
pub fn assume_host_paths(machine: &mut Machine) -> Result<(), Error> {
    assume_host_paths_between(machine, |_, _| true)
}

/// Gives a partitioned device that is alone, and whose way into the host is not known, a host bridge at the
/// speed of its slot, else [`ASSUMED_HOST_GBPS`]: its instances reach each other through the host as those of one of
/// several devices do.
///
/// # Errors
/// None in practice: the device is this machine's.
pub(crate) fn assume_host_of_one(machine: &mut Machine) -> Result<(), Error> {
    let fabric = &machine.fabric;
    let device = fabric.nodes().find_map(|(id, node)| match &node.kind {
        NodeKind::Device(info) => info.mig.is_some().then_some(id),
        _ => None,
    });
    let is_below = |id: NodeId| {
        let mut wires = fabric.wires();
        wires.any(|(child, _, wire)| child == id && matches!(wire, FabricWire::Up { .. }))
    };
    let is_alone = |id: &NodeId| fabric.device_count() == 1 && !is_below(*id);
    let Some(device) = device.filter(is_alone) else {
        return Ok(());
    };
    let gbps = machine
        .fabric
        .slot_gbps(device)
        .unwrap_or(ASSUMED_HOST_GBPS);
    let bridge = machine.fabric.add(FabricNode {
        name: "host bridge".to_owned(),
        kind: NodeKind::HostBridge,
    })?;
    machine.fabric.attach(device, bridge, gbps)?;
    Ok(())
}

/// As [`assume_host_paths`], but only for the pairs of devices, by their numbers, that `wanted`
/// accepts.
pub(crate) fn assume_host_paths_between(
    machine: &mut Machine,
    wanted: impl Fn(usize, usize) -> bool,
) -> Result<(), Error> {
    // MIG instances are vertices of their own in a lowered graph. Here a device is one vertex.
    let mut plain = machine.fabric.clone();
    plain.set_mig(None);
    let graph = plain.lower()?;
    let nodes: Vec<NodeId> = machine
        .fabric
        .nodes()
        .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
        .map(|(id, _)| id)
        .collect();
    let mut assumed = false;
    for (b, y) in graph.devices().iter().enumerate() {
        for (a, x) in graph.devices()[..b].iter().enumerate() {
            let pair = graph.pair(DeviceId(a as u32), DeviceId(b as u32));
            if !wanted(a, b) || pair.host.exists() {
                continue;
            }
            let class = if x.numa.is_some() && x.numa == y.numa {
                LinkClass::Node
            } else {
                LinkClass::Sys
            };
            machine
                .fabric
                .link(nodes[a], nodes[b], class, ASSUMED_HOST_GBPS)?;
            assumed = true;
        }
    }
    if assumed {
        machine.notes.push(
            "Paths through the host are assumed: NODE within a NUMA node, else SYS, 12 GB/s."
                .to_owned(),
        );
    }
    Ok(())
}
