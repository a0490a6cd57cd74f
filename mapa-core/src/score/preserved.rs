//! Preserved bandwidth, Eq. 3 of the paper.

use super::Objective;

/// PreservedBW, GB/s: the sum of the best links between all pairs of devices that stay free, host paths included, as
/// Eq. 3 is printed. High values leave good links to later jobs.
#[must_use]
pub fn preserved_gbps() -> Objective<'static> {
    Objective::rest("preserved_gbps", |rest| rest.graph.bandwidth_within(rest.devices, |_| true))
}

/// PreservedBW as the released code computes it: direct links only.
#[must_use]
pub fn preserved_direct_gbps() -> Objective<'static> {
    Objective::rest("preserved_direct_gbps", |rest| rest.graph.bandwidth_within(rest.devices, |l| l.class.is_direct()))
}
