//! `nvidia-smi topo -m`: what no single text of the corpus shows.

use mapa_core::{DeviceId, LinkClass};
use mapa_topologies::{Error, Machine};
use proptest::prelude::*;

fn read(bytes: &[u8]) -> Result<Machine, Error> {
    mapa_topologies::read(bytes)?.into_machine()
}

#[test]
fn every_bond_from_nv1_to_nv18() {
    for n in 1..=18u8 {
        let text = format!("GPU0 GPU1\nGPU0 X NV{n}\nGPU1 NV{n} X");
        let graph = read(text.as_bytes()).unwrap().graph().unwrap();
        let direct = graph.pair(DeviceId(0), DeviceId(1)).direct;
        let gbps = 25.0 * f64::from(n);
        assert_eq!((direct.class, direct.gbps), (LinkClass::Direct(n), gbps));
    }
}

proptest! {
    /// Any machine the tool could print reads back to itself, however cells are separated.
    #[test]
    fn printed_matrices_read_back(
        n in 1usize..9,
        cells in proptest::collection::vec(0usize..8, 36),
        separator in proptest::sample::select(vec!["\t", " ", "  \t", " | "]),
        crlf in any::<bool>(),
    ) {
        let words = ["NV1", "NV2", "SYS", "NODE", "PHB", "PXB", "PIX", "NV4"];
        let word = |a: usize, b: usize| {
            let (lo, hi) = (a.min(b), a.max(b));
            if a == b { "X" } else { words[cells[hi * (hi - 1) / 2 + lo]] }
        };
        let mut text = (0..n).map(|i| format!("{separator}GPU{i}")).collect::<String>() + "\n";
        for a in 0..n {
            text += &format!("GPU{a}{}\n", (0..n).map(|b| format!("{separator}{}", word(a, b))).collect::<String>());
        }
        if n == 1 {
            text = text.replacen("GPU0", "GPU0 CPU Affinity", 1).trim_end().to_owned() + " 0-3\n";
        }
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let machine = read(text.as_bytes()).unwrap();
        let graph = machine.graph().unwrap();
        for a in 0..n {
            for b in 0..n {
                let link = graph.link((a as u32).into(), (b as u32).into());
                prop_assert!(a == b || machine.labels.print(link.class) == word(a, b));
            }
        }
        let again = Machine::from_toml(&machine.to_toml().unwrap()).unwrap();
        prop_assert_eq!(again, machine);
    }
}
