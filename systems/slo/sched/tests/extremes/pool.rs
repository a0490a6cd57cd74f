//! Extreme values of tenants with promised latencies, their controllers and what these are told.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_core::{Demand, MachineId, Pattern, Request};
use mapa_sched::{Event, Job, JobId, Latency, Scheduler, Signals, Tenant, Time, Token};
use mapa_system_slo::replay::*;
use mapa_system_slo::*;

use crate::sched_pool::fleet_of_instances;
use crate::shared::{Extreme, values};

values!(Alternative: [f64::NAN, f64::MAX].map(|score| Alternative { to: TenantSetup::at(u32::MAX), score }));
values!(ByReplay: ReplaySettings::values().into_iter().filter_map(|settings| ByReplay::new(settings, 1.0).ok()));
values!(CompletedRequest: [(0, Duration::ZERO), (u64::MAX, Duration::MAX)].map(|(arrived, took)| CompletedRequest { arrived: Time(arrived), took }));
values!(Contention: [Contention::default(), Contention { heavy: u32::MAX, training: true }]);
values!(ControllerPhase: phases());
values!(ControllerState: [ControllerState::new(TenantSetup::at(0), &usual()), strange_state()].into_iter().chain(ControllerPhase::values().into_iter().map(in_phase)));
values!(CounterSnapshot: [CounterSnapshot::default(), snapshot(0), snapshot(u32::MAX)]);
values!(Decision: [Decision::default(), Decision { rows: TABLE.iter().map(|row| row.id).collect(), orders: vec![ControllerAction::Lift] }]);
values!(DecisionRecord: [mapa_system_slo::recorded("\u{202e}", &usual(), &mut strange_state(), &TickInput::default())]);
values!(EnabledLevers: [EnabledLevers::ALL, EnabledLevers::NONE]);
values!(MeasuredRequest: [0.0, -1.0, f64::MAX, f64::NAN].map(|ms| MeasuredRequest { arrived_ms: ms, transfer_ms: ms, compute_took_ms: ms }));
values!(ModelParameters: [ModelParameters::default(), parameters(f64::NAN), parameters(f64::MAX), parameters(0.0)]);
values!(PaperController: Settings::values().into_iter().map(PaperController::new));
values!(PastRequest: [0.0, -1.0, f64::MAX, f64::NAN].map(|ms| PastRequest { arrived_ms: ms, transfer_ms: ms, compute_ms: ms }));
values!(PlaceCounters: [PlaceCounters::default(), crowded()]);
values!(ReplayInput: TickInput::values().into_iter().map(|base| ReplayInput { base, requests: PastRequest::values() }));
values!(ReplayRecord: ReplayInput::values().into_iter().take(1).map(|input| replay::recorded("\0", &replay_settings(usual()), &mut ReplayState::values().remove(0), &input)));
values!(ReplaySettings: Settings::values().into_iter().map(replay_settings).chain([strange_replay()]));
values!(ReplayState: ControllerState::values().into_iter().map(|base| ReplayState { base, history: RequestHistory::values().remove(1), duty: vec![[f64::NAN; 2], [f64::MAX; 2]] }));
values!(RequestHistory: [0, usize::MAX].map(history));
values!(Sensor: SensorSettings::values().into_iter().map(Sensor::new));
values!(SensorSettings: [SensorSettings::default(), SensorSettings { agree: 0, readings: 0, prior_training: f64::NAN, prior_requests: 0.0 }, SensorSettings { agree: u32::MAX, readings: u32::MAX, prior_training: -1.0, prior_requests: f64::MAX }]);
values!(Settings: [usual(), zero(), most(), Settings { model: no_profile(), ..usual() }]);
values!(Slowdown: [0.0, 1.0, f64::MAX, f64::NAN].map(|factor| Slowdown { transfer: factor, compute: factor }));
values!(SlowdownModel: [usual().model, no_profile(), ragged()]);
values!(TenantSetup: [TenantSetup::at(0), TenantSetup { place: u32::MAX, profile: u8::MAX, pinned: true, mps_percent: u32::MAX }]);
values!(ThrottleState: [ThrottleState::Open, ThrottleState::On { until: 0 }, ThrottleState::Rest { until: u64::MAX }]);
values!(TickInput: inputs());
values!(Window: [window(0, 0), window(1, 3), window(usize::MAX, 3)]);
values!(SloScheduler: Settings::values().into_iter().map(|settings| told(SloScheduler::new(mapa_core::greedy(), settings))));
values!(SloReplayScheduler: ReplaySettings::values().into_iter().filter_map(|settings| SloReplayScheduler::new(mapa_core::greedy(), settings, 1.0).ok()).map(told));

