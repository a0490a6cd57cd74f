//! What a machine's products tell of its links: the speed of PCIe slots, the generation of direct
//! links, and whether devices reach each other's memory.

use mapa_core::{
    DeviceInfo, FabricWire, Link, LinkClass, NodeId, NodeKind, PeerAccess, PeerSource,
};

use crate::error::Error;
use crate::links::{is_without_peers, link_generation, pcie_of, slot_of_product};
use crate::machine::Machine;

/// Completes what is known of a machine's links by the names of its products. Facts that are known
/// already stay.
///
/// - The slot of a device: the speed of its hop into the host, if that is the speed of a PCIe link.
///   A link of PCIe 1 to a newer product idles, so the product's generation counts, at the same
///   number of lanes. Else what the product's slot has. Else nothing is known.
/// - The generation of direct links, as [`collective_rates`](crate::collective_rates) finds it.
/// - Products that do not reach each other's memory over PCIe (GeForce since the 30 series) are
///   guessed not to.
///
/// # Errors
/// None in practice: every device is one of this machine's.
///
/// # Complexity
/// O(n²) for n devices.
pub fn know_links(machine: &mut Machine) -> Result<(), Error> {
    let devices: Vec<(NodeId, DeviceInfo)> = machine
        .fabric
        .nodes()
        .filter_map(|(id, node)| match &node.kind {
            NodeKind::Device(info) => Some((id, info.clone())),
            _ => None,
        })
        .collect();
    let mut idle = false;
    for (id, info) in &devices {
        if machine.fabric.slot_gbps(*id).is_some() {
            continue;
        }
        let own = info.product.as_deref().and_then(slot_of_product);
        let own = own.or_else(|| slot_of_product(&machine.title));
        let told = hop(machine, *id).and_then(pcie_of);
        let slot = match (told, own) {
            (Some((rate, lanes)), Some((newer, _))) if rate < 3.0 && newer >= 8.0 => {
                idle = true;
                crate::links::pcie_gbps(newer, lanes)
            }
            (Some((rate, lanes)), _) | (None, Some((rate, lanes))) => {
                crate::links::pcie_gbps(rate, lanes)
            }
            (None, None) => None,
        };
        // A way into the host that is no PCIe link and much faster than the product's slot: direct
        // links to the CPU.
        let wider = |gbps: &f64| slot.is_none_or(|slot| *gbps > 1.5 * slot);
        let to_cpu =
            hop(machine, *id).filter(|gbps| told.is_none() && own.is_some() && wider(gbps));
        let slot = to_cpu.or(slot);
        // Bandwidths that are written with few digits stay as they are written.
        let written = hop(machine, *id)
            .filter(|gbps| slot.is_some_and(|slot: f64| (slot / gbps - 1.0).abs() < 0.002));
        if let Some(slot) = written.or(slot) {
            machine.fabric.set_slot_gbps(*id, slot)?;
        }
    }
    if idle {
        note(
            machine,
            "PCIe links at the speed of PCIe 1 idle: slots count at the generation of the product.",
        );
    }
    let generation = link_generation(machine).map(str::to_owned);
    machine.fabric.set_link_generation(generation.as_deref());
    guess_peers(machine, &devices)
}

/// The bandwidth of a device's hop into the host, else of its fastest path through the host.
fn hop(machine: &Machine, device: NodeId) -> Option<f64> {
    let wires = || machine.fabric.wires();
    let up = wires().find_map(|(child, _, wire)| match wire {
        FabricWire::Up { gbps } if child == device => Some(gbps),
        _ => None,
    });
    up.or_else(|| {
        let paths = wires().filter_map(|(a, b, wire)| match wire {
            FabricWire::Link(Link { class, gbps })
                if class.is_host() && (a == device || b == device) =>
            {
                Some(gbps)
            }
            _ => None,
        });
        paths.reduce(f64::max)
    })
}

/// Guesses from products which pairs without direct links do not reach each other's memory.
fn guess_peers(machine: &mut Machine, devices: &[(NodeId, DeviceInfo)]) -> Result<(), Error> {
    let without = |info: &DeviceInfo| info.product.as_deref().is_some_and(is_without_peers);
    if !devices.iter().any(|(_, info)| without(info))
        || machine.fabric.peer_access_elsewhere().source == PeerSource::Told
    {
        return Ok(());
    }
    let linked: Vec<(NodeId, NodeId)> = machine
        .fabric
        .wires()
        .filter_map(|(a, b, wire)| match wire {
            FabricWire::Link(Link {
                class: LinkClass::Direct(_),
                ..
            }) => Some((a.min(b), a.max(b))),
            _ => None,
        })
        .collect();
    let off = PeerAccess {
        on: false,
        source: PeerSource::Guessed,
    };
    for (at, (b, y)) in devices.iter().enumerate() {
        for (a, x) in &devices[..at] {
            if (without(x) || without(y)) && !linked.contains(&(*a.min(b), *a.max(b))) {
                machine.fabric.set_peer_access(*a, *b, off)?;
            }
        }
    }
    Ok(())
}

/// Adds a note, once.
fn note(machine: &mut Machine, what: &str) {
    if machine.notes.iter().all(|own| !own.ends_with(what)) {
        machine.notes.push(what.to_owned());
    }
}
