//! Any text of `amd-smi xgmi` is read or refused; what is read has a symmetric graph, and survives
//! the machine file.

use mapa_topologies::Kind;

use crate::input::text;
use crate::machine::keeps;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(dump) = Kind::AmdSmiXgmi.read(text) else {
        return;
    };
    let devices = dump.machine.fabric.device_count();
    assert!(
        dump.ports
            .iter()
            .all(|port| port.device.index() < devices && port.remote.is_some())
    );
    keeps(&dump.machine);
}
