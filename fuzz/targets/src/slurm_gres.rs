//! Any `gres.conf` is read or refused; what is read has a symmetric graph, survives the machine
//! file, and can be written.

use mapa_topologies::{Kind, MAX_TABLE_BYTES};

use crate::input::text;
use crate::machine::keeps;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(dump) = Kind::SlurmGres.read(text) else {
        return;
    };
    let devices = dump.machine.fabric.device_count();
    // A file of other resources names no GPUs.
    if devices == 0 {
        return;
    }
    assert!(
        dump.mig_instances
            .iter()
            .all(|instance| instance.device.index() < devices)
    );
    let written = dump
        .machine
        .to_slurm_gres()
        .expect("what the reader accepts can be written");
    // Slurm's lists of links grow with the square of the devices: those of a thousand are longer than any file that is read.
    if written.len() > MAX_TABLE_BYTES {
        return;
    }
    let back = Kind::SlurmGres
        .read(&written)
        .expect("what is written can be read");
    assert_eq!(back.machine.fabric.device_count(), devices);
    keeps(&dump.machine);
}
