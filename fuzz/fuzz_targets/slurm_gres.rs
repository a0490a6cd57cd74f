//! Any `gres.conf` is read or refused; what is read has a symmetric graph, survives the machine file, and can be written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mapa_topologies::{Kind, Machine, Warning};

fuzz_target!(|text: &str| {
    let Ok(dump) = Kind::SlurmGres.read(text) else { return };
    let devices = dump.machine.fabric.device_count();
    // A file of other resources names no GPUs.
    if devices == 0 {
        return;
    }
    assert!(dump.mig_instances.iter().all(|instance| instance.device.index() < devices));
    let written = dump.machine.to_slurm_gres().expect("what the reader accepts can be written");
    let back = Kind::SlurmGres.read(&written).expect("what is written can be read");
    assert_eq!(back.machine.fabric.device_count(), devices);
    let machine = dump.machine;
    let graph = machine.graph().expect("what the reader accepts has a graph");
    for a in 0..graph.len() as u32 {
        for b in 0..graph.len() as u32 {
            assert_eq!(graph.pair(a.into(), b.into()), graph.pair(b.into(), a.into()));
        }
    }
    assert!(machine.warnings.iter().all(|Warning { line, .. }| line.is_none_or(|line| line >= 1)));
    let toml = machine.to_toml().expect("nothing here is out of TOML's range");
    let again = Machine::from_toml(&toml).expect("what is written can be read");
    assert_eq!(again, Machine { warnings: Vec::new(), ..machine });
});
