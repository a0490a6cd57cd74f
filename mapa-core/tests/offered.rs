//! Machines that offer only some sets of devices: every policy gives one of these, and the best.

use std::collections::BTreeSet;
use std::sync::Arc;

use mapa_core::testing::{cut_machines, demands, free_sets, joined_machines, patterns};
use mapa_core::{
    Allocator, BuiltIn, Decision, DeviceSet, Fabric, FabricNode, HardwareGraph, LinkClass,
    NodeKind, Pattern, Policy, Refusal, Region, Request, Rules, aggregate_gbps,
    criteria::{lowest_ids, max},
    least_weight, random, topo_aware, topo_aware_released,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// The same machine, which offers these sets only.
fn offering(graph: &HardwareGraph, sets: &[DeviceSet]) -> HardwareGraph {
    let mut fabric = graph.fabric().clone();
    fabric.set_offered(Some(sets.to_vec())).unwrap();
    fabric.lower().unwrap()
}

/// A machine, some sets of its devices, and which devices are free.
fn cases() -> impl Strategy<Value = (HardwareGraph, Vec<DeviceSet>, DeviceSet, Pattern)> {
    joined_machines(3..=7).prop_flat_map(|graph| {
        let n = graph.wholes().len();
        let sets = vec(vec(any::<bool>(), n), 1..8).prop_map(|all| {
            let set = |members: Vec<bool>| -> DeviceSet {
                (0u32..)
                    .zip(members)
                    .filter(|(_, is_member)| *is_member)
                    .map(|(id, _)| id.into())
                    .collect()
            };
            all.into_iter()
                .map(set)
                .filter(|set: &DeviceSet| !set.is_empty())
                .collect::<Vec<_>>()
        });
        let sets = sets.prop_filter("some set", |sets| !sets.is_empty());
        (Just(graph), sets, free_sets(n), patterns(1..=4))
    })
}

/// Every policy that chooses for whole devices.
fn policies() -> Vec<Box<dyn Policy>> {
    let mut all: Vec<Box<dyn Policy>> = BuiltIn::ALL.iter().map(BuiltIn::policy).collect();
    all.push(Box::new(random("offered", 7, 3)));
    all.push(Box::new(least_weight(
        "weights",
        |_, (a, b), _| a.0 * 3 + b.0,
        |_, id| id,
    )));
    all
}

/// The largest regions that do not reach across sockets.
fn regions_below(region: &Region) -> Vec<DeviceSet> {
    if region.within() > LinkClass::Sys {
        return vec![region.devices().clone()];
    }
    region.parts().iter().flat_map(regions_below).collect()
}

/// The sets from which a policy takes the best. Those in the part of the machine that it chooses first, by all that is free
/// there, if it does so; else all.
fn considered(
    policy: &dyn Policy,
    graph: &HardwareGraph,
    free: &DeviceSet,
    sets: Vec<DeviceSet>,
) -> Vec<DeviceSet> {
    let has = |part: &DeviceSet| sets.iter().any(|set| set.is_subset(part));
    let part = match policy.name() {
        // Down the halves, each time into the one with the fewest free devices; of equals that with the lowest.
        "topo-aware" => {
            let mut part = graph.all();
            let mut regions = graph.host_tree().parts().to_vec();
            while !regions.is_empty() {
                if let [one] = &regions[..] {
                    regions = one.parts().to_vec();
                    continue;
                }
                let high = regions.split_off(regions.len().div_ceil(2));
                let devices = |half: &[Region]| -> DeviceSet {
                    half.iter().flat_map(|part| part.devices().iter()).collect()
                };
                let mut halves = [(devices(&regions), regions), (devices(&high), high)].to_vec();
                halves.retain(|(half, _)| has(half));
                halves.sort_by_key(|(half, _)| ((half & free).len(), half & free));
                let Some((half, parts)) = halves.into_iter().next() else {
                    break;
                };
                (part, regions) = (half, parts);
            }
            part
        }
        // The first socket of those that are larger than the job.
        "topo-aware-released" => {
            let larger = |part: &DeviceSet| sets.iter().any(|set| set.len() < part.len());
            let mut sockets = regions_below(graph.host_tree());
            sockets.retain(|socket| larger(socket) && has(socket));
            sockets.into_iter().next().unwrap_or_else(|| graph.all())
        }
        _ => graph.all(),
    };
    let inside = |set: &DeviceSet| set.is_subset(&part);
    sets.into_iter().filter(inside).collect()
}

/// Slow and obvious: the policy decides on each set by itself, on the machine without the rule.
fn best_by_hand(
    policy: &dyn Policy,
    request: &Request,
    graph: &HardwareGraph,
    free: &DeviceSet,
    sets: &[DeviceSet],
) -> Option<Decision> {
    let mut best: Option<Decision> = None;
    // In the order of their ids: of equal decisions the first stands.
    let fits = |set: &&DeviceSet| set.len() == request.pattern.len() && set.is_subset(free);
    let sets = sets.iter().filter(fits).cloned().collect();
    let sets = considered(policy, graph, free, sets);
    let sorted: BTreeSet<Vec<_>> = sets.iter().map(|set| set.iter().collect()).collect();
    for set in sorted {
        let inside = request.clone().only(set.into_iter().collect());
        if let Ok(found) = policy.decide(&inside, &graph.with_free(free)) {
            let better = best.as_ref().is_none_or(|best| found.order(best).is_lt());
            best = if better { Some(found) } else { best };
        }
    }
    best
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(96))]

    #[test]
    fn every_policy_gives_the_best_of_the_offered_sets((graph, sets, free, pattern) in cases()) {
        let ruled = offering(&graph, &sets);
        let request = Request::new(pattern);
        for policy in policies() {
            let expected = best_by_hand(&policy, &request, &graph, &free, &sets);
            let found = policy.decide(&request, &ruled.with_free(&free));
            match (expected, found) {
                (Some(expected), Ok(found)) => {
                    prop_assert!(ruled.offers(found.placement()), "{}: {found}", policy.name());
                    prop_assert_eq!(expected.placement(), found.placement(), "{}", policy.name());
                }
                (None, Err(_)) => {}
                (expected, found) => prop_assert!(false, "{}: {expected:?} {found:?}", policy.name()),
            }
        }
    }

    #[test]
    fn the_rule_is_a_requirement_of_the_engine_by_another_way((graph, sets, free, pattern) in cases()) {
        // The exact engine with a requirement on sets knows nothing of offers.
        let offered = sets.clone();
        let rules = || Rules::new("by-hand").prefer(max(aggregate_gbps())).then(lowest_ids());
        let required = rules().require_set("offered", move |rule| offered.contains(rule.devices));
        let request = Request::new(pattern);
        let expected = required.decide(&request, &graph.with_free(&free));
        let found = rules().decide(&request, &offering(&graph, &sets).with_free(&free));
        match (expected, found) {
            (Ok(expected), Ok(found)) => prop_assert_eq!(expected.placement(), found.placement()),
            (Err(expected), Err(found)) => prop_assert_eq!(expected.kind(), found.kind()),
            (expected, found) => prop_assert!(false, "{expected:?} {found:?}"),
        }
    }

    #[test]
    fn infeasible_is_what_no_free_set_would_change((graph, sets, free, pattern) in cases()) {
        let ruled = offering(&graph, &sets);
        let request = Request::new(pattern);
        for policy in policies() {
            let idle = policy.decide(&request, &ruled.with_free(&ruled.all()));
            match policy.decide(&request, &ruled.with_free(&free)) {
                Ok(_) => prop_assert!(idle.is_ok()),
                Err(Refusal::Infeasible(why)) => prop_assert!(idle.is_err(), "{}: {why}", policy.name()),
                Err(Refusal::Busy(_)) => prop_assert!(idle.is_ok(), "{}: {idle:?}", policy.name()),
                Err(Refusal::LimitReached(_)) => {}
            }
        }
    }

    #[test]
    fn instances_are_given_on_one_device_that_is_offered_alone(
        graph in cut_machines(2..=3),
        demand in demands(),
        ranks in 1usize..=3,
    ) {
        let sets = [DeviceSet::from([0, 1]), DeviceSet::from([1])];
        let ruled = offering(&graph, &sets);
        let request = Request::new(Pattern::independent(ranks).each(demand));
        let allocator = Allocator::new(Arc::new(ruled));
        for policy in policies() {
            if let Ok(found) = policy.decide(&request, &allocator.view()) {
                prop_assert!(allocator.graph().offers(found.placement()), "{}: {found}", policy.name());
            }
        }
    }
}

