//! The choice of a GPU: stage 3.

use std::cmp::Ordering;

use mapa_core::mig::Size;
use mapa_core::{DeviceId, Rules, pcie_slowdown};

use super::gpus::{GpuOffer, GpuTables};
use crate::policies::pcie_aware;

/// How a GPU is chosen among those with a free instance of the size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum GpuChoice {
    /// The paper's: the least slowdown (Eq. 2), then best fit.
    LeastSlowdown,
    /// Its baseline: the first by id.
    FirstGpu,
}

/// The properties of a job on which the choice depends.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChoosingJob {
    pub(super) choice: GpuChoice,
    pub(super) gbps: f64,
    pub(super) alpha: f64,
    pub(super) max_gbps: f64,
}

impl ChoosingJob {
    /// The slowdown of the job on a candidate, by Eq. 2.
    pub(super) fn slowdown(&self, offer: &GpuOffer) -> f64 {
        pcie_slowdown(self.gbps, self.alpha, offer.pcie_bound + 1, self.max_gbps)
    }

    /// Compares two candidates by the rules of [`policy`](Self::policy): the better one is less.
    pub(super) fn compare(&self, a: &GpuOffer, b: &GpuOffer) -> Ordering {
        let by_slowdown = || {
            self.slowdown(a)
                .total_cmp(&self.slowdown(b))
                .then(a.left.cmp(&b.left))
        };
        let by_rule = match self.choice {
            GpuChoice::LeastSlowdown => by_slowdown(),
            GpuChoice::FirstGpu => Ordering::Equal,
        };
        by_rule.then(a.gpu.cmp(&b.gpu))
    }

    /// The best candidate among unmarked GPUs. O(k) for k different pairs of numbers of tenants and
    /// of free instances.
    pub(super) fn best(&self, gpus: &GpuTables, size: Size) -> Option<GpuOffer> {
        gpus.offers(size).min_by(|a, b| self.compare(a, b))
    }

    /// The choice as a policy. It does not use the `barred` devices of the machine.
    pub(super) fn policy(&self, barred: Vec<DeviceId>) -> Rules<'static> {
        let rules = match self.choice {
            GpuChoice::LeastSlowdown => pcie_aware(self.alpha, self.max_gbps),
            GpuChoice::FirstGpu => Rules::new("first-gpu"),
        };
        if barred.is_empty() {
            return rules;
        }
        rules.require(
            "a GPU that is not kept free for a repartition",
            move |seat| !barred.contains(&seat.whole()),
        )
    }
}
