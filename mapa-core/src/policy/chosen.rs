//! Turns a set of devices into a decision, for policies that choose sets without regard to the
//! pattern.

use super::api::Policy;
use super::decision::Decision;
use super::refusal::Refusal;
use super::rules::Rules;
use crate::optimum::Criterion;
use crate::request::Request;
use crate::topology::{DeviceId, DeviceSet};
use crate::view::View;

/// Places the request on `set` in the smallest rank order. The number beside the set is a key that
/// compares it with sets of other machines, the higher the better.
///
/// Such a policy knows nothing of links and cards that a request demands. If the request does not
/// fit on its set, it gets the best set by `criterion` on which it does: a refusal would say that
/// waiting helps, on a machine where nothing is in use.
///
/// # Errors
/// Why the request is refused, as by every other policy: a device of its own for every rank is the
/// only rule of these policies.
pub(super) fn place(
    name: &str,
    request: &Request,
    view: &View<'_>,
    set: Option<(DeviceSet, f64)>,
    criterion: Criterion<'_>,
) -> Result<Decision, Refusal> {
    let rules = || Rules::new(name.to_owned()).report_paper_scores();
    let alone = Request {
        runners_up: 0,
        ..request.clone()
    };
    if let Some((set, key)) = set {
        let inside = alone.clone().only(&request.eligible(view.graph()) & &set);
        match rules().decide(&inside, view) {
            Ok(decision) => return Ok(decision.with_first_key(key)),
            Err(limit @ Refusal::LimitReached(_)) => return Err(limit),
            Err(_) => {}
        }
    }
    let ranks = request.pattern.len();
    let others = if request.pattern.may_share() {
        rules().require_set("a device of its own for every rank", move |set| {
            set.devices.len() == ranks
        })
    } else {
        rules()
    };
    others.prefer(criterion).decide(&alone, view)
}

/// The refusal by a policy whose own search would take, or has taken, too long: `limit`, unless the
/// request is busy or infeasible whatever the policy.
pub(super) fn stopped(name: &str, request: &Request, view: &View<'_>, limit: Refusal) -> Refusal {
    match Rules::new(name.to_owned()).decide(request, view) {
        Ok(_) => limit,
        Err(refusal) => refusal,
    }
}

/// The pairs of a set, each with its lower id first.
pub(super) fn pairs(set: &DeviceSet) -> impl Iterator<Item = (DeviceId, DeviceId)> + '_ {
    let below = move |b: DeviceId| set.iter().take_while(move |a| *a < b).map(move |a| (a, b));
    set.iter().flat_map(below)
}
