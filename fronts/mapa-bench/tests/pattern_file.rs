//! The pattern file on the command line: every command takes one, its sensitivity counts, and what
//! is wrong is said.

use std::fs;

use crate::common::{Folder, answer, command, error, feed, no, objects, run, stderr, text};
use serde_json::{Value, json};

/// A pattern file of its own: two pairs that exchange much, joined to a ring.
const RING: &str = "format = \"mapa-pattern\"\nversion = 1\nname = \"pairs\"\nsensitivity = \"sensitive\"\nranks = 4\n\
                    edges = [[0, 1, 9.0], [1, 2], [2, 3, 9.0], [3, 0]]\n";

#[test]
fn a_pattern_file_is_as_good_as_its_edges_in_every_command() {
    let folder = Folder::new();
    let file = folder.write("job.toml", RING);
    let edges = "--gpus 4 --pattern 0-1:9,1-2,2-3:9,3-0 --sensitive";
    for command in [
        "allocate --machine dgx-1v --policy greedy",
        "allocate --machine dgx-1v",
        "compare --machine dgx-1v",
    ] {
        let mut own = answer(&format!("{command} --pattern {file}"));
        if let Some(notes) = own.get_mut("notes") {
            assert_eq!(*notes, json!(["the job is sensitive, by its file"]));
            *notes = json!([]);
        }
        assert_eq!(own, answer(&format!("{command} {edges}")), "{command}");
    }
    let edges = "--gpus 4 --pattern 0-1:9,1-2,2-3:9,3-0";
    for command in [
        "match --machine dgx-1v --list 3",
        "score --machine dgx-1v --devices 0,1,2,3",
    ] {
        let of = |words: String| {
            let mut object = answer(&format!("{command} {words}"));
            // Except for the words themselves.
            object.as_object_mut().unwrap().remove("pattern");
            object
        };
        let edges = if command.starts_with("score") {
            edges.replacen("--gpus 4 ", "", 1)
        } else {
            edges.to_owned()
        };
        assert_eq!(of(format!("--pattern {file}")), of(edges), "{command}");
    }
}

#[test]
fn the_files_sensitivity_counts_unless_it_is_told() {
    let folder = Folder::new();
    let sensitive = folder.write("sensitive.toml", RING);
    let insensitive = folder.write(
        "insensitive.toml",
        RING.replace("\"sensitive\"", "\"insensitive\""),
    );
    let unknown = folder.write("unknown.toml", RING.replace("\"sensitive\"", "\"unknown\""));
    let placed = |file: &str, more: &str| {
        answer(&format!(
            "allocate --machine dgx-1v --policy preserve --busy 0 --pattern {file} {more}"
        ))["devices"]
            .clone()
    };
    let by_edges = |sensitive: &str| {
        let edges = "--gpus 4 --pattern 0-1:9,1-2,2-3:9,3-0";
        answer(&format!(
            "allocate --machine dgx-1v --policy preserve --busy 0 {edges} --sensitive={sensitive}"
        ))["devices"]
            .clone()
    };
    let (yes, no) = (by_edges("true"), by_edges("false"));
    assert_ne!(yes, no, "the policy makes a difference here");
    assert_eq!(
        [
            placed(&sensitive, ""),
            placed(&sensitive, "--sensitive=false")
        ],
        [yes.clone(), no.clone()]
    );
    assert_eq!(
        [
            placed(&insensitive, ""),
            placed(&insensitive, "--sensitive")
        ],
        [no, yes.clone()]
    );
    assert_eq!(placed(&unknown, ""), yes);
}

