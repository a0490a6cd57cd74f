//! `--live`: the machine that this runs on, here one whose `nvidia-smi` is a script.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{self, Folder, error, stdout};
use serde_json::{Value, json};

const TOPO: &str = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV2\tSYS\tSYS\t0-15\t0
GPU1\tNV2\t X \tSYS\tSYS\t0-15\t0
GPU2\tSYS\tSYS\t X \tNV2\t16-31\t1
GPU3\tSYS\tSYS\tNV2\t X \t16-31\t1
";

/// A folder with the command and the cache, which goes when the test does.
struct Room(Folder);

impl Room {
    fn new() -> Self {
        let room = Self(Folder::of_programs());
        room.0.write("topo.txt", TOPO);
        let here = room.0.root().display();
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = topo ] && {{ echo asked >> '{here}/asked'; cat '{here}/topo.txt'; }}\nexit 0\n"
        );
        let script = room.0.write("script.txt", script);
        // Written by another process: one that this process had open while a second test starts a
        // command could not be run.
        let mut copy = Command::new("install");
        copy.args(["-m", "755"])
            .arg(script)
            .arg(room.0.at("nvidia-smi"));
        assert!(copy.status().unwrap().success());
        room
    }

    fn place(&self, name: &str) -> String {
        self.0.path(name)
    }

    /// The words with `--live` and the places of this room.
    fn command(&self, words: &str) -> Command {
        let mut command = common::command(words);
        command
            .arg("--live")
            .env("XDG_CACHE_HOME", self.0.at("cache"));
        command.args([
            "--nvml",
            &self.place("none.so"),
            "--nvidia-smi",
            &self.place("nvidia-smi"),
            "--kfd",
            &self.place("kfd"),
        ]);
        command
    }

    fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    fn text(&self, words: &str) -> String {
        stdout(words, self.run(words))
    }

    fn answer(&self, words: &str) -> Value {
        serde_json::from_str(&self.text(&format!("{words} --json"))).unwrap()
    }

    fn asked(&self) -> usize {
        fs::read_to_string(self.0.at("asked")).map_or(0, |text| text.lines().count())
    }
}

#[test]
fn topo_shows_the_machine_and_how_it_was_found() {
    let room = Room::new();
    let topo = room.answer("topo");
    assert_eq!(topo["links"][0], json!(["X", "NV2", "SYS", "SYS"]));
    let discovery = &topo["discovery"];
    assert_eq!(
        (&discovery["by"], &discovery["cached"]),
        (&json!("nvidia-smi"), &json!(false))
    );
    assert_eq!(discovery["mig_instances"], json!([]));
    let tried = discovery["tried"].as_array().unwrap();
    assert_eq!(
        (&tried[0]["source"], &tried[0]["place"]),
        (&json!("nvml"), &json!(room.place("none.so")))
    );
    assert!(tried[0]["failure"].is_string() && tried[1]["failure"].is_null() && tried.len() == 2);

    let again = room.answer("topo");
    let discovery = &again["discovery"];
    assert_eq!(
        (&discovery["cached"], &discovery["tried"], room.asked()),
        (&json!(true), &json!([]), 1)
    );
    assert!(
        discovery["mig_instances"].is_null(),
        "not asked, so not known"
    );
    for key in [
        "name",
        "title",
        "devices",
        "links",
        "host_links",
        "bandwidth_gbps",
        "notes",
    ] {
        assert_eq!(again[key], topo[key], "{key}");
    }
    assert!(Path::new(discovery["file"].as_str().unwrap()).starts_with(room.0.at("cache/mapa")));
}

#[test]
fn people_read_who_was_asked() {
    let room = Room::new();
    let asked = room.text("topo");
    assert!(
        asked.contains(&format!("  Queried nvml ({}): ", room.place("none.so"))),
        "{asked}"
    );
    assert!(
        asked.contains(&format!(
            "  Queried nvidia-smi ({}): found",
            room.place("nvidia-smi")
        )),
        "{asked}"
    );
    assert!(asked.contains("  Cached in "), "{asked}");
    let kept = room.text("topo");
    assert!(
        kept.contains("  Found by nvidia-smi")
            && kept.contains("; --refresh queries the drivers again."),
        "{kept}"
    );
    assert!(!room.text("topo --no-cache").contains("Cached in"));
}