/// Two sockets with these devices.
fn sockets(sockets: [&[usize]; 2]) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let gpus = super::common::gpus(&mut fabric, sockets.iter().map(|socket| socket.len()).sum());
    let nodes = [0, 1].map(|i| fabric.add_numa(format!("numa{i}"), i).unwrap());
    for (node, socket) in nodes.into_iter().zip(sockets) {
        socket
            .iter()
            .for_each(|&gpu| fabric.attach(gpus[gpu], node, 12.0).unwrap());
    }
    let (name, kind) = ("machine".to_owned(), NodeKind::Machine);
    let machine = fabric.add(FabricNode { name, kind }).unwrap();
    nodes
        .iter()
        .for_each(|&node| fabric.attach(node, machine, 12.0).unwrap());
    fabric.lower().unwrap()
}

#[test]
fn topo_aware_halves_the_whole_machine_and_not_each_offered_set() {
    let given = |policy: &dyn Policy, graph: &HardwareGraph, free: &[u32], ranks| {
        let free = free.iter().map(|&id| id.into()).collect();
        let request = Request::new(Pattern::ring(ranks));
        let found = policy.decide(&request, &graph.with_free(&free)).unwrap();
        found.placement().to_string()
    };
    let low_high = sockets([&[0, 1, 2], &[3, 4, 5]]);
    // Alone, each of the two leaves nothing over. On the machine, device 5 is the last free one of its socket.
    let alone = offering(&low_high, &[[2].into(), [5].into()]);
    assert_eq!(given(&topo_aware(), &alone, &[1, 2, 5], 1), "5");
    // The emptier socket has two free devices, but no set that is offered: the job stays within the other one.
    let across = offering(&low_high, &[[0, 5].into(), [4, 5].into()]);
    assert_eq!(given(&topo_aware(), &across, &[0, 1, 3, 4, 5], 2), "4, 5");
    // The released code takes the first socket that has enough, not the lowest ids of all.
    let odd_even = offering(
        &sockets([&[0, 2, 4], &[1, 3, 5]]),
        &[[1].into(), [2].into()],
    );
    assert_eq!(given(&topo_aware_released(), &odd_even, &[1, 2, 3], 1), "2");
}

