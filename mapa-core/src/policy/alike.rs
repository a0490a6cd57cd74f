//! Machines whose devices are of several products.
//!
//! A job that runs in step waits for its slowest device, and its memory is that of the smallest. So ranks get devices of
//! one product unless their request allows others: each policy decides among those of each product, as if the machine had no
//! others, and the best decision by the policy's own criteria is taken.

use super::decision::Decision;
use super::offered::among_offered;
use super::refusal::{Reason, Refusal};
use crate::matching::SearchStats;
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

/// The answer of a policy that gives a job devices of one product; `None` if all are of one, or the request allows any, or
/// is for one rank. `decide` is the policy without this rule.
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
    let mut decisions: Vec<Decision> = Vec::new();
    let mut refusals: Vec<Refusal> = Vec::new();
    let mut nodes = 0;
    for alike in graph.products() {
        let here = &graph.with_parts(alike) & &eligible;
        if here.is_empty() || !request.must_include.is_subset(&here) {
            continue;
        }
        let inside = Request {
            only: Some(alike.clone()),
            avoid: graph.everything() - &eligible,
            unlike: true,
            ..request.clone()
        };
        match decide(&inside) {
            Ok(decision) => {
                nodes += decision.search().nodes;
                decisions.push(decision);
            }
            Err(refusal) => refusals.push(refusal),
        }
    }
    // Products come by their lowest ids, and a stable sort keeps that order among equals.
    decisions.sort_by(Decision::order);
    let mut decisions = decisions.into_iter();
    let Some(best) = decisions.next() else {
        return Some(Err(refusal(request, graph, refusals)));
    };
    let unsure = refusals.iter().find_map(|refusal| match refusal {
        Refusal::LimitReached(stats) => Some(stats.stopped),
        _ => None,
    });
    let stats = SearchStats {
        nodes,
        stopped: unsure.unwrap_or(best.search().stopped),
        ..best.search()
    };
    let best = decisions.fold(best, |best, other| {
        best.with_runners_up(request, other, "devices of another product")
    });
    Some(Ok(best.searched(stats)))
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
