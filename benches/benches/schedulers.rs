//! Schedulers side by side: the paper's 300 jobs on a DGX-1V, simulated to the end. All jobs arrive
//! at time 0.
//!
//! In one group, estimates of run times are exact. In the other group, run times depend on
//! bandwidth and all jobs run longer than estimated, so backfilling has to plan again and again.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group};
use mapa_core::preserve;
use mapa_sched::{Fleet, NamedScheduler, SCHEDULERS, Time};
use mapa_sim::{ByBandwidth, Execution, Fixed, Generator, Outcome, Simulation, Workload};
use mapa_topologies::named;

fn fleet() -> Fleet {
    Fleet::new([Arc::new(
        named("dgx-1v")
            .and_then(|machine| machine.graph())
            .expect("it is in the catalogue"),
    )])
}

fn run(workload: &Workload, fleet: &Fleet, scheduler: &str, execution: &dyn Execution) -> Outcome {
    let mut scheduler = NamedScheduler::among(&SCHEDULERS, scheduler, Box::new(preserve()))
        .expect("it is built in");
    Simulation::new(workload, fleet.clone())
        .run(&mut *scheduler, execution)
        .expect("a workload that fits")
}

/// Checks that every job has run, and that the device seconds in use do not exceed those of the
/// machine, as they would if two jobs ran at once on one device.
fn check(workload: &Workload, outcome: &Outcome) {
    assert_eq!(outcome.runs.len(), workload.jobs.len());
    let busy: f64 = outcome
        .runs
        .iter()
        .map(|run| run.ran().as_secs_f64() * run.stays[0].at.placement.len() as f64)
        .sum();
    let all = outcome.end.since(Time::ZERO).as_secs_f64() * 8.0;
    assert!(
        busy <= all && busy > 0.7 * all,
        "{busy} of {all} device seconds"
    );
}

fn schedulers(c: &mut Criterion) {
    let (workload, fleet) = (Generator::mapa().generate(1).expect("a mix"), fleet());
    let by_bandwidth = ByBandwidth::eq_2();
    for (name, execution) in [
        ("exact", &Fixed as &dyn Execution),
        ("too short", &by_bandwidth),
    ] {
        let mut group = c.benchmark_group(format!("300 jobs on a DGX-1V, estimates {name}"));
        group.sample_size(10);
        let ends: Vec<Time> = SCHEDULERS
            .iter()
            .map(|row| {
                let expected = run(&workload, &fleet, row.name, execution);
                check(&workload, &expected);
                group.bench_function(row.name, |b| {
                    b.iter(|| {
                        assert_eq!(
                            run(black_box(&workload), &fleet, row.name, execution),
                            expected
                        )
                    });
                });
                expected.end
            })
            .collect();
        // The first three are fifo, easy-backfill and conservative-backfill: backfilling fills
        // gaps.
        assert!(
            ends[1] < ends[0] && ends[2] < ends[0],
            "backfilling ends sooner: {ends:?}"
        );
        group.finish();
    }
}

criterion_group!(benches, schedulers);
