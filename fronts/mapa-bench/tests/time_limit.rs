//! `--time-limit` on every command that has it, and bounds on numbers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Folder, command, no, run, text};

/// The clique of `n` vertices, as `match` reads graphs.
fn clique(n: usize) -> String {
    let mut text = format!("{n} {}\n", n * (n - 1) / 2);
    for a in 0..n {
        for b in 0..a {
            writeln!(text, "{a} {b}").unwrap();
        }
    }
    text
}

/// Work of at least seconds, a command line each. `benches/examples/time_limits.rs` measures it.
const HARD: &str = include_str!("time_limit/hard.txt");

/// The command of a line.
fn command_of(words: &str) -> &str {
    words.split(' ').next().unwrap()
}

/// Commands whose work is small: they answer, or they are ended.
const SMALL: &[&str] = &[
    "defrag --machine dgx-1v --job a=0,1 --job b=4 --job c=6 --want 4",
    "score --machine dgx-2 --devices 0,1,2,3,4,5,6,7,8,9,10,11",
    "mig --gpu a100-40gb",
    "pattern from-parallelism tp=4,pp=2,dp=8",
    "sensitivity --times 10,9",
    "fit --machine dgx-1v MISSING",
    "measured fit MISSING",
    "profile MISSING",
    "contention MISSING",
    "slo replay MISSING",
];

fn drafts(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(drafts(&entry.path()));
        } else if entry.file_name().to_string_lossy().ends_with(".draft") {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

#[test]
fn hard_work_ends_at_the_time_limit_with_a_refusal_or_with_what_it_has() {
    let folder = Folder::new();
    folder.write("clique.txt", clique(400));
    let sweep = "machines = \"dgx-1v\"\ngenerate = \"mapa,jobs=2000\"\nseeds = \"1..1000\"\n";
    folder.write("sweep.toml", sweep);
    for line in HARD.lines() {
        let words = format!("{line} --time-limit 300ms --json");
        let output = folder.run(&words);
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let answer: Value = serde_json::from_str(&stdout)
            .unwrap_or_else(|error| panic!("{words}: {error}: {stdout} {stderr}"));
        match output.status.code() {
            Some(3) => {
                assert_eq!(answer["refusal"], "limit_reached", "{words}: {stdout}");
                let reason = answer["reason"].as_str().unwrap();
                assert!(reason.contains("time limit"), "{words}: {reason}");
            }
            Some(0) => {
                let takes_best = ["allocate", "compare", "match"].contains(&command_of(line));
                assert!(takes_best && stdout.contains("false"), "{words}: {stdout}");
            }
            other => panic!("{words}: {other:?}: {stdout} {stderr}"),
        }
    }
    assert_eq!(drafts(folder.root()), [""; 0]);
}

#[test]
fn what_is_done_of_a_sweep_stays() {
    let folder = Folder::new();
    let sweep = "machines = \"dgx-1v\"\ngenerate = \"mapa,jobs=10\"\nseeds = \"1..20000\"\n";
    folder.write("sweep.toml", sweep);
    let output = folder.run("sweep sweep.toml --into cells --time-limit 10s");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stdout}");
    let expected = "of 20000 cells done: the same command goes on with the rest";
    assert!(stdout.contains(expected), "{stdout}");
    assert_eq!(drafts(folder.root()), [""; 0]);
    // Every cell that is there is whole.
    let listed = folder.answer("sweep sweep.toml --into cells --list");
    let cells = listed["listed"].as_array().unwrap();
    let finished = cells.iter().filter(|cell| cell["finished"] == true).count();
    assert!((1..20000).contains(&finished), "{finished}");
}

#[test]
fn small_work_answers_or_is_ended_at_the_least_limit() {
    for words in SMALL {
        let plain = run(words, "");
        let limited = run(&format!("{words} --time-limit 1ms"), "");
        match limited.status.code() {
            Some(3) => {
                let stdout = String::from_utf8(limited.stdout).unwrap();
                assert!(
                    stdout.starts_with("refused   limit_reached"),
                    "{words}: {stdout}"
                );
            }
            code => assert_eq!(
                (code, limited.stdout),
                (plain.status.code(), plain.stdout),
                "{words}"
            ),
        }
    }
}

