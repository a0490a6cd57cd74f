//! The exact optimum, with and without tables from earlier decisions, and beside enumeration where
//! that is fast enough.
//!
//! A benchmark measures a whole decision of a policy, with its scores and reasons.

use std::hint::black_box;
use std::ops::ControlFlow;

use criterion::{BatchSize, Criterion, criterion_group};
use mapa_core::{
    Census, DeviceId, DeviceSet, Fabric, HardwareGraph, LinkClass, Objective, Pattern, Policy,
    Request, Rules, Shape, Tiers, criteria::max, effective_gbps, greedy, preserve,
};
use mapa_topologies::named;

fn graph(name: &str) -> HardwareGraph {
    named(name)
        .and_then(|machine| machine.graph())
        .expect("it is in the catalogue")
}

/// An objective that is not monotone: products of link counts with mixed signs.
fn polynomial(census: &Census) -> f64 {
    let (x, y, z) = census.xyz();
    let (x, y, z) = (f64::from(x), f64::from(y), f64::from(z));
    0.31 * x - 0.17 * y - 0.42 * z + 0.23 * x * y - 0.37 * y * z + 0.19 * x * z - 0.08 * x * x
        + 0.11 * x * y * z
}

fn objectives() -> [(&'static str, Objective<'static>); 2] {
    [
        ("EffBW", effective_gbps()),
        (
            "a polynomial",
            Objective::links("polynomial", Tiers::PAPER, polynomial),
        ),
    ]
}

