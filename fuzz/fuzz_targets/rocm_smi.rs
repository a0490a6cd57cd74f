//! Any text of `rocm-smi` is read or refused; what is read has a symmetric graph, and survives the
//! machine file.
#![no_main]

mod common;

use common::keeps;
use libfuzzer_sys::fuzz_target;
use mapa_topologies::Kind;

fuzz_target!(|text: &str| {
    let Ok(dump) = Kind::RocmSmi.read(text) else {
        return;
    };
    let devices = dump.machine.fabric.device_count();
    assert!(
        dump.peer_access
            .iter()
            .all(|access| access.from != access.to && access.to.index() < devices)
    );
    keeps(&dump.machine);
});