#[test]
fn every_command_with_a_time_limit_is_tried() {
    let help = text("--help", "");
    let mut with_limit = BTreeSet::new();
    for line in help.lines() {
        let Some(name) = line
            .strip_prefix("  ")
            .and_then(|line| line.split(' ').next())
        else {
            continue;
        };
        let is_name = !name.is_empty() && name.bytes().all(|c| c.is_ascii_lowercase());
        if is_name && run(&format!("{name} --help"), "").status.code() == Some(0) {
            let own = text(&format!("{name} --help"), "");
            if own.contains("--time-limit") {
                with_limit.insert(name.to_owned());
            }
        }
    }
    let all = HARD.lines().chain(SMALL.iter().copied());
    let tried: BTreeSet<String> = all.map(|words| command_of(words).to_owned()).collect();
    assert_eq!(with_limit, tried);
}

#[test]
fn each_line_of_a_stream_has_the_whole_limit_and_waiting_has_none() {
    let mut child = command("allocate --machine dgx-1v --batch - --time-limit 300ms")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let line = "{\"op\":\"allocate\",\"id\":1,\"gpus\":2}\n{\"op\":\"reset\"}\n";
    for _ in 0..3 {
        std::io::Write::write_all(&mut stdin, line.as_bytes()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(250));
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), lines.lines().count()),
        (Some(0), 6),
        "{lines}"
    );
}

#[test]
fn numbers_out_of_bounds_are_malformed() {
    let most = u64::MAX;
    for (words, expected) in [
        (
            "sweep x.toml --into x --threads 1000000".to_owned(),
            "from 1 to 1024",
        ),
        (
            "train --into x --threads 100000000".to_owned(),
            "from 1 to 1024",
        ),
        (
            "train --into x --steps 4294967296".to_owned(),
            "from 1 to 100000000",
        ),
        (format!("train --into x --days {most}"), "from 1 to 10000"),
        (format!("tune --days {most}"), "from 0 to 1000"),
        ("tune --threads 100000".to_owned(), "from 1 to 1024"),
        ("tune --rounds 4294967295".to_owned(), "from 0 to 100000"),
        (
            format!("reproduce energy --files {most}"),
            "from 0 to 100000",
        ),
        (
            "reproduce energy --threads 5000".to_owned(),
            "from 1 to 1024",
        ),
        (
            "match --machine dgx-1v --gpus 2 --threads 1025".to_owned(),
            "from 1 to 1024",
        ),
        (
            format!("simulate --machine dgx-1v --scheduler conservative-backfill,depth={most}"),
            "at most 1000000",
        ),
        (
            format!("simulate --machine dgx-1v --scheduler topology-plan,search={most}"),
            "at most 100000000",
        ),
        (
            format!("simulate --machine dgx-1v --scheduler pcie-plan,search={most}"),
            "at most 1000000",
        ),
        (
            "allocate --machine dgx-1v --gpus 2 --time-limit 366d".to_owned(),
            "from 1ms to 365d",
        ),
    ] {
        let output = run(&words, "");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}: {stderr}");
        assert!(stderr.contains(expected), "{words}: {stderr}");
    }
}

/// A sweep file of 200 bytes, whose list took 1.35 GB.
#[cfg(target_os = "linux")]
#[test]
fn a_long_list_of_cells_is_written_as_it_is_made() {
    let folder = Folder::new();
    let sweep = "machines = \"dgx-1v\"\ngenerate = \"mapa,jobs=1\"\nseeds = \"1..65536\"\npolicies = \"paper\"\n";
    let file = folder.write("sweep.toml", sweep);
    for json in ["", " --json"] {
        let program = env!("CARGO_BIN_EXE_mapa-bench");
        let words = format!("ulimit -v 600000; exec {program} sweep {file} --list{json}");
        let output = Command::new("sh").args(["-c", &words]).output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{json}: {stderr}");
        assert!(stdout.contains("262144"), "{json}");
    }
}

#[test]
fn jobs_of_any_number_of_ranks_are_refused() {
    for job in [
        "--gpus 1152921504606846976",
        "--gpus 18446744073709551615 --pattern 0-1",
        "--pattern tp=1048576,pp=1048576",
    ] {
        let (refused, code) = no(&format!("allocate --machine dgx-1v {job} --json"));
        assert_eq!(
            (code, &refused["refusal"]),
            (3, &"infeasible".into()),
            "{job}"
        );
    }
}
