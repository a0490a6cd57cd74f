//! Any text is read or refused; every channel's devices are in the machine.

use mapa_topologies::Kind;

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(dump) = Kind::NcclGraph.read(text) else {
        return;
    };
    let names: std::collections::HashSet<&str> = dump
        .machine
        .fabric
        .nodes()
        .map(|(_, node)| node.name.as_str())
        .collect();
    for channel in &dump.channels {
        assert!(
            channel
                .devices
                .iter()
                .all(|device| names.contains(format!("GPU{device}").as_str()))
        );
        assert!(channel.intra_gbps >= 0.0 && channel.inter_gbps >= 0.0);
    }
}
