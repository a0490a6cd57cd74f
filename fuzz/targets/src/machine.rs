//! What must hold of every machine that was read.

use mapa_core::HardwareGraph;
use mapa_topologies::{Machine, Warning};

/// It has a symmetric graph, its warnings name lines that there can be, and it survives the machine
/// file.
pub fn keeps(machine: &Machine) -> HardwareGraph {
    let graph = machine
        .graph()
        .expect("what the reader accepts has a graph");
    for a in 0..graph.len() as u32 {
        for b in 0..graph.len() as u32 {
            assert_eq!(
                graph.pair(a.into(), b.into()),
                graph.pair(b.into(), a.into())
            );
        }
    }
    assert!(
        machine
            .warnings
            .iter()
            .all(|Warning { line, .. }| line.is_none_or(|line| line >= 1))
    );
    let toml = machine
        .to_toml()
        .expect("nothing here is out of TOML's range");
    let again = Machine::from_toml(&toml).expect("what is written can be read");
    assert_eq!(
        again,
        Machine {
            warnings: Vec::new(),
            ..machine.clone()
        }
    );
    graph
}
