//! Preserved bandwidth, Eq. 3 of the paper.

use std::sync::LazyLock;

use super::Objective;

/// PreservedBW, GB/s: the sum of the best links between all pairs of devices that stay free, host
/// paths included, as Eq. 3 is printed. High values leave good links to later jobs.
/// Instances of partitioned devices have no links of their own to preserve and are not counted.
#[must_use]
pub fn preserved_gbps() -> Objective<'static> {
    static PRESERVED: LazyLock<Objective<'static>> =
        LazyLock::new(|| Objective::links_left("preserved_gbps", |link| link.gbps).blind_to_ids());
    PRESERVED.clone()
}

/// PreservedBW as the released code computes it: direct links only.
#[must_use]
pub fn preserved_direct_gbps() -> Objective<'static> {
    static DIRECT: LazyLock<Objective<'static>> = LazyLock::new(|| {
        Objective::links_left("preserved_direct_gbps", |link| {
            if link.class.is_direct() {
                link.gbps
            } else {
                0.0
            }
        })
        .blind_to_ids()
    });
    DIRECT.clone()
}
