//! Machines written for other tools, and pictures of decisions, from the command line.

use std::fs;
use std::path::PathBuf;

use crate::common::{answer, command, error, no, run, stdout, text};
use serde_json::Value;

/// A place for a file that is gone when dropped.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("mapa-{}-{name}", std::process::id())))
    }

    fn read(&self) -> String {
        fs::read_to_string(&self.0).unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The cards of a picture that have this class: device, and rank if it has one.
fn cards(svg: &str, class: &str) -> Vec<(String, Option<String>)> {
    let value = |line: &str, key: &str| {
        Some(
            line.split_once(&format!("{key}=\""))?
                .1
                .split_once('"')?
                .0
                .to_owned(),
        )
    };
    let groups = svg
        .lines()
        .filter(|line| line.contains(&format!("class=\"device {class}\"")));
    groups
        .map(|line| {
            (
                value(line, "data-device").unwrap(),
                value(line, "data-rank"),
            )
        })
        .collect()
}

#[test]
fn machines_are_written_in_every_format() {
    let write = |format: &str| text(&format!("topo --machine dgx-1v --write {format}"), "");
    assert_eq!(write("toml"), text("topo --machine dgx-1v --toml", ""));
    let again: Value =
        serde_json::from_str(&text("topo --machine - --json", &write("toml"))).unwrap();
    assert_eq!(again, answer("topo --machine dgx-1v"));
    assert_eq!(cards(&write("svg"), "free").len(), 8);
    assert!(write("dot").starts_with("graph \"dgx-1v\" {"));
    let graph: Value = serde_json::from_str(&write("json-graph")).unwrap();
    assert_eq!(graph["graph"]["nodes"].as_object().unwrap().len(), 17);
    let table: Value = serde_json::from_str(&write("koordinator")).unwrap();
    assert_eq!(
        table.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["1", "2", "4", "8"]
    );
    assert_eq!(table["8"][0]["ringBusBandwidth"], "50G");
}

#[test]
fn formats_and_other_answers_exclude_each_other() {
    insta::assert_snapshot!(
        error("topo --machine dgx-1v --write svg --json"),
        @"error: the argument '--write <FORMAT>' cannot be used with '--json'"
    );
    insta::assert_snapshot!(
        error("topo --machine dgx-1v --write svg --toml"),
        @"error: the argument '--write <FORMAT>' cannot be used with '--toml'"
    );
    insta::assert_snapshot!(error("topo --machine dgx-1v --write png"), @"
    error: invalid value 'png' for '--write <FORMAT>'
      [possible values: toml, svg, dot, json-graph, nccl, slurm, koordinator]
    ");
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --batch - --svg x.svg"),
        @"error: the argument '--batch <FILE|->' cannot be used with '--svg <FILE|->'"
    );
    insta::assert_snapshot!(
        error("topo --machine complete:73 --write svg"),
        @"error: 73 devices: expected at most 72, as more cannot be read in a picture"
    );
}

#[test]
fn bandwidths_that_are_set_reach_what_is_written() {
    let dot = text("topo --machine summit --nvlink-gbps 20 --write dot", "");
    assert!(
        dot.contains("NV2 40 GB/s") && !dot.contains("50 GB/s"),
        "{dot}"
    );
}

#[test]
fn layouts_are_drawn_and_left_out_elsewhere() {
    let words = "topo --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g --write";
    let drawn = run(&format!("{words} svg"), "");
    let svg = String::from_utf8(drawn.stdout).unwrap();
    assert_eq!(svg.matches("class=\"instance free\"").count(), 32);
    assert!(drawn.stderr.is_empty());
    let written = run(&format!("{words} json-graph"), "");
    insta::assert_snapshot!(
        String::from_utf8(written.stderr).unwrap(),
        @"warning: only pictures show the MIG layout of devices: it is left out"
    );
}

#[test]
fn the_picture_of_a_decision_shows_it() {
    for form in ["", "--explain", "--json", "--json --explain"] {
        let file = File::new(&format!("decision{}.svg", form.replace(' ', "")));
        let words = format!("allocate --machine dgx-1v --gpus 4 --sensitive --busy 0,3 {form}");
        let printed = text(&format!("{words} --svg {}", file.0.display()), "");
        assert_eq!(printed, text(&words, ""), "{form}");
        let svg = file.read();
        let decided = answer("allocate --machine dgx-1v --gpus 4 --sensitive --busy 0,3");
        let mut expected: Vec<(String, Option<String>)> = decided["devices"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
            .map(|(rank, device)| (device.to_string(), Some(rank.to_string())))
            .collect();
        expected.sort();
        assert_eq!(cards(&svg, "chosen"), expected);
        assert_eq!(
            cards(&svg, "busy"),
            [("0".to_owned(), None), ("3".to_owned(), None)]
        );
        assert_eq!(cards(&svg, "free").len(), 2);
        assert!(
            svg.contains("NVIDIA DGX-1 with eight Tesla V100: 4 ranks, pattern ring, policy auto"),
            "{svg}"
        );
    }
}

#[test]
fn instances_of_a_job_are_drawn() {
    let job = "allocate --machine dgx-a100 --mig a100-40gb=3g,2g,1g,1g --slice 1g --gpus 3 --pattern independent";
    let svg = text(&format!("{job} --busy GPU0 --svg -"), "");
    let count = |class: &str| svg.matches(&format!("class=\"instance {class}\"")).count();
    assert_eq!((count("chosen"), count("busy"), count("free")), (3, 4, 25));
}

#[test]
fn the_picture_can_take_the_place_of_the_answer() {
    let file = File::new("same.svg");
    text(
        &format!(
            "allocate --machine dgx-2 --gpus 3 --svg {}",
            file.0.display()
        ),
        "",
    );
    let svg = text("allocate --machine dgx-2 --gpus 3 --svg -", "");
    assert_eq!(svg, file.read());
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    let said = ["--json", "--explain", "--top 2"].map(|option| {
        error(&format!(
            "allocate --machine dgx-2 --gpus 3 --svg - {option}"
        ))
    });
    insta::assert_snapshot!(said.join("\n"), @"
    error: --svg - prints the picture in place of the answer: expected a file with --json, --explain or --top
    error: --svg - prints the picture in place of the answer: expected a file with --json, --explain or --top
    error: --svg - prints the picture in place of the answer: expected a file with --json, --explain or --top
    ");
}

#[test]
fn a_picture_that_cannot_be_written_is_a_failure() {
    let words = "allocate --machine dgx-2 --gpus 3 --svg /no/such/folder/picture.svg";
    insta::assert_snapshot!(
        error(words),
        @"error: /no/such/folder/picture.svg: No such file or directory (os error 2)"
    );
    assert_eq!(no(&format!("{words} --json")).1, 2);
    // A refusal leaves no picture behind.
    let file = File::new("refused.svg");
    assert_eq!(
        no(&format!(
            "allocate --machine dgx-1v --gpus 3 --busy 0,1,2,3,4,5 --svg {}",
            file.0.display()
        ))
        .1,
        3
    );
    assert!(!file.0.exists());
}

/// What a command prints that names files of the repository.
fn in_repository(words: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    stdout(words, command(words).current_dir(root).output().unwrap())
}

/// The commands of docs/drawing.md, with what they must print.
// One shows a scheduler of CASE.
#[cfg(feature = "case")]
#[test]
fn the_pages_pictures_are_what_its_commands_draw() {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = fs::read_to_string(docs.join("drawing.md")).unwrap();
    let mut pictures = 0;
    for line in page
        .lines()
        .filter_map(|line| line.strip_prefix("mapa-bench "))
    {
        let Some((words, file)) = line.split_once(" > docs/") else {
            continue;
        };
        let committed = fs::read_to_string(docs.join(file)).unwrap();
        assert!(
            in_repository(words) == committed,
            "run `mapa-bench {line}` again, and look at what it draws"
        );
        assert!(page.contains(&format!("({file})")), "{file} is not shown");
        pictures += 1;
    }
    assert_eq!(pictures, 7);
}
