//! Any text is read or refused; a machine that is read has a graph.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mapa_topologies::Kind;

fuzz_target!(|text: &str| {
    let Ok(dump) = Kind::NcclLog.read(text) else {
        return;
    };
    for (.., wire) in dump.machine.fabric.wires() {
        let gbps = match wire {
            mapa_core::FabricWire::Up { gbps } => gbps,
            mapa_core::FabricWire::Link(link) => link.gbps,
        };
        assert!(gbps.is_finite() && gbps > 0.0);
    }
    if let Ok(machine) = dump.into_machine() {
        assert!(machine.graph().is_ok());
    }
});
