//! The paper's Baseline: what container runtimes do by default.

use super::criterion::{lowest_ids, max};
use super::rules::Rules;
use crate::score::aggregate_gbps;

/// The free devices with the lowest ids that can hold the pattern; among rank orders over them, the one of highest AggBW,
/// as the released code has it; then the smallest rank order.
#[must_use]
pub fn lowest_id() -> Rules<'static> {
    Rules::new("lowest-id").prefer(lowest_ids()).then(max(aggregate_gbps())).report_paper_scores()
}
