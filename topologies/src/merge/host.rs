//! The host and its cards: from the dump that tells most of them.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{DeviceId, Fabric, FabricNode, FabricWire, HardwareGraph, Link, LinkClass, NodeId, NodeKind, Unit};

use super::devices::Devices;
use super::{Contradiction, Source, renamed};
use crate::dump::HostDetail;
use crate::error::Error;
use crate::readers::Kind;

/// The dump whose host is taken: the one that tells most of it.
pub(super) fn best(sources: &[Source<'_>]) -> Option<usize> {
    let told = |s: &usize| {
        let says = sources[*s].says();
        (says.host, sources[*s].devices(), says.host_gbps)
    };
    let able = (0..sources.len()).rev().filter(|&s| tells(&sources[s]));
    able.max_by_key(told)
}

/// Whether a dump tells the paths between devices through the host.
fn tells(source: &Source<'_>) -> bool {
    source.says().host >= HostDetail::Classes && source.graph.is_some()
}

/// By device of a dump, whether it hangs below a NUMA node.
pub(super) fn below_numa(source: &Source<'_>) -> Vec<bool> {
    let fabric = &source.dump.machine.fabric;
    let is_up = |wire| matches!(wire, FabricWire::Up { .. });
    let ups: BTreeMap<NodeId, NodeId> =
        fabric.wires().filter(|&(.., wire)| is_up(wire)).map(|(below, above, _)| (below, above)).collect();
    let is_numa = |id: &NodeId| matches!(fabric.node(*id).kind, NodeKind::Numa(_));
    let way = |id: NodeId| std::iter::successors(Some(id), |id| ups.get(id).copied());
    device_nodes(fabric).map(|id| way(id).any(|id| is_numa(&id))).collect()
}

pub(super) fn device_nodes(fabric: &Fabric) -> impl Iterator<Item = NodeId> {
    fabric.nodes().filter(|(_, node)| matches!(node.kind, NodeKind::Device(_))).map(|(id, _)| id)
}

/// Puts the host of dump `best` into the fabric, and what others know of devices and cards that it does not have.
pub(super) fn take(
    fabric: &mut Fabric,
    nodes: &[NodeId],
    sources: &[Source<'_>],
    devices: &Devices,
    best: Option<usize>,
    contradictions: &mut Vec<Contradiction>,
) -> Result<(), Error> {
    let Some(best) = best else { return Ok(()) };
    copy(fabric, nodes, &sources[best], best, devices)?;
    for (s, source) in sources.iter().enumerate().filter(|&(s, source)| s != best && tells(source)) {
        complete(fabric, nodes, source, s, devices, best)?;
        compare(sources, devices, (best, s), contradictions);
    }
    cards(fabric, nodes, sources, devices, best)
}

/// The components and paths of one dump, its devices being those of the merged fabric.
fn copy(fabric: &mut Fabric, nodes: &[NodeId], source: &Source<'_>, s: usize, devices: &Devices) -> Result<(), Error> {
    let from = &source.dump.machine.fabric;
    let mut ids: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    let mut device = 0;
    for (id, node) in from.nodes() {
        match node.kind {
            NodeKind::Device(_) => {
                if let Some(merged) = devices.merged(s, device) {
                    ids.insert(id, nodes[merged.index()]);
                }
                device += 1;
            }
            NodeKind::LinkSwitch => {}
            _ => {
                let node = renamed(fabric, node);
                ids.insert(id, fabric.add(node)?);
            }
        }
    }
    for (a, b, wire) in from.wires() {
        let (Some(&a), Some(&b)) = (ids.get(&a), ids.get(&b)) else { continue };
        match wire {
            FabricWire::Up { gbps } => fabric.attach(a, b, gbps)?,
            FabricWire::Link(Link { class, gbps }) if class.is_host() => fabric.link(a, b, class, gbps)?,
            FabricWire::Link(_) => {}
        }
    }
    Ok(())
}

/// Paths of devices that the followed dump does not name.
fn complete(
    fabric: &mut Fabric,
    nodes: &[NodeId],
    source: &Source<'_>,
    s: usize,
    devices: &Devices,
    best: usize,
) -> Result<(), Error> {
    let Some(graph) = &source.graph else { return Ok(()) };
    if (0..devices.count()).all(|k| devices.own(best, k).is_some()) {
        return Ok(());
    }
    let host = |(a, b, wire): (NodeId, NodeId, FabricWire)| match wire {
        FabricWire::Link(link) if link.class.is_host() => Some((a.min(b), a.max(b))),
        _ => None,
    };
    let joined: BTreeSet<(NodeId, NodeId)> = fabric.wires().filter_map(host).collect();
    for b in 0..source.devices() {
        for a in 0..b {
            let Some((x, y)) = devices.merged(s, a).zip(devices.merged(s, b)) else { continue };
            if devices.own(best, x.index()).is_some() && devices.own(best, y.index()).is_some() {
                continue;
            }
            let Link { class, gbps } = graph.pair(DeviceId(a as u32), DeviceId(b as u32)).host;
            let (x, y) = (nodes[x.index()], nodes[y.index()]);
            if class.is_host() && !joined.contains(&(x.min(y), x.max(y))) {
                fabric.link(x, y, class, gbps)?;
            }
        }
    }
    Ok(())
}

/// What a dump says of the path between two of its devices: nothing where it prints a direct link in its place.
fn said(source: &Source<'_>, a: usize, b: usize) -> Option<LinkClass> {
    let pair = source.graph.as_ref()?.pair(DeviceId(a as u32), DeviceId(b as u32));
    let told = source.says().host == HostDetail::Tree || !pair.direct.exists();
    Some(pair.host.class).filter(|class| told && class.is_host())
}

fn compare(
    sources: &[Source<'_>],
    devices: &Devices,
    (best, other): (usize, usize),
    contradictions: &mut Vec<Contradiction>,
) {
    let labels = |s: usize, class: LinkClass| sources[s].dump.machine.labels.print(class);
    // NCCL draws one host bridge a socket, so that its PHB may be NODE.
    let blurred = [best, other].iter().any(|&s| sources[s].dump.kind == Kind::NcclTopology);
    let mut differing = super::direct::Differing::default();
    for b in 0..sources[best].devices() {
        for a in 0..b {
            let merged = |device| devices.merged(best, device).map(DeviceId::index);
            let own = |device| merged(device).and_then(|k| devices.own(other, k));
            let Some((x, y)) = own(a).zip(own(b)) else { continue };
            if let (Some(kept), Some(dropped)) = (said(&sources[best], a, b), said(&sources[other], x, y))
                && kept != dropped
                && !(blurred && [kept, dropped].iter().all(|class| [LinkClass::Phb, LinkClass::Node].contains(class)))
            {
                differing.add(&sources[best], (a, b), labels(best, kept), labels(other, dropped));
            }
        }
    }
    contradictions.extend(differing.report("path through the host", &sources[best], &sources[other]));
}

/// Network cards, if the followed dump has none: those of the first that has some.
fn cards(
    fabric: &mut Fabric,
    nodes: &[NodeId],
    sources: &[Source<'_>],
    devices: &Devices,
    best: usize,
) -> Result<(), Error> {
    let has = |source: &Source<'_>| source.dump.machine.fabric.nodes().any(|(_, node)| node.kind == NodeKind::Nic);
    if has(&sources[best]) {
        return Ok(());
    }
    let Some(s) = (0..sources.len()).find(|&s| tells(&sources[s]) && has(&sources[s])) else { return Ok(()) };
    let Some(graph) = &sources[s].graph else { return Ok(()) };
    let vertices = |graph: &HardwareGraph| {
        let ids = (0..graph.len() as u32).map(DeviceId);
        ids.filter(|&id| graph.device(id).unit == Unit::Nic).collect::<Vec<_>>()
    };
    let mut cards: Vec<(DeviceId, NodeId)> = Vec::new();
    for card in vertices(graph) {
        let node = FabricNode { name: graph.device(card).name.clone(), kind: NodeKind::Nic };
        let node = renamed(fabric, &node);
        let id = fabric.add(node)?;
        let others = cards.iter().copied();
        let wholes = (0..sources[s].devices()).filter_map(|device| {
            let merged = devices.merged(s, device)?;
            Some((DeviceId(device as u32), nodes[merged.index()]))
        });
        for (vertex, node) in wholes.chain(others).collect::<Vec<_>>() {
            let Link { class, gbps } = graph.pair(card, vertex).host;
            if class.is_host() {
                fabric.link(id, node, class, gbps)?;
            }
        }
        cards.push((card, id));
    }
    Ok(())
}
