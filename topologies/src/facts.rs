//! What a machine's products tell of its links: the speed of PCIe slots, the generation of direct
//! links, and whether devices reach each other's memory.

use std::cell::RefCell;
use std::collections::BTreeMap;

use mapa_core::{
    DeviceInfo, FabricWire, Link, LinkClass, NodeId, NodeKind, PeerAccess, PeerSource,
};

use crate::error::Error;
use crate::link_generation::link_generation;
use crate::links::{pcie_gbps, pcie_of, pcie_rate};
use crate::machine::{Machine, Warning};
use crate::products;

/// Completes what is known of a machine's links by the names of its products. Facts that are known
/// already stay.
///
/// - The slot of a device: the speed of its own way into the host
///   ([`own_ways`](mapa_core::Fabric::own_ways)), if that is the speed of a PCIe link. A link of
///   PCIe 1 to a newer product idles, so the product's generation counts, at the same number of
///   lanes. A link of PCIe 1 or 2 to a product that is not known tells nothing; a warning says so.
///   Else what the product's slot has. Else nothing is known.
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
    let mut idle = Idle::default();
    let slots = Slots::new(machine);
    let mut found = Vec::new();
    for (id, info) in &devices {
        if machine.fabric.slot_gbps(*id).is_some() {
            continue;
        }
        found.extend(slots.of(*id, info, &mut idle).map(|gbps| (*id, gbps)));
    }
    for (id, gbps) in found {
        machine.fabric.set_slot_gbps(id, gbps)?;
    }
    if idle.of_product {
        note(
            machine,
            "PCIe links at the speed of PCIe 1 idle: slots count at the generation of the product.",
        );
    }
    if let Some(gbps) = idle.unknown {
        let what = format!(
            "a PCIe link at {gbps:.1} GB/s, the speed of PCIe 1 or 2, and no product: such links mostly idle, so the speed of the slot is not \
             known; expected --pcie-gbps, or a dump that names the products"
        );
        if machine.warnings.iter().all(|warning| warning.what != what) {
            machine.warnings.push(Warning { line: None, what });
        }
    }
    let generation = link_generation(machine).map(str::to_owned);
    machine.fabric.set_link_generation(generation.as_deref());
    guess_peers(machine, &devices)
}

/// Links that run at less than their generation.
#[derive(Default)]
struct Idle {
    /// Of a product whose generation is known.
    of_product: bool,
    /// Of a product that is not known, GB/s.
    unknown: Option<f64>,
}

/// What the links of a machine, and its products, tell of slots.
pub(crate) struct Slots<'m> {
    machine: &'m Machine,
    /// The bandwidth of each device's own way into the host, else of its fastest path.
    hops: BTreeMap<NodeId, f64>,
    /// By name, the rate and the lanes of a product's slot. The devices of a machine mostly have one name, and to look one
    /// up compares it with all products.
    of_names: RefCell<BTreeMap<String, Option<(f64, u32)>>>,
}

impl<'m> Slots<'m> {
    pub(crate) fn new(machine: &'m Machine) -> Self {
        let mut hops = BTreeMap::new();
        for (a, b, wire) in machine.fabric.wires() {
            if let FabricWire::Link(Link { class, gbps }) = wire
                && class.is_host()
            {
                for end in [a, b] {
                    let own: &mut f64 = hops.entry(end).or_insert(gbps);
                    *own = own.max(gbps);
                }
            }
        }
        hops.extend(machine.fabric.own_ways());
        Self {
            machine,
            hops,
            of_names: RefCell::default(),
        }
    }

    /// What is found for a device without a statement about its slot, GB/s.
    pub(crate) fn found(&self, id: NodeId, info: &DeviceInfo) -> Option<f64> {
        self.of(id, info, &mut Idle::default())
    }

    fn of(&self, id: NodeId, info: &DeviceInfo, idle: &mut Idle) -> Option<f64> {
        let own = info.product.as_deref();
        let own = own.and_then(|name| self.of_name(name));
        let own = own.or_else(|| self.of_name(self.machine.own_title()));
        let hop = self.hops.get(&id).copied();
        let told = hop.and_then(pcie_of);
        let slot = match (told, own) {
            (Some((rate, lanes)), Some((newer, _))) if rate < 3.0 && newer >= 8.0 => {
                idle.of_product = true;
                pcie_gbps(newer, lanes)
            }
            // No GPU of today has so slow a slot.
            (Some((rate, _)), None) if rate < 6.0 => {
                idle.unknown = hop;
                None
            }
            (Some((rate, lanes)), _) | (None, Some((rate, lanes))) => pcie_gbps(rate, lanes),
            (None, None) => None,
        };
        // A way into the host that is no PCIe link and much faster than the product's slot: direct
        // links to the CPU.
        let wider = |gbps: &f64| slot.is_none_or(|slot| *gbps > 1.5 * slot);
        let to_cpu = hop.filter(|gbps| told.is_none() && own.is_some() && wider(gbps));
        let slot = to_cpu.or(slot);
        // Bandwidths that are written with few digits stay as they are written.
        let near = |hop: &f64| slot.is_some_and(|slot: f64| (slot / hop - 1.0).abs() < 0.002);
        hop.filter(near).or(slot)
    }

    /// The rate (GT/s) and the lanes of the slot of the product that a text names.
    fn of_name(&self, text: &str) -> Option<(f64, u32)> {
        if let Some(&known) = self.of_names.borrow().get(text) {
            return known;
        }
        let slot =
            products::pcie(text).and_then(|slot| Some((pcie_rate(slot.generation)?, slot.lanes)));
        self.of_names.borrow_mut().insert(text.to_owned(), slot);
        slot
    }
}

/// Guesses from products which pairs without direct links do not reach each other's memory.
fn guess_peers(machine: &mut Machine, devices: &[(NodeId, DeviceInfo)]) -> Result<(), Error> {
    let is_without = |(_, info): &(NodeId, DeviceInfo)| {
        let product = info.product.as_deref().and_then(products::product);
        product.is_some_and(|product| product.peers == Some(false))
    };
    // Each name is looked up once, not once for each pair.
    let without: Vec<bool> = devices.iter().map(is_without).collect();
    if !without.contains(&true) || machine.fabric.peer_access_elsewhere().source == PeerSource::Told
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
    for (at, (b, _)) in devices.iter().enumerate() {
        for (other, (a, _)) in devices[..at].iter().enumerate() {
            if (without[other] || without[at]) && !linked.contains(&(*a.min(b), *a.max(b))) {
                machine.fabric.set_peer_access(*a, *b, off)?;
            }
        }
    }
    Ok(())
}

/// Adds a note, once.
fn note(machine: &mut Machine, what: &str) {
    if machine.notes.iter().all(|note| !note.ends_with(what)) {
        machine.notes.push(what.to_owned());
    }
}
