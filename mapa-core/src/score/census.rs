//! Counting a placement's links by tier.

use crate::pattern::Pattern;
use crate::topology::{DeviceId, HardwareGraph, LinkClass};

/// The most tiers a census tells apart.
pub(crate) const MAX_TIERS: usize = 8;

/// Sorts link classes into the few tiers that a score counts.
#[derive(Clone, Copy, Debug)]
pub struct Tiers {
    /// Their names, best first; at most eight.
    pub names: &'static [&'static str],
    /// The tier of a class. Tiers past the last are counted in the last.
    pub tier: fn(LinkClass) -> usize,
}

impl Tiers {
    /// The paper's three (section 3.4.3): x double NVLinks, y single NVLinks, z PCIe. More than two bonded links count as
    /// double; every host path, and a network, counts as PCIe.
    pub const PAPER: Self = Self {
        names: &["double", "single", "pcie"],
        tier: |class| match class {
            LinkClass::Direct(1) => 1,
            LinkClass::Direct(_) | LinkClass::SameDevice => 0,
            _ => 2,
        },
    };

    /// The tier in which a class is counted.
    pub(crate) fn of(&self, class: LinkClass) -> usize {
        (self.tier)(class).min(self.names.len().clamp(1, MAX_TIERS) - 1)
    }
}

/// How many of a pattern's edges lie on links of each tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Census([u32; MAX_TIERS]);

impl Census {
    /// Counts the edges of `pattern` as `placement` lays them. O(edges).
    ///
    /// # Panics
    /// If the placement is shorter than the pattern, or names a device that the graph has not.
    #[must_use]
    pub fn of(pattern: &Pattern, placement: &[DeviceId], graph: &HardwareGraph, tiers: &Tiers) -> Self {
        let mut census = Self::default();
        for edge in pattern.edges() {
            let link = graph.link_of_ranks(placement[usize::from(edge.a)], placement[usize::from(edge.b)]);
            census.0[tiers.of(link.class)] += 1;
        }
        census
    }

    /// A census by (x, y, z) of [`Tiers::PAPER`].
    #[must_use]
    pub fn from_xyz(x: u32, y: u32, z: u32) -> Self {
        let mut census = Self::default();
        census.0[..3].copy_from_slice(&[x, y, z]);
        census
    }

    pub(crate) fn with(mut self, tier: usize, count: u32) -> Self {
        self.0[tier] = count;
        self
    }

    pub(crate) fn plus(mut self, tier: usize, count: u32) -> Self {
        self.0[tier] += count;
        self
    }

    /// How many lie in the `tier`-th tier; 0 for a tier past the last.
    #[must_use]
    pub fn count(&self, tier: usize) -> u32 {
        self.0.get(tier).copied().unwrap_or(0)
    }

    /// The first three counts: (double, single, PCIe) under [`Tiers::PAPER`].
    #[must_use]
    pub fn xyz(&self) -> (u32, u32, u32) {
        (self.0[0], self.0[1], self.0[2])
    }
}
