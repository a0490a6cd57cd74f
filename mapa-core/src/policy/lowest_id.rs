//! The paper's Baseline: what container runtimes do by default.

use super::rules::Rules;
use crate::optimum::{lowest_ids, max};
use crate::score::aggregate_gbps;

/// The paper's Baseline: the free devices with the lowest ids on which the pattern fits. Of the
/// rank orders on them, the one with the highest AggBW is taken, as in the released code; then the
/// smallest rank order.
#[must_use]
pub fn lowest_id() -> Rules<'static> {
    Rules::new("lowest-id")
        .prefer(lowest_ids())
        .then(max(aggregate_gbps()))
        .report_paper_scores()
}
