//! The way from a set of devices to a decision, for policies that choose sets and know nothing of patterns.

use super::Policy;
use super::decision::{Decision, Reason, Refusal};
use super::request::Request;
use super::rules::Rules;
use crate::topology::DeviceSet;
use crate::view::View;

/// The smallest rank order of the request on `set`, whose `key` compares it with sets of other machines, the higher the
/// better; the reason of a refusal, where no set was found or the pattern does not lie on the one that was.
pub(super) fn place(
    name: &str,
    request: &Request,
    view: &View<'_>,
    set: Option<(DeviceSet, f64)>,
) -> Result<Decision, Refusal> {
    let rules = || Rules::new(name.to_owned()).report_paper_scores();
    let Some((set, key)) = set else {
        // With fewer free devices than ranks this is refused, and the reason is that of any other policy.
        rules().decide(request, view)?;
        return Err(Refusal::Busy(Reason::Rule(format!("a device of its own for every rank, as {name} wants").into())));
    };
    let inside = Request { runners_up: 0, ..request.clone() }.only(&request.eligible(view.graph()) & &set);
    match rules().decide(&inside, view) {
        Ok(decision) => Ok(decision.with_first_key(key)),
        Err(limit @ Refusal::LimitReached(_)) => Err(limit),
        // Whether other sets would do is more than such a policy looks at; only what nobody could place can never be.
        Err(_) => match rules().decide(request, view) {
            Ok(_) => {
                Err(Refusal::Busy(Reason::Rule(format!("a pattern that lies on {set}, which {name} chose").into())))
            }
            Err(refusal) => Err(refusal),
        },
    }
}
