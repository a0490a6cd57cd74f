//! Two versions of the program give the same answers: numbers, tables, keys, verdicts, pictures.
//!
//! For changes that may reword sentences and must alter nothing else. Build the version before as a
//! binary of its own, then run
//!
//! ```sh
//! MAPA_BEFORE=/path/to/mapa-bench cargo test --release -p mapa-bench --test all same_answers
//! ```
//!
//! `same_answers/commands.txt` lists what both are asked; [`compare`] says what counts as a
//! sentence. Further commands go to the end of that file.

mod compare;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use self::compare::differences;

/// What one run of a command left behind.
struct Run {
    status: Option<i32>,
    /// Standard output, standard error, and every file of the run's folder, by name.
    texts: BTreeMap<String, Vec<u8>>,
}

fn run(program: &Path, words: &[String], folder: &Path) -> Run {
    let output = Command::new(program)
        .args(words)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let mut texts = BTreeMap::from([
        ("standard output".to_owned(), output.stdout),
        ("standard error".to_owned(), output.stderr),
    ]);
    collect(folder, folder, &mut texts);
    Run {
        status: output.status.code(),
        texts,
    }
}

/// Adds every file below `folder`, by its path below `root`.
fn collect(root: &Path, folder: &Path, texts: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, texts);
        } else {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            texts.insert(name, fs::read(&path).unwrap());
        }
    }
}

/// How one command's two runs differ, a line each.
fn differences_of(before: &Run, after: &Run) -> Vec<String> {
    let mut found = Vec::new();
    if before.status != after.status {
        found.push(format!(
            "exit status {:?}, before {:?}",
            after.status, before.status
        ));
    }
    for name in before.texts.keys().chain(after.texts.keys()) {
        match (before.texts.get(name), after.texts.get(name)) {
            // A message may well name a number that it did not name before.
            (Some(_), Some(_)) if name == "standard error" => {}
            (Some(old), Some(new)) => {
                found.extend(
                    differences(old, new)
                        .into_iter()
                        .map(|line| format!("{name}: {line}")),
                );
            }
            (old, _) => found.push(format!(
                "{name}: only {}",
                if old.is_some() { "before" } else { "after" }
            )),
        }
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn answers_are_those_of_the_version_before() {
    let Some(before) = std::env::var_os("MAPA_BEFORE").map(PathBuf::from) else {
        // Not `eprintln`, which the test harness keeps to itself.
        let skipped = b"answers_are_those_of_the_version_before: skipped, MAPA_BEFORE is not set\n";
        let _ = std::io::stderr().write_all(skipped);
        return;
    };
    let after = Path::new(env!("CARGO_BIN_EXE_mapa-bench"));
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..").canonicalize().unwrap();
    let data = crate::real_data::real_data();
    let scratch = std::env::temp_dir().join(format!("mapa-same-answers-{}", std::process::id()));
    let mut all = Vec::new();
    let mut compared = 0;
    for line in include_str!("same_answers/commands.txt").lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.contains("{data}") && data.is_none() {
            continue;
        }
        let data = data.clone().unwrap_or_default();
        let words: Vec<String> = line
            .split_whitespace()
            .map(|word| {
                word.replace("{root}", root.to_str().unwrap())
                    .replace("{data}", data.to_str().unwrap())
            })
            .collect();
        // Both run in a folder of the same name, one after the other, so that paths that they print
        // are the same.
        let runs = [&before, &after.to_owned()].map(|program| {
            fs::create_dir_all(&scratch).unwrap();
            let run = run(program, &words, &scratch);
            fs::remove_dir_all(&scratch).unwrap();
            run
        });
        compared += runs[0].texts.values().map(Vec::len).sum::<usize>();
        let found = differences_of(&runs[0], &runs[1]);
        all.extend(
            found
                .into_iter()
                .map(|difference| format!("{line}\n    {difference}")),
        );
    }
    println!("{compared} bytes compared");
    assert!(compared > 100_000, "only {compared} bytes were compared");
    assert!(
        all.is_empty(),
        "{} differences:\n{}",
        all.len(),
        all.join("\n")
    );
}

/// The first lines of the list for each command, and errors: each prints one JSON document, whatever becomes of it.
#[test]
fn every_answer_in_json_is_one_document() {
    const EACH: usize = 3;
    let program = Path::new(env!("CARGO_BIN_EXE_mapa-bench"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap();
    let folder = crate::common::Folder::new();
    let mut asked: BTreeMap<&str, usize> = BTreeMap::new();
    let listed = include_str!("same_answers/commands.txt")
        .lines()
        .map(str::trim);
    let is_short = |line: &&str| {
        line.contains(" --json") && !line.contains("{data}") && !line.starts_with("reproduce mapa")
    };
    let wrong = [
        "defrag --machine none --json",
        "topo --json",
        "match --json",
        "slo replay none --json",
        "profile none --json",
    ];
    for line in listed.filter(is_short).chain(wrong) {
        let count = asked
            .entry(line.split(' ').next().unwrap_or_default())
            .or_default();
        *count += 1;
        if *count > EACH && !wrong.contains(&line) {
            continue;
        }
        let words: Vec<String> = line
            .split_whitespace()
            .map(|word| word.replace("{root}", root.to_str().unwrap()))
            .collect();
        let run = run(program, &words, folder.root());
        let documents = serde_json::Deserializer::from_slice(&run.texts["standard output"])
            .into_iter::<serde_json::Value>()
            .collect::<Result<Vec<_>, _>>();
        // A wrong option of the command line is no request: nothing answers it.
        let most = documents
            .unwrap_or_else(|error| panic!("{line}: {error}"))
            .len();
        assert!(
            most == 1 || most == 0 && run.status == Some(2),
            "{line}: {most} documents"
        );
    }
    assert!(asked.len() > 10, "{asked:?}");
}
