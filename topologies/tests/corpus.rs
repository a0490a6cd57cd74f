//! Every text in `tests/corpus` reads to what the file beside it says.
//!
//! `corpus/READER/NAME.txt`, or `.xml`, `.json`, .., is a text for this reader, as it was found or
//! made up; `NAME.expected` is all that is read of it, or the whole error. `as OTHER` stands for the
//! expectation of another text of the folder: both read the same. Lines at the top that begin with
//! `#` say why the text is there. `recognise` has texts for [`read`] alone. A folder of `merge` is
//! dumps of one machine, merged in the order of their names.
//!
//! `MAPA_BLESS=1 cargo test -p mapa-topologies --test all corpus::` writes what is read now.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mapa_topologies::{Dump, Error, Kind, merge, read, read_graph, recognise, write_graph};

use crate::common::told;

/// The folder of a reader, and the reader; none where the kind is recognised alone.
pub(crate) const READERS: [(&str, Kind); 16] = [
    ("amd_smi_topology", Kind::AmdSmiTopology),
    ("amd_smi_xgmi", Kind::AmdSmiXgmi),
    ("hwloc", Kind::Hwloc),
    ("kfd", Kind::Kfd),
    ("lspci", Kind::Lspci),
    ("machine_file", Kind::MachineFile),
    ("nccl_graph", Kind::NcclGraph),
    ("nccl_log", Kind::NcclLog),
    ("nccl_topology", Kind::NcclTopology),
    ("nvidia_smi_list", Kind::NvidiaSmiList),
    ("nvidia_smi_mig", Kind::NvidiaSmiMig),
    ("nvidia_smi_nvlink", Kind::NvidiaSmiNvlink),
    ("nvidia_smi_p2p", Kind::NvidiaSmiP2p),
    ("nvidia_smi_topo", Kind::NvidiaSmiTopo),
    ("rocm_smi", Kind::RocmSmi),
    ("slurm_gres", Kind::SlurmGres),
];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let files =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The texts of a reader, by name.
pub(crate) fn texts(reader: &str) -> Vec<(String, Vec<u8>)> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let paths = listed(&corpus().join(reader))
        .into_iter()
        .filter(|path| path.is_file());
    let texts = paths.filter(|path| path.extension().is_none_or(|end| end != "expected"));
    texts
        .map(|path| (name(&path), fs::read(&path).unwrap()))
        .collect()
}

