//! Greedy and preserve never enumerate where tables will do; here is what enumeration says.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use mapa_core::{
    BuiltIn, Candidate, DeviceId, DeviceSet, HardwareGraph, MatchConfig, Objective, Pattern,
    Policy, Request, Shape, aggregate_gbps, effective_gbps, preserved_gbps,
};
use mapa_topologies::named;

fn graph(name: &str) -> HardwareGraph {
    named(name)
        .and_then(|machine| machine.graph())
        .expect("it is in the catalogue")
}

/// The best distinct match by these objectives, each as high as can be, in this order; then lowest
/// ids, smallest ranks.
fn by_enumeration(
    graph: &HardwareGraph,
    pattern: &Pattern,
    free: &DeviceSet,
    by: &[Objective<'_>],
) -> Option<Vec<DeviceId>> {
    type Found = (Vec<f64>, DeviceSet, Vec<DeviceId>);
    let mut best: Option<Found> = None;
    let matcher = MatchConfig::new().compile(pattern);
    let view = graph.with_free(free);
    matcher.on(graph).within(free).visit(|placement| {
        let values = by
            .iter()
            .map(|objective| {
                objective.score(&Candidate {
                    view,
                    pattern,
                    placement,
                })
            })
            .collect();
        let found: Found = (
            values,
            placement.iter().copied().collect(),
            placement.to_vec(),
        );
        let better = best.as_ref().is_none_or(|best| {
            let by_value = found
                .0
                .iter()
                .zip(&best.0)
                .map(|(a, b)| a.total_cmp(b))
                .find(|order| order.is_ne());
            by_value
                .unwrap_or(Ordering::Equal)
                .then_with(|| (&best.1, &best.2).cmp(&(&found.1, &found.2)))
                .is_gt()
        });
        if better {
            best = Some(found);
        }
        ControlFlow::<()>::Continue(())
    });
    best.map(|(_, _, placement)| placement)
}

fn agree(graph: &HardwareGraph, pattern: &Pattern, free: &DeviceSet) {
    let insensitive = [preserved_gbps(), aggregate_gbps()];
    let (greedy, sensitive) = ([aggregate_gbps()], [effective_gbps()]);
    for (name, sensitive, by) in [
        ("greedy", false, &greedy[..]),
        ("preserve", true, &sensitive),
        ("preserve", false, &insensitive),
    ] {
        // A job on one device is never sensitive.
        let by = if pattern.len() == 1 && name == "preserve" {
            &insensitive[..]
        } else {
            by
        };
        let request = Request::new(pattern.clone()).sensitive(sensitive);
        let decision = BuiltIn::named(name)
            .expect("it is built in")
            .decide(&request, &graph.with_free(free));
        let expected = by_enumeration(graph, pattern, free, by);
        if let Ok(decision) = &decision {
            assert!(decision.search().complete());
        }
        assert_eq!(
            decision.ok().map(|decision| decision.placement().to_vec()),
            expected,
            "{name} (sensitive: {sensitive}), {pattern:?} on {free}"
        );
    }
}

fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |x| {
        Some(
            x.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    })
    .skip(1)
    .map(|x| x >> 24)
}

#[test]
fn every_free_set_of_a_dgx_1v() {
    let graph = graph("dgx-1v");
    for set in 1u32..256 {
        let free: DeviceSet = (0..8).filter(|i| set >> i & 1 == 1).map(DeviceId).collect();
        for k in 1..=free.len() {
            // Chains and stars of eight have 20,160 and 8 matches; trees of eight too many for
            // every set.
            for shape in Shape::ALL {
                if k <= 6 || matches!(shape, Shape::Ring | Shape::Star | Shape::AllToAll) {
                    agree(&graph, &shape.pattern(k), &free);
                }
            }
        }
    }
}

#[test]
fn thousands_of_free_sets_of_machines_with_sixteen_gpus() {
    for (name, seed) in [
        ("cube-mesh-16", 1),
        ("torus-2d", 2),
        ("cube-mesh-16-released", 3),
        ("torus-2d-released", 4),
        ("dgx-2", 5),
    ] {
        let graph = graph(name);
        let mut numbers = numbers(seed);
        for _ in 0..500 {
            let mut draw = |n: u64| numbers.next().unwrap_or(0) % n;
            let k = 1 + draw(6) as usize;
            let shape = Shape::ALL[draw(6) as usize];
            let size = k + draw(if k < 5 { 7 } else { 3 }) as usize;
            let mut free = DeviceSet::new();
            while free.len() < size {
                free.insert(DeviceId(draw(16) as u32));
            }
            agree(&graph, &shape.pattern(k), &free);
        }
    }
}

#[test]
fn eight_and_more_of_nine_and_ten_free() {
    for name in ["cube-mesh-16", "torus-2d"] {
        let graph = graph(name);
        let free: DeviceSet = [0, 2, 3, 5, 7, 8, 11, 12, 14].into();
        agree(&graph, &Pattern::ring(8), &free);
        agree(&graph, &Pattern::ring(9), &free);
        agree(&graph, &Pattern::chain(7), &free);
    }
}

/// The most that is left of tori and fleets was found by a program of others, with another algorithm.
#[test]
fn what_is_left_of_large_machines_is_proven() {
    for (machine, k, left) in [
        ("torus:8x8", 4, 22_748.0),
        ("torus:8x8", 8, 19_858.0),
        ("fleet:8xdgx-1v", 8, 38_914.0),
    ] {
        let graph = graph(machine);
        let request = Request::new(Pattern::ring(k)).sensitive(false);
        let policy = BuiltIn::named("preserve").expect("it is built in");
        let found = policy
            .decide(&request, &graph.with_free(&graph.all()))
            .expect("it is idle");
        assert!(found.search().complete(), "{machine}");
        assert_eq!(
            found.best().score("preserved_gbps"),
            Some(left),
            "{machine}"
        );
    }
}

#[test]
fn large_rings_have_an_answer_before_any_limit_ends_the_search() {
    let graph = graph("torus:8x8");
    for k in [57, 58, 64] {
        let mut request = Request::new(Pattern::ring(k));
        request.limits = request.limits.nodes(200_000);
        let policy = BuiltIn::named("auto").expect("it is built in");
        let found = policy
            .decide(&request, &graph.with_free(&graph.all()))
            .expect("it is idle");
        assert_eq!(found.placement().len(), k);
        let (gbps, most) = (found.best().score("ring_packing_gbps"), found.at_most());
        assert!(
            !found.search().complete() && gbps <= most,
            "{gbps:?} of at most {most:?}"
        );
    }
}

#[test]
fn sixteen_devices_of_an_mi250_server_are_joined_without_the_host() {
    let graph = graph("mi250-x16");
    let policy = BuiltIn::named("auto").expect("it is built in");
    let request = Request::new(Pattern::ring(16));
    let found = policy
        .decide(&request, &graph.with_free(&graph.all()))
        .expect("it is idle");
    assert!(found.search().complete());
    assert_eq!(found.best().score("host_hops"), Some(0.0));
    assert_eq!(found.best().score("aggregate_gbps"), Some(2_200.0));
}
