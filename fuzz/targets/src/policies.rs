//! Every policy makes the choice that its definition makes of all placements: on any small machine, with links of every class,
//! switches, host trees and gaps, whatever is free, and whatever the request requires.

use mapa_core::testing::{
    drawn_machines, free_sets, joined_machines, machines, oracle, requests, switched_machines,
};
use mapa_core::{
    BuiltIn, Candidate, Census, Coefficients, DeviceId, DeviceSet, Expected, HostNetwork,
    LinkClass, Objective, Policy, Refusal, Region, Request, Sensitivity, View, aggregate_gbps,
    default_model, effective_gbps, fitting_expected, host_distance, host_distance_left, host_hops,
    host_sharing, preserved_direct_gbps, preserved_gbps, ring_packing_gbps,
};
use mapa_topologies::policies::{nvidia_points, rocm_weight};

use crate::input::Choices;

/// One input.
pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let graph = match choices.below(4) {
        0 => choices.drawn(&machines(1..=6)),
        1 => choices.drawn(&joined_machines(1..=6)),
        2 => choices.drawn(&switched_machines(2..=6)),
        _ => choices.drawn(&drawn_machines(2..=6)),
    };
    let free = choices.drawn(&free_sets(graph.len()));
    let view = graph.with_free(&free);
    let request = choices.drawn(&requests(graph.len(), 1..=4));
    for policy in BuiltIn::ALL
        .iter()
        .chain(&mapa_topologies::policies::BUILT_IN)
    {
        let decided = policy.policy().decide(&request, &view);
        if policy.name == "foresight" {
            assert_eq!(
                decided.is_ok(),
                oracle::best(&request, &view, &[]).is_some()
            );
            continue;
        }
        let expected = expected(policy.name, &request, &view);
        let found = decided
            .as_ref()
            .ok()
            .map(|found| found.placement().to_vec());
        assert_eq!(found, expected, "{}: {request:?} on {free:?}", policy.name);
        // Busy and infeasible are different answers.
        if let Err(refusal) = decided {
            let ever = oracle::best(&request, &graph.with_free(&graph.all()), &[]).is_some();
            let is_busy = matches!(refusal, Refusal::Busy(_));
            assert!(
                is_busy == ever || policy.name == "preserve-released",
                "{}: {refusal}",
                policy.name
            );
        }
    }
}