#[test]
fn the_allocator_refuses_a_set_that_is_not_offered_whoever_decided() {
    let graph = super::common::complete(4);
    let pair = |a: u32, b: u32| DeviceSet::from([a, b]);
    let ruled = Arc::new(offering(&graph, &[pair(0, 1), pair(2, 3)]));
    let mut allocator = Allocator::new(ruled.clone());
    let request = Request::new(Pattern::ring(2));
    let by_hand = |a: u32, b: u32, allocator: &Allocator| {
        Decision::checked("by hand", &request, &allocator.view(), [a.into(), b.into()])
    };
    let refusal = by_hand(1, 2, &allocator).unwrap_err();
    insta::assert_snapshot!(
        refusal.to_string(),
        @"not met: a set of devices that the machine offers"
    );
    // A decision for the same devices from a machine with the rule lifted is another machine's.
    let lifted = Allocator::new(Arc::new(graph));
    assert!(allocator.commit(by_hand(1, 2, &lifted).unwrap()).is_err());
    // What is in use already is booked all the same, and what is left is offered or not.
    let used = Decision::of_use("used", &request, &allocator.view(), [1.into(), 2.into()]);
    allocator.commit(used.unwrap()).unwrap();
    let refusal = allocator.allocate(random("x", 1, 1), &request).unwrap_err();
    assert_eq!(refusal.kind(), "busy", "{refusal}");
    let three = allocator.allocate(random("x", 1, 1), &Request::new(Pattern::ring(3)));
    let refusal = three.unwrap_err();
    assert_eq!(refusal.kind(), "infeasible");
    insta::assert_snapshot!(
        refusal.to_string(),
        @"not met: an offered set of 3 devices that the request allows: this machine offers sets of 2"
    );
}

/// The partitions of an HGX A100 with eight GPUs: each alone, four pairs, two times four, all.
fn partitions() -> Vec<DeviceSet> {
    let runs = |length: u32| {
        (0..8 / length).map(move |i| (i * length..(i + 1) * length).map(Into::into).collect())
    };
    [1, 2, 4, 8].into_iter().flat_map(runs).collect()
}

#[test]
fn on_every_free_set_of_eight_devices_a_partition_is_given_if_and_only_if_one_is_free() {
    let ruled = offering(&super::common::complete(8), &partitions());
    let mut given = 0;
    for policy in policies() {
        for (k, mask) in [1, 2, 3, 4, 8]
            .into_iter()
            .flat_map(|k| (0u32..256).map(move |mask| (k, mask)))
        {
            let free: DeviceSet = (0u32..8)
                .filter(|i| mask >> i & 1 == 1)
                .map(Into::into)
                .collect();
            let there = partitions()
                .iter()
                .any(|partition| partition.len() == k && partition.is_subset(&free));
            // The released code gives a sensitive job no set whose Eq. 2 is below that of one device.
            let request = Request::new(Pattern::ring(k)).sensitive(false);
            let found = policy.decide(&request, &ruled.with_free(&free));
            assert_eq!(
                found.is_ok(),
                there,
                "{} {k} {free}: {found:?}",
                policy.name()
            );
            if let Ok(found) = found {
                assert!(partitions().contains(&found.placement().set()), "{found}");
                given += 1;
            }
        }
    }
    assert!(given > 5_000, "{given}");
}

#[test]
fn offers_must_be_of_the_machines_devices() {
    let graph = super::common::complete(2);
    let mut fabric = graph.fabric().clone();
    let said = [
        vec![],
        vec![DeviceSet::new()],
        vec![DeviceSet::from([0, 2])],
    ]
    .map(|bad| fabric.set_offered(Some(bad)).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    offered sets of devices: no set of devices at all: expected sets of the machine's devices, at least one
    offered sets of devices: a set without devices: expected sets of the machine's devices, at least one
    offered sets of devices: a set with device 2 of 2: expected sets of the machine's devices, at least one
    ");
    assert_eq!(fabric.offered(), None);
    fabric
        .set_offered(Some(vec![DeviceSet::from([0, 1]), DeviceSet::from([1])]))
        .unwrap();
    assert_eq!(
        fabric.offered().unwrap(),
        [DeviceSet::from([1]), DeviceSet::from([0, 1])]
    );
    let ruled = fabric.lower().unwrap();
    assert_ne!(ruled.fingerprint(), graph.fingerprint());
}
