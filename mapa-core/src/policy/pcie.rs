//! The PCIe-bandwidth-aware choice among instances: Tang et al., sections 3.2 and 3.3.

use super::criterion::least;
use super::rules::Rules;
use crate::score::Seat;

/// What the copies of one GPU get in all over PCIe 4.0 x16, decimal GB/s: `PCIe_max` of Tang et al., section 3.2.
pub const PCIE_GEN4_GBPS: f64 = 30.08;

/// Eq. 2 of Tang et al.: by what factor a job is slowed down that would copy `gbps` GB/s alone, on a device where `bound`
/// PCIe-bound jobs, itself among them, get equal shares of `max_gbps`. `alpha` is the slope of Eq. 1, fitted per job. At
/// least 1; 1 for a job that is not PCIe-bound.
///
/// As published it counts the job's own demand times the number of jobs, whatever the others' demands: a light job among
/// heavy ones is slowed down as among light ones.
///
/// ```
/// use mapa_core::{PCIE_GEN4_GBPS, pcie_slowdown};
///
/// let bloom_560m = |bound| pcie_slowdown(5.7, 1.25, bound, PCIE_GEN4_GBPS);
/// assert_eq!(bloom_560m(4), 1.0);
/// assert!((bloom_560m(7) - 1.658).abs() < 5e-4);
/// ```
#[must_use]
pub fn pcie_slowdown(gbps: f64, alpha: f64, bound: u32, max_gbps: f64) -> f64 {
    // `max` passes over NaN.
    (alpha * gbps * f64::from(bound) / max_gbps).max(1.0)
}

/// [`pcie_slowdown`] of the rank on this seat, with its demand for PCIe traffic and the PCIe-bound tenants of the whole
/// device.
#[must_use]
pub fn pcie_slowdown_on(seat: &Seat<'_>, alpha: f64, max_gbps: f64) -> f64 {
    let gbps = f64::from(seat.demand.pcie_mb_s) / 1000.0;
    pcie_slowdown(gbps, alpha, seat.usage_of_whole().pcie_tenants + 1, max_gbps)
}

/// Tang et al., stage 3: the instance on which the job is slowed down least (Eq. 2), then best fit: on the device with
/// fewest free instances left. The wanted size is the request's; `alpha` is the job's. More rules (a threshold of delay, a
/// device marked for a re-partition) are added to it with [`Rules::require`].
///
/// Tang et al. place jobs of one instance each, and Eq. 2 counts tenants that are there: of a job of several ranks it does
/// not count the ranks beside each other.
///
/// ```
/// use mapa_core::{PCIE_GEN4_GBPS, pcie_aware, pcie_slowdown_on};
///
/// let alpha = 1.07;
/// let patient = pcie_aware(alpha, PCIE_GEN4_GBPS)
///     .require("within the delay threshold", move |seat| pcie_slowdown_on(seat, alpha, PCIE_GEN4_GBPS) <= 1.3);
/// # let _ = patient;
/// ```
#[must_use]
pub fn pcie_aware(alpha: f64, max_gbps: f64) -> Rules<'static> {
    Rules::new("pcie-aware")
        .prefer(least("slowdown", move |seat| pcie_slowdown_on(seat, alpha, max_gbps)).blind_to_ids())
        .then(least("free instances left", |seat| seat.free_siblings() as f64).blind_to_ids())
}
