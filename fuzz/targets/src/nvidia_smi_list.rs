//! Any text is read or refused; what is read has devices, and no MIG device without one.

use mapa_topologies::{Kind, Warning, recognise};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let _ = recognise(text);
    let Ok(dump) = Kind::NvidiaSmiList.read(text) else {
        return;
    };
    let n = dump.machine.fabric.device_count();
    assert!(
        n > 0
            && dump
                .mig_instances
                .iter()
                .all(|instance| instance.device.index() < n)
    );
    assert!(
        dump.mig_instances
            .iter()
            .all(|instance| !instance.profile.is_empty())
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
