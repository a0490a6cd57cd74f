//! Machines whose devices are of several products.
//!
//! A job that runs in step waits for its slowest device, and its memory is that of the smallest. So ranks get devices of
//! one product unless their request allows others: each policy decides among those of each product, as if the machine had no
//! others, and the best decision by the policy's own criteria is taken.

use super::decision::Decision;
use super::offered::{among_offered, best_of, has_offered};
use super::refusal::{Reason, Refusal};
use crate::request::Request;
use crate::topology::{DeviceSet, HardwareGraph};
use crate::view::View;

/// The answer of a policy on a machine where not every set of devices may be given to this job: those of
/// [`among_alike`], else of [`among_offered`]. `None` if any may. `decide` is the policy without these rules.
pub(super) fn among_sets(
    request: &Request,
    view: &View<'_>,
    decide: &dyn Fn(&Request) -> Result<Decision, Refusal>,
) -> Option<Result<Decision, Refusal>> {
    among_alike(request, view, decide).or_else(|| among_offered(request, view, decide))
}

/// Whether some of these devices may be given to this job together, as far as products and offered sets say.
pub(super) fn has_set(request: &Request, graph: &HardwareGraph, there: &DeviceSet) -> bool {
    let ranks = request.pattern.len();
    let mut products = graph.products().iter();
    let any_product = products.len() == 0 || request.unlike || ranks < 2;
    (any_product || products.any(|alike| (&graph.with_parts(alike) & there).len() >= ranks))
        && has_offered(request, graph, there)
}

/// The answer of a policy that gives a job devices of one product; `None` if all are of one, or the request allows any, or
/// is for one rank. `decide` is the policy without this rule.
///
/// Runners-up on devices of the same product come before those of others.
///
/// # Complexity
/// A decision for each product.
fn among_alike(
    request: &Request,
    view: &View<'_>,
    decide: &dyn Fn(&Request) -> Result<Decision, Refusal>,
) -> Option<Result<Decision, Refusal>> {
    let graph = view.graph();
    if graph.products().is_empty() || request.unlike || request.pattern.len() < 2 {
        return None;
    }
    let eligible = request.eligible(graph);
    // Parts of the host are of no product.
    let others = |alike: &DeviceSet| graph.with_parts(&(&graph.wholes() - alike));
    let is_possible = |alike: &&DeviceSet| {
        !graph.with_parts(alike).is_disjoint(&eligible)
            && request.must_include.is_disjoint(&others(alike))
    };
    let inside = |alike: &DeviceSet| Request {
        only: Some(graph.everything() - &others(alike)),
        avoid: graph.everything() - &eligible,
        unlike: true,
        ..request.clone()
    };
    // Products come by their lowest ids.
    let requests = graph.products().iter().filter(is_possible).map(inside);
    Some(match best_of(requests, decide) {
        Ok((best, others)) => Ok(others.into_iter().fold(best, |best, other| {
            best.with_runners_up(request, other, "another product")
        })),
        Err(refusals) => Err(refusal(request, graph, refusals)),
    })
}

/// Why no product has the devices: the refusal with the most hope, in words of all products.
fn refusal(request: &Request, graph: &HardwareGraph, refusals: Vec<Refusal>) -> Refusal {
    let hope = refusals.iter().map(Refusal::hope).max();
    let likeliest = refusals
        .into_iter()
        .find(|refusal| Some(refusal.hope()) == hope);
    match likeliest {
        Some(Refusal::Infeasible(_)) | None => Refusal::Infeasible(Reason::Rule(
            format!(
                "{} devices of one product: the machine has {}; a request for unlike devices may mix them",
                request.pattern.len(),
                counts(graph).join(", ")
            )
            .into(),
        )),
        Some(other) => other,
    }
}

/// The number of devices of each product: `2 x NVIDIA L4`.
fn counts(graph: &HardwareGraph) -> Vec<String> {
    let name = |set: &DeviceSet| {
        let first = set.iter().next()?;
        graph.device(first).product.clone()
    };
    let sets = graph.products().iter();
    sets.map(|set| format!("{} x {}", set.len(), name(set).unwrap_or_default()))
        .collect()
}
