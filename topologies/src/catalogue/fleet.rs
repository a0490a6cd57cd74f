//! Fleets: copies of one machine, joined by a network.

use std::collections::BTreeMap;

use mapa_core::{
    DeviceInfo, Fabric, FabricNode, FabricWire, LinkClass, MAX_DEVICES, NodeId, NodeKind,
};

use super::formula::{FLEET, number, speed};
use super::single::single;
use crate::error::Error;
use crate::machine::Machine;

/// GB/s per direction of the network between two servers, if the name does not say: a card of 200
/// Gb/s.
const NETWORK_GBPS: f64 = 25.0;

/// The part of a name after `fleet:`; `None` if the name is not that of a fleet.
pub(super) fn size(name: &str) -> Option<&str> {
    let (kind, size) = name.split_once(':')?;
    kind.eq_ignore_ascii_case("fleet").then_some(size)
}

/// The fleet of this size: `K[@GB/s]xMACHINE`. The count ends at the first `x`, because the name of
/// the machine may contain another `x`, as `torus:4x4` does.
pub(super) fn fleet(name: &str, size: &str) -> Result<Machine, Error> {
    let (count, gbps, server) = parts(size).ok_or_else(|| malformed(name))?;
    let server = single(server)?;
    if count * server.fabric.device_count() > MAX_DEVICES {
        return Err(malformed(name));
    }
    let mut notes = server.notes.clone();
    notes.push(format!(
        "Devices of different servers are joined by a network, {gbps} GB/s between any two."
    ));
    notes.push(
        "The other notes hold for each server. NUMA numbers differ from server to server."
            .to_owned(),
    );
    Ok(Machine {
        name: name.to_ascii_lowercase(),
        title: format!("{count} servers: {}", server.title),
        source: format!("by formula, of {}: {}", server.name, server.source),
        notes,
        vendor: server.vendor,
        labels: server.labels.clone(),
        fabric: joined(&server.fabric, count, gbps)?,
        warnings: Vec::new(),
    })
}

/// The number of servers, the network's GB/s, and the server's name.
fn parts(text: &str) -> Option<(usize, f64, &str)> {
    let (count, server) = text.split_once('x')?;
    let (count, gbps) = match count.split_once('@') {
        Some((count, gbps)) => (count, speed(gbps)?),
        None => (count, NETWORK_GBPS),
    };
    // A fleet of fleets has no meaning of its own.
    (size(server).is_none()).then_some((number(count, 1..=MAX_DEVICES)?, gbps, server))
}

fn malformed(name: &str) -> Error {
    Error::new(format!(
        "`{name}`: expected {FLEET}, K from 1, at most {MAX_DEVICES} devices in all, no fleets in it"
    ))
}

/// The servers, with a link between every two devices of different servers: O(d²) links for d
/// devices in all. A fleet of 1,024 devices has half a million and takes about a second.
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

/// Adds the n-th server and returns its devices.
fn add(fabric: &mut Fabric, server: &Fabric, n: usize) -> Result<Vec<NodeId>, Error> {
    let stride = stride(server);
    let mut ids = BTreeMap::new();
    let mut devices = Vec::new();
    for (id, node) in server.nodes() {
        let on = |number: u32| number.saturating_add(stride.saturating_mul(n as u32));
        let kind = match node.kind.clone() {
            NodeKind::Numa(number) => NodeKind::Numa(on(number)),
            // Identifiers are unique, so copies have none.
            NodeKind::Device(info) => NodeKind::Device(DeviceInfo {
                index: None,
                uuid: None,
                pci: None,
                numa: info.numa.map(on),
                ..info
            }),
            other => other,
        };
        let is_device = matches!(kind, NodeKind::Device(_));
        let new = fabric.add(FabricNode {
            name: format!("n{n}-{}", node.name),
            kind,
        })?;
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

/// The distance between the NUMA numbers of one server and the next: a hundred, so that people can
/// read them, or as many hundreds as one server needs.
fn stride(server: &Fabric) -> u32 {
    let numbers = server.nodes().filter_map(|(_, node)| match &node.kind {
        NodeKind::Numa(number) => Some(*number),
        NodeKind::Device(info) => info.numa,
        _ => None,
    });
    let highest = numbers.max().unwrap_or(0);
    (highest / 100).saturating_add(1).saturating_mul(100)
}
