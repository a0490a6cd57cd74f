//! The paper's Greedy.

use super::rules::Rules;
use crate::optimum::max;
use crate::score::aggregate_gbps;

/// The paper's Greedy: the match with the highest AggBW (Eq. 1). Ties: lowest ids, then smallest
/// rank order.
#[must_use]
pub fn greedy() -> Rules<'static> {
    Rules::new("greedy")
        .prefer(max(aggregate_gbps()))
        .report_paper_scores()
}
