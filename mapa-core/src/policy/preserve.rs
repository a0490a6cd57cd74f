//! The paper's Preserve, Algorithm 1.

use super::Policy;
use super::criterion::{max, min};
use super::request::Request;
use super::rules::Rules;
use super::when::when;
use crate::score::{
    Census, Coefficients, Form, Objective, aggregate_gbps, effective_gbps, host_hops, preserved_direct_gbps,
    preserved_gbps,
};

/// Bandwidth-sensitive jobs get the match of highest EffBW (Eq. 2), others the one of highest PreservedBW (Eq. 3) and,
/// among those, highest AggBW. Ties: lowest ids, then smallest rank order.
///
/// A job on one device has no link to be sensitive to and counts as insensitive, as in the released code (Algorithm 1 as
/// printed would take any device for it).
#[must_use]
pub fn preserve() -> impl Policy + Clone {
    preserve_with(effective_gbps(), preserved_gbps())
}

/// Algorithm 1 with other models of effective and preserved bandwidth. Where the effective one is of the set of devices
/// ([`RingPacking`](crate::RingPacking)), rank orders with the fewest hops through the host are taken, then those of highest AggBW.
///
/// ```
/// use mapa_core::{Coefficients, effective_gbps_with, preserve_with, preserved_gbps};
///
/// // With the coefficients as Table 2 prints them.
/// let printed = effective_gbps_with("effective_printed_gbps", Coefficients::PRINTED);
/// let policy = preserve_with(printed, preserved_gbps());
/// # let _ = policy;
/// ```
#[must_use]
pub fn preserve_with(effective: Objective<'static>, preserved: Objective<'static>) -> impl Policy + Clone {
    let of_set = matches!(effective.form(), Form::Chosen(_));
    let sensitive = Rules::new("preserve").prefer(max(effective));
    // A model of sets leaves the rank order open.
    let sensitive = if of_set { sensitive.then(min(host_hops())).then(max(aggregate_gbps())) } else { sensitive };
    let insensitive = Rules::new("preserve").prefer(max(preserved)).then(max(aggregate_gbps()));
    when("preserve", is_sensitive, sensitive.report_paper_scores(), insensitive.report_paper_scores())
}

/// Preserve as the released code runs it: PreservedBW over direct links only, and for sensitive jobs only matches whose
/// predicted EffBW is above 12.335 GB/s, the value of Eq. 2 at (0, 0, 0), from which its search for a maximum starts. So
/// two GPUs over PCIe (10.37) never get a sensitive job, which waits instead.
#[must_use]
pub fn preserve_released() -> impl Policy + Clone {
    let start = Coefficients::FULL.predict(&Census::default());
    let sensitive = Rules::new("preserve-released")
        .require_score(effective_gbps(), move |gbps| gbps > start)
        .prefer(max(effective_gbps()));
    let insensitive = Rules::new("preserve-released").prefer(max(preserved_direct_gbps())).then(max(aggregate_gbps()));
    when("preserve-released", is_sensitive, sensitive.report_paper_scores(), insensitive.report_paper_scores())
}

/// Whether its links are what it is placed by.
pub(super) fn is_sensitive(request: &Request) -> bool {
    request.bandwidth_sensitive && request.pattern.len() > 1
}
