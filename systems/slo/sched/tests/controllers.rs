//! The controller of latencies: its table of states, its settings, its properties over random
//! histories with faults.

mod admission;
mod history;
mod replay;
mod scheduler;
mod table;
mod window;

use mapa_system_slo::{
    CounterSnapshot, EnabledLevers, ModelParameters, PlaceCounters, Settings, SlowdownModel,
    TickInput,
};

fn model() -> SlowdownModel {
    SlowdownModel::new(&[2, 3, 4], &ModelParameters::default()).unwrap()
}

fn settings(levers: EnabledLevers) -> Settings {
    Settings::new(levers, model()).unwrap()
}

/// Places, each with its neighbours that copy and whether one trains.
fn snapshot(places: &[(u32, bool)]) -> CounterSnapshot {
    let of = |&(heavy, training): &(u32, bool)| PlaceCounters {
        heavy: Some(heavy),
        training: Some(training),
        largest: Some(2),
        ..PlaceCounters::default()
    };
    CounterSnapshot {
        places: places.iter().map(of).collect(),
        ..CounterSnapshot::default()
    }
}

fn input(tick: u64, latencies_ms: &[u64], places: &[(u32, bool)]) -> TickInput {
    TickInput {
        tick,
        latencies_ns: latencies_ms.iter().map(|ms| ms * 1_000_000).collect(),
        snapshot: Some(snapshot(places)),
        ..TickInput::default()
    }
}
