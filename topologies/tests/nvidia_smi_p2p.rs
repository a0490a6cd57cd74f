//! The shapes in which `nvidia-smi topo -p2p` gets pasted, what is refused, and every real sample.

use crate::common;

use std::fs;

use crate::common::dumps::read_as;
use mapa_core::DeviceId;
use mapa_topologies::PeerStatus::{self, ChipsetNotSupported, GpuNotSupported, Ok as Reaches};
use mapa_topologies::{Dump, ErrorKind, HostDetail, Kind, read, recognise};
use proptest::prelude::*;

/// Every other form here must read the same.
const PLAIN: &str =
    " \tGPU0\tGPU1\tGPU2\t\n GPU0\tX\tOK\tCNS\t\n GPU1\tGNS\tX\tU\t\n GPU2\tNS\tDR\tX\t\n";

fn dump(text: &str) -> Dump {
    let dump = read_as(Kind::NvidiaSmiP2p, text);
    assert!(dump.says.every_device && !dump.says.direct && dump.says.host == HostDetail::Nothing);
    dump
}

fn states(dump: &Dump) -> Vec<(u32, u32, PeerStatus)> {
    dump.peer_access
        .iter()
        .map(|access| (access.from.0, access.to.0, access.status))
        .collect()
}

fn same(text: &str) {
    assert_eq!(states(&dump(text)), states(&dump(PLAIN)), "{text}");
    assert_eq!(dump(text).machine.fabric.device_count(), 3);
}

fn refused(text: &str, message: &str) {
    assert_eq!(recognise(text).unwrap(), Kind::NvidiaSmiP2p, "{text}");
    assert_eq!(
        read(text.as_bytes()).expect_err(text).to_string(),
        message,
        "{text}"
    );
}

