//! `topo`: a machine as matrices of links.

use std::collections::BTreeMap;

use mapa_core::{Allocator, DeviceId, HardwareGraph, LinkClass, NodeKind};
use mapa_topologies::Machine;

use crate::answer;
use crate::answer::mig::Instance;
use crate::answer::topology::{Device, Pairs, Topology};
use crate::machine::Loaded;

/// The machine, its devices and the links between all pairs of them, as `mapa-bench topo --json` answers. Whoever
/// discovered the machine adds how.
///
/// # Complexity
/// O(n²) for n devices.
#[must_use]
pub fn topo(loaded: &Loaded) -> Topology {
    let (machine, graph) = (&loaded.machine, loaded.graph());
    let class = |a, b, class| match a == b {
        true => "X".to_owned(),
        false => machine.labels.print(class),
    };
    Topology {
        name: machine.name.clone(),
        title: machine.title.clone(),
        source: machine.source.clone(),
        vendor: machine.vendor.map(|vendor| vendor.name().to_owned()),
        notes: machine.notes.clone(),
        warnings: machine.warnings.iter().map(ToString::to_string).collect(),
        devices: graph
            .wholes()
            .iter()
            .map(|id| device(&loaded.idle, id))
            .collect(),
        network_cards: network_cards(machine)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        links: square(graph, |a, b| class(a, b, graph.link(a, b).class)),
        host_links: square(graph, |a, b| class(a, b, graph.pair(a, b).host.class)),
        bandwidth_gbps: square(graph, |a, b| graph.link(a, b).gbps),
        census: link_census(graph)
            .into_iter()
            .map(|(class, pairs, gbps)| Pairs {
                link: machine.labels.print(class),
                pairs,
                gbps,
            })
            .collect(),
        discovery: None,
    }
}

/// Each class and bandwidth of links, GB/s, with the number of pairs of devices that have such a link, best first.
#[must_use]
pub fn link_census(graph: &HardwareGraph) -> Vec<(LinkClass, usize, f64)> {
    let mut census = BTreeMap::new();
    for b in graph.wholes().iter() {
        // Whole devices have the lowest ids, so this goes through each pair once.
        for a in (0..b.0).map(DeviceId) {
            let link = graph.link(a, b);
            let (pairs, _) = census
                // As bits a bandwidth can be a key, and positive numbers keep their order.
                .entry((link.class, link.gbps.to_bits()))
                .or_insert((0, link.gbps));
            *pairs += 1;
        }
    }
    let rows = census.into_iter().rev();
    rows.map(|((class, _), (pairs, gbps))| (class, pairs, gbps))
        .collect()
}

/// The number of direct links of a device, and their bandwidth, GB/s. Links to a switch count by the device's port. A device
/// that the machine does not have has none.
#[must_use]
pub fn direct_links(graph: &HardwareGraph, device: DeviceId) -> (u32, f64) {
    let (mut count, mut sum) = (0, 0.0);
    let Some(known) = answer::device(device, graph) else {
        return (count, sum);
    };
    if let Some(port) = known.switch_port {
        return (links_of(port.class), port.gbps);
    }
    for other in graph.wholes().iter() {
        let link = graph.pair(device, other).direct;
        count += links_of(link.class);
        sum += link.gbps;
    }
    (count, sum)
}

/// The number of direct links in a class.
pub(super) fn links_of(class: LinkClass) -> u32 {
    match class {
        LinkClass::Direct(n) => u32::from(n),
        _ => 0,
    }
}

/// The names of a machine's network cards.
#[must_use]
pub fn network_cards(machine: &Machine) -> Vec<&str> {
    let nodes = machine.fabric.nodes();
    nodes
        .filter(|(_, node)| node.kind == NodeKind::Nic)
        .map(|(_, node)| node.name.as_str())
        .collect()
}

/// Every pair of devices, as rows of a matrix.
fn square<T>(graph: &HardwareGraph, cell: impl Fn(DeviceId, DeviceId) -> T) -> Vec<Vec<T>> {
    let wholes = graph.wholes();
    let row = |a| wholes.iter().map(|b| cell(a, b)).collect();
    wholes.iter().map(row).collect()
}

fn device(idle: &Allocator, id: DeviceId) -> Device {
    let graph = idle.graph();
    let device = graph.device(id);
    let (links, gbps) = direct_links(graph, id);
    let model = graph.model(id);
    let layout = idle.view().layout_of(id);
    Device {
        id: id.0,
        name: device.name.clone(),
        index: device.index,
        product: device.product.clone(),
        uuid: device.uuid.clone(),
        pci: device.pci.clone(),
        numa: device.numa,
        memory_bytes: device.memory_bytes,
        direct_links: links,
        direct_gbps: gbps,
        switched: device.switch_port.is_some(),
        mig: model.map(|model| model.name().to_owned()),
        layout: model
            .filter(|_| !layout.is_whole())
            .map(|model| Instance::of_layout(model, &layout)),
    }
}
