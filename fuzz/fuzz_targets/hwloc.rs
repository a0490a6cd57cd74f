//! Any text is read or refused; what is read has a symmetric graph, and survives the machine file.
#![no_main]

mod common;

use common::keeps;
use libfuzzer_sys::fuzz_target;
use mapa_topologies::{Dump, Kind};

fuzz_target!(|text: &str| {
    let Ok(machine) = Kind::Hwloc.read(text).and_then(Dump::into_machine) else {
        return;
    };
    keeps(&machine);
});
