//! Turns a set of devices into a decision, for policies that choose sets without regard to the
//! pattern.

use super::api::Policy;
use super::decision::Decision;
use super::refusal::{Reason, Refusal};
use super::rules::Rules;
use crate::request::Request;
use crate::topology::DeviceSet;
use crate::view::View;

/// Places the request on `set` in the smallest rank order. The number beside the set is a key that
/// compares it with sets of other machines, the higher the better.
///
/// # Errors
/// Why the request is refused: no set was found, or the pattern does not fit on the set.
pub(super) fn place(
    name: &str,
    request: &Request,
    view: &View<'_>,
    set: Option<(DeviceSet, f64)>,
) -> Result<Decision, Refusal> {
    let rules = || Rules::new(name.to_owned()).report_paper_scores();
    let Some((set, key)) = set else {
        // With fewer free devices than ranks this is refused, and the reason is that of any other
        // policy.
        rules().decide(request, view)?;
        return Err(Refusal::Busy(Reason::Rule(
            format!("a device of its own for every rank, as {name} wants").into(),
        )));
    };
    let inside = Request {
        runners_up: 0,
        ..request.clone()
    }
    .only(&request.eligible(view.graph()) & &set);
    match rules().decide(&inside, view) {
        Ok(decision) => Ok(decision.with_first_key(key)),
        Err(limit @ Refusal::LimitReached(_)) => Err(limit),
        // Such a policy looks at one set and does not know whether others would do. The request is
        // infeasible only if no policy could place it.
        Err(_) => match rules().decide(request, view) {
            Ok(_) => Err(Refusal::Busy(Reason::Rule(
                format!("a pattern that lies on {set}, which {name} chose").into(),
            ))),
            Err(refusal) => Err(refusal),
        },
    }
}
