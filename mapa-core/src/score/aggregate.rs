//! Aggregated bandwidth, Eq. 1 of the paper.

use std::sync::LazyLock;

use super::Objective;
use crate::topology::LinkClass;

/// AggBW, GB/s: the sum over the pattern's edges of the best link between the two devices (Eq. 1;
/// traffic weights do not enter). A ring of two has two edges, both over the one link, and counts
/// it twice, as the published figures do.
///
/// AggBW is the paper's criterion for `greedy`. It correlates poorly with run time (Fig. 11),
/// because it adds up links that a collective uses one after another.
#[must_use]
pub fn aggregate_gbps() -> Objective<'static> {
    // Made once, so that tables made for it are found again.
    static AGGREGATE: LazyLock<Objective<'static>> =
        LazyLock::new(|| Objective::edges("aggregate_gbps", |edge| edge.link.gbps));
    AGGREGATE.clone()
}

/// The number of the pattern's edges that lie on no direct link but on a path through the host or a
/// network, or on no link at all.
#[must_use]
pub fn host_hops() -> Objective<'static> {
    static HOPS: LazyLock<Objective<'static>> = LazyLock::new(|| {
        Objective::edges("host_hops", |edge| {
            f64::from(u8::from(edge.link.class < LinkClass::SameDevice))
        })
    });
    HOPS.clone()
}
