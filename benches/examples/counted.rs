//! Works whose instructions are counted: `.ci/counts` compares the counts with those in `benches/counts.tsv`.
//!
//! ```text
//! cargo run --release -p mapa-benches --example counted            # the names of all works
//! cargo run --release -p mapa-benches --example counted NAME       # does one
//! ```
//!
//! Each work asserts its result. None takes long, since counting makes it fifty times slower.

use std::hint::black_box;
use std::sync::Arc;

use mapa_benches::torus;
use mapa_core::{
    Allocator, HardwareGraph, LeaseId, MatchConfig, Pattern, Policy, Request, Shape, auto, preserve,
};
use mapa_sched::{Fleet, NamedScheduler, SCHEDULERS};
use mapa_sim::{Arrivals, ByBandwidth, Generator, Simulation};
use mapa_topologies::named;

fn graph(name: &str) -> HardwareGraph {
    let machine = named(name).and_then(|machine| machine.graph());
    machine.expect("it is in the catalogue")
}

/// The first decision on a machine, proven.
fn first(policy: impl Policy, machine: &str, k: usize) {
    let graph = graph(machine);
    let (free, request) = (graph.all(), Request::new(Pattern::ring(k)));
    let decision = policy.decide(&request, &graph.with_free(&free));
    assert!(decision.expect("it is idle").search().complete());
}

/// Repeats one decision ten thousand times.
fn again(machine: &str, k: usize) {
    let (graph, policy) = (graph(machine), auto());
    let (free, request) = (graph.all(), Request::new(Pattern::ring(k)));
    for _ in 0..10_000 {
        let decision = policy.decide(black_box(&request), &graph.with_free(&free));
        assert!(decision.is_ok());
    }
}

/// Jobs of all shapes that come and go on one machine, in an order that is always the same.
fn history(machine: &str, jobs: usize) {
    let (policy, mut allocator) = (auto(), Allocator::new(Arc::new(graph(machine))));
    let mut held: Vec<LeaseId> = Vec::new();
    let (mut draw, mut placed) = (1u64, 0);
    for job in 0..jobs {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (size, at) = (1 + (draw >> 33) as usize % 4, (draw >> 48) as usize);
        let shape = [Shape::Ring, Shape::Chain, Shape::Star][job % 3];
        let request = Request::new(shape.pattern(size)).sensitive(job % 2 == 0);
        match allocator.allocate(&policy, &request) {
            Ok(lease) => {
                held.push(lease.id);
                placed += 1;
            }
            Err(_) => {
                let lease = held.swap_remove(at % held.len());
                allocator.release(lease).expect("it is held");
            }
        }
    }
    assert!(placed > jobs / 3);
}

/// The number of matches of a pattern in a torus.
fn matches(pattern: Pattern, side: usize, expected: u64) {
    let graph = torus(side);
    let search = MatchConfig::new().compile(&pattern);
    assert_eq!(search.on(&graph).count().matches, expected);
}

/// The paper's mix under a scheduler.
fn simulated(scheduler: &str, servers: usize, jobs: usize, arrivals: Arrivals) {
    let mut generator = Generator::mapa();
    (generator.jobs, generator.arrivals) = (jobs, arrivals);
    let workload = generator.generate(1).expect("the paper's mix");
    let server = Arc::new(graph("dgx-1v"));
    let fleet = Fleet::new(std::iter::repeat_n(server, servers));
    let made = NamedScheduler::among(&SCHEDULERS, scheduler, Box::new(preserve()));
    let simulation = Simulation::new(&workload, fleet);
    let outcome = simulation.run(
        &mut *made.expect("it is listed"),
        &ByBandwidth::ring_packing(),
    );
    assert_eq!(outcome.expect("a sound workload").runs.len(), jobs);
}

const WORKS: &[(&str, fn())] = &[
    ("first dgx-1v 4", || first(auto(), "dgx-1v", 4)),
    ("first dgx-1v 7", || first(auto(), "dgx-1v", 7)),
    ("first mi300x-x8 4", || first(auto(), "mi300x-x8", 4)),
    ("first dgx-2 8", || first(auto(), "dgx-2", 8)),
    ("first torus:4x4 8", || first(auto(), "torus:4x4", 8)),
    ("first cube-mesh-16 8", || first(auto(), "cube-mesh-16", 8)),
    ("first torus:8x8 4", || first(auto(), "torus:8x8", 4)),
    ("again dgx-1v 4", || again("dgx-1v", 4)),
    ("history dgx-1v", || history("dgx-1v", 1000)),
    ("history torus:4x4", || history("torus:4x4", 100)),
    ("history gb200-nvl72", || history("gb200-nvl72", 300)),
    ("match ring 12 in torus:8x8", || {
        matches(Pattern::ring(12), 8, 20_928)
    }),
    ("match star 5 in torus:8x8", || {
        matches(Pattern::star(5), 8, 64)
    }),
    ("fifo 300", || simulated("fifo", 1, 300, Arrivals::AtOnce)),
    ("easy-backfill 300", || {
        simulated("easy-backfill", 1, 300, Arrivals::AtOnce)
    }),
    ("easy-backfill servers", || {
        simulated("easy-backfill", 40, 1000, Arrivals::AtOnce)
    }),
    ("conservative-backfill servers", || {
        simulated("conservative-backfill", 40, 500, Arrivals::AtOnce)
    }),
    ("first-fit servers", || {
        simulated("first-fit", 40, 1000, Arrivals::AtOnce)
    }),
];

fn main() {
    match std::env::args().nth(1) {
        None => WORKS.iter().for_each(|(name, _)| println!("{name}")),
        Some(name) => match WORKS.iter().find(|(known, _)| *known == name) {
            Some((_, work)) => work(),
            None => panic!("no work is called {name}"),
        },
    }
}
