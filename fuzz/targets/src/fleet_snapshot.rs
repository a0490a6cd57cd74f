//! Any text is a fleet's snapshot or refused; a fleet that was restored is saved as what it was
//! restored from.

use std::sync::{Arc, LazyLock};

use mapa_core::HardwareGraph;
use mapa_sched::{Fleet, FleetSnapshot};

use crate::input::text;

static GRAPHS: LazyLock<[Arc<HardwareGraph>; 2]> = LazyLock::new(|| {
    ["dgx-1v", "summit"].map(|name| {
        let machine = mapa_topologies::named(name).expect("it is in the catalogue");
        Arc::new(machine.graph().expect("it is well-formed"))
    })
});

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    // The machines' own numbers are too long to be guessed.
    let text = text
        .replace("FIRST", &GRAPHS[0].fingerprint().to_string())
        .replace("SECOND", &GRAPHS[1].fingerprint().to_string());
    let Ok(snapshot) = serde_json::from_str::<FleetSnapshot>(&text) else {
        return;
    };
    let Ok(fleet) = Fleet::restore(GRAPHS.clone(), snapshot) else {
        return;
    };
    let saved = fleet.snapshot();
    let again = Fleet::restore(GRAPHS.clone(), saved.clone()).expect("it was just saved");
    assert_eq!(again.snapshot(), saved);
}