/// Free sets from a fixed random stream: each device is free with probability one half, and the
/// first `k` always are.
fn free_sets(n: u32, k: usize) -> Vec<DeviceSet> {
    let numbers = std::iter::successors(Some(7u64), |x| {
        Some(
            x.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    });
    let set = |x: u64| {
        (0..n)
            .filter(|i| x >> (24 + i) & 1 == 1 || *i < k as u32)
            .map(DeviceId)
            .collect()
    };
    numbers.skip(1).take(64).map(set).collect()
}

/// Measures decisions on a new copy of the machine each time (cold), and on one whose tables are
/// built (warm).
fn cold_and_warm(c: &mut Criterion, group: &str, graph: &HardwareGraph, cases: &[(Shape, usize)]) {
    let mut group = c.benchmark_group(group);
    group.sample_size(20);
    for &(shape, k) in cases {
        for (name, objective) in objectives() {
            let policy = Rules::new("best").prefer(max(objective));
            let request = Request::new(shape.pattern(k));
            let all = graph.all();
            let decide = |graph: &HardwareGraph, free: &DeviceSet| {
                let decision = policy
                    .decide(&request, &graph.with_free(free))
                    .expect("there are enough");
                assert!(decision.search().complete());
                decision
            };
            let expected = decide(graph, &all);
            let fresh = || {
                graph
                    .fabric()
                    .clone()
                    .lower()
                    .expect("it was lowered before")
            };
            let what = format!("{shape} of {k}, {name}");
            group.bench_function(format!("{what}, cold"), |b| {
                b.iter_batched_ref(
                    fresh,
                    |graph| assert_eq!(decide(graph, &all), expected),
                    BatchSize::LargeInput,
                );
            });
            let sets = free_sets(graph.len() as u32, k);
            let answers: Vec<_> = sets.iter().map(|free| decide(graph, free)).collect();
            let mut turn = (0..sets.len()).cycle();
            group.bench_function(format!("{what}, warm, any free set"), |b| {
                b.iter(|| {
                    let at = turn.next().unwrap_or(0);
                    assert_eq!(decide(black_box(graph), &sets[at]), answers[at]);
                });
            });
        }
    }
    group.finish();
}

fn eight(c: &mut Criterion) {
    let cases = [
        (Shape::Ring, 4),
        (Shape::Ring, 7),
        (Shape::Chain, 5),
        (Shape::Star, 4),
        (Shape::AllToAll, 4),
    ];
    cold_and_warm(c, "optimum, DGX-1V", &graph("dgx-1v"), &cases);
}

fn sixteen(c: &mut Criterion) {
    let cases = [
        (Shape::Ring, 5),
        (Shape::Ring, 8),
        (Shape::Ring, 12),
        (Shape::Ring, 16),
        (Shape::Chain, 16),
        (Shape::Star, 8),
        (Shape::AllToAll, 8),
        (Shape::Tree, 7),
        (Shape::Tree, 8),
        (Shape::RingTree, 6),
        (Shape::RingTree, 8),
    ];
    let graph = graph("cube-mesh-16");
    cold_and_warm(c, "optimum, 16 GPUs in a cube mesh", &graph, &cases);
}

/// A ring of six on eight devices: scoring every distinct match, against a look-up in the table.
fn beside_enumeration(c: &mut Criterion) {
    let graph = graph("dgx-1v");
    let ring = Pattern::ring(6);
    let free = graph.all();
    let request = Request::new(ring.clone());
    let best = greedy()
        .decide(&request, &graph.with_free(&free))
        .expect("the machine is idle");
    let expected = best
        .best()
        .score("aggregate_gbps")
        .expect("greedy reports it");
    let mut group = c.benchmark_group("greedy, ring of 6 of a DGX-1V");
    group.bench_function("every distinct match", |b| {
        b.iter(|| {
            let mut highest = 0.0f64;
            ring.matcher().on(&graph).visit(|placement| {
                let gbps = |e: &mapa_core::Edge| {
                    graph
                        .link(placement[usize::from(e.a)], placement[usize::from(e.b)])
                        .gbps
                };
                highest = highest.max(ring.edges().iter().map(gbps).sum());
                ControlFlow::<()>::Continue(())
            });
            assert_eq!(highest, expected);
        });
    });
    group.bench_function("the table", |b| {
        b.iter(|| {
            assert_eq!(
                greedy()
                    .decide(black_box(&request), &graph.with_free(&free))
                    .as_ref(),
                Ok(&best)
            )
        });
    });
    group.finish();
}

/// Eight DGX-1V joined by a network.
fn cluster() -> HardwareGraph {
    let server = graph("dgx-1v");
    let mut fabric = Fabric::new();
    let nodes: Vec<_> = (0..64)
        .map(|i| fabric.add_device(format!("GPU{i}")).expect("names differ"))
        .collect();
    for b in 0..64u32 {
        for a in 0..b {
            let link = server.link(DeviceId(a % 8), DeviceId(b % 8));
            let (class, gbps) = if a / 8 == b / 8 {
                (link.class, link.gbps)
            } else {
                (LinkClass::Network, 12.5)
            };
            fabric
                .link(nodes[a as usize], nodes[b as usize], class, gbps)
                .expect("each pair once");
        }
    }
    fabric.lower().expect("64 devices")
}

fn large(c: &mut Criterion) {
    let mut group = c.benchmark_group("optimum, many devices");
    group.sample_size(20);
    let mut bench =
        |name: &str, graph: &HardwareGraph, pattern: Pattern, policy: &dyn Policy, gbps: f64| {
            let request = Request::new(pattern).sensitive(true);
            let free = graph.all();
            group.bench_function(name, |b| {
                b.iter(|| {
                    let decision = policy
                        .decide(black_box(&request), &graph.with_free(&free))
                        .expect("idle");
                    assert!(decision.search().complete());
                    assert_eq!(decision.best().score("aggregate_gbps"), Some(gbps));
                });
            });
        };
    let rack = graph("complete:72");
    for k in [2, 16, 36, 72] {
        let edges = if k == 2 { 2 } else { k };
        bench(
            &format!("72 in one NVLink domain, ring of {k}"),
            &rack,
            Pattern::ring(k),
            &preserve(),
            12.0 * edges as f64,
        );
    }
    let cluster = cluster();
    // The ring has fourteen double links within two servers, and two edges between them.
    bench(
        "8 x DGX-1V, ring of 16, greedy",
        &cluster,
        Pattern::ring(16),
        &greedy(),
        725.0,
    );
    group.finish();
}

criterion_group!(benches, eight, sixteen, beside_enumeration, large);