fn usual() -> Settings {
    Settings::of_one_profile(EnabledLevers::ALL)
}

fn zero() -> Settings {
    Settings {
        tick_ms: 0,
        promise_ns: 0,
        trigger_ns: 0,
        persistence: 0,
        dwell: 0,
        cool_down: 0,
        window: 0,
        average_percent: 0,
        throttle_ticks: 0,
        relax_ticks: 0,
        relax_percent: 0,
        validation_ticks: 0,
        worse_percent: 0,
        silent_ticks: 0,
        relaunch_ticks: 0,
        model: ragged(),
        ..usual()
    }
}

fn most() -> Settings {
    Settings {
        tick_ms: u32::MAX,
        promise_ns: u64::MAX,
        trigger_ns: u64::MAX,
        persistence: u32::MAX,
        dwell: u32::MAX,
        cool_down: u32::MAX,
        window: u32::MAX,
        average_percent: u32::MAX,
        throttle_ticks: u32::MAX,
        relax_ticks: u32::MAX,
        relax_percent: u32::MAX,
        validation_ticks: u32::MAX,
        worse_percent: u32::MAX,
        silent_ticks: u32::MAX,
        stale_ticks: u32::MAX,
        relaunch_ticks: u32::MAX,
        mps_percent: u32::MAX,
        io_mb_s: u32::MAX,
        heavy_mb_s: u32::MAX,
        ..usual()
    }
}

fn no_profile() -> SlowdownModel {
    SlowdownModel {
        slices: Vec::new(),
        ..ragged()
    }
}

/// Tables that are shorter than there are profiles.
fn ragged() -> SlowdownModel {
    SlowdownModel {
        slices: vec![0, u32::MAX],
        heavy_weight: vec![f64::NAN],
        compute: Vec::new(),
        training: Vec::new(),
        throttled_share: f64::NAN,
        throttled_mps: f64::MAX,
    }
}

fn parameters(number: f64) -> ModelParameters {
    ModelParameters {
        heavy_weight: number,
        weight_power: number,
        training: number,
        training_power: number,
        compute_power: number,
        ..ModelParameters::default()
    }
}

fn replay_settings(base: Settings) -> ReplaySettings {
    let usual = ReplaySettings::new(usual()).expect("the usual settings");
    ReplaySettings { base, ..usual }
}

fn strange_replay() -> ReplaySettings {
    ReplaySettings {
        history: 0,
        every_ticks: 0,
        turn: u32::MAX,
        memory_s: 0.0,
        horizon_s: 0.0,
        lasting_s: f64::NAN,
        per_slice: f64::MAX,
        pause_s: f64::NEG_INFINITY,
        ..replay_settings(usual())
    }
}

fn window(size: usize, latencies: u64) -> Window {
    let mut window = Window::new(size);
    for at in 0..latencies {
        window.push(u64::MAX - at);
    }
    window
}

fn history(size: usize) -> RequestHistory {
    let mut history = RequestHistory::new(size);
    for request in PastRequest::values() {
        history.push(request);
    }
    history
}

fn phases() -> Vec<ControllerPhase> {
    let far = TenantSetup::values().remove(1);
    vec![
        ControllerPhase::Warmup,
        ControllerPhase::Watch,
        ControllerPhase::Relaunching {
            since: u64::MAX,
            to: far,
            from: far,
            why: RelaunchReason::Replay,
            before_ns: Some(u64::MAX),
        },
        ControllerPhase::Validating {
            at: 0,
            before_ns: Some(u64::MAX),
            back: Some(far),
        },
    ]
}

