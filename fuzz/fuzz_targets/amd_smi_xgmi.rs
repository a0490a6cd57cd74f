//! Any text of `amd-smi xgmi` is read or refused; what is read has a symmetric graph, and survives
//! the machine file.
#![no_main]

mod common;

use common::keeps;
use libfuzzer_sys::fuzz_target;
use mapa_topologies::Kind;

fuzz_target!(|text: &str| {
    let Ok(dump) = Kind::AmdSmiXgmi.read(text) else {
        return;
    };
    let devices = dump.machine.fabric.device_count();
    assert!(
        dump.ports
            .iter()
            .all(|port| port.device.index() < devices && port.remote.is_some())
    );
    keeps(&dump.machine);
});
