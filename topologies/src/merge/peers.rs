//! Peer access, the cores near devices, and the speeds of slots: carried over, and compared.

use std::collections::BTreeMap;

use mapa_core::{DeviceId, DeviceSet, Fabric, NodeId};

use super::contradiction::Contradiction;
use super::devices::MergedDevices;
use super::differing::Differing;
use super::source::{DumpSource, device_nodes};
use crate::dump::PeerStatus;
use crate::error::Error;

/// Adds what the fabrics of the dumps know beside their wires.
pub(super) fn take(
    fabric: &mut Fabric,
    nodes: &[NodeId],
    sources: &[DumpSource<'_>],
    devices: &MergedDevices,
    contradictions: &mut Vec<Contradiction>,
) -> Result<(), Error> {
    for (s, source) in sources.iter().enumerate() {
        let from = &source.dump.machine.fabric;
        let merged = |id: DeviceId| devices.merged(s, id.index()).map(|id| nodes[id.index()]);
        for (id, node_of_device) in (0u32..).map(DeviceId).zip(device_nodes(from)) {
            if let Some((node, cores)) = merged(id).zip(from.cores(node_of_device)) {
                fabric.set_cores(node, cores)?;
            }
            if let Some((node, gbps)) = merged(id).zip(from.slot_gbps(node_of_device))
                && fabric.slot_gbps(node).is_none()
            {
                fabric.set_slot_gbps(node, gbps)?;
            }
        }
        if let Some(sets) = from.offered() {
            let all = sets.iter().map(|set| {
                let ids = set.iter().map(|id| devices.merged(s, id.index()));
                ids.collect::<Option<DeviceSet>>()
            });
            fabric.set_offered(all.collect())?;
        }
        for ((a, b), access) in from.peer_access() {
            if let Some((a, b)) = merged(a).zip(merged(b)) {
                fabric.set_peer_access(a, b, access)?;
            }
        }
    }
    compare(sources, devices, contradictions);
    Ok(())
}

/// By pair of devices of the merged machine, whether they reach each other's memory as one dump tells.
fn told(source: &DumpSource<'_>, s: usize, devices: &MergedDevices) -> BTreeMap<(u32, u32), bool> {
    let mut told = BTreeMap::new();
    for access in source
        .dump
        .peer_access
        .iter()
        .filter(|access| access.is_telling())
    {
        let merged = |id: DeviceId| devices.merged(s, id.index());
        if let Some((a, b)) = merged(access.from).zip(merged(access.to)) {
            *told.entry((a.0.min(b.0), a.0.max(b.0))).or_insert(true) &=
                access.status == PeerStatus::Ok;
        }
    }
    told
}

/// Reports pairs for which one dump tells peer access and another tells none. They count as pairs
/// without.
fn compare(
    sources: &[DumpSource<'_>],
    devices: &MergedDevices,
    contradictions: &mut Vec<Contradiction>,
) {
    let told: Vec<_> = (sources.iter().enumerate())
        .map(|(s, source)| told(source, s, devices))
        .collect();
    for (s, off) in told.iter().enumerate() {
        for (t, on) in told.iter().enumerate().filter(|&(t, _)| t != s) {
            let mut differing = Differing::default();
            for (&(a, b), _) in off
                .iter()
                .filter(|(pair, is_on)| !**is_on && on.get(pair) == Some(&true))
            {
                let own = |id: u32| devices.own(s, id as usize);
                if let Some((a, b)) = own(a).zip(own(b)) {
                    let words = ["off", "on"].map(str::to_owned);
                    let [kept, dropped] = words;
                    differing.add(&sources[s], (a, b), kept, dropped);
                }
            }
            contradictions.extend(differing.report("peer access (P2P)", &sources[s], &sources[t]));
        }
    }
}