fn in_phase(phase: ControllerPhase) -> ControllerState {
    ControllerState {
        phase,
        ..strange_state()
    }
}

fn strange_state() -> ControllerState {
    ControllerState {
        config: TenantSetup::values().remove(1),
        phase: ControllerPhase::Watch,
        guard: ThrottleState::On { until: u64::MAX },
        above: u32::MAX,
        below: u32::MAX,
        unresolved: true,
        last_relaunch: Some(u64::MAX),
        last_tick: Some(u64::MAX),
        silent: u32::MAX,
        window: window(1, 3),
        average_ns: Some(u64::MAX),
        queue: vec![newcomer(); 2],
    }
}

fn newcomer() -> Newcomer {
    Newcomer {
        id: u64::MAX,
        heavy: true,
        training: true,
        deadline: 0,
    }
}

fn crowded() -> PlaceCounters {
    PlaceCounters {
        host: u32::MAX,
        numa: Some(u32::MAX),
        heavy: Some(u32::MAX),
        training: Some(true),
        largest: Some(u8::MAX),
        pcie_mb_s: Some(u32::MAX),
        sm_percent: Some(u32::MAX),
        ..PlaceCounters::default()
    }
}

fn snapshot(age_ticks: u32) -> CounterSnapshot {
    CounterSnapshot {
        age_ticks,
        places: PlaceCounters::values(),
        numa: vec![NumaCounters {
            block_io_mb_s: Some(u32::MAX),
            ..NumaCounters::default()
        }],
    }
}

fn inputs() -> Vec<TickInput> {
    let commands = [
        None,
        Some(ControllerCommand::Stop),
        Some(ControllerCommand::Recover {
            config: TenantSetup::values().remove(1),
        }),
    ];
    let of = |(tick, command)| TickInput {
        tick,
        latencies_ns: vec![0, u64::MAX],
        snapshot: Some(snapshot(0)),
        relaunch: Some(Relaunched::Failed),
        command,
        newcomers: vec![newcomer()],
    };
    let told = [0, 1, u64::MAX].into_iter().zip(commands).map(of);
    std::iter::once(TickInput::default()).chain(told).collect()
}

/// A scheduler that guards a tenant beside another, and is told extremes of both.
fn told<S: Scheduler>(mut scheduler: S) -> S {
    let mut fleet = fleet_of_instances();
    let job = |id, slo| {
        let demand = Demand::any().pcie_gbps(f64::MAX);
        let request = Request::new(Pattern::ring(1).with_demand(0, demand));
        let mut job = Job::new(JobId(id), request);
        job.slo = slo;
        Event::Arrived(job)
    };
    let latency = |took| {
        Event::Latency(Latency {
            tenant: Tenant::Job(JobId(1)),
            took,
        })
    };
    let signals = || {
        Event::Signals(Signals {
            machine: MachineId(0),
            block_io_mb_s: BTreeMap::from([(0, u32::MAX), (u32::MAX, 0)]),
            interrupts: BTreeMap::from([(0, u32::MAX)]),
            pcie_mb_s: BTreeMap::new(),
        })
    };
    let arrivals = vec![
        job(1, Some(Duration::ZERO)),
        job(2, None),
        job(3, Some(Duration::MAX)),
    ];
    let times = [
        0,
        1,
        5_000_000_000,
        6_000_000_000,
        u64::MAX - 1,
        u64::MAX,
        0,
    ];
    let mut orders = Vec::new();
    let mut events = arrivals;
    for time in times {
        events.extend((0..70).map(|_| latency(Duration::MAX)));
        events.extend([signals(), Event::Woken(Token(0x510))]);
        // The fleet refuses tenants that it cannot book.
        let _ = mapa_sched::step(
            &mut scheduler,
            &mut fleet,
            Time(time),
            events.drain(..),
            &mut orders,
        );
    }
    scheduler
}
