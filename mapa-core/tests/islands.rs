//! Machines made of islands: the optimum compared with every map.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use mapa_core::testing::oracle;
use mapa_core::{
    Candidate, DeviceId, DeviceSet, Fabric, HardwareGraph, Limits, LinkClass, Objective, Pattern,
    Policy, Request, Rules, Shape, StopReason, Tiers, aggregate_gbps, criteria::max,
};
use proptest::prelude::*;

use crate::common::gpus;

/// Islands of these sizes, one behind the other.
fn machine(sizes: &[usize], links: &[usize], kinds: usize) -> HardwareGraph {
    let of = |(i, &n): (usize, &usize)| std::iter::repeat_n(i, n);
    let island_of: Vec<usize> = sizes.iter().enumerate().flat_map(of).collect();
    islands(&island_of, links, kinds)
}

/// The island of each device, its own links by number: NV2, NV1, the host, or the network that joins
/// islands.
fn islands(island_of: &[usize], links: &[usize], kinds: usize) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let nodes = gpus(&mut fabric, island_of.len());
    let mut links = links.iter().cycle();
    let classes = [
        (LinkClass::Direct(2), 50.0),
        (LinkClass::Direct(1), 25.0),
        (LinkClass::Network, 3.0),
        (LinkClass::Sys, 12.0),
    ];
    for b in 0..nodes.len() {
        for a in 0..b {
            let own = links.next().unwrap() % kinds;
            let (class, gbps) = if island_of[a] == island_of[b] {
                classes[own]
            } else {
                classes[2]
            };
            fabric.link(nodes[a], nodes[b], class, gbps).unwrap();
        }
    }
    fabric.lower().unwrap()
}

/// An arbitrary function of the counts.
fn any_function(seed: u64) -> Objective<'static> {
    Objective::links("any", Tiers::PAPER, move |census| {
        let (x, y, z) = census.xyz();
        let mixed = [x, y, z].iter().fold(seed, |h, &v| {
            (h ^ u64::from(v))
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .rotate_left(29)
        });
        (mixed % 17) as f64
    })
}

fn agrees_with_every_map(
    graph: &HardwareGraph,
    pattern: &Pattern,
    free: &DeviceSet,
    objective: &Objective<'static>,
) {
    let request = Request::new(pattern.clone());
    let view = graph.with_free(free);
    let decision = Rules::new("own")
        .prefer(max(objective.clone()))
        .decide(&request, &view);
    let score = |placement: &[DeviceId]| {
        objective.score(&Candidate {
            view,
            pattern,
            placement,
        })
    };
    let set = |map: &Vec<DeviceId>| map.iter().copied().collect::<DeviceSet>();
    let maps = oracle::raw_matches(pattern, graph, free, false);
    let best = maps.iter().map(|map| score(map)).max_by(f64::total_cmp);
    let Some(best) = best else {
        return assert!(decision.is_err());
    };
    let decision = decision.unwrap();
    assert!(decision.search().complete());
    assert_eq!(score(decision.placement()), best);
    let lowest = maps.iter().filter(|map| score(map) == best).map(set).min();
    assert_eq!(Some(decision.placement().set()), lowest);
    assert!(maps.contains(&decision.placement().to_vec()));
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(300))]

    #[test]
    fn small_islands_with_four_kinds_of_link(
        sizes in proptest::collection::vec(1usize..=4, 2..=4),
        links in proptest::collection::vec(0usize..4, 40),
        shape in proptest::sample::select(vec![Shape::Ring, Shape::Chain, Shape::Star]),
        k in 1usize..=5,
        seed in any::<u64>(),
        taken in any::<u16>(),
    ) {
        let sizes: Vec<usize> = sizes.into_iter().scan(8, |left, n| { let n = n.min(*left); *left -= n; (n > 0).then_some(n) }).collect();
        // The host kind is not there with the network within islands, since the network is the
        // background.
        let links: Vec<usize> = links.into_iter().map(|kind| if kind == 2 { 3 } else { kind }).collect();
        let graph = machine(&sizes, &links, 4);
        let free: DeviceSet = graph.all().iter().filter(|id| taken >> id.0 & 0x101 != 0x101).collect();
        let pattern = shape.pattern(k);
        agrees_with_every_map(&graph, &pattern, &free, &aggregate_gbps());
        agrees_with_every_map(&graph, &pattern, &free, &any_function(seed));
    }

    #[test]
    fn islands_whose_devices_are_numbered_in_any_order(
        island_of in proptest::collection::vec(0usize..3, 4..=8),
        links in proptest::collection::vec(0usize..3, 28),
        shape in proptest::sample::select(vec![Shape::Ring, Shape::Chain, Shape::Star]),
        k in 2usize..=5,
        seed in any::<u64>(),
    ) {
        let links: Vec<usize> = links.into_iter().map(|kind| if kind == 2 { 3 } else { kind }).collect();
        let graph = islands(&island_of, &links, 4);
        agrees_with_every_map(&graph, &shape.pattern(k), &graph.all(), &any_function(seed));
        // Where many sets are equal, the lowest ids of each island are not the lowest of all.
        agrees_with_every_map(&graph, &shape.pattern(k), &graph.all(), &aggregate_gbps());
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(24))]

    #[test]
    fn more_devices_than_a_table_holds(
        sizes in proptest::collection::vec(2usize..=8, 4..=5),
        links in proptest::collection::vec(0usize..3, 300),
        shape in proptest::sample::select(vec![Shape::Ring, Shape::Chain, Shape::Star]),
        k in 2usize..=4,
        seed in any::<u64>(),
    ) {
        prop_assume!((17..=22).contains(&sizes.iter().sum::<usize>()));
        let graph = machine(&sizes, &links, 3);
        agrees_with_every_map(&graph, &shape.pattern(k), &graph.all(), &any_function(seed));
    }
}

