//! `nvidia-smi topo -p2p`: what no single text of the corpus shows, and every real sample.

use std::fs;

use crate::common::dumps::read_as;
use crate::common::real_data;
use crate::corpus::text;
use mapa_topologies::PeerStatus::{ChipsetNotSupported, GpuNotSupported, Ok as Reaches};
use mapa_topologies::{Dump, Kind};
use proptest::prelude::*;

fn dump(text: &str) -> Dump {
    read_as(Kind::NvidiaSmiP2p, text)
}

#[test]
fn samples_read_to_what_they_show() {
    let Some(data) = real_data() else {
        return;
    };
    let expected = [
        ("nccl_doc_p2p_8gpu_ok.txt", 8, Reaches),
        ("p2p_ok_ansi_2gpu.txt", 2, Reaches),
        ("p2p_rw_gns_2x5090.txt", 2, GpuNotSupported),
        ("stas_p2p_cns_2gpu.txt", 2, ChipsetNotSupported),
    ];
    let manifest = fs::read_to_string(data.join("samples/MANIFEST.tsv")).unwrap();
    let rows: Vec<&str> = manifest
        .lines()
        .filter(|row| row.split('\t').nth(1) == Some("nvidia_smi_p2p"))
        .collect();
    assert_eq!(
        rows.len(),
        expected.len(),
        "as many as the manifest had when this was written"
    );
    for row in rows {
        let path = row.split('\t').next().unwrap();
        let (_, devices, status) = expected
            .iter()
            .find(|(name, ..)| path.ends_with(name))
            .expect(path);
        let dump = dump(&fs::read_to_string(data.join("samples").join(path)).unwrap());
        assert_eq!(
            row.split('\t').nth(3).unwrap(),
            devices.to_string(),
            "{path}"
        );
        assert_eq!(
            (
                dump.machine.fabric.device_count(),
                dump.machine.warnings.len()
            ),
            (*devices, 0),
            "{path}"
        );
        assert_eq!(dump.peer_access.len(), devices * (devices - 1), "{path}");
        assert!(
            dump.peer_access
                .iter()
                .all(|access| access.status == *status),
            "{path}"
        );
    }
}

proptest! {
    /// Any matrix the tool could print reads back to itself.
    #[test]
    fn printed_matrices_read_back(
        n in 2usize..9,
        cells in proptest::collection::vec(0usize..7, 81),
        separator in proptest::sample::select(vec!["\t", " ", "  \t", " | "]),
    ) {
        let words = ["OK", "CNS", "GNS", "TNS", "NS", "DR", "U"];
        let word = |a: usize, b: usize| if a == b { "X" } else { words[cells[a * 9 + b]] };
        let mut text = (0..n).map(|i| format!("{separator}GPU{i}")).collect::<String>() + "\n";
        for a in 0..n {
            text += &format!("GPU{a}{}\n", (0..n).map(|b| format!("{separator}{}", word(a, b))).collect::<String>());
        }
        let dump = dump(&text);
        prop_assert_eq!(dump.peer_access.len(), n * (n - 1));
        for access in &dump.peer_access {
            let expected = words.iter().position(|w| *w == word(access.from.index(), access.to.index())).unwrap();
            prop_assert_eq!(access.status as usize, expected);
        }
    }

    /// A text that ends too early is refused with a line, but for cuts in the last word, behind it,
    /// or above the first row.
    #[test]
    fn cut_texts_are_refused(cut in any::<prop::sample::Index>()) {
        let plain = text("nvidia_smi_p2p/plain.txt");
        let cut = cut.index(plain.len());
        let text = &plain[..cut];
        let first_state = plain.find("OK").unwrap() + 2;
        let whole = plain.rfind('X').unwrap() + 1;
        match Kind::NvidiaSmiP2p.read(text) {
            Ok(_) => prop_assert!(cut >= whole),
            Err(error) => prop_assert!(cut < whole && (error.line().is_some() || cut < first_state), "{}", error),
        }
    }
}
