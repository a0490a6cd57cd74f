//! Upper bounds of the model on sets of devices, so that sets that cannot win are skipped.

use std::sync::Arc;

use super::efficiency::{Efficiency, Part, Use};
use super::operation::Operation;
use super::ways::islands;
use crate::score::packing::rounded;
use crate::score::{DegreeBound, Objective, Subset};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, HostNetwork};

/// From how many devices behind a link switch on libraries reduce in the switch (NVLS): NCCL 2.27 did
/// so from six B200 on.
pub(super) const IN_SWITCH_FROM: usize = 6;

/// Up to how many devices one level of link switches joins.
pub(super) const IN_RACK_ABOVE: usize = 16;

/// Upper bounds of the model on sets of devices.
pub(super) struct ExpectedBounds {
    /// The packing on direct links alone.
    pub(super) inner: Objective<'static>,
    pub(super) operation: Operation,
    pub(super) efficiency: Arc<Efficiency>,
    pub(super) in_switch: bool,
}

impl ExpectedBounds {
    /// The largest share of direct links, and of a slot.
    fn direct(&self, graph: &HardwareGraph, nominal: f64, part: Subset<'_>, k: usize) -> f64 {
        let share = |using| {
            let share = self
                .efficiency
                .of(Part::Direct, using, graph.link_generation());
            share.value
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
                let share = self
                    .efficiency
                    .own(Part::Direct, using, graph.link_generation());
                share.map(|share| share.value * port * Operation::AllReduce.bytes_on_bus(k))
            } else {
                None
            };
        in_switch.unwrap_or(share(using) * nominal)
    }

    /// Of rings that cross the host among exactly these devices, or among sets of them that no component of
    /// direct links holds, and of exchanges over it.
    pub(super) fn host(&self, part: Subset<'_>) -> f64 {
        let k = part.devices.len();
        // As many rings cross as the smallest of several islands has devices.
        let rings = || {
            let islands = islands(part.graph, part.devices);
            let mut sizes: Vec<usize> = islands.iter().map(DeviceSet::len).collect();
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            sizes.get(1).copied().unwrap_or(1)
        };
        self.over_host(part, k, rings)
    }

    /// Of at most so many rings that cross the host among at most k of these devices, and of exchanges over it.
    fn over_host(&self, part: Subset<'_>, k: usize, rings: impl FnOnce() -> usize) -> f64 {
        let host = HostNetwork::of(part.graph);
        if host.all_linked() {
            return 0.0;
        }
        let devices: Vec<DeviceId> = part.devices.iter().collect();
        let slots = devices.iter().map(|&id| host.slot_gbps(id));
        let slot = slots.fold(0.0, f64::max);
        let of = |part, using| self.efficiency.of(part, using, None).value;
        let using = match self.operation {
            Operation::AllToAll => Use::Exchange,
            _ => Use::Ring,
        };
        let (mut open, mut linked, mut all_linked) = (false, false, true);
        for (i, &b) in devices.iter().enumerate() {
            for &a in &devices[..i] {
                let on = part.graph.peer_access(a, b).on;
                let direct = on && part.graph.pair(b, a).direct.exists();
                open |= on;
                linked |= direct;
                all_linked &= direct;
            }
        }
        // Where direct links join every two devices, nothing goes over the host.
        if all_linked {
            return 0.0;
        }
        let one = if open {
            of(Part::Slot, using)
        } else {
            of(Part::StagedPool, using) / 2.0
        };
        if !linked {
            return rounded(slot * one);
        }
        let single = one.max(of(Part::Staged, Use::Copy));
        if using == Use::Exchange {
            // Only some pairs go over the host, one of them at least.
            return rounded(slot * single * (k.max(2) - 1) as f64);
        }
        let rings = rings().min(k / 2).max(1) as f64;
        let crossing = of(Part::Crossing, Use::Ring).max(single);
        rounded(slot * crossing.min(single * rings))
    }

    /// Whether the host cannot carry more than this among k of these devices, by their slots alone:
    /// cheaper than [`host`](Self::host), which counts islands.
    fn is_above_slots(&self, gbps: f64, part: Subset<'_>, k: usize) -> bool {
        let host = HostNetwork::of(part.graph);
        let slots = part.devices.iter().map(|id| host.slot_gbps(id));
        let slot = slots.fold(0.0, f64::max);
        let of = |part, using| self.efficiency.of(part, using, None).value;
        let (using, ways) = match self.operation {
            Operation::AllToAll => (Use::Exchange, k.max(2) - 1),
            _ => (Use::Ring, (k / 2).max(1)),
        };
        let share = of(Part::Slot, using)
            .max(of(Part::StagedPool, using) / 2.0)
            .max(of(Part::Staged, Use::Copy));
        slot * share * ways as f64 <= gbps
    }

    /// A bound among k of these devices by the direct links of any one; none where link switches join the
    /// devices.
    pub(super) fn by_degree(&self, part: Subset<'_>, k: usize) -> Option<DegreeBound> {
        let switched = |id| part.graph.device(id).switch_port.is_some();
        let by_links = !matches!(self.operation, Operation::SendRecv | Operation::AllToAll);
        if !by_links || part.devices.iter().any(switched) {
            return None;
        }
        let host = HostNetwork::of(part.graph);
        let slots = part.devices.iter().map(|id| host.slot_gbps(id));
        let slot = slots.fold(0.0, f64::max);
        let of = |part, using| self.efficiency.of(part, using, None).value;
        let single = of(Part::Slot, Use::Ring)
            .max(of(Part::StagedPool, Use::Ring) / 2.0)
            .max(of(Part::Staged, Use::Copy));
        // As many rings cross the host as the smallest of several islands has devices.
        let crossing = of(Part::Crossing, Use::Ring).max(single);
        let rings = (k / 2).max(1) as f64;
        let is_tree = self.operation == Operation::TreeReduce;
        let as_bus = if is_tree {
            2.0 * (k.max(2) - 1) as f64 / k.max(2) as f64
        } else {
            1.0
        };
        Some(DegreeBound {
            otherwise: rounded(slot * crossing.min(single * rings)),
            share: self.direct(part.graph, 1.0, part, k) * as_bus,
            over_two: k > 2 && !is_tree,
        })
    }

    pub(super) fn on_set(&self, subset: Subset<'_>) -> f64 {
        let nominal = self.inner.best_on(subset).unwrap_or(f64::INFINITY);
        let k = subset.devices.len();
        let direct = self.direct(subset.graph, nominal, subset, k);
        if self.is_above_slots(direct, subset, k) {
            return rounded(direct);
        }
        rounded(direct.max(self.host(subset)))
    }

    pub(super) fn within(&self, part: Subset<'_>, k: usize) -> f64 {
        if k < 2 {
            return 0.0;
        }
        let nominal = self
            .inner
            .foresight()
            .map_or(f64::INFINITY, |foresight| (foresight.within)(part, k));
        let direct = self.direct(part.graph, nominal, part, k);
        // Sets of these devices may fall into islands where all of them do not.
        rounded(direct.max(self.over_host(part, k, || k / 2)))
    }
}