#[test]
fn what_a_deadline_leaves_does_not_pass_for_the_best() {
    let graph = machine(&[8; 4], &[0, 1, 0, 1, 1, 0], 2);
    let all = graph.all();
    let value = any_function(5);
    let policy = Rules::new("own").prefer(max(value.clone()));
    for (shape, k) in [
        (Shape::Ring, 5),
        (Shape::Ring, 12),
        (Shape::Chain, 6),
        (Shape::Chain, 12),
    ] {
        let request = Request::new(shape.pattern(k));
        let best = policy.decide(&request, &graph.with_free(&all)).unwrap();
        assert!(best.search().complete());
        for asked in 0..20 {
            let left = AtomicU32::new(asked);
            let stop = || {
                left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1))
                    .is_err()
            };
            match policy.decide(&request, &graph.with_free(&all).until(&stop)) {
                Ok(other) if other.search().complete() => {
                    assert_eq!(
                        other.best().score("any"),
                        best.best().score("any"),
                        "{shape} of {k}, asked {asked} times"
                    );
                }
                Ok(other) => assert_eq!(other.search().stopped, StopReason::Caller),
                Err(refusal) => assert_eq!(
                    refusal.kind(),
                    "limit_reached",
                    "{shape} of {k}, asked {asked} times"
                ),
            }
        }
    }
}

#[test]
fn a_limit_on_nodes_holds_where_islands_solve_it_too() {
    // An answer that took more nodes than the limit is not proven within it, and whoever set the limit is told so.
    for (shape, k) in [(Shape::Ring, 12), (Shape::Chain, 12)] {
        let request = Request::new(shape.pattern(k));
        let decide = |nodes| {
            // A new machine and policy each time: a proven answer is kept, and needs no search.
            let graph = machine(&[8; 4], &[0, 1, 0, 1, 1, 0], 2);
            let all = graph.all();
            let policy = Rules::new("own").prefer(max(any_function(5)));
            let limits = Limits::NONE.nodes(nodes);
            policy.decide(&request.clone().limits(limits), &graph.with_free(&all))
        };
        let spent = decide(u64::MAX).unwrap().search().nodes;
        let mut stopped = 0;
        for nodes in (100..spent).step_by(500).chain(spent - 120..=spent) {
            match decide(nodes).map(|found| found.search()) {
                Ok(search) if search.complete() => {
                    assert!(search.nodes <= nodes, "{shape}, {nodes}: {search:?}");
                    continue;
                }
                Ok(search) => assert_eq!(search.stopped, StopReason::NodeLimit),
                Err(refusal) => assert_eq!(refusal.kind(), "limit_reached", "{shape}, {nodes}"),
            }
            stopped += 1;
        }
        assert!(stopped > 0, "{shape}");
    }
}

#[test]
fn rings_of_sixteen_over_eight_servers_have_two_edges_between_them() {
    // Eight double links in a circle on each server, single ones across.
    let links: Vec<usize> = vec![0, 1, 0, 1, 1, 0];
    let graph = machine(&[8; 8], &links, 2);
    let all = graph.all();
    let decision = mapa_core::greedy()
        .decide(&Request::new(Pattern::ring(16)), &graph.with_free(&all))
        .unwrap();
    assert!(decision.search().complete());
    let set = decision.placement().set();
    let servers: std::collections::BTreeSet<u32> = set.iter().map(|id| id.0 / 8).collect();
    assert_eq!(servers.len(), 2);
    let between = (0..16)
        .filter(|&i| decision.placement()[i].0 / 8 != decision.placement()[(i + 1) % 16].0 / 8)
        .count();
    assert_eq!(between, 2);
}
