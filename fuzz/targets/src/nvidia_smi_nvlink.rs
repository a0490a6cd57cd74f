//! Any text is read or refused; what is read has each link once, in order, and no more direct links
//! than were printed.

use mapa_core::{FabricWire, LinkClass};
use mapa_topologies::{Kind, Warning, recognise};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let _ = recognise(text);
    let Ok(dump) = Kind::NvidiaSmiNvlink.read(text) else {
        return;
    };
    let n = dump.machine.fabric.device_count();
    assert!(n > 0 && dump.ports.iter().all(|port| port.device.index() < n));
    let ports: Vec<(u32, u32)> = dump
        .ports
        .iter()
        .map(|port| (port.device.0, port.link))
        .collect();
    assert!(ports.windows(2).all(|pair| pair[0] < pair[1]));
    let direct = |(_, _, wire)| match wire {
        FabricWire::Link(link) if link.class.is_direct() => match link.class {
            LinkClass::Direct(links) => usize::from(links),
            _ => 0,
        },
        _ => panic!("nothing but direct links is told"),
    };
    let links: usize = dump.machine.fabric.wires().map(direct).sum();
    assert!(
        links
            <= dump
                .ports
                .iter()
                .filter(|port| port.remote.is_some())
                .count()
    );
    assert!(dump.says.direct || links == 0);
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
