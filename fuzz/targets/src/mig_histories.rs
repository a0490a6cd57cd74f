//! Any history of a machine with partitioned GPUs: jobs start by every policy, move and end, GPUs are repartitioned, states are
//! saved and restored. The allocator says what simple books say, and no instance is given twice.

use std::sync::Arc;

use mapa_core::Snapshot;
use mapa_core::testing::{MachineHistory, cut_machines, machine_steps};

use crate::input::Choices;

fn copied(snapshot: &Snapshot) -> Snapshot {
    let text = serde_json::to_string(snapshot).expect("plain data");
    serde_json::from_str(&text).expect("what is written can be read")
}

/// One input.
pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let mut history = MachineHistory::new(Arc::new(choices.drawn(&cut_machines(1..=3))));
    let steps = machine_steps();
    for _ in 0..64 {
        if choices.is_empty() {
            break;
        }
        history.step(&choices.drawn(&steps), copied);
        history.check();
    }
}
