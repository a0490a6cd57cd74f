//! Several like machines, joined by a network.

use std::collections::BTreeMap;

use mapa_core::{DeviceInfo, Fabric, FabricNode, FabricWire, LinkClass, MAX_DEVICES, NodeId, NodeKind};

use super::formula::{self, FLEET, number, speed};
use super::{entry, unknown};
use crate::error::Error;
use crate::machine::Machine;

/// GB/s per direction of the network between two servers, if the name does not say: a card of 200 Gb/s.
const NETWORK_GBPS: f64 = 25.0;

/// `K[@GB/s]xMACHINE`: the count ends at the first `x`, so that sizes with an `x` of their own may follow.
pub(super) fn fleet(name: &str, size: &str) -> Result<Machine, Error> {
    let expected = || {
        Error::new(format!(
            "`{name}`: expected {FLEET}, K from 1, at most {MAX_DEVICES} devices in all, no fleets in it"
        ))
    };
    let (count, inner) = size.split_once('x').ok_or_else(expected)?;
    let (count, gbps) = match count.split_once('@') {
        Some((count, gbps)) => (count, speed(gbps).ok_or_else(expected)?),
        None => (count, NETWORK_GBPS),
    };
    let count = number(count, 1..=MAX_DEVICES).ok_or_else(expected)?;
    let inner = server(inner).ok_or_else(expected)??;
    if count * inner.fabric.device_count() > MAX_DEVICES {
        return Err(expected());
    }
    let mut notes = inner.notes.clone();
    notes.push(format!("Devices of different servers are joined by a network, {gbps} GB/s between any two."));
    notes
        .push("What is said of one server is so of each; NUMA nodes are numbered on from server to server.".to_owned());
    Ok(Machine {
        name: name.to_ascii_lowercase(),
        title: format!("{count} servers: {}", inner.title),
        source: format!("by formula, of {}: {}", inner.name, inner.source),
        notes,
        labels: inner.labels.clone(),
        fabric: joined(&inner.fabric, count, gbps)?,
        warnings: Vec::new(),
    })
}

/// One server; none if it is a fleet itself.
fn server(name: &str) -> Option<Result<Machine, Error>> {
    if name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("fleet:")) {
        return None;
    }
    let by_formula = formula::machine(name);
    Some(by_formula.unwrap_or_else(|| entry(name).ok_or_else(|| unknown(name))?.machine()))
}

/// A pair of devices is what a network joins: O(d²) links for d devices in all. A fleet of 1,024 devices has half a million
/// and takes about a second; petgraph looks each up among those of its new end first, so that end is given first.
fn joined(server: &Fabric, count: usize, gbps: f64) -> Result<Fabric, Error> {
    let mut fabric = Fabric::new();
    let mut servers: Vec<Vec<NodeId>> = Vec::with_capacity(count);
    for n in 0..count {
        servers.push(add(&mut fabric, server, n)?);
    }
    for (n, mine) in servers.iter().enumerate() {
        for &a in mine {
            for &b in servers[..n].iter().flatten() {
                fabric.link(a, b, LinkClass::Network, gbps)?;
            }
        }
    }
    Ok(fabric)
}

/// Adds the n-th server; its devices.
fn add(fabric: &mut Fabric, server: &Fabric, n: usize) -> Result<Vec<NodeId>, Error> {
    let stride = stride(server);
    let mut ids = BTreeMap::new();
    let mut devices = Vec::new();
    for (id, node) in server.nodes() {
        let on = |number: u32| number.saturating_add(stride.saturating_mul(n as u32));
        let kind = match node.kind.clone() {
            NodeKind::Numa(number) => NodeKind::Numa(on(number)),
            // What tells one device from all others cannot be had twice.
            NodeKind::Device(info) => {
                NodeKind::Device(DeviceInfo { index: None, uuid: None, pci: None, numa: info.numa.map(on), ..info })
            }
            other => other,
        };
        let is_device = matches!(kind, NodeKind::Device(_));
        let new = fabric.add(FabricNode { name: format!("n{n}-{}", node.name), kind })?;
        if is_device {
            devices.push(new);
        }
        ids.insert(id, new);
    }
    for (a, b, wire) in server.wires() {
        match wire {
            FabricWire::Up { gbps } => fabric.attach(ids[&a], ids[&b], gbps)?,
            FabricWire::Link(link) => fabric.link(ids[&a], ids[&b], link.class, link.gbps)?,
        }
    }
    Ok(devices)
}

/// How far apart the NUMA numbers of one server and the next are: a hundred, so that people can read them, or as many
/// hundreds as one server needs.
fn stride(server: &Fabric) -> u32 {
    let numbers = server.nodes().filter_map(|(_, node)| match &node.kind {
        NodeKind::Numa(number) => Some(*number),
        NodeKind::Device(info) => info.numa,
        _ => None,
    });
    let highest = numbers.max().unwrap_or(0);
    (highest / 100).saturating_add(1).saturating_mul(100)
}