/// The choice of a policy by its definition. Foresight's, which looks at all orders in which leases can end, is in
/// `mapa-core/tests/foresight.rs`; here it has an answer where `preserve` has one.
fn expected(policy: &str, request: &Request, view: &View<'_>) -> Option<Vec<DeviceId>> {
    let best = |objectives: &[Objective<'_>]| oracle::best(request, view, objectives);
    let is_sensitive = request.is_sensitive() && request.pattern.len() > 1;
    match policy {
        "auto" => auto(request, view),
        "lowest-id" => lowest(request, view, None),
        "topo-aware" => closest(
            request,
            view,
            std::slice::from_ref(view.graph().host_tree()),
        )
        .or_else(|| lowest(request, view, None)),
        "topo-aware-released" => in_socket(request, view),
        // Devices that are free have no tenants, and each placement uses as many.
        "packed" | "distributed" => best(&[]),
        "greedy" => best(&[aggregate_gbps()]),
        "preserve" if is_sensitive => best(&[effective_gbps()]),
        "preserve" => best(&[preserved_gbps(), aggregate_gbps()]),
        "preserve-released" if is_sensitive => {
            let floor = Coefficients::FULL.predict(&Census::default());
            let placement = best(&[effective_gbps()])?;
            let gbps = effective_gbps().score(&Candidate {
                view: *view,
                pattern: &request.pattern,
                placement: &placement,
            });
            (gbps > floor).then_some(placement)
        }
        "preserve-released" => best(&[preserved_direct_gbps(), aggregate_gbps()]),
        "max-bandwidth" => best(&[
            ring_packing_gbps(),
            preserved_gbps(),
            less(host_hops()),
            aggregate_gbps(),
        ]),
        "nvidia-best-effort" => of_partition(request, view),
        // Each device of these machines is a package.
        "rocm-best-effort" => {
            let weight = Objective::chosen("weight", |set| {
                -pairs(set.devices)
                    .map(|pair| f64::from(rocm_weight(set.graph, pair, false)))
                    .sum::<f64>()
            });
            best(&[weight])
        }
        other => panic!("{other}: expected its definition here"),
    }
}

/// An objective of which less is better.
fn less(objective: Objective<'_>) -> Objective<'_> {
    let name = objective.name().to_owned();
    Objective::placement(name, move |candidate| -objective.score(candidate))
}

/// The criteria of `auto` in their order, on few devices.
fn auto(request: &Request, view: &View<'_>) -> Option<Vec<DeviceId>> {
    let pattern = &request.pattern;
    let host = HostNetwork::of(view.graph());
    let spares = request.sensitivity == Sensitivity::Insensitive || pattern.edges().is_empty();
    let mut criteria = vec![default_model(pattern, view.graph())];
    if !host.all_known() && host.is_open() && host.has_paths() {
        criteria.push(Expected::nominal(fitting_expected(pattern)).objective());
    }
    criteria.insert(if spares { 0 } else { criteria.len() }, preserved_gbps());
    if host.is_open() {
        criteria.extend([less(host_distance()), less(host_distance_left())]);
    } else {
        criteria.push(less(host_sharing()));
    }
    criteria.extend([less(host_hops()), aggregate_gbps()]);
    oracle::best(request, view, &criteria)
}

/// The devices that the request allows.
fn eligible(request: &Request, view: &View<'_>) -> DeviceSet {
    let all = view.graph().all();
    request.only.as_ref().unwrap_or(&all) - &request.avoid
}

/// The request on some devices only.
fn on(request: &Request, view: &View<'_>, devices: &DeviceSet) -> Request {
    request.clone().only(&eligible(request, view) & devices)
}

/// The lowest ids of some devices, or of all, in the rank order with most bandwidth.
fn lowest(
    request: &Request,
    view: &View<'_>,
    devices: Option<&DeviceSet>,
) -> Option<Vec<DeviceId>> {
    let within = devices.map(|devices| on(request, view, devices));
    let request = within.as_ref().unwrap_or(request);
    let lowest: DeviceSet = oracle::best(request, view, &[])?.into_iter().collect();
    oracle::best(&on(request, view, &lowest), view, &[aggregate_gbps()])
}

fn devices(regions: &[Region]) -> DeviceSet {
    regions
        .iter()
        .flat_map(|region| region.devices().iter())
        .collect()
}

/// The free devices of a part of the machine, if there are enough for the request.
fn room(request: &Request, view: &View<'_>, part: &DeviceSet) -> Option<DeviceSet> {
    let free = &(&eligible(request, view) & view.free()) & part;
    let is_enough = free.len() >= request.pattern.len() && request.must_include.is_subset(&free);
    is_enough.then_some(free)
}

/// The placement in the smallest half on the way down the host tree in which there is one.
fn closest(request: &Request, view: &View<'_>, regions: &[Region]) -> Option<Vec<DeviceId>> {
    let (low, high) = match regions {
        [] => return None,
        [one] => return closest(request, view, one.parts()),
        several => several.split_at(several.len().div_ceil(2)),
    };
    let halves = [low, high].into_iter().filter_map(|half| {
        let free = room(request, view, &devices(half))?;
        Some((free.len(), free, half))
    });
    let half = halves.min_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)))?.2;
    closest(request, view, half).or_else(|| lowest(request, view, Some(&devices(half))))
}

/// The largest regions that are joined by more than the interconnect between sockets.
fn sockets(region: &Region) -> Vec<DeviceSet> {
    if region.within() > LinkClass::Sys {
        vec![region.devices().clone()]
    } else {
        region.parts().iter().flat_map(sockets).collect()
    }
}

