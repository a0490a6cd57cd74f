//! `rocm-smi --showtopo`: what no single text of the corpus shows, and every real sample.

use std::fs;

use crate::common::dumps::{classes, graph, read_as, warnings};
use crate::common::real_data;
use crate::corpus::text;
use mapa_core::LinkClass;
use mapa_topologies::{Dump, Kind, Machine};
use proptest::prelude::*;

fn dump(text: &str) -> Dump {
    read_as(Kind::RocmSmi, text)
}

/// Devices, pairs with direct links, pairs on one NUMA node, warnings.
const EXPECTED: [(&str, usize, usize, usize, &[&str]); 6] = [
    ("rocm_smi_gfx906_x4.txt", 4, 0, 6, &[]),
    (
        "rocm_smi_mi100x2_collapsed.txt",
        2,
        0,
        0,
        &["line 2: the white space of the matrix is lost: cells are read in their order"],
    ),
    ("rocm_smi_mi100x4_pcie.txt", 4, 0, 2, &[]),
    ("rocm_smi_mi300a_x4.txt", 4, 6, 0, &[]),
    (
        "rocm_smi_mi_pcie4_w52.txt",
        4,
        0,
        0,
        &["line 23: the section has no NUMA node for GPU0, GPU1, GPU2, GPU3"],
    ),
    ("rocm_smi_showtopotype_mi300x_vf.txt", 8, 28, 0, &[]),
];

#[test]
fn samples_read_to_what_they_show() {
    let Some(data) = real_data() else {
        return;
    };
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let names = manifest
        .lines()
        .filter_map(|row| row.split('\t').next()?.strip_prefix("rocm_topo/rocm_smi_"));
    let mut listed: Vec<String> = names.map(|name| format!("rocm_smi_{name}")).collect();
    listed.sort();
    assert_eq!(
        listed,
        EXPECTED.map(|(name, ..)| name),
        "an expectation for every sample"
    );
    for (name, devices, direct, near, warned) in EXPECTED {
        let text = fs::read_to_string(data.join("samples/rocm_topo").join(name)).unwrap();
        let dump = dump(&text);
        let graph = graph(&dump);
        let n = graph.len() as u32;
        let pairs: Vec<_> = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        let count = |is: &dyn Fn((LinkClass, LinkClass)) -> bool| {
            pairs
                .iter()
                .filter(|&&(a, b)| is(classes(&graph, a, b)))
                .count()
        };
        assert_eq!(graph.len(), devices, "{name}");
        assert_eq!(
            count(&|(link, _)| link == LinkClass::Direct(1)),
            direct,
            "{name}"
        );
        assert_eq!(count(&|(_, host)| host == LinkClass::Node), near, "{name}");
        assert_eq!(
            count(&|(_, host)| host == LinkClass::Sys),
            pairs.len() - near,
            "{name}"
        );
        assert_eq!(warnings(&dump.machine), warned, "{name}");
        let again = Machine::from_toml(&dump.machine.to_toml().unwrap()).unwrap();
        assert_eq!(
            again,
            Machine {
                warnings: Vec::new(),
                ..dump.machine
            },
            "{name}"
        );
    }
}

proptest! {
    /// Whatever is cut off the end, nothing else is read into the pairs that are left.
    #[test]
    fn a_text_that_is_cut_reads_to_the_same_links_or_is_refused(at in any::<prop::sample::Index>()) {
        let whole = text("rocm_smi/plain.txt");
        let Ok(dump) = Kind::RocmSmi.read(&whole[..at.index(whole.len())]) else { return Ok(()) };
        let (ours, plain) = (graph(&dump), graph(&self::dump(&whole)));
        prop_assert!(ours.len() <= plain.len());
        for b in 0..if dump.says.direct { ours.len() as u32 } else { 0 } {
            for a in 0..b {
                prop_assert_eq!(classes(&ours, a, b).0, classes(&plain, a, b).0);
            }
        }
    }
}
