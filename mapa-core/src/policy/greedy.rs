//! The paper's Greedy.

use super::criterion::max;
use super::rules::Rules;
use crate::score::aggregate_gbps;

/// The match of highest AggBW (Eq. 1); on a tie the lowest ids, then the smallest rank order.
#[must_use]
pub fn greedy() -> Rules<'static> {
    Rules::new("greedy").prefer(max(aggregate_gbps())).report_paper_scores()
}
