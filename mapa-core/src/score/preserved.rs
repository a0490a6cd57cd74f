//! Preserved bandwidth, Eq. 3 of the paper.

use std::sync::LazyLock;

use super::{Objective, Subset};
use crate::topology::Link;

/// PreservedBW, GB/s: the sum of the best links between all pairs of devices that stay free, host paths included, as
/// Eq. 3 is printed. High values leave good links to later jobs. Instances of devices that are cut up have no links of their
/// own to preserve and are not counted.
#[must_use]
pub fn preserved_gbps() -> Objective<'static> {
    static PRESERVED: LazyLock<Objective<'static>> =
        LazyLock::new(|| Objective::rest("preserved_gbps", |rest| preserved(rest, |_| true)).blind_to_ids());
    PRESERVED.clone()
}

/// PreservedBW as the released code computes it: direct links only.
#[must_use]
pub fn preserved_direct_gbps() -> Objective<'static> {
    static DIRECT: LazyLock<Objective<'static>> = LazyLock::new(|| {
        Objective::rest("preserved_direct_gbps", |rest| preserved(rest, |link| link.class.is_direct())).blind_to_ids()
    });
    DIRECT.clone()
}

fn preserved(rest: Subset<'_>, count: impl Fn(Link) -> bool) -> f64 {
    if rest.devices.last().is_none_or(|last| last.index() < rest.graph.wholes().len()) {
        return rest.graph.bandwidth_within(rest.devices, count);
    }
    rest.graph.bandwidth_within(&(rest.devices & &rest.graph.wholes()), count)
}