/// The lowest ids of the first socket with more devices than the job has ranks and enough that are free; else of all.
fn in_socket(request: &Request, view: &View<'_>) -> Option<Vec<DeviceId>> {
    let large = |socket: &DeviceSet| request.pattern.len() < socket.len();
    let sockets = sockets(view.graph().host_tree()).into_iter().filter(large);
    let mut rooms = sockets.filter(|socket| room(request, view, socket).is_some());
    rooms
        .find_map(|socket| oracle::best(&on(request, view, &socket), view, &[]))
        .or_else(|| lowest(request, view, None))
}

fn pairs(set: &DeviceSet) -> impl Iterator<Item = (DeviceId, DeviceId)> {
    let ids: Vec<DeviceId> = set.iter().collect();
    (0..ids.len()).flat_map(move |b| {
        let ids = ids.clone();
        (0..b).map(move |a| (ids[a], ids[b]))
    })
}

/// All partitions into groups of `k` and one of what is left over, each group in ascending order.
fn partitions(ids: &[DeviceId], k: usize, rest: usize) -> Vec<Vec<Vec<DeviceId>>> {
    let Some((&first, others)) = ids.split_first() else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    let sizes = if rest > 0 && rest != k {
        vec![k, rest]
    } else {
        vec![k]
    };
    for size in sizes.into_iter().filter(|size| *size <= ids.len()) {
        for bits in (0..1_u32 << others.len()).filter(|bits| bits.count_ones() as usize == size - 1)
        {
            let is_in = |at: usize| bits >> at & 1 == 1;
            let pick = |own: bool| {
                (0..others.len())
                    .filter(move |at| is_in(*at) == own)
                    .map(|at| others[at])
            };
            let group: Vec<_> = std::iter::once(first).chain(pick(true)).collect();
            let left: Vec<_> = pick(false).collect();
            let rest = if size == k { rest } else { 0 };
            for partition in partitions(&left, k, rest) {
                all.push([vec![group.clone()], partition].concat());
            }
        }
    }
    // Where the smaller group was due and had no place, too few are left.
    all.retain(|partition| {
        partition.iter().filter(|group| group.len() != k).count() <= usize::from(rest > 0)
    });
    all
}

/// The best group of the best partition of what is free; if the request cannot be met on it, the best set on which it can.
fn of_partition(request: &Request, view: &View<'_>) -> Option<Vec<DeviceId>> {
    let points = |group: &[DeviceId]| -> i32 {
        let set = group.iter().copied().collect();
        pairs(&set)
            .map(|(a, b)| nvidia_points(view.graph(), a, b))
            .sum()
    };
    let k = request.pattern.len();
    let free: Vec<DeviceId> = (&eligible(request, view) & view.free()).iter().collect();
    let best_set = || {
        let points = |set: mapa_core::Subset<'_>| {
            let of = |(a, b)| f64::from(nvidia_points(set.graph, a, b));
            pairs(set.devices).map(of).sum::<f64>()
        };
        oracle::best(request, view, &[Objective::chosen("points", points)])
    };
    if k == 0 || free.len() < k {
        return best_set();
    }
    let must = |group: &Vec<DeviceId>| request.must_include.iter().all(|id| group.contains(&id));
    let full = |group: &&Vec<DeviceId>| group.len() == k && must(group);
    let padded = |partition: &[Vec<DeviceId>]| -> Vec<Vec<DeviceId>> {
        let pad = |group: &Vec<DeviceId>| {
            let mut group = group.clone();
            group.resize(k, DeviceId(u32::MAX));
            group
        };
        partition.iter().map(pad).collect()
    };
    let all = partitions(&free, k, free.len() % k);
    let admitted = all
        .into_iter()
        .filter(|partition| partition.iter().any(|group| full(&group)));
    let sum = |partition: &Vec<Vec<DeviceId>>| -> i32 {
        partition.iter().map(|group| points(group)).sum()
    };
    let best = admitted.min_by_key(|partition| (-sum(partition), padded(partition)));
    let group = best.and_then(|partition| {
        let groups = partition.into_iter().filter(|group| full(&group));
        groups.min_by_key(|group| (-points(group), group[0]))
    });
    let there = |group: Vec<DeviceId>| {
        let set = group.into_iter().collect();
        oracle::best(&on(request, view, &set), view, &[])
    };
    group.and_then(there).or_else(best_set)
}