#[test]
fn refresh_and_no_cache_ask() {
    let room = Room::new();
    room.answer("topo");
    assert_eq!(room.answer("topo --refresh")["discovery"]["cached"], false);
    let without = room.answer("topo --no-cache");
    assert_eq!(
        (
            &without["discovery"]["cached"],
            &without["discovery"]["file"]
        ),
        (&json!(false), &Value::Null)
    );
    assert_eq!(room.asked(), 3);
}

#[test]
fn every_command_takes_it_for_a_machine() {
    let room = Room::new();
    let allocate = room.answer("allocate --gpus 2 --policy greedy --busy GPU0");
    assert_eq!(allocate["devices"], json!([2, 3]));
    assert_eq!(
        room.answer("match --gpus 2 --pattern ring --min-link nv2")["count"],
        2
    );
    let compare = room.answer("compare --gpus 2");
    assert!(compare.to_string().contains("greedy"));
    let toml = room.text("topo --toml");
    assert!(toml.contains("format = \"mapa-machine\""));
    let set = room.answer("topo --nvlink-gbps 20");
    assert_eq!(
        set["bandwidth_gbps"][0][1],
        json!(40.0),
        "options hold, and are not kept"
    );
    assert_eq!(room.answer("topo")["bandwidth_gbps"][0][1], json!(50.0));
    assert_eq!(room.asked(), 1);
}

#[test]
fn where_there_is_nothing_the_error_says_what_was_looked_for() {
    let room = Room::new();
    fs::remove_file(room.0.at("nvidia-smi")).unwrap();
    let output = room.run("topo --json");
    assert_eq!(output.status.code(), Some(2));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let error = answer["error"].as_str().unwrap();
    for place in ["none.so", "nvidia-smi", "kfd"] {
        assert!(error.contains(&room.place(place)), "{error}");
    }
}

#[test]
fn a_command_without_a_machine_says_how_one_is_named() {
    let tip = |words: &str| {
        let output = common::command(words).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let tip = text.lines().find(|line| line.starts_with("  tip: "));
        tip.unwrap_or_default().trim().to_owned()
    };
    insta::assert_snapshot!(
        tip("allocate --gpus 2"),
        @"tip: name a machine (`mapa-bench machines` lists them), a file or - for standard input; or --live for this machine; or set MAPA_MACHINE"
    );
    assert_eq!(
        tip("allocate --gpsu 2 --machine dgx-1v"),
        "tip: a similar argument exists: '--gpus'"
    );
    let output = common::command("allocate --gpus 2 --json")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(
        String::from_utf8(output.stdout).unwrap(),
        @r#"{"error":"the following required arguments were not provided: --machine <NAME|FILE|-> tip: name a machine (`mapa-bench machines` lists them), a file or - for standard input; or --live for this machine; or set MAPA_MACHINE","schema":1}"#
    );
}

#[test]
fn a_machine_without_its_option_is_told_the_option() {
    let told = |words: &str| {
        let output = common::command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}");
        String::from_utf8(output.stderr).unwrap()
    };
    let machine = "fleet:2xdgx-a100";
    let commands = [
        "allocate",
        "compare",
        "contention",
        "defrag",
        "match",
        "score",
        "simulate",
        "topo",
    ];
    for command in commands {
        let told = told(&format!("{command} {machine}"));
        let first = format!("error: unexpected argument '{machine}' found\n\n");
        let tip = format!("  tip: name a machine by its option: --machine {machine}\n");
        assert!(told.starts_with(&(first + &tip)), "{command}: {told}");
    }
    // What is no name of a machine, and commands that take none.
    for words in [
        "allocate 4",
        "allocate help",
        "allocate --sideways",
        "mig dgx-a100",
        "pattern dgx-a100",
    ] {
        let told = told(words);
        assert!(!told.contains("--machine"), "{words}: {told}");
    }
    let output = common::command("topo dgx-a100 --json").output().unwrap();
    insta::assert_snapshot!(
        String::from_utf8(output.stdout).unwrap(),
        @r#"{"error":"unexpected argument 'dgx-a100' found tip: name a machine by its option: --machine dgx-a100","schema":1}"#
    );
}