#[test]
fn gpus_must_agree_with_the_file() {
    let folder = Folder::new();
    let file = folder.write("job.toml", RING);
    let said = ["allocate", "compare", "match"].map(|command| {
        let words = format!("{command} --machine dgx-1v --pattern {file}");
        assert_eq!(
            run(&format!("{words} --gpus 4"), "").status.code(),
            Some(0),
            "{command}"
        );
        [
            error(&format!("{words} --gpus 5")),
            error(&format!("{words} --bytes tp=1")),
        ]
        .join("\n")
    });
    insta::assert_snapshot!(said.join("\n"), @"
    error: --gpus 5: the pattern pairs has 4 ranks: expected 4, or no --gpus
    error: --bytes is for patterns such as tp=4,pp=2,dp=1: a pattern file has its own bytes
    error: --gpus 5: the pattern pairs has 4 ranks: expected 4, or no --gpus
    error: --bytes is for patterns such as tp=4,pp=2,dp=1: a pattern file has its own bytes
    error: --gpus 5: the pattern pairs has 4 ranks: expected 4, or no --gpus
    error: --bytes is for patterns such as tp=4,pp=2,dp=1: a pattern file has its own bytes
    ");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    let missing = folder.path("missing.toml");
    let wrong = folder.write("wrong.toml", RING.replace("[1, 2]", "[1, 1]"));
    let other = folder.write(
        "other.toml",
        "format = \"mapa-coefficients\"\nversion = 1\nname = \"a\"\n",
    );
    let bytes = folder.write("bytes.toml", [0xff, 0xfe, 0]);
    let commands = [
        "allocate --machine dgx-1v --pattern",
        "match --machine dgx-1v --pattern",
        "pattern show",
    ];
    let said = commands.map(|command| {
        let (object, status) = no(&format!("{command} {missing} --json"));
        assert!(
            status == 2 && object["error"].as_str().unwrap().contains("missing.toml"),
            "{object}"
        );
        let folder = format!("{}/", folder.root().display());
        [&missing, &folder, &wrong, &other, &bytes]
            .map(|file| error(&format!("{command} {file}")))
            .join("\n")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    error: FOLDER/missing.toml: No such file or directory (os error 2)
    error: FOLDER/: is a folder, expected a regular file, or - for standard input
    error: FOLDER/wrong.toml: line 6: edge 1 joins vertex 1 to itself: no device talks to itself
    error: FOLDER/other.toml: line 1: format = "mapa-coefficients": expected "mapa-pattern"
    error: FOLDER/bytes.toml: line 1: expected text in UTF-8
    error: FOLDER/missing.toml: No such file or directory (os error 2)
    error: FOLDER/: is a folder, expected a regular file, or - for standard input
    error: FOLDER/wrong.toml: line 6: edge 1 joins vertex 1 to itself: no device talks to itself
    error: FOLDER/other.toml: line 1: format = "mapa-coefficients": expected "mapa-pattern"
    error: FOLDER/bytes.toml: line 1: expected text in UTF-8
    error: FOLDER/missing.toml: No such file or directory (os error 2)
    error: FOLDER/: is a folder, expected a regular file, or - for standard input
    error: FOLDER/wrong.toml: line 6: edge 1 joins vertex 1 to itself: no device talks to itself
    error: FOLDER/other.toml: line 1: format = "mapa-coefficients": expected "mapa-pattern"
    error: FOLDER/bytes.toml: line 1: expected text in UTF-8
    "#);
}

/// The objects of a batch with this input, run in the folder.
fn batch(folder: &Folder, lines: &str) -> Vec<Value> {
    let mut command = folder.command("allocate --machine dgx-1v --batch -");
    objects(&feed(&mut command, lines))
}

#[test]
fn lines_of_a_batch_take_pattern_files_from_where_it_runs() {
    let folder = Folder::new();
    folder.write("job.toml", RING);
    let answers = batch(
        &folder,
        r#"{"op":"allocate","id":"a","policy":"preserve","pattern":"job.toml"}
{"op":"reset"}
{"op":"allocate","id":"a","gpus":4,"policy":"preserve","pattern":"0-1:9,1-2,2-3:9,3-0","sensitive":true}
{"op":"reset"}
{"op":"allocate","id":"a","policy":"preserve","pattern":"./job.toml","sensitive":false}
{"op":"reset"}
{"op":"allocate","id":"a","gpus":4,"policy":"preserve","pattern":"0-1:9,1-2,2-3:9,3-0","sensitive":false}
{"op":"allocate","id":"d","pattern":"other.toml"}
{"op":"allocate","id":"e","gpus":3,"pattern":"job.toml"}
"#,
    );
    assert_eq!(answers.len(), 9);
    assert!(
        answers[0]["devices"].is_array() && answers[0] == answers[2],
        "{} {}",
        answers[0],
        answers[2]
    );
    assert_eq!(answers[4], answers[6]);
    assert_ne!(answers[0], answers[4], "the line's word counts");
    insta::assert_snapshot!(
        answers[7]["error"].as_str().unwrap(),
        @"line 8: other.toml: No such file or directory (os error 2)"
    );
    insta::assert_snapshot!(
        answers[8]["error"].as_str().unwrap(),
        @"line 9: --gpus 3: the pattern pairs has 4 ranks: expected 4, or no --gpus"
    );
}

#[test]
fn what_output_writes_is_read_again_with_all_that_was_printed() {
    let folder = Folder::new();
    let file = folder.path("job.toml");
    for source in [
        "from-parallelism tp=2,pp=2 --bytes tp=2e9,pp=1e8",
        "show ring --gpus 5",
        "show 0-1:2.5,1-2 --gpus 3",
    ] {
        let mut made = answer(&format!("pattern {source} --name own --output {file}"));
        let mut read = answer(&format!("pattern show {file}"));
        for object in [&mut made, &mut read] {
            assert_eq!(object["name"].take(), "own");
        }
        assert_eq!(made, read, "{source}");
    }
}

#[test]
fn the_keys_of_an_answer_are_these() {
    let object = answer("pattern from-parallelism tp=2,pp=2 --bytes tp=2e9,pp=1e8");
    let keys: Vec<&str> = object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = [
        "bytes",
        "edges",
        "labels",
        "name",
        "notes",
        "parallelism",
        "ranks",
        "schema",
        "sensitivity",
        "shape",
        "source",
        "unit",
        "why",
    ];
    assert_eq!(keys, expected);
    assert_eq!(object["edges"][0], json!([0, 1, 2e9]));
    assert_eq!(
        (object["ranks"].clone(), object["shape"].clone()),
        (json!(4), json!("ring"))
    );
    assert_eq!(
        [&object["unit"], &object["sensitivity"]],
        ["bytes-per-step", "unknown"]
    );
    assert_eq!(object["bytes"]["tp"], json!(2e9));
}

#[test]
fn evidence_on_the_command_line_reaches_the_answer_and_the_file() {
    let folder = Folder::new();
    let file = folder.path("job.toml");
    let said = |more: &str| {
        let object = answer(&format!(
            "pattern show ring --gpus 4 {more} --output {file}"
        ));
        let read = answer(&format!("pattern show {file}"));
        assert_eq!(
            [&object["sensitivity"], &object["why"]],
            [&read["sensitivity"], &read["why"]]
        );
        object["sensitivity"].as_str().unwrap().to_owned()
    };
    assert_eq!(said(""), "unknown");
    assert_eq!(said("--fast-seconds 374 --slow-seconds 511"), "sensitive");
    assert_eq!(
        said("--fast-seconds 100,101 --slow-seconds 101,102,103"),
        "insensitive"
    );
    assert_eq!(said("--messages 8x3e7"), "unknown");
    assert_eq!(said("--messages 8x3e4"), "insensitive");
    assert_eq!(
        said("--messages 8x3e7 --iteration-seconds 0.04"),
        "sensitive"
    );
    assert_eq!(
        said("--messages 8x3e7 --iteration-seconds 0.04 --link-gbps 45,50"),
        "insensitive"
    );
    assert_eq!(said("--sensitivity insensitive"), "insensitive");
    // Another command keeps what the file says, or is told.
    assert_eq!(
        answer(&format!("pattern show {file}"))["why"],
        "stated by its user"
    );
    assert_eq!(
        answer(&format!("pattern show {file} --sensitivity sensitive"))["sensitivity"],
        "sensitive"
    );
    let text = text(&format!("pattern show {file}"), "");
    assert!(
        text.contains("verdict   insensitive: stated by its user\n"),
        "{text}"
    );
}

#[test]
fn bytes_a_step_need_the_time_of_an_iteration_alone() {
    let words = "pattern from-parallelism tp=2,pp=2 --bytes tp=2e9,pp=1e8 --iteration-seconds";
    // 2.1 GB take 0.175 s at 12 GB/s and 0.042 at 50.
    let said = |seconds: &str| {
        answer(&format!("{words} {seconds}"))["sensitivity"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        ["1", "3", "10"].map(said),
        ["sensitive", "unknown", "insensitive"]
    );
    let object = answer(&format!("{words} 1"));
    assert_eq!(object["notes"][0]["kind"], "assumed");
    assert!(
        object["why"].as_str().unwrap().contains("2.1 GB"),
        "{object}"
    );
    insta::assert_snapshot!(
        error("pattern show ring --gpus 4 --iteration-seconds 1"),
        @"error: the time of an iteration: expected its messages beside it, or bytes a step"
    );
}

#[test]
fn evidence_that_is_none_is_refused_by_name() {
    let words = "pattern show ring --gpus 4";
    insta::assert_snapshot!(
        error(&format!("{words} --fast-seconds 0 --slow-seconds 1")),
        @"error: a time on the better links, 0 s: expected a positive number"
    );
    insta::assert_snapshot!(
        error(&format!("{words} --fast-seconds 1 --slow-seconds -1")),
        @"error: a time on the worse links, -1 s: expected a positive number"
    );
    insta::assert_snapshot!(
        error(&format!("{words} --fast-seconds NaN --slow-seconds 1")),
        @"error: a time on the better links, NaN s: expected a positive number"
    );
    insta::assert_snapshot!(error(&format!("{words} --fast-seconds 1")), @"
    error: the following required arguments were not provided:
      --slow-seconds <SECONDS>
    ");
    insta::assert_snapshot!(
        error(&format!("{words} --messages 8")),
        @"error: messages `8`: expected CALLSxBYTES, such as 16x1.5e7"
    );
    insta::assert_snapshot!(
        error(&format!("{words} --messages -1x8")),
        @"error: -1 calls in an iteration: expected a number from 0 to 1e18"
    );
    insta::assert_snapshot!(
        error(&format!("{words} --messages 8x1e6 --iteration-seconds inf")),
        @"error: the time of an iteration, inf s: expected a positive number"
    );
    let rates = "--messages 8x1e6 --iteration-seconds 1 --link-gbps";
    insta::assert_snapshot!(
        error(&format!("{words} {rates} 12")),
        @"error: --link-gbps: expected SLOW,FAST, such as 12,50"
    );
    insta::assert_snapshot!(
        error(&format!("{words} {rates} 50,12")),
        @"error: links of 50 and 12 GB/s: expected the slower first"
    );
    insta::assert_snapshot!(error(&format!("{words} --sensitivity very")), @"
    error: invalid value 'very' for '--sensitivity <WORD>'
      [possible values: sensitive, insensitive, unknown]
    ");
    insta::assert_snapshot!(
        error(&format!("{words} --sensitivity sensitive --messages 8x1e6")),
        @"error: the argument '--sensitivity <WORD>' cannot be used with '--messages <CALLSxBYTES>'"
    );
}

#[test]
fn names_are_on_one_line() {
    let mut name = command("pattern show ring --gpus 3 --name");
    let stderr = stderr("--name", name.arg("two\nlines").output().unwrap());
    insta::assert_snapshot!(stderr, @"error: --name: expected a name on one line");
}

#[test]
fn the_nine_workloads_have_the_class_of_the_paper() {
    let object = answer("sensitivity --published");
    let workloads = object["workloads"].as_array().unwrap();
    assert_eq!(workloads.len(), 9);
    for workload in workloads {
        assert_eq!(workload["sensitivity"], workload["class"], "{workload}");
        assert!(!workload["evidence"].as_array().unwrap().is_empty());
    }
    let page = include_str!("../../../docs/reproduction/sensitivity.md");
    let printed = text("sensitivity --published", "");
    assert!(
        page.contains(&printed),
        "the page does not have this:\n{printed}"
    );
}

#[test]
fn evidence_is_judged_without_a_pattern() {
    let object = answer("sensitivity --fast-seconds 374 --slow-seconds 511");
    assert_eq!(object["sensitivity"], "sensitive");
    assert!(text("sensitivity --messages 8x1e9", "").starts_with("unknown: by messages alone, "));
    insta::assert_snapshot!(
        error("sensitivity"),
        @"error: expected evidence: --fast-seconds with --slow-seconds, or --messages; or --published"
    );
    insta::assert_snapshot!(
        error("sensitivity --iteration-seconds 1"),
        @"error: the time of an iteration: expected its messages beside it, or bytes a step"
    );
}

#[test]
fn drawings_go_to_a_file_or_replace_the_answer() {
    let folder = Folder::new();
    let file = folder.path("job.dot");
    let drawn = text("pattern show ring --gpus 4 --dot -", "");
    assert!(
        drawn.starts_with("graph \"ring\" {\n") && drawn.ends_with("}\n"),
        "{drawn}"
    );
    answer(&format!("pattern show ring --gpus 4 --dot {file}"));
    assert_eq!(fs::read_to_string(&file).unwrap(), drawn);
    insta::assert_snapshot!(
        error("pattern show ring --gpus 4 --dot - --json"),
        @"error: --dot - draws in place of the answer: expected a file with --json"
    );
    insta::assert_snapshot!(
        error(&format!(
            "pattern show ring --gpus 4 --dot {}",
            folder.path("no/where.dot")
        )),
        @"error: FOLDER/no/where.dot: No such file or directory (os error 2)"
    );
}

#[test]
fn shapes_edges_and_degrees_are_that_whatever_files_there_are() {
    let folder = Folder::new();
    for name in ["ring", "0-1,1-2", "tp=3"] {
        folder.write(name, "no pattern");
        let line = format!(r#"{{"op":"allocate","id":"a","gpus":3,"pattern":"{name}"}}"#);
        let answers = batch(&folder, &line);
        assert!(answers[0]["devices"].is_array(), "{name}: {}", answers[0]);
    }
}
