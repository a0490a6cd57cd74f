//! Any text is read or refused; what is read has devices, and slots that are positive.

use mapa_topologies::{Kind, Warning, recognise};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let _ = recognise(text);
    let Ok(dump) = Kind::Lspci.read(text) else {
        return;
    };
    let fabric = &dump.machine.fabric;
    assert!(fabric.device_count() > 0);
    assert!(
        fabric
            .nodes()
            .all(|(id, _)| fabric.slot_gbps(id).is_none_or(|gbps| gbps > 0.0))
    );
    assert!(
        dump.machine
            .warnings
            .iter()
            .all(|Warning { line, .. }| line.is_none_or(|line| line >= 1))
    );
    dump.machine
        .graph()
        .expect("what the reader accepts has a graph");
}
