//! The matcher: streaming distinct rings, by its three doors, and beside petgraph on the shape that both can do.
//!
//! petgraph's matching is node-induced, so on a complete machine it finds cliques and nothing else; there it finds every
//! raw match, where one of each class is needed.

use std::hint::black_box;
use std::ops::ControlFlow;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mapa_core::{HardwareGraph, MatchConfig, Pattern};
use mapa_topologies::named;
use petgraph::graph::UnGraph;

fn complete(n: usize) -> HardwareGraph {
    named(&format!("complete:{n}")).and_then(|machine| machine.graph()).expect("it is in the catalogue")
}

fn rings(c: &mut Criterion) {
    for (n, k, matches) in [(8usize, 5usize, 672u64), (8, 8, 2520), (16, 5, 52_416), (16, 6, 480_480)] {
        let graph = complete(n);
        let ring = Pattern::ring(k);
        let search = ring.matcher().on(&graph);
        let mut group = c.benchmark_group(format!("distinct {k}-rings of K{n}"));
        group.throughput(Throughput::Elements(matches));
        group.bench_function("visit each", |b| {
            b.iter(|| {
                let mut sum = 0u64;
                let outcome = search.visit(|placement| {
                    sum += u64::from(black_box(placement)[k - 1].0);
                    ControlFlow::<()>::Continue(())
                });
                assert_eq!(outcome.stats.matches, matches);
                sum
            });
        });
        group.bench_function("iterator", |b| b.iter(|| assert_eq!(search.iter().count() as u64, matches)));
        group.bench_function("count", |b| b.iter(|| assert_eq!(search.count().matches, matches)));
        group.finish();
    }
}

fn compile(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile a pattern");
    for (name, pattern, symmetries) in [
        ("ring of 8", Pattern::ring(8), 16),
        ("all-to-all of 8", Pattern::all_to_all(8), 40_320),
        ("tree of 15", Pattern::binary_tree(15), 128),
        ("ring-tree of 8", Pattern::ring_tree(8), 1),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| assert_eq!(MatchConfig::new().compile(black_box(&pattern)).symmetries(), symmetries));
        });
    }
    group.finish();
}

fn beside_petgraph(c: &mut Criterion) {
    let graph = complete(8);
    let clique = Pattern::all_to_all(5);
    let edges = |n: u32| (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect::<Vec<_>>();
    let small = UnGraph::<(), ()>::from_edges(edges(5));
    let large = UnGraph::<(), ()>::from_edges(edges(8));
    let raw = MatchConfig::new().induced(true).distinct(false).compile(&clique);
    let mut group = c.benchmark_group("5-cliques of K8");
    group.bench_function("MAPA, distinct", |b| b.iter(|| assert_eq!(clique.matcher().on(&graph).iter().count(), 56)));
    group.bench_function("MAPA, raw induced", |b| b.iter(|| assert_eq!(raw.on(&graph).iter().count(), 6720)));
    group.bench_function("petgraph, raw induced", |b| {
        b.iter(|| {
            let (small, large) = (&small, &large);
            let (mut nodes, mut edges) = (|_: &(), _: &()| true, |_: &(), _: &()| true);
            let all = petgraph::algo::subgraph_isomorphisms_iter(&small, &large, &mut nodes, &mut edges);
            assert_eq!(all.map_or(0, Iterator::count), 6720);
        });
    });
    group.finish();
}

criterion_group!(benches, rings, compile, beside_petgraph);
criterion_main!(benches);
