//! Upper bounds of the model on sets of devices, so that sets that cannot win are skipped.

use std::sync::Arc;

use super::efficiency::{Efficiency, Part, Use};
use super::operation::Operation;
use crate::score::packing::rounded;
use crate::score::{Objective, Subset};
use crate::topology::{DeviceId, HardwareGraph, HostNetwork};

/// From how many devices behind a link switch on libraries reduce in the switch (NVLS): NCCL 2.27 did
/// so from six B200 on.
pub(super) const IN_SWITCH_FROM: usize = 6;

/// Up to how many devices one level of link switches joins.
pub(super) const IN_RACK_ABOVE: usize = 16;

/// Upper bounds of the model on sets of devices.
pub(super) struct Bounds {
    /// The packing on direct links alone.
    pub(super) inner: Objective<'static>,
    pub(super) operation: Operation,
    pub(super) efficiency: Arc<Efficiency>,
    pub(super) in_switch: bool,
}

impl Bounds {
    /// The largest share of direct links, and of a slot.
    fn direct(&self, graph: &HardwareGraph, nominal: f64, part: Subset<'_>, k: usize) -> f64 {
        let share = |using| {
            let own = self
                .efficiency
                .of(Part::Direct, using, graph.link_generation());
            own.value
        };
        let using = match (self.operation, k) {
            (Operation::AllToAll, _) => Use::Exchange,
            (Operation::SendRecv, _) | (_, 2) => Use::Pair,
            _ => Use::Ring,
        };
        let ports = part
            .devices
            .iter()
            .filter_map(|id| part.graph.device(id).switch_port);
        let port = ports.map(|port| port.gbps).fold(0.0, f64::max);
        let in_switch =
            if self.in_switch && self.operation == Operation::AllReduce && k >= IN_SWITCH_FROM {
                let using = if k > IN_RACK_ABOVE {
                    Use::InRack
                } else {
                    Use::InSwitch
                };
                let own = self
                    .efficiency
                    .own(Part::Direct, using, graph.link_generation());
                own.map(|own| own.value * port * Operation::AllReduce.bytes_on_bus(k))
            } else {
                None
            };
        in_switch.unwrap_or(share(using) * nominal)
    }

    /// Of rings that cross the host, and of exchanges over it.
    pub(super) fn host(&self, part: Subset<'_>) -> f64 {
        let host = HostNetwork::of(part.graph);
        let slots = part.devices.iter().map(|id| host.slot_gbps(id));
        let slot = slots.fold(0.0, f64::max);
        let of = |part, using| self.efficiency.of(part, using, None).value;
        let using = match self.operation {
            Operation::AllToAll => Use::Exchange,
            _ => Use::Ring,
        };
        // Whether any pair reaches the other's memory.
        let open = {
            let devices: Vec<DeviceId> = part.devices.iter().collect();
            (1..devices.len()).any(|i| {
                let on = |&a: &DeviceId| part.graph.peer_access(a, devices[i]).on;
                devices[..i].iter().any(on)
            })
        };
        let joined = part.devices.iter().any(|id| {
            part.devices
                .iter()
                .any(|other| part.graph.pair(id, other).direct.exists())
        });
        let one = if open {
            of(Part::Slot, using)
        } else {
            of(Part::StagedPool, using) / 2.0
        };
        if !joined {
            return rounded(slot * one);
        }
        // With direct links in between, several rings cross, and an exchange leaves the host alone for
        // some pairs.
        let rings = part.devices.len() as f64;
        let crossing = match using {
            Use::Ring => of(Part::Crossing, Use::Ring)
                .max(one)
                .max(of(Part::Staged, Use::Copy)),
            _ => one * rings,
        };
        rounded(slot * crossing.min(one.max(of(Part::Staged, Use::Copy)) * rings))
    }

    pub(super) fn on_set(&self, subset: Subset<'_>) -> f64 {
        let nominal = self.inner.best_on(subset).unwrap_or(f64::INFINITY);
        let direct = self.direct(subset.graph, nominal, subset, subset.devices.len());
        rounded(direct.max(self.host(subset)) * (1.0 + 1e-9))
    }

    pub(super) fn within(&self, part: Subset<'_>, k: usize) -> f64 {
        let nominal = self
            .inner
            .foresight()
            .map_or(f64::INFINITY, |own| (own.within)(part, k));
        let direct = self.direct(part.graph, nominal, part, k);
        rounded(direct.max(self.host(part)) * (1.0 + 1e-9))
    }
}
