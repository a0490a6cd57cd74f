//! Fleets of DGX-1V: the paper's mix under `preserve` is replayed to the end, first in first out.
//! All jobs arrive at time 0. The fleet decides by its index, and on small fleets also by a visit
//! to every server.

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group};
use mapa_core::{BuiltIn, Decision, Policy, Refusal, Request, View};
use mapa_sched::{Fifo, Fleet};
use mapa_sim::{Fixed, Generator, Outcome, Simulation, Workload};
use mapa_topologies::named;

/// A policy without the promise `of_free_set`, so the fleet visits every server.
struct Visiting(Box<dyn Policy>);

impl Policy for Visiting {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn decide(&self, request: &Request, view: &View<'_>) -> Result<Decision, Refusal> {
        self.0.decide(request, view)
    }
}

fn preserve() -> Box<dyn Policy> {
    BuiltIn::named("preserve").expect("it is built in")
}

/// The outcome of the jobs, and the size of the index at the end, bytes.
fn run(workload: &Workload, fleet: &Fleet, policy: impl Policy + 'static) -> (Outcome, usize) {
    let mut bytes = 0;
    let last = workload.jobs.len();
    let mut seen = 0;
    let simulation = Simulation::new(workload, fleet.clone()).observe(|_, fleet| {
        seen += 1;
        // Only now and then, because `index_bytes` visits everything in the index.
        if seen % 1024 == 0 || seen == last {
            bytes = fleet.index_bytes();
        }
    });
    let outcome = simulation
        .run(&mut Fifo::new(policy), &Fixed)
        .expect("a sound workload");
    (outcome, bytes)
}

fn fleets(c: &mut Criterion) {
    let graph = Arc::new(
        named("dgx-1v")
            .and_then(|machine| machine.graph())
            .expect("it is in the catalogue"),
    );
    let mut group = c.benchmark_group("jobs of the paper's mix on DGX-1V servers");
    group.sample_size(10);
    for gpus in [100, 1_000, 10_000, 100_000] {
        let fleet = Fleet::new(vec![graph.clone(); gpus / 8]);
        let mut generator = Generator::mapa();
        generator.jobs = (gpus / 2).max(2_000);
        let workload = generator.generate(1).expect("the paper's mix");
        let (expected, bytes) = run(&workload, &fleet, preserve());
        assert_eq!(expected.runs.len(), workload.jobs.len());
        println!(
            "{gpus} GPUs, {} servers, {} jobs: index {bytes} bytes",
            gpus / 8,
            workload.jobs.len()
        );
        group.throughput(Throughput::Elements(workload.jobs.len() as u64));
        group.bench_function(format!("{gpus} GPUs, by the index"), |b| {
            b.iter(|| assert_eq!(run(&workload, &fleet, preserve()).0, expected));
        });
        if gpus <= 1_000 {
            assert_eq!(run(&workload, &fleet, Visiting(preserve())).0, expected);
            group.bench_function(format!("{gpus} GPUs, by visits"), |b| {
                b.iter(|| assert_eq!(run(&workload, &fleet, Visiting(preserve())).0, expected));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, fleets);
