//! The host and its network cards: from the dump that describes them in most detail.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{
    DeviceId, Fabric, FabricNode, FabricWire, Link, LinkClass, NodeId, NodeKind, Unit,
};

use super::contradiction::Contradiction;
use super::devices::MergedDevices;
use super::differing::Differing;
use super::source::{DumpSource, device_nodes, renamed};
use crate::dump::HostDetail;
use crate::error::Error;
use crate::kind::Kind;

/// The dump whose host is used: the one that describes it in most detail.
pub(super) fn best(sources: &[DumpSource<'_>]) -> Option<usize> {
    // Backwards, since of equals `max_by_key` takes the last.
    (0..sources.len())
        .rev()
        .filter(|&s| tells(&sources[s]))
        .max_by_key(|&s| {
            let says = sources[s].says();
            (says.host, sources[s].devices(), says.host_gbps)
        })
}

/// Whether a dump gives the paths between devices through the host.
fn tells(source: &DumpSource<'_>) -> bool {
    source.says().host >= HostDetail::Classes && source.graph.is_some()
}

/// By device of a dump: whether it is below a NUMA node.
pub(super) fn below_numa(source: &DumpSource<'_>) -> Vec<bool> {
    let fabric = &source.dump.machine.fabric;
    let ups: BTreeMap<NodeId, NodeId> = fabric
        .wires()
        .filter(|(.., wire)| matches!(wire, FabricWire::Up { .. }))
        .map(|(below, above, _)| (below, above))
        .collect();
    device_nodes(fabric)
        .map(|id| {
            std::iter::successors(Some(id), |id| ups.get(id).copied())
                .any(|id| matches!(fabric.node(id).kind, NodeKind::Numa(_)))
        })
        .collect()
}

/// Adds the host of dump `best` to the fabric, and from other dumps the devices and cards that it
/// lacks.
pub(super) fn take(
    fabric: &mut Fabric,
    nodes: &[NodeId],
    sources: &[DumpSource<'_>],
    devices: &MergedDevices,
    best: Option<usize>,
    contradictions: &mut Vec<Contradiction>,
) -> Result<(), Error> {
    let Some(best) = best else { return Ok(()) };
    copy(fabric, nodes, &sources[best], best, devices)?;
    for (s, source) in sources
        .iter()
        .enumerate()
        .filter(|&(s, source)| s != best && tells(source))
    {
        complete(fabric, nodes, source, s, devices, best)?;
        compare(sources, devices, (best, s), contradictions);
    }
    cards(fabric, nodes, sources, devices, best)
}

/// Copies the components and paths of one dump into the fabric, which has its devices already.
fn copy(
    fabric: &mut Fabric,
    nodes: &[NodeId],
    source: &DumpSource<'_>,
    s: usize,
    devices: &MergedDevices,
) -> Result<(), Error> {
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
        let (Some(&a), Some(&b)) = (ids.get(&a), ids.get(&b)) else {
            continue;
        };
        match wire {
            FabricWire::Up { gbps } => fabric.attach(a, b, gbps)?,
            FabricWire::Link(Link { class, gbps }) if class.is_host() => {
                fabric.link(a, b, class, gbps)?
            }
            FabricWire::Link(_) => {}
        }
    }
    Ok(())
}

/// Adds the paths of devices that the followed dump does not name.
fn complete(
    fabric: &mut Fabric,
    nodes: &[NodeId],
    source: &DumpSource<'_>,
    s: usize,
    devices: &MergedDevices,
    best: usize,
) -> Result<(), Error> {
    let Some(graph) = &source.graph else {
        return Ok(());
    };
    if (0..devices.count()).all(|k| devices.own(best, k).is_some()) {
        return Ok(());
    }
    let joined: BTreeSet<(NodeId, NodeId)> = fabric
        .wires()
        .filter(|(.., wire)| matches!(wire, FabricWire::Link(link) if link.class.is_host()))
        .map(|(a, b, _)| (a.min(b), a.max(b)))
        .collect();
    for b in 0..source.devices() {
        for a in 0..b {
            let Some((x, y)) = devices.merged(s, a).zip(devices.merged(s, b)) else {
                continue;
            };
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

/// The class of the path between two devices of a dump. `None` if the dump prints a direct link in
/// its place.
fn said(source: &DumpSource<'_>, a: usize, b: usize) -> Option<LinkClass> {
    let pair = source.pair(a, b)?;
    let told = source.says().host == HostDetail::Tree || !pair.direct.exists();
    Some(pair.host.class).filter(|class| told && class.is_host())
}

/// Reports the pairs of devices whose paths two dumps classify differently.
fn compare(
    sources: &[DumpSource<'_>],
    devices: &MergedDevices,
    (best, other): (usize, usize),
    contradictions: &mut Vec<Contradiction>,
) {
    let (followed, compared) = (&sources[best], &sources[other]);
    // NCCL draws one host bridge a socket, so its PHB may be NODE.
    let blurred = [followed, compared]
        .iter()
        .any(|source| source.dump.kind == Kind::NcclTopology);
    let mut differing = Differing::default();
    for b in 0..followed.devices() {
        for a in 0..b {
            let (Some(x), Some(y)) = (
                devices.counterpart(best, a, other),
                devices.counterpart(best, b, other),
            ) else {
                continue;
            };
            let (Some(kept), Some(dropped)) = (said(followed, a, b), said(compared, x, y)) else {
                continue;
            };
            let same = kept == dropped || blurred && is_bridge(kept) && is_bridge(dropped);
            if !same {
                let (kept, dropped) = (followed.print(kept), compared.print(dropped));
                differing.add(followed, (a, b), kept, dropped);
            }
        }
    }
    contradictions.extend(differing.report("path through the host", followed, compared));
}

/// Whether a path crosses host bridges of one socket.
fn is_bridge(class: LinkClass) -> bool {
    matches!(class, LinkClass::Phb | LinkClass::Node)
}

/// Adds network cards if the followed dump has none: those of the first dump that has some.
fn cards(
    fabric: &mut Fabric,
    nodes: &[NodeId],
    sources: &[DumpSource<'_>],
    devices: &MergedDevices,
    best: usize,
) -> Result<(), Error> {
    if sources[best].has(&NodeKind::Nic) {
        return Ok(());
    }
    let Some(s) =
        (0..sources.len()).find(|&s| tells(&sources[s]) && sources[s].has(&NodeKind::Nic))
    else {
        return Ok(());
    };
    let Some(graph) = &sources[s].graph else {
        return Ok(());
    };
    let mut cards: Vec<(DeviceId, NodeId)> = Vec::new();
    for card in (0..graph.len() as u32).map(DeviceId) {
        if graph.device(card).unit != Unit::Nic {
            continue;
        }
        let node = FabricNode {
            name: graph.device(card).name.clone(),
            kind: NodeKind::Nic,
        };
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
