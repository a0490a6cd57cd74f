//! `reproduce`: published evaluations, run again. What a system's report says is tested beside it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::common::{answer, error, no, run, text};
use serde_json::Value;

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A run of the experiment that needs no system, made once: the folder of its files, and its numbers.
fn measured() -> &'static (PathBuf, Value) {
    static MADE: OnceLock<(PathBuf, Value)> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduce");
        let words = format!(
            "reproduce measured --untimed --into {} --json",
            folder.display()
        );
        let output = run(&words, "");
        assert_eq!(output.status.code(), Some(0));
        (folder, read(&String::from_utf8(output.stdout).unwrap()))
    })
}

#[test]
fn the_list_names_every_experiment() {
    let list = answer("reproduce --list");
    let rows = list["experiments"].as_array().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    // Those of systems come first.
    assert_eq!(names.last(), Some(&"measured"));
    let shown = text("reproduce --list", "");
    for name in &names {
        assert!(shown.contains(&format!("| {name} ")), "{name}");
    }
    let expected = names.join(", ");
    let maps = String::from_utf8(run("reproduce maps", "").stderr).unwrap();
    assert_eq!(
        maps,
        format!("error: no experiment is called `maps`: expected one of: {expected}\n")
    );
}

#[test]
fn what_cannot_be_run_is_said() {
    insta::assert_snapshot!(
        error("reproduce measured --files 1"),
        @"error: measured draws no job files: expected no --files"
    );
    insta::assert_snapshot!(error("reproduce"), @"
    error: the following required arguments were not provided:
      <EXPERIMENT>
    ");
    insta::assert_snapshot!(
        error("reproduce measured --list"),
        @"error: the argument '[EXPERIMENT]' cannot be used with '--list'"
    );
    let (object, code) = no("reproduce maps --json");
    assert_eq!(
        (
            object["error"].as_str().unwrap().contains("no experiment"),
            code
        ),
        (true, 2)
    );
}

#[test]
fn every_file_is_written_and_every_picture_shown() {
    let (folder, numbers) = measured();
    let beside = folder.join("measured");
    assert_eq!(
        read(&fs::read_to_string(beside.join("results.json")).unwrap()),
        *numbers
    );
    let report = fs::read_to_string(folder.join("measured.md")).unwrap();
    let written: BTreeSet<String> = fs::read_dir(&beside)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let (pictures, others): (BTreeSet<&String>, BTreeSet<&String>) =
        written.iter().partition(|file| file.ends_with(".svg"));
    assert!(!pictures.is_empty());
    for picture in pictures {
        assert!(
            report.contains(&format!("](measured/{picture})")),
            "{picture}"
        );
        let svg = fs::read_to_string(beside.join(picture)).unwrap();
        assert!(svg.starts_with("<svg"), "{picture}");
    }
    assert_eq!(Vec::from_iter(others), ["claims.csv", "results.json"]);
}

#[test]
fn claims_are_the_same_in_every_form() {
    let (folder, numbers) = measured();
    let report = fs::read_to_string(folder.join("measured.md")).unwrap();
    let table = fs::read_to_string(folder.join("measured/claims.csv")).unwrap();
    let sections = numbers["sections"].as_object().unwrap().values();
    let claims: Vec<&Value> = sections
        .flat_map(|section| section["claims"].as_array().unwrap())
        .collect();
    assert_eq!(table.lines().count(), claims.len() + 1);
    for claim in claims {
        let [what, verdict] = ["claim", "verdict"].map(|key| claim[key].as_str().unwrap());
        let is_it = |line: &str| {
            line.starts_with(&format!("| {what} ")) && line.contains(&format!("| {verdict} "))
        };
        assert!(report.lines().any(is_it), "{what}");
    }
}

/// The report is that of the numbers beside it.
#[test]
fn the_kept_report_has_the_claims_of_the_kept_numbers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduction");
    mapa_lab::testing::check_report(&mapa_lab::testing::Written::kept(&folder, "measured"));
}
