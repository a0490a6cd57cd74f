//! The choice among instances by the PCIe bandwidth that their device shares.

use super::rules::Rules;
use crate::optimum::least;
use crate::score::Seat;

/// The total bandwidth of all copies to and from one GPU over PCIe 4.0 x16, decimal GB/s:
/// `PCIe_max` of Tang et al., section 3.2.
pub const PCIE_GEN4_GBPS: f64 = 30.08;

/// Eq. 2 of Tang et al.: the factor by which shared PCIe bandwidth slows down a job, at least 1.
///
/// - `gbps`: the bandwidth at which the job would copy alone, GB/s; 0 for a job that is not
///   PCIe-bound, whose factor is 1.
/// - `alpha`: the slope of Eq. 1, fitted per job.
/// - `bound`: the number of PCIe-bound jobs on the device, this one included. They get equal shares
///   of `max_gbps`.
/// - `max_gbps`: the total PCIe bandwidth of the device, GB/s.
///
/// The published equation multiplies the job's own demand by the number of jobs, whatever the other
/// demands are. So a light job among heavy ones is slowed down as much as among light ones.
///
/// # Examples
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

/// [`pcie_slowdown`] of the rank on this seat, from its demand for PCIe traffic and the number of
/// PCIe-bound tenants of the whole device.
#[must_use]
pub fn pcie_slowdown_on(seat: &Seat<'_>, alpha: f64, max_gbps: f64) -> f64 {
    let gbps = f64::from(seat.demand.pcie_mb_s) / 1000.0;
    pcie_slowdown(
        gbps,
        alpha,
        seat.usage_of_whole().pcie_tenants + 1,
        max_gbps,
    )
}

/// The instance with the least slowdown of the job by a shared PCIe port (Eq. 2 of Tang et al.), then best fit:
/// the device with the fewest free instances left. The request states the size of the instance;
/// `alpha` belongs to the job. Further rules, such as a threshold of delay or the exclusion of a
/// device that is to be repartitioned, are added with [`Rules::require`].
///
/// Tang et al. place jobs of one instance each. Eq. 2 counts only tenants that are placed already,
/// so the ranks of one job do not count for each other.
///
/// # Examples
/// ```
/// use mapa_core::{PCIE_GEN4_GBPS, least_port_slowdown, pcie_slowdown_on};
///
/// let alpha = 1.07;
/// let patient = least_port_slowdown(alpha, PCIE_GEN4_GBPS)
///     .require("within the delay threshold", move |seat| pcie_slowdown_on(seat, alpha, PCIE_GEN4_GBPS) <= 1.3);
/// # let _ = patient;
/// ```
#[must_use]
pub fn least_port_slowdown(alpha: f64, max_gbps: f64) -> Rules<'static> {
    Rules::new("least-port-slowdown")
        .prefer(
            least("slowdown", move |seat| {
                pcie_slowdown_on(seat, alpha, max_gbps)
            })
            .blind_to_ids(),
        )
        .then(least("free instances left", |seat| seat.free_siblings() as f64).blind_to_ids())
}
