//! Completions in real shells, manual pages, help on a screen, and errors of arguments as JSON.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::assert_valid;
use crate::shells::{SHELLS, is_there, offers, options, shown};

/// Both programs with their commands.
const PROGRAMS: [(&str, &[&str]); 2] = [
    (
        "mapa",
        &[
            "run",
            "release",
            "ps",
            "free",
            "tenants",
            "log",
            "cordon",
            "uncordon",
            "monitor",
            "recover",
            "completions",
            "man",
        ],
    ),
    (
        "mapa-node",
        &["doctor", "status", "replay", "completions", "man"],
    ),
];

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_mapa")).with_file_name(name)
}

/// Runs a program without a ledger that it may write.
fn run(name: &str, words: &[&str]) -> Output {
    Command::new(program(name))
        .args(words)
        .env("COLUMNS", "80")
        .env("MAPA_LEDGER", "/nowhere/ledger.db")
        .output()
        .unwrap()
}

fn text(name: &str, words: &[&str]) -> String {
    let output = run(name, words);
    assert!(output.status.success(), "{name} {words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn real_shells_complete_commands_options_and_values() {
    let folder = tempfile::tempdir().unwrap();
    for shell in SHELLS.into_iter().filter(|shell| is_there(shell)) {
        for (name, commands) in PROGRAMS {
            let script = text(name, &["completions", shell]);
            let at = |line: &str, expected: &[&str]| {
                let offered = offers(shell, folder.path(), &script, line);
                for word in expected {
                    let is_offered = offered.iter().any(|offer| offer == word);
                    assert!(is_offered, "{shell}: {line}: {word}: {offered:?}");
                }
            };
            at(&format!("{name} "), commands);
            at(&format!("{name} completions "), &["fish"]);
            at(&format!("{name} man --in"), &["--into"]);
            at(&format!("{name} --machine dgx-"), &["dgx-1v", "dgx-a100"]);
            if name == "mapa" {
                at("mapa run --policy max-", &["max-bandwidth"]);
                at("mapa run --scheduler easy", &["easy-backfill"]);
            } else {
                at("mapa-node --scheduler easy", &["easy-backfill"]);
            }
        }
    }
}

#[test]
fn each_command_has_a_page_with_every_option_and_its_text() {
    let folder = tempfile::tempdir().unwrap();
    for (name, commands) in PROGRAMS {
        text(name, &["man", "--into", folder.path().to_str().unwrap()]);
        for command in [""].iter().chain(commands) {
            let page = [name, command].map(str::to_owned).join("-");
            let page = format!("{}.1", page.trim_end_matches('-'));
            let file = folder.path().join(page);
            let page = std::fs::read_to_string(&file).unwrap();
            let shown = shown(&file);
            let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
            for (option, text) in options(&text(name, &words)) {
                let escaped = format!("\\-\\-{}", option.replace('-', "\\-"));
                assert!(page.contains(&escaped), "{name} {command}: {option}");
                if let Some(shown) = &shown {
                    assert!(shown.contains(&text), "{name} {command}: {option}: {text}");
                }
            }
        }
    }
}

#[test]
fn short_help_fits_a_screen_and_lists_commands_by_task() {
    for (name, commands) in PROGRAMS {
        let all = text(name, &["-h"]);
        for command in commands {
            let start = format!("  {command} ");
            let lines = all.lines().filter(|line| line.starts_with(&start));
            assert_eq!(lines.count(), 1, "{name} {command}: {all}");
        }
        for command in [""].iter().chain(commands) {
            let words: Vec<&str> = command.split_whitespace().chain(["-h"]).collect();
            let help = text(name, &words);
            let widest = help.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= 80, "{name} {command}: {widest} columns\n{help}");
            let rows = help.lines().count();
            assert!(rows <= 40, "{name} {command}: {rows} rows\n{help}");
        }
    }
}

#[test]
fn errors_of_arguments_are_objects_with_json() {
    let cases: [(&str, &[&str], &str); 4] = [
        (
            "mapa",
            &["ps", "--json", "--sideways"],
            "unexpected argument '--sideways' found",
        ),
        (
            "mapa",
            &["--json", "release", "x"],
            "invalid value 'x' for '<LEASE>': invalid digit found in string",
        ),
        (
            "mapa-node",
            &["--json", "replay"],
            "the following required arguments were not provided: <FILE>",
        ),
        (
            "mapa-node",
            &["doctor", "--json", "--sideways"],
            "unexpected argument '--sideways' found",
        ),
    ];
    for (name, words, what) in cases {
        let output = run(name, words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_valid("error", &answer);
        assert_eq!(answer["error"], what);
        assert_eq!(output.stderr, b"");
    }
    // The standard output of `run` is the job's.
    let output = run("mapa", &["run", "--json", "--sideways", "--", "true"]);
    assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]));
    let answer: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_valid("error", &answer);
    // These words are the command's.
    let output = run("mapa", &["run", "--sideways", "--", "true", "--json"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.starts_with("error: unexpected argument '--sideways'"),
        "{told}"
    );
    // Help is no error.
    assert!(text("mapa", &["run", "--json", "--help"]).contains("Usage: mapa run"));
}
