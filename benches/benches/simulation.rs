//! The simulator: the paper's experiment, and events per second beside a simulator without an event
//! queue.

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group};
use mapa_core::{BuiltIn, HardwareGraph, lowest_id};
use mapa_sched::{Fifo, Fleet, Time};
use mapa_sim::testing::replay;
use mapa_sim::{ByBandwidth, Execution, Fixed, Generator, Row, Scorer, Simulation, Workload};
use mapa_topologies::named;

fn machine(name: &str) -> Arc<HardwareGraph> {
    Arc::new(
        named(name)
            .and_then(|machine| machine.graph())
            .expect("it is in the catalogue"),
    )
}

/// Simulates 300 jobs on a machine under the paper's four policies, and makes the rows of all jobs.
fn experiment(
    workload: &Workload,
    graph: &Arc<HardwareGraph>,
    execution: &dyn Execution,
) -> Vec<Time> {
    let mut scorer = Scorer::new();
    let run = |policy: &BuiltIn| {
        let fleet = Fleet::new([graph.clone()]);
        let mut fifo = Fifo::new(BuiltIn::named(policy.name).expect("it is built in"));
        let outcome = Simulation::new(workload, fleet.clone())
            .run(&mut fifo, execution)
            .expect("a sound workload");
        assert_eq!(Row::of(&outcome, workload, &fleet, &mut scorer).len(), 300);
        outcome.end
    };
    BuiltIn::ALL[..4].iter().map(run).collect()
}

fn paper(c: &mut Criterion) {
    let workload = Generator::mapa().generate(1).expect("the paper's mix");
    let mut group = c.benchmark_group("300 jobs, four policies");
    group.sample_size(10);
    for name in ["dgx-1v", "torus-2d", "cube-mesh-16"] {
        let graph = machine(name);
        let execution = ByBandwidth::eq_2();
        let expected = experiment(&workload, &graph, &execution);
        group.bench_function(name, |b| {
            b.iter(|| assert_eq!(experiment(&workload, &graph, &execution), expected))
        });
        group.bench_function(format!("{name}, nothing kept from before"), |b| {
            b.iter(|| {
                assert_eq!(
                    experiment(&workload, &machine(name), &ByBandwidth::eq_2()),
                    expected
                )
            });
        });
    }
    group.finish();
}

/// The event loop alone: every job needs one device, by lowest ids, and thousands wait in the
/// queue.
fn events(c: &mut Criterion) {
    let mut jobs = Generator::mapa();
    (jobs.jobs, jobs.sizes) = (3000, (1..=1).into());
    let workload = jobs.generate(1).expect("jobs on one device");
    let fleet = Fleet::new([machine("dgx-1v")]);
    let run = || {
        Simulation::new(&workload, fleet.clone())
            .run(&mut Fifo::new(lowest_id()), &Fixed)
            .expect("sound")
    };
    let expected = run();
    assert_eq!(expected.runs.len(), 3000);
    let mut group = c.benchmark_group("events of 3000 jobs");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(expected.events));
    group.bench_function("by the queue", |b| b.iter(|| assert_eq!(run(), expected)));
    group.bench_function("by looking through everything", |b| {
        b.iter(|| {
            let found = replay(
                &workload,
                fleet.clone(),
                &mut Fifo::new(lowest_id()),
                &Fixed,
            )
            .expect("sound");
            assert_eq!(found, expected);
        });
    });
    group.finish();
}

criterion_group!(benches, paper, events);
