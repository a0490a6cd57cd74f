//! Whole decisions: a request in, a placement with its scores out.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use mapa_core::{BuiltIn, DeviceSet, HardwareGraph, Pattern, Policy, Request};
use mapa_topologies::named;

fn graph(name: &str) -> HardwareGraph {
    named(name).and_then(|machine| machine.graph()).expect("it is in the catalogue")
}

/// Four and five of the seven free devices of a DGX-1V, under every policy.
fn dgx_1v(c: &mut Criterion) {
    let graph = graph("dgx-1v");
    let free = &graph.all() - &DeviceSet::from([0]);
    for k in [4, 5] {
        let mut group = c.benchmark_group(format!("ring of {k}, 7 free of a DGX-1V"));
        for built_in in BuiltIn::ALL {
            let policy = BuiltIn::named(built_in.name).expect("it is built in");
            for sensitive in [true, false] {
                // Only preserve asks.
                if !sensitive && !built_in.name.starts_with("preserve") {
                    continue;
                }
                let request = Request::new(Pattern::ring(k)).sensitive(sensitive);
                let expected = policy.decide(&request, &graph.with_free(&free)).expect("there are enough");
                let name = format!("{}{}", built_in.name, if sensitive { "" } else { ", insensitive" });
                group.bench_function(name, |b| {
                    b.iter(|| {
                        let decision = policy.decide(black_box(&request), &graph.with_free(&free)).expect("as before");
                        assert_eq!(decision, expected);
                    });
                });
            }
        }
        group.finish();
    }
}

/// What the released MAPA needs seconds for: five of sixteen, and seven of eight.
fn larger(c: &mut Criterion) {
    let mut group = c.benchmark_group("preserve, sensitive, idle machine");
    // The seven-ring that Eq. 2 prefers has three PCIe hops: four single links and three times 12 GB/s.
    for (name, k, gbps) in [("torus-2d", 5, 99.0), ("dgx-1v", 7, 136.0), ("dgx-2", 8, 1200.0)] {
        let graph = graph(name);
        let free = graph.all();
        let policy = BuiltIn::named("preserve").expect("it is built in");
        let request = Request::new(Pattern::ring(k)).sensitive(true);
        group.bench_function(format!("ring of {k} of {name}"), |b| {
            b.iter(|| {
                let decision =
                    policy.decide(black_box(&request), &graph.with_free(&free)).expect("the machine is idle");
                assert!(decision.search().complete());
                assert_eq!(decision.best().score("aggregate_gbps"), Some(gbps));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, dgx_1v, larger);
criterion_main!(benches);
