//! Fleets of DGX-1V: the paper's mix under `preserve`, all jobs there from the beginning, first in first out, replayed to the end; by
//! the index, and by a visit to every server where that ends.

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mapa_core::{BuiltIn, Decision, Policy, Refusal, Request, View};
use mapa_sched::{Fifo, Fleet};
use mapa_sim::{Fixed, Generator, Outcome, Simulation, Workload};
use mapa_topologies::named;

/// A policy that promises nothing, so that every server is asked.
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

/// What came of the jobs, and what the index took at the end, bytes.
fn run(workload: &Workload, fleet: &Fleet, policy: impl Policy + 'static) -> (Outcome, usize) {
    let mut bytes = 0;
    let last = workload.jobs.len();
    let mut seen = 0;
    let simulation = Simulation::new(workload, fleet.clone()).observe(|_, fleet| {
        seen += 1;
        // Now and then, as it goes through all that is kept.
        if seen % 1024 == 0 || seen == last {
            bytes = fleet.index_bytes();
        }
    });
    let outcome = simulation.run(&mut Fifo::new(policy), &Fixed).expect("a sound workload");
    (outcome, bytes)
}

fn fleets(c: &mut Criterion) {
    let graph = Arc::new(named("dgx-1v").and_then(|machine| machine.graph()).expect("it is in the catalogue"));
    let mut group = c.benchmark_group("jobs of the paper's mix on DGX-1V servers");
    group.sample_size(10);
    for gpus in [100, 1_000, 10_000, 100_000] {
        let fleet = Fleet::new(vec![graph.clone(); gpus / 8]);
        let mut generator = Generator::mapa();
        generator.jobs = (gpus / 2).max(2_000);
        let workload = generator.generate(1).expect("the paper's mix");
        let (expected, bytes) = run(&workload, &fleet, preserve());
        assert_eq!(expected.runs.len(), workload.jobs.len());
        println!("{gpus} GPUs, {} servers, {} jobs: index {bytes} bytes", gpus / 8, workload.jobs.len());
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
criterion_main!(benches);
