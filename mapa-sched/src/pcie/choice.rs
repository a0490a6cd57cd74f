//! Which GPU: stage 3.

use std::cmp::Ordering;

use mapa_core::mig::Size;
use mapa_core::{DeviceId, Rules, pcie_aware, pcie_slowdown};

use super::gpus::{Gpus, Offer};

/// How a GPU is chosen among those with a free instance of the size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Choice {
    /// The paper's: the least slowdown (Eq. 2), then best fit.
    LeastSlowdown,
    /// Its baseline: the first by id.
    FirstGpu,
}

/// A job, as far as a choice depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chooser {
    pub(super) choice: Choice,
    pub(super) gbps: f64,
    pub(super) alpha: f64,
    pub(super) max_gbps: f64,
}

impl Chooser {
    /// Eq. 2 for the job there.
    pub(super) fn slowdown(&self, offer: &Offer) -> f64 {
        pcie_slowdown(self.gbps, self.alpha, offer.pcie_bound + 1, self.max_gbps)
    }

    /// The better of two offers is less, as [`policy`](Self::policy) has it.
    pub(super) fn compare(&self, a: &Offer, b: &Offer) -> Ordering {
        let by_slowdown = || self.slowdown(a).total_cmp(&self.slowdown(b)).then(a.left.cmp(&b.left));
        let by_rule = match self.choice {
            Choice::LeastSlowdown => by_slowdown(),
            Choice::FirstGpu => Ordering::Equal,
        };
        by_rule.then(a.gpu.cmp(&b.gpu))
    }

    /// The best offer of unmarked GPUs. O(different numbers of tenants and of free instances).
    pub(super) fn best(&self, gpus: &Gpus, size: Size) -> Option<Offer> {
        gpus.offers(size).min_by(|a, b| self.compare(a, b))
    }

    /// The choice as a policy, which keeps off these devices of the machine.
    pub(super) fn policy(&self, barred: Vec<DeviceId>) -> Rules<'static> {
        let rules = match self.choice {
            Choice::LeastSlowdown => pcie_aware(self.alpha, self.max_gbps),
            Choice::FirstGpu => Rules::new("first-gpu"),
        };
        if barred.is_empty() {
            return rules;
        }
        rules.require("a GPU that is not kept free to be cut up anew", move |seat| !barred.contains(&seat.whole()))
    }
}
