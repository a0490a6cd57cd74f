//! The paper's Preserve, Algorithm 1.

use super::api::Policy;
use super::rules::Rules;
use super::when::when;
use crate::optimum::{max, min};
use crate::request::Request;
use crate::score::{
    Census, Coefficients, Form, Objective, aggregate_gbps, effective_gbps, host_hops,
    preserved_direct_gbps, preserved_gbps,
};

/// The paper's Preserve (Algorithm 1). Bandwidth-sensitive jobs get the match with the highest
/// EffBW (Eq. 2). Other jobs get the match with the highest PreservedBW (Eq. 3), then the highest
/// AggBW (Eq. 1). Ties: lowest ids, then smallest rank order.
///
/// A job on one device has no links and counts as insensitive, as in the released code. (Algorithm
/// 1 as printed would take any device for it.)
#[must_use]
pub fn preserve() -> impl Policy + Clone {
    preserve_with(effective_gbps(), preserved_gbps())
}

/// Algorithm 1 with other models of effective and preserved bandwidth. If the model of effective
/// bandwidth depends only on the set of devices ([`RingPacking`](crate::RingPacking)), the rank
/// order with the fewest hops through the host is taken, then with the highest AggBW.
///
/// # Examples
/// ```
/// use mapa_core::{Coefficients, effective_gbps_with, preserve_with, preserved_gbps};
///
/// // With the coefficients as Table 2 prints them.
/// let printed = effective_gbps_with("effective_printed_gbps", Coefficients::PRINTED);
/// let policy = preserve_with(printed, preserved_gbps());
/// # let _ = policy;
/// ```
#[must_use]
pub fn preserve_with(
    effective: Objective<'static>,
    preserved: Objective<'static>,
) -> impl Policy + Clone {
    let of_set = matches!(effective.form(), Form::Chosen(_));
    let sensitive = Rules::new("preserve").prefer(max(effective));
    // A model of sets leaves the rank order open.
    let sensitive = if of_set {
        sensitive.then(min(host_hops())).then(max(aggregate_gbps()))
    } else {
        sensitive
    };
    let insensitive = Rules::new("preserve")
        .prefer(max(preserved))
        .then(max(aggregate_gbps()));
    when(
        "preserve",
        is_sensitive,
        sensitive.report_paper_scores(),
        insensitive.report_paper_scores(),
    )
}

/// Preserve as in the released code, which differs in two ways. PreservedBW counts direct links
/// only. Sensitive jobs get only matches whose predicted EffBW is above 12.335 GB/s: this is the
/// value of Eq. 2 at (0, 0, 0), from which the code's search for a maximum starts. So a sensitive
/// job is never placed on two GPUs joined by PCIe (10.37 GB/s); it waits instead.
#[must_use]
pub fn preserve_released() -> impl Policy + Clone {
    let start = Coefficients::FULL.predict(&Census::default());
    let sensitive = Rules::new("preserve-released")
        .require_score(effective_gbps(), move |gbps| gbps > start)
        .prefer(max(effective_gbps()));
    let insensitive = Rules::new("preserve-released")
        .prefer(max(preserved_direct_gbps()))
        .then(max(aggregate_gbps()));
    when(
        "preserve-released",
        is_sensitive,
        sensitive.report_paper_scores(),
        insensitive.report_paper_scores(),
    )
}

/// Whether the job is placed by its effective bandwidth: it is bandwidth-sensitive and has links. A job
/// whose ranks do not communicate has none, unless it is declared sensitive.
pub(super) fn is_sensitive(request: &Request) -> bool {
    request.is_sensitive() && request.pattern.len() > 1
}
