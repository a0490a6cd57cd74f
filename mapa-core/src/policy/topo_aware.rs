//! The paper's Topo-aware: recursive bi-partitioning of the host tree.

use super::alike::has_set;
use super::api::Policy;
use super::lowest_id::lowest_id;
use super::rules::Rules;
use super::within::within;
use crate::optimum::{lowest_ids, max};
use crate::request::Request;
use crate::score::aggregate_gbps;
use crate::topology::{DeviceSet, LinkClass, Region};
use crate::view::View;

/// Devices close together in the host tree, after Amaral et al. (SC 2017), as the paper's
/// comparison describes it.
///
/// The search starts with the whole machine. It halves the parts of the [host
/// tree](crate::HardwareGraph::host_tree), in the order of their lowest ids; the first half is the
/// larger one. It descends into the half that can hold the request and leaves the fewest free
/// devices over, on a tie the one whose free devices have the lower ids. If no half can hold the request, it takes the
/// devices with the lowest ids there, in the rank order with the highest AggBW. Devices at the same
/// place in the host tree are not halved. If the pattern does not fit on the devices found, for
/// instance because of a least class of link, the search goes back up.
///
/// On a machine that [offers](crate::Fabric::set_offered) only some sets, or has devices of several products, a half can hold
/// the request if such a set is free there. What it leaves over are all its free devices: they stay together for later jobs,
/// whichever sets are offered.
///
/// # Complexity
/// At most one decision by [`Rules`](crate::Rules) for each halving on the way down, and one for
/// the whole machine.
#[must_use]
pub fn topo_aware() -> impl Policy + Clone {
    let rules = Rules::new("topo-aware")
        .prefer(lowest_ids())
        .then(max(aggregate_gbps()))
        .report_paper_scores();
    within(
        "topo-aware",
        "closeness in the host tree",
        halves,
        rules.clone(),
        rules,
    )
    .parts_of_free_set()
}

/// Topo-aware as in the released code. A job with fewer ranks than a socket has devices gets the
/// lowest free ids within the first socket that has enough, in ascending order. Any other job is
/// placed by `lowest-id`: on a DGX-1V, jobs from four GPUs on.
#[must_use]
pub fn topo_aware_released() -> impl Policy + Clone {
    let rules = Rules::new("topo-aware-released")
        .prefer(lowest_ids())
        .report_paper_scores();
    within(
        "topo-aware-released",
        "closeness in the host tree",
        sockets,
        rules,
        lowest_id(),
    )
    .parts_of_free_set()
}

/// The halves on the way down, smallest first.
fn halves(request: &Request, view: &View<'_>) -> Vec<DeviceSet> {
    let free = request.room(view);
    let mut way = Vec::new();
    let mut parts = view.graph().host_tree().parts();
    loop {
        parts = match parts {
            [] => break,
            [one] => one.parts(),
            several => {
                let Some(half) = better_half(several, request, view, &free) else {
                    break;
                };
                way.push(union(half, view));
                half
            }
        };
    }
    way.reverse();
    way
}

/// The sockets with more devices than the job wants, and enough free ones.
fn sockets(request: &Request, view: &View<'_>) -> Vec<DeviceSet> {
    let free = request.room(view);
    let mut sockets = Vec::new();
    collect_sockets(view.graph().host_tree(), &mut sockets);
    sockets.retain(|socket| request.pattern.len() < socket.len());
    sockets = sockets
        .iter()
        .map(|socket| view.graph().with_parts(socket))
        .collect();
    sockets.retain(|socket| holds(socket, request, view, &free).is_some());
    sockets
}

/// The half of `parts` that can hold the request and leaves the fewest free devices over; on a tie
/// the one with the lower ids.
fn better_half<'a>(
    parts: &'a [Region],
    request: &Request,
    view: &View<'_>,
    free: &DeviceSet,
) -> Option<&'a [Region]> {
    let (low, high) = parts.split_at(parts.len().div_ceil(2));
    let usable = |half: &'a [Region]| {
        holds(&union(half, view), request, view, free).map(|there| (there.len(), there, half))
    };
    [low, high]
        .into_iter()
        .filter_map(usable)
        .min_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)))
        .map(|(_, _, half)| half)
}

/// The free devices of a region, if it can hold the request.
fn holds(
    region: &DeviceSet,
    request: &Request,
    view: &View<'_>,
    free: &DeviceSet,
) -> Option<DeviceSet> {
    let there = region & free;
    (there.len() >= request.pattern.len()
        && request.must_include.is_subset(&there)
        && has_set(request, view.graph(), &there))
    .then_some(there)
}

/// The devices of these regions, with all of their possible instances.
fn union(parts: &[Region], view: &View<'_>) -> DeviceSet {
    view.graph().with_parts(
        &parts
            .iter()
            .flat_map(|part| part.devices().iter())
            .collect(),
    )
}

/// Collects the largest regions whose devices are joined by a better link than the interconnect
/// between sockets.
fn collect_sockets(region: &Region, sockets: &mut Vec<DeviceSet>) {
    if region.within() > LinkClass::Sys {
        sockets.push(region.devices().clone());
    } else {
        region
            .parts()
            .iter()
            .for_each(|part| collect_sockets(part, sockets));
    }
}