#[test]
fn it_stands_in_place_of_machine() {
    insta::assert_snapshot!(
        error("topo --live --machine dgx-1v"),
        @"error: the argument '--live' cannot be used with '--machine <NAME|FILE|->'"
    );
    insta::assert_snapshot!(error("topo"), @"
    error: the following required arguments were not provided:
      --machine <NAME|FILE|->
    ");
    insta::assert_snapshot!(error("allocate --gpus 2"), @"
    error: the following required arguments were not provided:
      --machine <NAME|FILE|->
    ");
    insta::assert_snapshot!(error("match --gpus 2"), @"
    error: the following required arguments were not provided:
      --machine <NAME|FILE|->
    ");
    insta::assert_snapshot!(
        error("match --live --pattern-file a --target-file b"),
        @"error: the argument '--live' cannot be used with '--pattern-file <FILE|->'"
    );
    let options = [
        "--refresh",
        "--no-cache",
        "--nvml x",
        "--nvidia-smi x",
        "--kfd x",
    ];
    let said = options.map(|option| {
        [
            error(&format!("topo --machine dgx-1v {option}")),
            error(&format!("match --pattern-file a --target-file b {option}")),
            error(&format!("topo {option}")),
        ]
        .join("\n")
    });
    insta::assert_snapshot!(said.join("\n"), @"
    error: the argument '--machine <NAME|FILE|->' cannot be used with '--refresh'
    error: the argument '--pattern-file <FILE|->' cannot be used with '--refresh'
    error: the following required arguments were not provided:
      --live
      --machine <NAME|FILE|->
    error: the argument '--machine <NAME|FILE|->' cannot be used with '--no-cache'
    error: the argument '--pattern-file <FILE|->' cannot be used with '--no-cache'
    error: the following required arguments were not provided:
      --live
      --machine <NAME|FILE|->
    error: the argument '--machine <NAME|FILE|->' cannot be used with '--nvml <PATH>'
    error: the argument '--pattern-file <FILE|->' cannot be used with '--nvml <PATH>'
    error: the following required arguments were not provided:
      --live
      --machine <NAME|FILE|->
    error: the argument '--machine <NAME|FILE|->' cannot be used with '--nvidia-smi <PATH>'
    error: the argument '--pattern-file <FILE|->' cannot be used with '--nvidia-smi <PATH>'
    error: the following required arguments were not provided:
      --live
      --machine <NAME|FILE|->
    error: the argument '--machine <NAME|FILE|->' cannot be used with '--kfd <DIR>'
    error: the argument '--pattern-file <FILE|->' cannot be used with '--kfd <DIR>'
    error: the following required arguments were not provided:
      --live
      --machine <NAME|FILE|->
    ");
    insta::assert_snapshot!(
        error("topo --live --refresh --no-cache"),
        @"error: the argument '--refresh' cannot be used with '--no-cache'"
    );
}

#[test]
fn processes_that_write_at_once_leave_a_whole_file() {
    let room = Room::new();
    for _ in 0..3 {
        let children: Vec<_> = (0..4)
            .map(|_| room.command("topo --refresh --json").spawn().unwrap())
            .collect();
        for child in children {
            assert!(child.wait_with_output().unwrap().status.success());
        }
        let kept = room.answer("topo");
        assert_eq!(kept["discovery"]["cached"], true);
        let files = fs::read_dir(room.0.at("cache/mapa")).unwrap().count();
        assert_eq!(files, 1, "nothing is left beside it");
    }
    assert_eq!(room.asked(), 12);
}
