//! Controllers of latencies: one tick of 100 tenants under each, and four hours of a tenant with all
//! its requests. Throughput is in tenants and in requests.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group};
use mapa_system_slo::replay::{self, PastRequest, ReplayInput, ReplaySettings, ReplayState};
use mapa_system_slo::{
    ControllerState, CounterSnapshot, EnabledLevers, PlaceCounters, Settings, TenantSetup,
    TickInput, step,
};
use mapa_system_slo_sim::{DrawnRun, PaperControl, ReplayControl, RunConditions, Scenario, run};

const TENANTS: u64 = 100;

/// A machine of eight places, two of them busy.
fn snapshot() -> CounterSnapshot {
    let place = |at: u32| PlaceCounters {
        host: at / 4,
        heavy: Some(u32::from(at == 0)),
        training: Some(at == 3),
        largest: Some(2),
        ..PlaceCounters::default()
    };
    CounterSnapshot {
        places: (0..8).map(place).collect(),
        ..CounterSnapshot::default()
    }
}

fn input(tick: u64) -> TickInput {
    let latencies = (0..20).map(|at| 9_000_000 + 400_000 * ((tick * 7 + at * 13) % 17));
    TickInput {
        tick,
        latencies_ns: latencies.collect(),
        snapshot: Some(snapshot()),
        ..TickInput::default()
    }
}

fn settings() -> Settings {
    let own = Scenario::reachable().settings(EnabledLevers::ALL);
    own.expect("the scenario is sound")
}

fn ticks(c: &mut Criterion) {
    let mut group = c.benchmark_group("slo: a tick of 100 tenants");
    group.throughput(Throughput::Elements(TENANTS));
    let settings = settings();
    let mut states = vec![ControllerState::new(TenantSetup::at(0), &settings); TENANTS as usize];
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
        let state = ReplayState::new(TenantSetup::at(0), &own);
        all.push((own, state));
    }
    let mut tick = 0;
    group.bench_function("slo-replay", |b| {
        b.iter(|| {
            tick += 1;
            let base = input(tick);
            let requests = (0..20).map(|at| PastRequest {
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
    let trace = DrawnRun::draw(&scenario, 1).expect("the scenario is sound");
    group.throughput(Throughput::Elements(trace.requests.len() as u64));
    let conditions = RunConditions::default();
    let settings = settings();
    let paper = || {
        let mut controller = PaperControl::new(settings.clone(), TenantSetup::at(0));
        run(&scenario, &trace, 1, conditions, &mut controller).expect("a sound run")
    };
    let by_replay = ReplaySettings::new(settings.clone()).expect("sound settings");
    let ours = || {
        let mut controller = ReplayControl::new(by_replay.clone(), TenantSetup::at(0));
        run(&scenario, &trace, 1, conditions, &mut controller).expect("a sound run")
    };
    assert!(ours().fail_percent() < paper().fail_percent() / 2.0);
    group.bench_function("slo", |b| b.iter(|| black_box(paper())));
    group.bench_function("slo-replay", |b| b.iter(|| black_box(ours())));
    group.finish();
}

criterion_group!(benches, ticks, runs);
