//! The paper's Topo-aware: recursive bi-partitioning of the host tree.

use super::Policy;
use super::criterion::{lowest_ids, max};
use super::lowest_id::lowest_id;
use super::request::Request;
use super::rules::Rules;
use super::within::within;
use crate::score::aggregate_gbps;
use crate::topology::{DeviceSet, LinkClass, Region};
use crate::view::View;

/// Devices close together in the host tree, after Amaral et al. (SC 2017), as the paper's comparison describes it.
///
/// From the whole machine down, the parts of the [host tree](crate::HardwareGraph::host_tree) are halved (by order of
/// lowest id, the first half the larger), and the search descends into the half that can hold the request and has the
/// fewest free devices left over; the lower ids on a tie. Where no half can hold it, the devices are taken there: lowest
/// ids, rank order of highest AggBW. Devices that the host tree does not tell apart are not halved. Where the pattern
/// itself does not fit the devices found so (a least class of link, say), the search goes back up.
#[must_use]
pub fn topo_aware() -> impl Policy + Clone {
    let rules = Rules::new("topo-aware").prefer(lowest_ids()).then(max(aggregate_gbps())).report_paper_scores();
    within("topo-aware", "closeness in the host tree", halves, rules.clone(), rules).parts_of_free_set()
}

/// Topo-aware as the released code runs it: a job smaller than a socket's devices gets the lowest free ids within the
/// first socket that has enough, in ascending order; any other job is placed by `lowest-id`. On a DGX-1V four GPUs thus
/// already fall back to `lowest-id`.
#[must_use]
pub fn topo_aware_released() -> impl Policy + Clone {
    let rules = Rules::new("topo-aware-released").prefer(lowest_ids()).report_paper_scores();
    within("topo-aware-released", "closeness in the host tree", sockets, rules, lowest_id()).parts_of_free_set()
}

/// The halves on the way down, narrowest first.
fn halves(request: &Request, view: &View<'_>) -> Vec<DeviceSet> {
    let free = request.room(view);
    let mut way = Vec::new();
    let mut parts = view.graph().host_tree().parts();
    loop {
        parts = match parts {
            [] => break,
            [one] => one.parts(),
            several => {
                let Some(half) = better_half(several, request, view, &free) else { break };
                way.push(union(half, view));
                half
            }
        };
    }
    way.reverse();
    way
}

/// The sockets that have more devices than are wanted, and enough free ones.
fn sockets(request: &Request, view: &View<'_>) -> Vec<DeviceSet> {
    let free = request.room(view);
    let mut sockets = Vec::new();
    collect_sockets(view.graph().host_tree(), &mut sockets);
    sockets.retain(|socket| request.pattern.len() < socket.len());
    sockets = sockets.iter().map(|socket| view.graph().with_parts(socket)).collect();
    sockets.retain(|socket| holds(socket, request, &free).is_some());
    sockets
}

/// The half of `parts` that can hold the request and has fewest devices left over; the lower ids on a tie.
fn better_half<'a>(parts: &'a [Region], request: &Request, view: &View<'_>, free: &DeviceSet) -> Option<&'a [Region]> {
    let (low, high) = parts.split_at(parts.len().div_ceil(2));
    let usable = |half: &'a [Region]| holds(&union(half, view), request, free).map(|there| (there.len(), there, half));
    [low, high].into_iter().filter_map(usable).min_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1))).map(|(_, _, half)| half)
}

/// The free devices of a region, if it can hold the request.
fn holds(region: &DeviceSet, request: &Request, free: &DeviceSet) -> Option<DeviceSet> {
    let there = region & free;
    (there.len() >= request.pattern.len() && request.must_include.is_subset(&there)).then_some(there)
}

/// The devices of these regions, with all that they can be cut into.
fn union(parts: &[Region], view: &View<'_>) -> DeviceSet {
    view.graph().with_parts(&parts.iter().flat_map(|part| part.devices().iter()).collect())
}

/// The largest regions whose devices are joined by something better than the interconnect between sockets.
fn collect_sockets(region: &Region, sockets: &mut Vec<DeviceSet>) {
    if region.within() > LinkClass::Sys {
        sockets.push(region.devices().clone());
    } else {
        region.parts().iter().for_each(|part| collect_sockets(part, sockets));
    }
}
