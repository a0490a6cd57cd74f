//! Small parts of several answers.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{Census, DeviceId, HardwareGraph, LinkClass, Pattern};
use mapa_topologies::Labels;
use serde::{Deserialize, Serialize};

/// The numbers of links that a job uses, by kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Links {
    /// Pairs of ranks joined by two links or more, or within one device.
    pub double: u32,
    /// Pairs joined by one direct link.
    pub single: u32,
    /// Pairs joined through the host.
    pub pcie: u32,
}

impl Links {
    /// The numbers of a census.
    #[must_use]
    pub fn new(census: &Census) -> Self {
        // Eq. 2's x, y and z.
        let (double, single, pcie) = census.xyz();
        Self {
            double,
            single,
            pcie,
        }
    }
}

/// The devices of a job on one of several servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Server {
    /// The ids of the devices, in rank order.
    pub devices: Vec<u32>,
    /// The environment in which a process on the server sees them and no others, by variable.
    pub environment: BTreeMap<String, String>,
}

/// The links between the devices of a job, as the machine's tools name them, best first: `2 x NV2, 1
/// x PCIe (PHB)`. Each pair of devices that communicates counts once.
#[must_use]
pub fn links_text(
    pattern: &Pattern,
    placement: &[DeviceId],
    graph: &HardwareGraph,
    labels: &Labels,
) -> String {
    // Ranks without a device of this machine have no links.
    let device_of = |rank: u16| {
        let id = placement.get(usize::from(rank)).copied();
        id.filter(|&id| graph.check(id).is_ok())
    };
    let pairs: BTreeSet<(DeviceId, DeviceId)> = pattern
        .edges()
        .iter()
        .filter_map(|edge| Some((device_of(edge.a)?, device_of(edge.b)?)))
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect();
    let mut counts: BTreeMap<LinkClass, usize> = BTreeMap::new();
    let mut off = 0;
    for (a, b) in pairs {
        // Two ranks may share a device, which has a class of its own.
        let mut class = graph.link_of_ranks(a, b).class;
        // Devices that do not reach each other's memory use no direct link between them.
        if class.is_direct() && !graph.peer_access(a, b).on {
            class = graph.pair(a, b).host.class;
            off += 1;
        }
        *counts.entry(class).or_default() += 1;
    }
    let text = |(class, count): (&LinkClass, &usize)| match class {
        LinkClass::SameDevice => format!("{count} x within a device"),
        LinkClass::Network => format!("{count} x network"),
        class if class.is_host() => format!("{count} x PCIe ({})", labels.print(*class)),
        class => format!("{count} x {}", labels.print(*class)),
    };
    // Classes are in order, the best last.
    let parts: Vec<String> = counts.iter().rev().map(text).collect();
    if parts.is_empty() {
        return "none".to_owned();
    }
    let unused = match off {
        0 => "",
        1 => "; a pair's direct links are not used, as P2P is off",
        _ => "; direct links are not used, as P2P is off",
    };
    parts.join(", ") + unused
}
