//! Any text of `amd-smi topology` is read or refused; what is read has a symmetric graph, and
//! survives the machine file.

use mapa_topologies::Kind;

use crate::input::text;
use crate::machine::keeps;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(dump) = Kind::AmdSmiTopology.read(text) else {
        return;
    };
    let devices = dump.machine.fabric.device_count();
    assert!(
        dump.peer_access
            .iter()
            .all(|access| access.from != access.to && access.to.index() < devices)
    );
    keeps(&dump.machine);
}
