//! What commands print: an answer that is lost is an error, and nothing that others chose is obeyed by a terminal.

use std::process::{Command, Output};

use super::common::{Place, error};

/// Titles, the clipboard, the cursor, 8-bit controls, text from right to left, and what a terminal deletes by.
const HOSTILE: &str = "a\u{1b}]0;T\u{7}\u{1b}]52;c;Y2F0\u{7}\u{1b}[31;5H\u{9b}2J\u{9d}0;t\u{9c}\u{202e}b\u{2066}c\u{8}\u{7f}";

fn is_obeyed(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() && c != '\n' && c != '\t' || turns
}

/// A line of `sh`, where `$MAPA` is the program with the place's machine and ledger.
fn sh(place: &Place, line: &str) -> Output {
    let mapa = place.mapa(&[]);
    let words: Vec<&str> = std::iter::once(mapa.get_program())
        .chain(mapa.get_args())
        .map(|word| word.to_str().unwrap())
        .collect();
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .env("MAPA", words.join(" "))
        .env_remove("MAPA_LEASE");
    command.output().unwrap()
}

#[test]
fn an_answer_that_is_lost_is_an_error() {
    let place = Place::new();
    assert!(
        place
            .run(&["run", "-n", "1", "--", "true"])
            .status
            .success()
    );
    let node = env!("CARGO_BIN_EXE_mapa-node");
    let replays = format!("{node} --help");
    for line in [
        "$MAPA ps",
        "$MAPA --json ps",
        "$MAPA free",
        "$MAPA tenants",
        "$MAPA log",
        "$MAPA --json log",
        "$MAPA --help",
        "$MAPA --version",
        "$MAPA help run",
        "$MAPA completions bash",
        "$MAPA run -n 2 --dry-run -- true",
        "$MAPA cordon GPU1",
        "$MAPA recover",
        &replays,
    ] {
        let whole = sh(&place, line);
        assert!(whole.status.success(), "{line}: {}", error(&whole));
        for lost in [">/dev/full", ">&-", "1</dev/null"] {
            let output = sh(&place, &format!("{line} {lost}"));
            // An answer that is none, or on standard error, cannot be lost.
            let status = if whole.stdout.is_empty() { 0 } else { 125 };
            assert_eq!(
                output.status.code(),
                Some(status),
                "{line} {lost}: {}",
                error(&output)
            );
            if status == 125 {
                assert!(
                    error(&output).contains("standard output: "),
                    "{line} {lost}"
                );
            }
        }
        if !whole.stdout.is_empty() {
            for lost in [">/dev/full 2>&1", ">&- 2>&-"] {
                let output = sh(&place, &format!("{line} {lost}"));
                assert_eq!(output.status.code(), Some(125), "{line} {lost}");
            }
        }
        let output = sh(&place, &format!("{line} | head -c 1 >/dev/null"));
        assert!(
            output.status.success() && error(&output).is_empty(),
            "{line}: {}",
            error(&output)
        );
    }
    // The job runs all the same, and has its own status: its streams are its own.
    for lost in [">/dev/full 2>&1", ">&- 2>&-"] {
        let output = sh(&place, &format!("$MAPA run -n 1 -- sh -c 'exit 7' {lost}"));
        assert_eq!(output.status.code(), Some(7), "{lost}");
    }
    assert!(place.leases().is_empty());
}

#[test]
fn no_command_prints_what_a_terminal_would_obey() {
    let place = Place::new();
    // What users choose: names of tenants, reasons, commands.
    let reason = format!("{HOSTILE} broken");
    assert!(
        place
            .run(&["cordon", "GPU7", "--reason", &reason])
            .status
            .success()
    );
    let output = place.run(&[
        "run", "-n", "1", "--tenant", HOSTILE, "--", "sh", "-c", ": $0", HOSTILE,
    ]);
    let is_tenant = output.status.success();
    let mut escaped = 0;
    for words in [
        &["ps"][..],
        &["free"],
        &["tenants"],
        &["log"],
        &["recover"],
        &["release", HOSTILE],
        &["cordon", HOSTILE],
        &["uncordon", HOSTILE],
        &["run", "-n", "1", "--tenant", HOSTILE, "--", "true"],
        &["run", "-n", HOSTILE, "--", "true"],
        &["run", "-n", "1", "--pattern", HOSTILE, "--", "true"],
        &["run", "-n", "1", "--policy", HOSTILE, "--", "true"],
        &["run", "-n", "1", "--avoid", HOSTILE, "--", "true"],
        &[
            "run",
            "-n",
            "1",
            "--scheduler",
            HOSTILE,
            "--wait",
            "--",
            "true",
        ],
        &["run", "-n", "1", "--", HOSTILE],
        &["run", "-n", "2", "--dry-run", "--", HOSTILE],
        &["monitor", HOSTILE],
        &["completions", HOSTILE],
        &["man", HOSTILE],
        &["help", HOSTILE],
        &[HOSTILE],
        &["--ledger", HOSTILE, "ps"],
        &["--machine", HOSTILE, "free"],
    ] {
        for json in [false, true] {
            let mut all = if json { vec!["--json"] } else { vec![] };
            all.extend(words);
            let output = place.run(&all);
            for stream in [&output.stdout, &output.stderr] {
                let shown = str::from_utf8(stream).unwrap();
                let obeyed: Vec<char> = shown.chars().filter(|c| is_obeyed(*c)).collect();
                assert!(obeyed.is_empty(), "{all:?}: {obeyed:?} in {shown}");
                escaped += usize::from(shown.contains("u{1b}") || shown.contains("u001b"));
            }
        }
    }
    assert!(
        escaped > if is_tenant { 20 } else { 15 },
        "{escaped} answers have what was hostile"
    );
}
