//! Any text is read or refused; what is read has devices, each profile and each instance once.

use std::collections::HashSet;

use mapa_topologies::{Kind, Warning, recognise};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let _ = recognise(text);
    let Ok(dump) = Kind::NvidiaSmiMig.read(text) else {
        return;
    };
    let n = dump.machine.fabric.device_count();
    assert!(n > 0);
    let profiles: HashSet<(usize, u32)> = dump
        .mig_profiles
        .iter()
        .map(|p| (p.device.index(), p.id))
        .collect();
    assert_eq!(profiles.len(), dump.mig_profiles.len());
    let instances: HashSet<_> = dump
        .mig_instances
        .iter()
        .map(|i| (i.device.index(), i.instance_id))
        .collect();
    assert_eq!(instances.len(), dump.mig_instances.len());
    assert!(
        profiles.iter().all(|&(device, _)| device < n)
            && instances.iter().all(|&(device, _)| device < n)
    );
    assert!(
        dump.machine
            .warnings
            .iter()
            .all(|Warning { line, .. }| line.is_none_or(|line| line >= 1))
    );
}
