//! Texts of machines that people published, and what MAPA makes of each. The right answers were written down before MAPA
//! read the texts.
//!
//! `field/inputs` has the texts: the output of tools without the words around it, cut to what matters, written anew in the
//! tool's form. Numbers that name a machine or its owner are replaced. `field/asked.tsv` has a row for each answer. Its
//! columns are the text, where it is from, what it is and what is right, and the command with `FILE` for the text; then
//! where to look (a place in the JSON object, or a line that begins with `error` or `warning`) and what stands there; then
//! whether MAPA had it right at `first`, and whether it has it right `now`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::command;
use crate::field::found;
use crate::real_data::real_data;

struct AskedRow {
    text: String,
    command: String,
    place: String,
    expected: String,
    now: String,
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/field"))
}

fn rows() -> Vec<AskedRow> {
    let table = fs::read_to_string(folder().join("asked.tsv")).unwrap();
    let mut lines = table.lines();
    let header = "id\tsource\twhat\tcommand\twhere\texpected\tfirst\tnow";
    assert_eq!(lines.next(), Some(header));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [text, _, _, command, place, expected, _, now] = cells[..] else {
            panic!("{line}: expected 8 cells");
        };
        assert!(
            now == "right" || now.starts_with("not yet: "),
            "{line}: expected right, or not yet and why"
        );
        AskedRow {
            text: text.to_owned(),
            command: command.to_owned(),
            place: place.to_owned(),
            expected: expected.to_owned(),
            now: now.to_owned(),
        }
    };
    lines.map(row).collect()
}

#[test]
fn published_texts_are_answered_as_the_table_says() {
    let mut wrong = Vec::new();
    for row in rows() {
        let file = folder().join("inputs").join(format!("{}.txt", row.text));
        let words = row.command.replace("FILE", file.to_str().unwrap());
        let found = found(&words, &row.place, &row.expected);
        let is_right = found == row.expected;
        if is_right != (row.now == "right") {
            wrong.push(format!(
                "{}, {}: {}, expected {}, found {found}",
                row.text, row.place, row.now, row.expected
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_published_text_has_an_answer() {
    let answered: BTreeSet<String> = rows().into_iter().map(|row| row.text).collect();
    let files = fs::read_dir(folder().join("inputs")).unwrap();
    let texts: BTreeSet<String> = files
        .map(|file| file.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(texts, answered);
}

/// Commands of the page of questions, each with the lines that are shown of its output.
fn shown() -> Vec<(String, Vec<String>)> {
    let page = fs::read_to_string(folder().join("../../../../docs/what-people-asked.md")).unwrap();
    let blocks = page.split("\n```console\n$ mapa-bench ").skip(1);
    let block = |block: &str| {
        let mut lines = block.split("\n```").next().unwrap().lines();
        let words = lines.next().unwrap().to_owned();
        (words, lines.map(str::to_owned).collect())
    };
    blocks.map(block).collect()
}

#[test]
fn the_page_of_questions_shows_what_the_program_prints() {
    let inputs = folder().join("inputs");
    let others = real_data().map(|data| data.join("field/inputs"));
    let folders: Vec<PathBuf> = [Some(inputs), others].into_iter().flatten().collect();
    let shown = shown();
    assert_eq!(shown.len(), 20);
    for (words, lines) in shown {
        let text = words.split_whitespace().find(|word| word.ends_with(".txt"));
        let text = text.unwrap_or_else(|| panic!("{words}: names no text"));
        let Some(folder) = folders.iter().find(|folder| folder.join(text).exists()) else {
            // Texts of others are not in the repository.
            continue;
        };
        let output = command(&words).current_dir(folder).output().unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        for line in lines {
            let start = line.trim_end_matches(" ..");
            let is_printed = printed.lines().any(|printed| printed.starts_with(start));
            assert!(is_printed, "{words}: expected {line}, printed {printed}");
        }
    }
}
