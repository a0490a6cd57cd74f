//! The choice among instances of Tang et al., as a placement policy.

use mapa_core::{BuiltIn, PCIE_GEN4_GBPS, Rules, least_port_slowdown};

/// The policies of this system.
pub const POLICIES: [BuiltIn; 1] = [BuiltIn::instances(
    "pcie-aware",
    "the least slowdown by shared PCIe (Tang et al., Eq. 2, alpha 1, 30.08 GB/s), then best fit",
    || Box::new(pcie_aware(1.0, PCIE_GEN4_GBPS)),
)];

/// The choice of Tang et al., stage 3 (sections 3.2 and 3.3): [`least_port_slowdown`] under the name of
/// the paper. `alpha` is the slope of Eq. 1, fitted per job; `max_gbps` the total PCIe bandwidth of a
/// GPU, GB/s.
#[must_use]
pub fn pcie_aware(alpha: f64, max_gbps: f64) -> Rules<'static> {
    least_port_slowdown(alpha, max_gbps).named("pcie-aware")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_carries_its_name() {
        for row in POLICIES {
            assert_eq!(row.policy().name(), row.name);
        }
    }
}
