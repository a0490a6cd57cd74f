//! Any text is read or refused; a machine that is read has a graph.

use mapa_topologies::Kind;

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
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
}
