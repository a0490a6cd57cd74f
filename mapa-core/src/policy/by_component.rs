//! The optimum among devices that direct links join, where those that they do not join cannot be as good.
//!
//! A fleet of eight servers has four billion sets of eight devices; but rings on sets of more than one server go over the
//! network, and the best set is within one server. So where the first criterion can say what sets of more than one
//! component reach at most, components are looked at by themselves first, and everything only if that does not settle it.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::criterion::Kind;
use super::domains::Domains;
use super::optimum::{Entry, Optimum};
use super::request::Request;
use crate::matching::SearchStats;
use crate::score::Subset;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};

/// The best placements, if as many as are wanted are each within one component and better than any that is not, or a limit ended
/// the search for them; else the nodes that it took to see that.
pub(super) fn within_components(optimum: &Optimum<'_, '_>) -> Result<(Vec<Entry>, SearchStats), u64> {
    let Optimum { request, view, criteria, limits, .. } = *optimum;
    let first = criteria.first().ok_or(0u64)?;
    let Kind::Max(objective) = &first.kind else { return Err(0) };
    let apart = objective.foresight().and_then(|foresight| foresight.apart.as_ref()).ok_or(0u64)?;
    if request.pattern.may_share() || request.pattern.len() < 2 {
        return Err(0);
    }
    let graph = view.graph();
    let domain = Domains::new(optimum).union.clone();
    let components = components(graph, &domain);
    if components.len() < 2 {
        return Err(0);
    }
    let apart = first.key(apart(Subset { graph, devices: &domain }));
    let wanted = request.runners_up.saturating_add(1);
    let mut stats = SearchStats::default();
    let mut top: Vec<Entry> = Vec::new();
    let fits = |part: &&DeviceSet| part.len() >= request.pattern.len() && request.must_include.is_subset(part);
    for part in components.iter().filter(fits) {
        let only = Some(request.only.as_ref().map_or_else(|| part.clone(), |only| only & part));
        let inner = Request { only, ..request.clone() };
        let limits = limits.nodes(limits.nodes.saturating_sub(stats.nodes));
        let (entries, more) = Optimum { request: &inner, limits, ..*optimum }.best();
        stats.nodes += more.nodes;
        stats.matches += more.matches;
        stats.stopped = more.stopped;
        top.extend(entries);
        if !stats.complete() {
            break;
        }
    }
    top.sort_by(|a, b| order(optimum, b, a));
    top.truncate(wanted);
    let settled = top.len() == wanted && top.last().is_some_and(|worst| worst.keys[0] > apart);
    // Once a limit is reached nothing is left for the others, and what was found is the best so far.
    let is_over = !stats.complete() && !top.is_empty();
    if settled || is_over { Ok((top, stats)) } else { Err(stats.nodes) }
}

fn order(optimum: &Optimum<'_, '_>, a: &Entry, b: &Entry) -> Ordering {
    let by_keys = (0..a.keys.len()).map(|at| optimum.compare(at, a, b));
    { by_keys }.find(|order| order.is_ne()).unwrap_or_else(|| b.set.cmp(&a.set))
}

/// The sets of devices that direct links join within `domain`, the lowest ids first; vertices that have none are alone.
fn components(graph: &HardwareGraph, domain: &DeviceSet) -> Vec<DeviceSet> {
    let mut left = Cow::Borrowed(domain);
    let mut components = Vec::new();
    while let Some(first) = left.first() {
        let mut component: DeviceSet = [first].into_iter().collect();
        let mut open = vec![first];
        while let Some(a) = open.pop() {
            let joined = |b: &DeviceId| !component.contains(*b) && graph.pair(a, *b).direct.exists();
            let near: Vec<DeviceId> = left.iter().filter(joined).collect();
            component.extend(near.iter().copied());
            open.extend(near);
        }
        left = Cow::Owned(&*left - &component);
        components.push(component);
    }
    components
}
