//! The placement score of the SLO controller: where a latency-bound tenant is disturbed least.

use std::collections::BTreeMap;

use super::rules::Rules;
use crate::optimum::least;
use crate::score::Seat;
use crate::topology::{Device, DeviceId};

/// The signals by which the SLO controller penalises a placement, with their thresholds and
/// weights.
///
/// The paper names the three terms and gives neither thresholds nor weights: the defaults are
/// assumed.
#[derive(Clone, Debug, PartialEq)]
pub struct SloSignals {
    /// The PCIe traffic from which on a tenant is heavy, MB/s. Tenants that share an instance count
    /// as one. Default (assumed): 5,000.
    pub heavy_pcie_mb_s: u64,
    /// Block I/O by NUMA node, MB/s.
    pub block_io_mb_s: BTreeMap<u32, u32>,
    /// The block I/O from which on it is high, MB/s. Default (assumed): 100, the least throttle of
    /// the paper's Table 1.
    pub high_block_io_mb_s: u32,
    /// By NUMA node, the interrupts in the last window on the cores beside its devices.
    pub interrupts: BTreeMap<u32, u32>,
    /// The number of interrupts from which on they are a burst. Default (assumed): 1.
    pub many_interrupts: u32,
    /// The penalties of a heavy neighbour, of high block I/O and of a burst of interrupts, in this
    /// order. Default (assumed): 1 each.
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
    /// The penalty of a seat: the sum of the weights of those conditions that hold. The conditions
    /// are a root complex shared with a heavy tenant, a NUMA node with high block I/O, and a recent
    /// burst of interrupts on that node.
    ///
    /// The penalty is the same for every instance of a device. A move to another instance of the
    /// device changes the contention for memory and compute slices, but not the root complex. To
    /// get away from a heavy neighbour, a tenant must move to another device.
    ///
    /// # Complexity
    /// O(V) for V vertices of the machine.
    #[must_use]
    pub fn penalty(&self, seat: &Seat<'_>) -> f64 {
        let on_node = |by_node: &BTreeMap<u32, u32>, much: u32| {
            seat.device()
                .numa
                .and_then(|node| by_node.get(&node))
                .is_some_and(|&value| value >= much)
        };
        let port = seat.device().port;
        let shares_port = |device: &Device| port.is_some() && device.port == port;
        let traffic = (0u32..)
            .map(DeviceId)
            .map(|id| seat.view.usage(id).pcie_mb_s);
        let mut beside = seat
            .view
            .graph()
            .devices()
            .iter()
            .zip(traffic)
            .filter(|(device, _)| shares_port(device));
        let terms = [
            beside.any(|(_, mb_s)| mb_s > 0 && mb_s >= self.heavy_pcie_mb_s),
            on_node(&self.block_io_mb_s, self.high_block_io_mb_s),
            on_node(&self.interrupts, self.many_interrupts),
        ];
        terms
            .iter()
            .zip(self.weights)
            .filter(|(there, _)| **there)
            .map(|(_, weight)| weight)
            .sum()
    }
}

/// The SLO controller's choice of an instance: the one with the least penalty. For a move, decide
/// on the state [without](crate::Allocator::without) the tenant's own lease. Otherwise the tenant
/// counts as its own neighbour.
#[must_use]
pub fn slo_aware(signals: SloSignals) -> Rules<'static> {
    Rules::new("slo-aware")
        .prefer(least("penalty", move |seat| signals.penalty(seat)).blind_to_ids())
}
