//! The controller of latencies: its table of states, its settings, its properties over random
//! histories with faults.

mod admission;
mod history;
mod replay;
mod scheduler;
mod table;
mod window;

use mapa_system_slo::{Input, Levers, Model, ModelParameters, Place, Settings, Snapshot};

fn model() -> Model {
    Model::new(&[2, 3, 4], &ModelParameters::default()).unwrap()
}

fn settings(levers: Levers) -> Settings {
    Settings::new(levers, model()).unwrap()
}

/// Places, each with its neighbours that copy and whether one trains.
fn snapshot(places: &[(u32, bool)]) -> Snapshot {
    let of = |&(heavy, training): &(u32, bool)| Place {
        heavy: Some(heavy),
        training: Some(training),
        largest: Some(2),
        ..Place::default()
    };
    Snapshot {
        places: places.iter().map(of).collect(),
        ..Snapshot::default()
    }
}

fn input(tick: u64, latencies_ms: &[u64], places: &[(u32, bool)]) -> Input {
    Input {
        tick,
        latencies_ns: latencies_ms.iter().map(|ms| ms * 1_000_000).collect(),
        snapshot: Some(snapshot(places)),
        ..Input::default()
    }
}
