//! `reproduce`: published evaluations, run again.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use common::{answer, error, no, run, text};
use serde_json::Value;

/// The report that is kept, and the numbers beside it.
fn kept(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reproduction");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Files of a run on the first three job files of the kept report, made once; a folder of their own.
fn fresh() -> &'static (PathBuf, Value) {
    static FRESH: OnceLock<(PathBuf, Value)> = OnceLock::new();
    FRESH.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduce");
        let words = format!("reproduce mapa --files 3 --untimed --into {} --json", folder.display());
        let output = run(&words, "");
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8(output.stderr).unwrap().contains("expected at least 50"));
        let numbers = read(&String::from_utf8(output.stdout).unwrap());
        (folder, numbers)
    })
}

#[test]
fn the_list_names_every_experiment() {
    let list = answer("reproduce --list");
    let names: Vec<&str> =
        list["experiments"].as_array().unwrap().iter().map(|own| own["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["mapa"]);
    let shown = text("reproduce --list", "");
    assert!(shown.contains("| mapa ") && shown.contains("SC '21") && shown.contains("Table 3"));
}

#[test]
fn what_cannot_be_run_is_said() {
    error("reproduce maps", "no experiment is called `maps`: expected one of: mapa");
    error("reproduce mapa --files 1", "--files: expected at least 2");
    error("reproduce", "<EXPERIMENT>");
    error("reproduce mapa --list", "cannot be used with");
    let (object, code) = no("reproduce maps --json");
    assert_eq!((object["error"].as_str().unwrap().contains("no experiment"), code), (true, 2));
}

#[test]
fn every_file_is_written_and_every_picture_shown() {
    let (folder, numbers) = fresh();
    assert_eq!(read(&fs::read_to_string(folder.join("mapa/results.json")).unwrap()), *numbers);
    let report = fs::read_to_string(folder.join("mapa.md")).unwrap();
    let written: BTreeSet<String> = fs::read_dir(folder.join("mapa"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let shown: BTreeSet<String> =
        written.iter().filter(|name| report.contains(&format!("](mapa/{name})"))).cloned().collect();
    let pictures: BTreeSet<String> = written.iter().filter(|name| name.ends_with(".svg")).cloned().collect();
    assert_eq!(shown, pictures);
    assert_eq!(report.matches("](mapa/").count(), pictures.len());
    assert!(pictures.len() >= 8);
    let others: Vec<&String> = written.difference(&pictures).collect();
    assert_eq!(others, ["claims.csv", "results.json"]);
    for picture in &pictures {
        assert!(fs::read_to_string(folder.join("mapa").join(picture)).unwrap().starts_with("<svg"), "{picture}");
    }
}

#[test]
fn claims_are_the_same_in_every_form() {
    let (folder, numbers) = fresh();
    let report = fs::read_to_string(folder.join("mapa.md")).unwrap();
    let table = fs::read_to_string(folder.join("mapa/claims.csv")).unwrap();
    let claims = claims(numbers);
    assert_eq!(table.lines().count(), claims.len() + 1);
    for (_, claim) in claims {
        let [what, verdict] = ["claim", "verdict"].map(|key| claim[key].as_str().unwrap());
        let is_it = |line: &str| line.starts_with(&format!("| {what} ")) && line.contains(&format!("| {verdict} "));
        assert!(report.lines().any(is_it), "{what}");
    }
}

/// The claims that do not hang on the clock, each with its section.
fn claims(numbers: &Value) -> Vec<(String, Value)> {
    let sections = numbers["sections"].as_object().unwrap().iter().filter(|(_, own)| own["timed"] == false);
    let of = |(id, own): (&String, &Value)| {
        let all = own["claims"].as_array().unwrap().clone();
        all.into_iter().map(|claim| (id.clone(), claim)).collect::<Vec<_>>()
    };
    sections.flat_map(of).collect()
}

#[test]
fn numbers_do_not_hang_on_threads() {
    let again = run("reproduce mapa --files 3 --untimed --threads 1 --json", "");
    assert_eq!(read(&String::from_utf8(again.stdout).unwrap()), fresh().1);
}

#[test]
fn seeds_and_the_generator_are_told() {
    let numbers = &fresh().1;
    assert_eq!(numbers["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(numbers["generator"], mapa_sim::GENERATOR);
    assert_eq!(numbers["command"], "mapa-bench reproduce mapa --files 3 --seed 1 --untimed");
    let keys: Vec<&String> = numbers.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["assumptions", "command", "experiment", "generator", "paper", "per_file", "sections", "seeds"]);
}

#[test]
fn assumptions_that_claims_name_are_listed() {
    let listed = fresh().1["assumptions"].as_array().unwrap().len() as u64;
    for (_, claim) in claims(&fresh().1) {
        for number in claim["assumes"].as_array().unwrap() {
            assert!((1..=listed).contains(&number.as_u64().unwrap()), "{claim}");
        }
    }
}

#[test]
fn every_verdict_has_its_rule() {
    for (_, claim) in claims(&fresh().1) {
        let judged = claim["verdict"] != "cannot be had";
        assert_eq!(judged, !claim["rule"].as_str().unwrap().is_empty(), "{claim}");
    }
}

#[test]
fn the_papers_own_figures_contradict_its_table() {
    let found = |what: &str| {
        let all = claims(&fresh().1);
        let (_, claim) = all
            .into_iter()
            .find(|(id, own)| id == "table-3" && own["claim"].as_str().unwrap().starts_with(what))
            .unwrap();
        (claim["ours"].as_str().unwrap().to_owned(), claim["verdict"].as_str().unwrap().to_owned())
    };
    assert_eq!(found("topo-aware: the 75th"), ("540 / 505 = 1.069".to_owned(), "does not hold".to_owned()));
    assert_eq!(found("preserve: the 75th"), ("540 / 498 = 1.084".to_owned(), "does not hold".to_owned()));
}

#[test]
fn fixed_run_times_make_one_makespan() {
    let files = &fresh().1["per_file"]["fixed"];
    for policy in ["topo-aware", "greedy", "preserve", "max-bandwidth"] {
        assert_eq!(files[policy], files["lowest-id"], "{policy}");
    }
    assert_ne!(fresh().1["per_file"]["main"]["preserve"], fresh().1["per_file"]["main"]["lowest-id"]);
}

/// The kept report is of sixty job files; three of them are run again here.
#[test]
fn the_kept_numbers_are_those_of_a_fresh_run() {
    let kept = read(&kept("mapa/results.json"));
    assert_eq!(kept["seeds"].as_array().unwrap().len(), 60);
    let first = |own: &Value| match own {
        Value::Array(files) => Value::Array(files.iter().take(3).cloned().collect()),
        other => other.clone(),
    };
    let settings = fresh().1["per_file"].as_object().unwrap();
    assert_eq!(settings.len(), kept["per_file"].as_object().unwrap().len());
    for (setting, policies) in settings {
        for (policy, numbers) in policies.as_object().unwrap() {
            for (name, files) in numbers.as_object().unwrap() {
                assert_eq!(first(&kept["per_file"][setting][policy][name]), *files, "{setting}, {policy}, {name}");
            }
        }
    }
}

/// What depends on no job file is told as it was.
#[test]
fn the_kept_report_says_what_a_fresh_one_does_of_everything_but_files() {
    let (folder, numbers) = fresh();
    let of_kept = read(&kept("mapa/results.json"));
    assert_eq!(of_kept["assumptions"], numbers["assumptions"]);
    let [kept, report] = [kept("mapa.md"), fs::read_to_string(folder.join("mapa.md")).unwrap()];
    let section = |text: &str, title: &str| {
        let start = text.find(&format!("\n## {title}")).unwrap_or_else(|| panic!("{title}"));
        let rest = &text[start + 1..];
        rest[..rest.find("\n## ").unwrap_or(rest.len())]
            .trim_end()
            .trim_end_matches("<!-- timed -->")
            .trim_end()
            .to_owned()
    };
    for title in ["What is assumed", "Fig. 2b", "Fig. 5", "Fig. 6", "Fig. 11", "Where the paper contradicts itself"] {
        assert_eq!(section(&kept, title), section(&report, title));
    }
}

/// The report is that of the numbers beside it.
#[test]
fn the_kept_report_has_the_claims_of_the_kept_numbers() {
    let [report, numbers] = [kept("mapa.md"), kept("mapa/results.json")];
    for (_, claim) in claims(&read(&numbers)) {
        let [what, ours, verdict] = ["claim", "ours", "verdict"].map(|key| claim[key].as_str().unwrap());
        let is_it = |line: &str| {
            line.starts_with(&format!("| {what} "))
                && line.contains(&format!(" {ours} "))
                && line.contains(&format!(" {verdict} "))
        };
        assert!(report.lines().any(is_it), "{claim}");
    }
}
