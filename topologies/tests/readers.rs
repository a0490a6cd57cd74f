//! What holds for every reader, tried with the texts of the corpus.

use std::sync::LazyLock;

use mapa_topologies::{ErrorKind, Kind, MAX_BYTES, Machine, read, recognise};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::common::dumps::keeps_what_it_reads;
use crate::common::told;
use crate::corpus::{READERS, text, texts};

/// The texts that a reader reads, by name.
fn read_texts(reader: &str, kind: Kind) -> Vec<(String, String)> {
    let texts = texts(reader).into_iter();
    let utf8 = texts.filter_map(|(name, bytes)| Some((name, String::from_utf8(bytes).ok()?)));
    utf8.filter(|(_, text)| kind.read(text).is_ok()).collect()
}

#[test]
fn each_kind_is_recognised_whatever_its_line_ends_and_kept_in_the_machine_file() {
    for (reader, kind) in READERS {
        let mut recognised = 0;
        for (name, text) in read_texts(reader, kind) {
            let dump = kind.read(&text).unwrap();
            if dump.machine.fabric.device_count() > 0 {
                let again = Machine::from_toml(&dump.machine.to_toml().unwrap()).unwrap();
                let kept = Machine {
                    warnings: Vec::new(),
                    ..dump.machine.clone()
                };
                assert_eq!(again, kept, "{reader}/{name}");
            }
            if recognise(&text).is_ok_and(|found| found == kind) {
                let with_mark = format!("\u{feff}{}", text.trim_start_matches('\u{feff}'));
                assert_eq!(read(with_mark.as_bytes()).unwrap(), dump, "{reader}/{name}");
                recognised += 1;
            }
            let windows = text.replace("\r\n", "\n").replace('\n', "\r\n");
            let windows = kind.read(&windows).unwrap();
            assert_eq!(told::dump(&windows), told::dump(&dump), "{reader}/{name}");
        }
        assert!(recognised > 0, "{reader}: no text is recognised");
    }
}

#[test]
fn marks_in_front_of_lines_change_nothing() {
    let stamp = "2025/05/21 09:40:05 s114 ";
    let common = ["# ", "> ", stamp, "[rank0]: "];
    let matrix = [
        "#",
        "##",
        "+",
        "    ",
        "2025-05-21 09:40:05 ",
        "[12.5] node1: ",
        "// ",
        "; ",
        "% ",
        "REM ",
        " * ",
        "-- ",
        "+ ",
        "user@host:~$ ",
        "gpu01: ",
        "* ",
    ];
    let legend = "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n  NV#  = Connection of # NVLinks\n";
    for (name, kind, more) in [
        ("nvidia_smi_topo", Kind::NvidiaSmiTopo, &matrix[..]),
        ("nvidia_smi_p2p", Kind::NvidiaSmiP2p, &["// ", " * "]),
        ("nvidia_smi_nvlink", Kind::NvidiaSmiNvlink, &["// ", "| "]),
        ("nvidia_smi_list", Kind::NvidiaSmiList, &["// ", "    "]),
        ("nvidia_smi_mig", Kind::NvidiaSmiMig, &["    "]),
    ] {
        let mut plain = text(&format!("{name}/plain.txt"));
        if kind == Kind::NvidiaSmiTopo {
            plain += legend;
        }
        let told = told::reading(kind.read(&plain));
        for mark in common.iter().chain(more) {
            let marked: String = plain
                .lines()
                .map(|line| format!("{mark}{line}\n"))
                .collect();
            assert_eq!(
                told::reading(read(marked.as_bytes())),
                told,
                "{name}: {mark:?}"
            );
        }
    }
}

#[test]
fn more_than_any_machine_needs_is_refused() {
    let long = "x".repeat(MAX_BYTES + 1);
    assert_eq!(
        read(long.as_bytes()).unwrap_err().kind(),
        ErrorKind::TooLarge
    );
    for kind in Kind::all() {
        assert_eq!(
            kind.read(&long).unwrap_err().kind(),
            ErrorKind::TooLarge,
            "{kind:?}"
        );
    }
}

/// Asserts of a text that it is refused, or that what is read is about devices that it names.
fn is_read_or_refused(kind: Kind, text: &str) {
    let _ = recognise(text);
    keeps_what_it_reads(kind, text);
    let Ok(dump) = kind.read(text) else {
        return;
    };
    let n = dump.machine.fabric.device_count();
    assert!(n == 0 || dump.machine.graph().is_ok());
    assert!(dump.ports.iter().all(|port| port.device.index() < n));
    assert!(
        dump.peer_access
            .iter()
            .all(|access| access.from.index() < n && access.to.index() < n)
    );
    assert!(
        dump.mig_profiles
            .iter()
            .all(|mig_profile| mig_profile.device.index() < n)
    );
    assert!(
        dump.mig_instances
            .iter()
            .all(|mig_instance| mig_instance.device.index() < n)
    );
}

/// Each reader with the texts that it reads, but for long ones.
static READ: LazyLock<Vec<(Kind, Vec<String>)>> = LazyLock::new(|| {
    let of = |(reader, kind)| {
        let texts = read_texts(reader, kind).into_iter().map(|pair| pair.1);
        (kind, texts.filter(|text| text.len() < 12_000).collect())
    };
    READERS.into_iter().map(of).collect()
});

fn cut(text: &str, at: Index) -> String {
    let chars: Vec<char> = text.chars().collect();
    chars[..at.index(chars.len() + 1)].iter().collect()
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "(?s).{0,300}") {
        let _ = read(&bytes);
        for kind in Kind::all() {
            is_read_or_refused(kind, &String::from_utf8_lossy(&bytes));
            is_read_or_refused(kind, &text);
        }
    }

    /// Cut anywhere, or with some of it replaced, a text is read or refused.
    #[test]
    fn damaged_texts_are_read_or_refused(
        reader in any::<Index>(), which in any::<Index>(), at in any::<Index>(), lost in 0usize..8, put in "[ -~\n\u{e9}]{0,4}",
    ) {
        let (kind, texts) = reader.get(&READ);
        let text = which.get(texts);
        is_read_or_refused(*kind, &cut(text, at));
        let chars: Vec<char> = text.chars().collect();
        let place = at.index(chars.len() + 1);
        let rest = chars.iter().skip(place + lost);
        let changed: String = chars[..place].iter().copied().chain(put.chars()).chain(rest.copied()).collect();
        is_read_or_refused(*kind, &changed);
    }

    /// Words and lines of a reader's own texts, in any order, are read or refused.
    #[test]
    fn any_words_are_read_or_refused(
        reader in any::<Index>(), picks in prop::collection::vec((any::<Index>(), any::<Index>(), 0usize..4), 0..40),
    ) {
        let (kind, texts) = reader.get(&READ);
        let mut mixed = String::new();
        for (which, at, what) in picks {
            let lines: Vec<&str> = which.get(texts).split_inclusive('\n').collect();
            let words: Vec<&str> = which.get(texts).split_inclusive([' ', '\t', '\n', '>', ',']).collect();
            mixed += match what {
                _ if words.is_empty() => "",
                0 => *at.get(&lines),
                1 => "\n",
                _ => *at.get(&words),
            };
        }
        is_read_or_refused(*kind, &mixed);
    }
}
