//! Controllers of latencies: one tick of 100 tenants under each, and four hours of a tenant with all
//! its requests. Throughput is in tenants and in requests.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group};
use mapa_system_slo::replay::{self, ReplayInput, ReplaySettings, ReplayState, Request};
use mapa_system_slo::{Config, Input, Levers, Place, Settings, Snapshot, State, step};
use mapa_system_slo_sim::{Conditions, Paper, Replay, Scenario, Trace, run};

const TENANTS: u64 = 100;

/// A machine of eight places, two of them busy.
fn snapshot() -> Snapshot {
    let place = |at: u32| Place {
        host: at / 4,
        heavy: Some(u32::from(at == 0)),
        training: Some(at == 3),
        largest: Some(2),
        ..Place::default()
    };
    Snapshot {
        places: (0..8).map(place).collect(),
        ..Snapshot::default()
    }
}

fn input(tick: u64) -> Input {
    let latencies = (0..20).map(|at| 9_000_000 + 400_000 * ((tick * 7 + at * 13) % 17));
    Input {
        tick,
        latencies_ns: latencies.collect(),
        snapshot: Some(snapshot()),
        ..Input::default()
    }
}

fn settings() -> Settings {
    let own = Scenario::reachable().settings(Levers::ALL);
    own.expect("the scenario is sound")
}

fn ticks(c: &mut Criterion) {
    let mut group = c.benchmark_group("slo: a tick of 100 tenants");
    group.throughput(Throughput::Elements(TENANTS));
    let settings = settings();
    let mut states = vec![State::new(Config::at(0), &settings); TENANTS as usize];
    let mut tick = 0;
    group.bench_function("slo", |b| {
        b.iter(|| {
            tick += 1;
            let input = input(tick);
            for state in &mut states {
                black_box(step(&settings, state, &input));
            }
        });
    });
    assert!(states.iter().all(|state| state.is_ready(&settings)) || tick < 8);
    let mut all = Vec::new();
    for tenant in 0..TENANTS {
        let mut own = ReplaySettings::new(settings.clone()).expect("sound settings");
        // Tenants take turns, so that a tick replays for a fifth of them.
        own.turn = (tenant % u64::from(own.every_ticks)) as u32;
        // Every turn compares every candidate, and none is ever chosen.
        (own.act_below, own.base.dwell) = (0.0, 0);
        let state = ReplayState::new(Config::at(0), &own);
        all.push((own, state));
    }
    let mut tick = 0;
    group.bench_function("slo-replay", |b| {
        b.iter(|| {
            tick += 1;
            let base = input(tick);
            let requests = (0..20).map(|at| Request {
                arrived_ms: tick as f64 * 1e3 + f64::from(at) * 50.0,
                transfer_ms: 3.0 + f64::from(at % 5) / 2.0,
                compute_ms: 6.0,
            });
            let input = ReplayInput {
                base,
                requests: requests.collect(),
            };
            for (settings, state) in &mut all {
                black_box(replay::step(settings, state, &input));
            }
        });
    });
    group.finish();
}

fn runs(c: &mut Criterion) {
    let mut group = c.benchmark_group("slo: four hours of a tenant");
    group.sample_size(10);
    let scenario = Scenario::reachable();
    let trace = Trace::draw(&scenario, 1).expect("the scenario is sound");
    group.throughput(Throughput::Elements(trace.requests.len() as u64));
    let conditions = Conditions::default();
    let settings = settings();
    let paper = || {
        let mut controller = Paper::new(settings.clone(), Config::at(0));
        run(&scenario, &trace, 1, conditions, &mut controller).expect("a sound run")
    };
    let by_replay = ReplaySettings::new(settings.clone()).expect("sound settings");
    let ours = || {
        let mut controller = Replay::new(by_replay.clone(), Config::at(0));
        run(&scenario, &trace, 1, conditions, &mut controller).expect("a sound run")
    };
    assert!(ours().fail_percent() < paper().fail_percent() / 2.0);
    group.bench_function("slo", |b| b.iter(|| black_box(paper())));
    group.bench_function("slo-replay", |b| b.iter(|| black_box(ours())));
    group.finish();
}

criterion_group!(benches, ticks, runs);