/// The text `READER/NAME` of the corpus.
pub(crate) fn text(name: &str) -> String {
    let path = corpus().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a reader makes of a text, and, if it is not recognised as the reader's, as what.
fn told_by(kind: Kind, bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return told::reading(read(bytes));
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match recognise(text) {
        Ok(found) if found == kind => told::reading(read(bytes)),
        Ok(other) => format!("recognised: {}\n", other.name()) + &told::reading(kind.read(text)),
        Err(error) => {
            format!("recognised: {}", told::error(&error)) + &told::reading(kind.read(text))
        }
    }
}

/// What is told of the dumps of a folder, merged; each is called by its name.
fn told_of_merged(folder: &Path) -> String {
    let dump = |path: PathBuf| -> Result<Dump, Error> {
        let mut dump = read(&fs::read(&path).unwrap())?;
        dump.machine.name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Ok(dump)
    };
    let paths = listed(folder).into_iter();
    let dumps: Result<Vec<Dump>, Error> = paths.map(dump).collect();
    match dumps.and_then(merge) {
        Err(error) => told::error(&error),
        Ok(merged) => {
            let told = merged.contradictions.iter();
            let told: String = told
                .map(|contradiction| format!("contradiction: {contradiction}\n"))
                .collect();
            told + &told::dump(&merged.dump)
        }
    }
}

/// Compares what was told of each text of a folder with the files beside them, or writes these.
fn check(folder: &str, told: BTreeMap<String, String>) {
    let bless = std::env::var_os("MAPA_BLESS").is_some();
    let mut wrong = String::new();
    let file = |stem: &str| corpus().join(folder).join(format!("{stem}.expected"));
    let first = |text: &String, stem: &String| {
        let mut same = told
            .iter()
            .filter(|(_, other)| *other == text)
            .map(|stem| stem.0);
        let plain = same.clone().find(|candidate| *candidate == "plain");
        plain.or_else(|| same.next()).filter(|plain| *plain != stem)
    };
    for (stem, text) in &told {
        let kept = fs::read_to_string(file(stem)).unwrap_or_default();
        let comment: String = kept
            .split_inclusive('\n')
            .take_while(|line| line.starts_with('#'))
            .collect();
        let body = &kept[comment.len()..];
        let expected = match body.trim_end().strip_prefix("as ") {
            Some(other) => told.get(other).map_or("", String::as_str),
            None => body,
        };
        if expected == text {
            continue;
        }
        if bless {
            let long = text.lines().count() > 3;
            let now = match first(text, stem).filter(|_| long) {
                Some(other) => format!("as {other}\n"),
                None => text.clone(),
            };
            fs::write(file(stem), comment + &now).unwrap();
        } else {
            wrong += &format!(
                "\n{folder}/{stem}: expected, and what was read:\n{}",
                difference(expected, text)
            );
        }
    }
    for path in listed(&corpus().join(folder)) {
        let stem = path.file_stem().unwrap().to_string_lossy();
        let stale =
            path.extension().is_some_and(|end| end == "expected") && !told.contains_key(&*stem);
        assert!(!stale, "{}: no text of this name", path.display());
    }
    assert!(
        wrong.is_empty(),
        "{wrong}\nMAPA_BLESS=1 writes what is read now"
    );
}

/// The lines that only one of two texts has, with a mark as in a unified diff.
fn difference(expected: &str, found: &str) -> String {
    let lines = |text: &str, other: &str, mark: char| -> String {
        let other: Vec<&str> = other.lines().collect();
        let own = text.lines().filter(|line| !other.contains(line));
        own.map(|line| format!("{mark} {line}\n")).collect()
    };
    lines(expected, found, '-') + &lines(found, expected, '+')
}

/// What was told of each text of a folder, by the text's name without its end.
fn by_stem(reader: &str, told: impl Fn(&[u8]) -> String) -> BTreeMap<String, String> {
    let stem = |name: &str| {
        name.rsplit_once('.')
            .map_or(name, |(stem, _)| stem)
            .to_owned()
    };
    let texts = texts(reader);
    let all = texts.len();
    let by: BTreeMap<String, String> = texts
        .into_iter()
        .map(|(name, bytes)| (stem(&name), told(&bytes)))
        .collect();
    assert_eq!(
        by.len(),
        all,
        "{reader}: names that differ in more than their ends"
    );
    by
}

#[test]
fn every_folder_has_a_reader() {
    let known =
        READERS
            .map(|reader| reader.0)
            .into_iter()
            .chain(["graph_file", "merge", "recognise"]);
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    let names = listed(&corpus()).into_iter();
    let names: Vec<String> = names
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, known);
    let kinds: Vec<Kind> = READERS.iter().map(|reader| reader.1).collect();
    assert!(
        Kind::all().all(|kind| kinds.contains(&kind)),
        "a folder for every kind"
    );
}

#[test]
fn every_text_reads_to_what_the_file_beside_it_says() {
    for (reader, kind) in READERS {
        check(reader, by_stem(reader, |bytes| told_by(kind, bytes)));
    }
    check(
        "recognise",
        by_stem("recognise", |bytes| told::reading(read(bytes))),
    );
    let graph = |bytes: &[u8]| match read_graph(bytes) {
        Ok(graph) => format!("labels: {:?}\n{}", graph.labels(), write_graph(&graph)),
        Err(error) => told::error(&error),
    };
    check("graph_file", by_stem("graph_file", graph));
    let folders = listed(&corpus().join("merge"))
        .into_iter()
        .filter(|path| path.is_dir());
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    check(
        "merge",
        folders
            .map(|path| (name(&path), told_of_merged(&path)))
            .collect(),
    );
}

#[test]
fn no_note_says_that_a_rate_is_assumed_which_is_told() {
    let mut assumed = [0, 0];
    for (reader, _) in READERS {
        for (name, bytes) in texts(reader) {
            let Ok(mut machine) = read(&bytes).and_then(Dump::into_machine) else {
                continue;
            };
            let says = |machine: &mapa_topologies::Machine, rate: &str| {
                machine.notes.iter().any(|note| note.contains(rate))
            };
            let rates = ["25 GB/s", "12 GB/s"];
            let [links, host] = rates.map(|rate| usize::from(says(&machine, rate)));
            assumed = [assumed[0] + links, assumed[1] + host];
            machine.tell_link_gbps(50.0).unwrap();
            assert!(!says(&machine, rates[0]), "{name}: {:?}", machine.notes);
            machine.tell_host_gbps(31.5).unwrap();
            assert!(!says(&machine, rates[1]), "{name}: {:?}", machine.notes);
            assert!(
                machine.notes.iter().all(|note| note.ends_with('.')),
                "{name}: {:?}",
                machine.notes
            );
        }
    }
    assert!(assumed.iter().all(|&texts| texts > 5), "{assumed:?}");
}