#[test]
fn samples_read_to_what_they_show() {
    let Some(data) = common::data("samples_read_to_what_they_show") else {
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

#[test]
fn states_are_directed_and_all_of_them_are_known() {
    use PeerStatus::{Disabled, NotSupported, TopologyNotSupported, Unknown};
    let expected = [
        (0, 1, Reaches),
        (0, 2, ChipsetNotSupported),
        (1, 0, GpuNotSupported),
        (1, 2, Unknown),
        (2, 0, NotSupported),
        (2, 1, Disabled),
    ];
    assert_eq!(states(&dump(PLAIN)), expected);
    assert_eq!(
        states(&dump("GPU0 GPU1\nGPU0 X TNS\nGPU1 OK X\n"))[0],
        (0, 1, TopologyNotSupported)
    );
}

#[test]
fn spaces_line_ends_colours_marks_tables_and_lost_headers() {
    same(
        "        GPU0    GPU1    GPU2\n GPU0   X       OK      CNS\n GPU1   GNS     X       U\n GPU2   NS      DR      X",
    );
    same(&PLAIN.replace('\n', "\r\n"));
    same(
        &PLAIN
            .replacen("GPU0", "\u{1b}[4mGPU0", 1)
            .replacen("GPU2\t", "GPU2\t\u{1b}[0m", 1),
    );
    same(&PLAIN.replacen("GPU0\tGPU1\tGPU2", "GPU0GPU1GPU2", 1));
    same(PLAIN.split_once('\n').unwrap().1);
    same(
        "| | GPU0 | GPU1 | GPU2 |\n|---|---|---|---|\n| GPU0 | X | OK | CNS |\n| GPU1 | GNS | X | U |\n| GPU2 | NS | DR | X |\n",
    );
    same(&PLAIN.to_lowercase().replace("gpu", "GPU"));
    for mark in [
        "# ",
        "> ",
        "// ",
        "2025/05/21 09:40:05 s114 ",
        "[rank0]: ",
        " * ",
    ] {
        same(
            &PLAIN
                .lines()
                .map(|line| format!("{mark}{line}\n"))
                .collect::<String>(),
        );
    }
    same(&format!(
        "P2P works between GPU0 GPU1\n$ nvidia-smi topo -p2p\n{PLAIN}\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"
    ));
}

#[test]
fn the_command_above_says_which_access_it_is() {
    let read = |option: &str| dump(&format!("$ nvidia-smi topo -p2p {option}\n{PLAIN}")).machine;
    assert_eq!(
        (read("r").source.as_str(), read("r").notes.len()),
        ("nvidia-smi topo -p2p r", 0)
    );
    assert!(
        read("n").notes[0].contains("NVLink"),
        "{:?}",
        read("n").notes
    );
    assert_eq!(
        dump(PLAIN).machine.notes,
        ["The text does not show which kind of peer access its states describe."]
    );
}

#[test]
fn numbers_other_than_ids_are_kept() {
    let dump = dump("GPU2 GPU5\nGPU2 X OK\nGPU5 OK X\n");
    let names: Vec<&str> = dump
        .machine
        .fabric
        .nodes()
        .map(|(_, node)| node.name.as_str())
        .collect();
    assert_eq!(names, ["GPU2", "GPU5"]);
    assert_eq!(dump.peer_access[1].from, DeviceId(1));
}

#[test]
fn nothing_is_said_of_links_or_the_host() {
    let dump = dump(PLAIN);
    assert_eq!(
        (dump.says.direct, dump.says.host),
        (false, HostDetail::Nothing)
    );
    assert_eq!(dump.machine.fabric.wires().count(), 0);
    let error = dump.into_machine().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}");
}

#[test]
fn matrices_of_links_are_not_taken_for_states() {
    for text in [
        "GPU0 CPU Affinity\nGPU0 X 0-3\n",
        "GPU0 GPU1\nGPU0 X NV1\nGPU1 NV1 X\n",
        "GPU0 GPU1\nGPU0 X NV1\nGPU1 OK X\n",
        "GPU0\nGPU0 X\n",
    ] {
        assert_eq!(recognise(text).unwrap(), Kind::NvidiaSmiTopo, "{text}");
    }
}

#[test]
fn what_is_cut_or_broken_is_refused_by_line() {
    let states = "expected OK, CNS, GNS, TNS, NS, DR or U";
    refused(
        "GPU0 GPU1\nGPU0 X OK\n",
        "line 2: the matrix ends, but row GPU1 is missing: expected a row for every column",
    );
    refused(
        "GPU0 GPU1\nGPU0 X OK\nGPU1 OK\n",
        &format!("line 3: row GPU1, column GPU1: the row ends here: {states}"),
    );
    refused(
        "GPU0 GPU1\nGPU0 X OK\nGPU1\n",
        &format!("line 3: row GPU1, column GPU0: the row ends here: {states}"),
    );
    refused(
        "GPU0 GPU1\nGPU0 X OK\nGPU1 FOO X\n",
        &format!("line 3: row GPU1, column GPU0: unknown state `FOO`: {states}"),
    );
    refused(
        "GPU0 GPU1\nGPU0 X OK\nGPU1 X OK\n",
        &format!("line 3: row GPU1, column GPU0: X off the diagonal: {states}"),
    );
    refused(
        "GPU0 GPU1\nGPU0 OK X\nGPU1 OK X\n",
        "line 2: row GPU0, column GPU0: a state: expected X on the diagonal",
    );
    refused(
        "GPU0 GPU1\nGPU0 X OK OK\nGPU1 OK X\n",
        "line 2: row GPU0 has more states than the matrix has columns: expected 2",
    );
    refused(
        "GPU0 GPU0\nGPU0 X OK\n",
        "line 1: a second column is called GPU0: expected each once",
    );
    refused(
        "GPU0 GPU1\nGPU0 X OK\nGPU0 X OK\n",
        "line 3: a second row is called GPU0: expected each once",
    );
    refused(
        "GPU0 GPU1\nGPU0 X OK\nGPU2 OK X\n",
        "line 3: row GPU2 has no column of that name in the header",
    );
    refused(
        "GPU0 X OK\nGPU0 X OK\n",
        "line 1: a second row is called GPU0: expected each once",
    );
    refused(
        "GPU0 X OK OK\nGPU1 OK X OK\n",
        "line 1: row GPU0 has more states than the matrix has columns: expected 2",
    );
    refused(
        &format!("{PLAIN}{PLAIN}"),
        "line 5: a second matrix begins here: expected one of one machine",
    );
    let header: String = (0..2000).map(|i| format!("GPU{i} ")).collect();
    refused(
        &format!("{header}\nGPU0 X OK\n"),
        "line 1: 2000 columns: expected at most 1024",
    );
    assert!(
        Kind::NvidiaSmiP2p
            .read("hello")
            .unwrap_err()
            .to_string()
            .starts_with("no matrix of `nvidia-smi topo -p2p`")
    );
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
    fn cut_texts_are_refused(cut in 0usize..PLAIN.len()) {
        let text = &PLAIN[..cut];
        let first_state = PLAIN.find("OK").unwrap() + 2;
        let whole = PLAIN.rfind('X').unwrap() + 1;
        match Kind::NvidiaSmiP2p.read(text) {
            Ok(_) => prop_assert!(cut >= whole),
            Err(error) => prop_assert!(cut < whole && (error.line().is_some() || cut < first_state), "{}", error),
        }
    }

    #[test]
    fn any_words_are_read_or_refused(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "GPU0", "GPU1", "GPU2", "GPU", "X", "OK", "CNS", "U", "NV1", "\n", "\n", "\t", "|", "#", "FOO", "GPU0GPU1",
            "-p2p", "r", "\u{1b}[4m", "é", "99999999999",
        ]), 0..40)) {
        let text = words.join(" ");
        let _ = recognise(&text);
        if let Ok(dump) = Kind::NvidiaSmiP2p.read(&text) {
            let n = dump.machine.fabric.device_count();
            prop_assert_eq!(dump.peer_access.len(), n * (n - 1));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in ".{0,200}") {
        let _ = Kind::NvidiaSmiP2p.read(&text);
        let _ = read(text.as_bytes());
    }
}
