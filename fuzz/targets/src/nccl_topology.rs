//! Any text is read or refused; what is read has a symmetric graph, survives the machine file, and,
//! written as NCCL's topology, reads back to the same direct links.

use mapa_topologies::{Dump, Kind};

use crate::input::text;
use crate::machine::keeps;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(machine) = Kind::NcclTopology.read(text).and_then(Dump::into_machine) else {
        return;
    };
    let graph = keeps(&machine);
    let Ok(text) = machine.to_nccl_xml() else {
        return;
    };
    let again = Kind::NcclTopology
        .read(&text)
        .expect("what is written can be read")
        .machine
        .graph()
        .expect("devices");
    for a in 0..again.len() as u32 {
        for b in 0..a {
            assert_eq!(
                again.pair(a.into(), b.into()).direct.class,
                graph.pair(a.into(), b.into()).direct.class
            );
        }
    }
}
