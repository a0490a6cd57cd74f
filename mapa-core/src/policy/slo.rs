//! Where a latency-bound tenant is disturbed least: the placement score of the SLO controller.

use std::collections::BTreeMap;

use super::criterion::least;
use super::rules::Rules;
use crate::score::Seat;
use crate::topology::{Device, DeviceId};

/// The signals by which the SLO controller penalises a placement, and what counts as much.
///
/// The paper names the three terms and gives neither thresholds nor weights: the defaults are assumed.
#[derive(Clone, Debug, PartialEq)]
pub struct SloSignals {
    /// From how much PCIe traffic on, MB/s, a tenant is heavy (tenants that share an instance are taken together). Default
    /// (assumed): 5,000.
    pub heavy_pcie_mb_s: u64,
    /// Block I/O by NUMA node, MB/s.
    pub block_io_mb_s: BTreeMap<u32, u32>,
    /// From how much block I/O on, MB/s, it is high. Default (assumed): 100, the least throttle of the paper's Table 1.
    pub high_block_io_mb_s: u32,
    /// Interrupts in the last window by NUMA node, on the cores beside its devices.
    pub interrupts: BTreeMap<u32, u32>,
    /// From how many interrupts on they are a burst. Default (assumed): 1.
    pub many_interrupts: u32,
    /// What each of the three costs, in this order. Default (assumed): 1 each.
    pub weights: [f64; 3],
}

impl Default for SloSignals {
    fn default() -> Self {
        Self {
            heavy_pcie_mb_s: 5_000,
            block_io_mb_s: BTreeMap::new(),
            high_block_io_mb_s: 100,
            interrupts: BTreeMap::new(),
            many_interrupts: 1,
            weights: [1.0; 3],
        }
    }
}

impl SloSignals {
    /// The penalty of a seat: its weight for each of a root complex shared with a heavy tenant, a NUMA node with high block
    /// I/O, a recent burst of interrupts there. O(V) for V vertices.
    ///
    /// All three are the same for every instance of a device: a move inside it changes contention for memory and compute
    /// slices, and never leaves its root complex. To leave a heavy neighbour a tenant must change the device.
    #[must_use]
    pub fn penalty(&self, seat: &Seat<'_>) -> f64 {
        let on_node = |by_node: &BTreeMap<u32, u32>, much: u32| {
            seat.device().numa.and_then(|node| by_node.get(&node)).is_some_and(|&value| value >= much)
        };
        let port = seat.device().port;
        let shares_port = |device: &Device| port.is_some() && device.port == port;
        let traffic = (0u32..).map(DeviceId).map(|id| seat.view.usage(id).pcie_mb_s);
        let mut beside = seat.view.graph().devices().iter().zip(traffic).filter(|(device, _)| shares_port(device));
        let terms = [
            beside.any(|(_, mb_s)| mb_s > 0 && mb_s >= self.heavy_pcie_mb_s),
            on_node(&self.block_io_mb_s, self.high_block_io_mb_s),
            on_node(&self.interrupts, self.many_interrupts),
        ];
        terms.iter().zip(self.weights).filter(|(there, _)| **there).map(|(_, weight)| weight).sum()
    }
}

/// The SLO controller's choice of an instance: the least penalty. For a move, decide on the state
/// [without](crate::Allocator::without) the tenant's own lease, or it counts as its own neighbour.
#[must_use]
pub fn slo_aware(signals: SloSignals) -> Rules<'static> {
    Rules::new("slo-aware").prefer(least("penalty", move |seat| signals.penalty(seat)).blind_to_ids())
}
