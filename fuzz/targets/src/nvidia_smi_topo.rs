//! Any text is read or refused; what is read has a symmetric graph, and survives the machine file.

use mapa_topologies::{Kind, Machine, Warning};

use crate::input::text;

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    let Ok(machine) = Kind::NvidiaSmiTopo
        .read(text)
        .and_then(mapa_topologies::Dump::into_machine)
    else {
        return;
    };
    let graph = machine
        .graph()
        .expect("what the reader accepts has a graph");
    for a in 0..graph.len() as u32 {
        for b in 0..graph.len() as u32 {
            assert_eq!(
                graph.pair(a.into(), b.into()),
                graph.pair(b.into(), a.into())
            );
            assert_eq!(graph.link(a.into(), b.into()).exists(), a != b);
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
            ..machine
        }
    );
}
