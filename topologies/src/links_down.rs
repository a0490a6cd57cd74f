//! Links that a device has and that are not up: the device carries less than others of its product.

use std::collections::BTreeMap;

use mapa_core::{DeviceId, DeviceInfo, FabricWire, Link, LinkClass, LinksUp, NodeId, NodeKind};

use crate::error::Error;
use crate::machine::{Machine, Warning};
use crate::products;

/// A direct link as a list of a device's links has it.
pub(crate) struct ListedLink {
    pub(crate) device: DeviceId,
    /// Its number on the device.
    pub(crate) number: u32,
    pub(crate) is_up: bool,
}

/// Warns of devices with fewer direct links than they have: of those that a list of links reports down, and of bridged
/// products and devices at a link switch by the number of their product's links. On other boards some links go nowhere.
///
/// A device at a link switch has no more links there than are up, whatever a matrix counts.
///
/// # Errors
/// None in practice: every device is one of this machine's.
///
/// # Complexity
/// O(n (n + w + p)) for n devices, w wires and p listed links.
pub(crate) fn note_links_down(machine: &mut Machine, listed: &[ListedLink]) -> Result<(), Error> {
    let devices: Vec<(NodeId, String, DeviceInfo)> = machine
        .fabric
        .nodes()
        .filter_map(|(id, node)| match &node.kind {
            NodeKind::Device(info) => Some((id, node.name.clone(), info.clone())),
            _ => None,
        })
        .collect();
    // The number of listed links of each device that are up, and of all.
    let counts: Vec<(u32, u32)> = (0..devices.len() as u32)
        .map(|at| {
            // A link may be listed more than once: with its rate, and with its counters.
            let mut states: BTreeMap<u32, bool> = BTreeMap::new();
            for link in listed.iter().filter(|link| link.device == DeviceId(at)) {
                *states.entry(link.number).or_insert(true) &= link.is_up;
            }
            let up = states.values().filter(|up| **up).count();
            (up as u32, states.len() as u32)
        })
        .collect();
    // A board, or a part of a machine, that uses fewer links than its devices have is no fault of one of them.
    let are_alike = devices.len() > 1 && counts.windows(2).all(|pair| pair[0] == pair[1]);
    for ((id, name, info), &(up, all)) in devices.iter().zip(&counts) {
        if up > 0 {
            machine.fabric.limit_switch_links(*id, up)?;
        }
        let links = Wired::of(machine, *id, |other| {
            devices.iter().any(|(id, ..)| *id == other)
        });
        let product = info.product.as_deref().and_then(products::links);
        let whole = product
            .filter(|product| product.is_bridged || links.to_switch > 0)
            .and_then(|product| product.count)
            .map(u32::from);
        let told = (all > up && up > 0)
            .then_some((up, all))
            .filter(|_| !are_alike || whole.is_some_and(|whole| up < whole));
        let found = told.or_else(|| {
            let wired = links.to_devices + links.to_switch;
            whole
                .filter(|&whole| 0 < wired && wired < whole)
                .map(|whole| (wired, whole))
        });
        if let Some((up, all)) = found {
            let what = format!("{name}: {up} of {all} direct links are up");
            machine.warnings.push(Warning { line: None, what });
            machine.fabric.set_links_up(*id, LinksUp { up, all })?;
        }
    }
    Ok(())
}

/// The number of direct links of a device.
#[derive(Default)]
struct Wired {
    to_devices: u32,
    to_switch: u32,
}

impl Wired {
    fn of(machine: &Machine, device: NodeId, is_device: impl Fn(NodeId) -> bool) -> Self {
        let mut found = Self::default();
        for (a, b, wire) in machine.fabric.wires() {
            let FabricWire::Link(Link {
                class: LinkClass::Direct(count),
                ..
            }) = wire
            else {
                continue;
            };
            let other = match device {
                _ if a == device => b,
                _ if b == device => a,
                _ => continue,
            };
            if is_device(other) {
                found.to_devices += u32::from(count);
            } else {
                found.to_switch += u32::from(count);
            }
        }
        found
    }
}
