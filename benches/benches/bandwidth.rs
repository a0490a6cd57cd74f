//! Ring packings, and decisions by them.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group};
use mapa_core::{
    DeviceSet, Expected, HardwareGraph, Operation, Pattern, Policy, Request, RingPacking, auto,
    auto_with, max_bandwidth, ring_packing_gbps,
};
use mapa_topologies::named;

fn graph(name: &str) -> HardwareGraph {
    named(name)
        .and_then(|machine| machine.graph())
        .expect("it is in the catalogue")
}

fn packings(c: &mut Criterion) {
    let mut group = c.benchmark_group("ring packing");
    group.sample_size(10);
    let rings = RingPacking::default();
    let dgx = graph("dgx-1v");
    group.bench_function("DGX-1V, all 247 sets", |b| {
        b.iter(|| {
            let table = rings.table(black_box(&dgx), 2..=8);
            let (sets, sum) = table.fold((0, 0.0), |(sets, sum), (_, found)| {
                assert!(found.is_exact());
                (sets + 1, sum + found.gbps)
            });
            assert_eq!((sets, sum), (247, 7098.0));
        });
    });
    for (name, n, gbps) in [
        ("dgx-1v", 8, 150.0),
        ("torus-2d", 16, 125.0),
        ("cube-mesh-16", 16, 75.0),
    ] {
        let graph = graph(name);
        group.bench_function(format!("{name}, one set of {n}"), |b| {
            b.iter(|| {
                assert_eq!(
                    rings
                        .of(&graph, &DeviceSet::first_n(n))
                        .map(|found| found.gbps),
                    Some(gbps)
                )
            });
        });
    }
    // Only every `step`th set is measured: all sets take `step` times as long.
    let torus = graph("torus-2d");
    for (k, step) in [(4, 1), (6, 16), (8, 32), (10, 32), (12, 32), (14, 32)] {
        group.bench_function(format!("torus-2d, sets of {k}, every {step}th"), |b| {
            b.iter(|| {
                assert!(
                    rings
                        .table(&torus, k..=k)
                        .step_by(step)
                        .all(|(_, found)| found.is_exact())
                )
            });
        });
    }
    group.finish();
}

/// What is expected on sets of devices, beside the packing of the same sets.
fn expectations(c: &mut Criterion) {
    let mut group = c.benchmark_group("expected");
    group.sample_size(20);
    let (expected, rings) = (
        Expected::shipped(Operation::AllReduce),
        RingPacking::default(),
    );
    let exchange = Expected::shipped(Operation::AllToAll);
    for (name, n) in [
        ("l20-x16", 16),
        ("l20-x16", 8),
        ("dgx-1v", 8),
        ("dgx-a100", 8),
    ] {
        let graph = graph(name);
        let set = DeviceSet::first_n(n);
        group.bench_function(format!("{name}, one set of {n}, expected"), |b| {
            b.iter(|| {
                assert!(
                    expected
                        .of(black_box(&graph), &set)
                        .is_some_and(|estimate| estimate.known)
                )
            });
        });
        group.bench_function(format!("{name}, one set of {n}, all-to-all"), |b| {
            b.iter(|| {
                assert!(
                    exchange
                        .of(black_box(&graph), &set)
                        .is_some_and(|estimate| estimate.known)
                )
            });
        });
        group.bench_function(format!("{name}, one set of {n}, ring packing"), |b| {
            b.iter(|| assert!(rings.of(black_box(&graph), &set).is_some()));
        });
    }
    group.finish();
}

/// Decisions of the default policy by what is expected, and by packings at nominal rates as before.
fn expected_decisions(c: &mut Criterion) {
    let mut group = c.benchmark_group("auto");
    group.sample_size(20);
    for (name, k) in [
        ("dgx-1v", 4),
        ("dgx-a100", 4),
        ("hgx-h100", 6),
        ("mi300x-x8", 4),
        ("gb200-nvl72", 8),
        ("l20-x16", 4),
        ("l20-x16", 8),
    ] {
        let graph = graph(name);
        let request = Request::new(Pattern::ring(k));
        let all = graph.all();
        let chosen = ["expected", "nominal"].map(|by| {
            let policy = match by {
                "expected" => auto(),
                _ => auto_with(ring_packing_gbps()),
            };
            let decide = || {
                policy
                    .decide(&request, &graph.with_free(&all))
                    .expect("there is room")
            };
            group.bench_function(format!("{name}, {k} devices, {by}"), |b| {
                b.iter(|| assert!(decide().search().complete()));
            });
            decide().placement().clone()
        });
        assert_eq!(chosen[0], chosen[1], "{name}");
    }
    group.finish();
}

fn decisions(c: &mut Criterion) {
    let mut group = c.benchmark_group("max-bandwidth");
    group.sample_size(10);
    let policy = max_bandwidth();
    for (name, k, gbps) in [
        ("dgx-1v", 4, 100.0),
        ("dgx-2", 8, 150.0),
        ("gb200-nvl72", 8, 900.0),
        ("torus-2d", 8, 125.0),
        ("torus-2d", 11, 12.0),
        ("cube-mesh-16", 8, 100.0),
        ("fleet:8xdgx-1v", 8, 150.0),
    ] {
        let graph = graph(name);
        let (all, request) = (graph.all(), Request::new(Pattern::ring(k)));
        let decide = |graph: &HardwareGraph| {
            let decision = policy
                .decide(&request, &graph.with_free(&all))
                .expect("there are enough");
            assert!(decision.search().complete());
            assert_eq!(decision.best().score("ring_packing_gbps"), Some(gbps));
        };
        let fresh = || {
            graph
                .fabric()
                .clone()
                .lower()
                .expect("it was lowered before")
        };
        group.bench_function(format!("{name}, {k}, cold"), |b| {
            b.iter_batched_ref(fresh, |graph| decide(graph), BatchSize::LargeInput);
        });
        group.bench_function(format!("{name}, {k}, warm"), |b| b.iter(|| decide(&graph)));
    }
    group.finish();
}

criterion_group!(
    benches,
    expectations,
    expected_decisions,
    packings,
    decisions
);
