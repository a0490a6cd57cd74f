//! Any text is read or refused; what is read has a state for every ordered pair, once.

use std::collections::HashSet;

use mapa_topologies::{Kind, recognise};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let _ = recognise(text);
    let Ok(dump) = Kind::NvidiaSmiP2p.read(text) else {
        return;
    };
    let n = dump.machine.fabric.device_count();
    let pairs: HashSet<(u32, u32)> = dump
        .peer_access
        .iter()
        .map(|access| (access.from.0, access.to.0))
        .collect();
    assert_eq!(
        (pairs.len(), dump.peer_access.len()),
        (n * (n - 1), n * (n - 1))
    );
    assert!(
        pairs
            .iter()
            .all(|&(from, to)| from != to && (from as usize) < n && (to as usize) < n)
    );
    assert!(dump.machine.fabric.wires().next().is_none());
}
