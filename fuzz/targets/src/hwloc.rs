//! Any text is read or refused; what is read has a symmetric graph, and survives the machine file.

use mapa_topologies::{Dump, Kind};

use crate::input::text;
use crate::machine::keeps;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(machine) = Kind::Hwloc.read(text).and_then(Dump::into_machine) else {
        return;
    };
    keeps(&machine);
}
