//! The optimum within one component of directly linked devices, if placements over several
//! components cannot be as good.
//!
//! Eight servers in one graph have four billion sets of eight devices. But a ring over several
//! servers uses the network, and the best set is within one server. So if the first criterion has
//! a bound for sets over several components, each component is solved by itself first. The whole graph
//! is solved only if that does not settle the answer.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::domains::Domains;
use super::problem::{AlgorithmResult, Problem, RankedAnswer, RankedPlacement};
use crate::ids::DeviceId;
use crate::matching::SearchStats;
use crate::request::Request;
use crate::score::{Objective, Subset};
use crate::topology::{DeviceSet, HardwareGraph};

/// The best placements, if as many as are wanted are within single components and better than any
/// over several components, or if a limit ended the search for them. `best` solves the problem of
/// one component.
pub(super) fn within_components(
    problem: &Problem<'_, '_>,
    best: fn(&Problem<'_, '_>) -> RankedAnswer,
) -> AlgorithmResult {
    let Problem {
        request,
        view,
        criteria,
        limits,
        ..
    } = *problem;
    // Only a bound on sets of several components makes components worth a look of their own.
    let Some(first) = criteria.first() else {
        return AlgorithmResult::NOT_TRIED;
    };
    let Some(apart) = first
        .objective()
        .and_then(Objective::foresight)
        .and_then(|foresight| foresight.apart.as_ref())
    else {
        return AlgorithmResult::NOT_TRIED;
    };
    if request.pattern.may_share() || request.pattern.len() < 2 {
        return AlgorithmResult::NOT_TRIED;
    }
    let graph = view.graph();
    let domain = Domains::new(problem).union.clone();
    let components = components(graph, &domain);
    if components.len() < 2 {
        return AlgorithmResult::NOT_TRIED;
    }
    let apart = first.key(apart(Subset {
        graph,
        devices: &domain,
    }));
    let wanted = request.runners_up.saturating_add(1);
    let mut stats = SearchStats::default();
    let mut top: Vec<RankedPlacement> = Vec::new();
    for part in &components {
        if part.len() < request.pattern.len() || !request.must_include.is_subset(part) {
            continue;
        }
        let only = Some(
            request
                .only
                .as_ref()
                .map_or_else(|| part.clone(), |only| only & part),
        );
        let inner = Request {
            only,
            ..request.clone()
        };
        let limits = limits.nodes(limits.nodes.saturating_sub(stats.nodes));
        let (entries, more) = best(&Problem {
            request: &inner,
            limits,
            ..*problem
        });
        stats.nodes += more.nodes;
        stats.matches += more.matches;
        stats.stopped = more.stopped;
        top.extend(entries);
        if !stats.complete() {
            break;
        }
    }
    top.sort_by(|a, b| order(problem, b, a));
    top.truncate(wanted);
    let settled = top.len() == wanted && top.last().is_some_and(|worst| worst.keys[0] > apart);
    // Once a limit is reached nothing is left for the others, and what was found is the best so
    // far.
    let is_over = !stats.complete() && !top.is_empty();
    if settled || is_over {
        AlgorithmResult::Settled((top, stats))
    } else {
        AlgorithmResult::Open { spent: stats.nodes }
    }
}

fn order(problem: &Problem<'_, '_>, a: &RankedPlacement, b: &RankedPlacement) -> Ordering {
    let by_keys = (0..a.keys.len()).map(|at| problem.compare(at, a, b));
    { by_keys }
        .find(|order| order.is_ne())
        .unwrap_or_else(|| b.set.cmp(&a.set))
}

/// The components of `domain` by direct links, in the order of their lowest ids. A vertex without
/// direct links is a component of its own.
fn components(graph: &HardwareGraph, domain: &DeviceSet) -> Vec<DeviceSet> {
    let mut left = Cow::Borrowed(domain);
    let mut components = Vec::new();
    while let Some(first) = left.first() {
        let mut component: DeviceSet = [first].into_iter().collect();
        let mut open = vec![first];
        while let Some(a) = open.pop() {
            let joined =
                |b: &DeviceId| !component.contains(*b) && graph.pair(a, *b).direct.exists();
            let near: Vec<DeviceId> = left.iter().filter(joined).collect();
            component.extend(near.iter().copied());
            open.extend(near);
        }
        left = Cow::Owned(&*left - &component);
        components.push(component);
    }
    components
}
