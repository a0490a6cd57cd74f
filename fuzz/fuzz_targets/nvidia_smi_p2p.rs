//! Any text is read or refused; what is read has a state for every ordered pair, once.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use mapa_topologies::{Kind, recognise};

fuzz_target!(|text: &str| {
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
});
