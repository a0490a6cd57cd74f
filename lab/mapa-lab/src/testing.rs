//! What every report is held to, for tests of whoever has an experiment. Needs the feature `testing`.
//!
//! A kept report is one that `mapa-bench reproduce NAME --into FOLDER` wrote. It is of many job files, which take
//! minutes; a test runs the experiment on the first few of them and compares.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a check that fails panics"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;

use serde_json::Value;

use crate::experiments::Experiment;
use crate::plan::Plan;
use crate::report::{Report, value};

/// A report as it is read: Markdown, and the numbers of its `results.json`.
#[derive(Clone, Debug)]
pub struct Written {
    /// The name of the experiment.
    pub name: String,
    /// The report as Markdown.
    pub markdown: String,
    /// Its numbers.
    pub numbers: Value,
    /// Its pictures: the name of the file, and the SVG.
    pub pictures: Vec<(String, String)>,
}

impl Written {
    /// The report of an experiment that is kept in a folder.
    ///
    /// # Panics
    /// If it is not there.
    pub fn kept(folder: &Path, name: &str) -> Self {
        let read = |path: &Path| {
            fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let beside = folder.join(name);
        let mut pictures = Vec::new();
        for entry in fs::read_dir(&beside).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|text| text == "svg") {
                let file = path.file_name().unwrap().to_string_lossy().into_owned();
                pictures.push((file, read(&path)));
            }
        }
        Self {
            name: name.to_owned(),
            markdown: read(&folder.join(format!("{name}.md"))),
            numbers: serde_json::from_str(&read(&beside.join("results.json"))).unwrap(),
            pictures,
        }
    }

    /// The experiment run on so many job files, without what depends on the clock, on `threads` threads (all
    /// processors if that is none).
    ///
    /// # Panics
    /// If it fails.
    pub fn fresh(experiment: &Experiment, files: usize, threads: Option<usize>) -> Self {
        let all = || thread::available_parallelism().map_or(1, Into::into);
        let plan = Plan {
            files,
            seed: experiment.seed,
            threads: threads.unwrap_or_else(all),
            timed: false,
            command: "a test".to_owned(),
            rows: None,
        };
        Self::of(&experiment.run(&plan, &()).unwrap())
    }

    /// What would be written of a report.
    pub fn of(report: &Report) -> Self {
        let pictures = report.pictures().map(|(file, svg)| (file.to_owned(), svg));
        Self {
            name: report.name.to_owned(),
            markdown: report.markdown(),
            numbers: value(report.answer()),
            pictures: pictures.collect(),
        }
    }

    /// The claims that do not hang on the clock, each with its section.
    pub fn claims(&self) -> Vec<(String, Value)> {
        let sections = self.numbers["sections"].as_object().unwrap();
        let untimed = sections.iter().filter(|(_, value)| value["timed"] == false);
        let of = |(id, value): (&String, &Value)| {
            let all = value["claims"].as_array().unwrap().clone();
            all.into_iter()
                .map(|claim| (id.clone(), claim))
                .collect::<Vec<_>>()
        };
        untimed.flat_map(of).collect()
    }

    /// The claims of one section.
    pub fn claims_of(&self, section: &str) -> Vec<Value> {
        let all = &self.numbers["sections"][section]["claims"];
        all.as_array().expect(section).clone()
    }

    /// The text of the section whose title begins so, without the mark of a timed one that follows.
    pub fn section(&self, title: &str) -> String {
        let start = self.markdown.find(&format!("\n## {title}")).expect(title);
        let rest = &self.markdown[start + 1..];
        rest[..rest.find("\n## ").unwrap_or(rest.len())]
            .trim_end()
            .trim_end_matches("<!-- timed -->")
            .trim_end()
            .to_owned()
    }
}

/// Fails unless the text has every claim with its verdict, each claim that has a verdict has its rule, the
/// assumptions that claims name are listed, and every picture is shown once.
///
/// # Panics
/// If one of these is not so.
pub fn check_report(report: &Written) {
    let claims = report.claims();
    assert!(!claims.is_empty(), "{}", report.name);
    let listed = report.numbers["assumptions"].as_array().unwrap().len() as u64;
    for (_, claim) in &claims {
        let [what, ours, verdict] =
            ["claim", "ours", "verdict"].map(|key| claim[key].as_str().unwrap());
        let is_it = |line: &str| {
            line.starts_with(&format!("| {what} "))
                && line.contains(&format!(" {ours} "))
                && line.contains(&format!(" {verdict} "))
        };
        assert!(report.markdown.lines().any(is_it), "{claim}");
        let is_judged = !["cannot be had", "not judged"].contains(&verdict);
        assert_eq!(is_judged, claim["rule"] != "", "{claim}");
        for number in claim["assumes"].as_array().unwrap() {
            assert!((1..=listed).contains(&number.as_u64().unwrap()), "{claim}");
        }
    }
    let name = &report.name;
    let shown = report.markdown.matches(&format!("]({name}/")).count();
    assert_eq!(shown, report.pictures.len(), "{name}");
    let files: BTreeSet<&String> = report.pictures.iter().map(|(file, _)| file).collect();
    assert_eq!(files.len(), shown, "{name}");
    for (file, svg) in &report.pictures {
        assert!(report.markdown.contains(&format!("]({name}/{file})")));
        assert!(svg.starts_with("<svg"), "{file}");
    }
}

/// Fails unless a kept report is of `files` job files, and has for the first of them the numbers of a fresh run.
///
/// # Panics
/// If one of these is not so.
pub fn check_kept(kept: &Written, fresh: &Written, files: usize) {
    let (kept, fresh) = (&kept.numbers, &fresh.numbers);
    assert_eq!(kept["seeds"].as_array().unwrap().len(), files);
    let few = fresh["seeds"].as_array().unwrap().len();
    let first = |value: &Value| match value {
        Value::Array(files) => Value::Array(files.iter().take(few).cloned().collect()),
        other => other.clone(),
    };
    assert_eq!(kept["assumptions"], fresh["assumptions"]);
    let settings = fresh["per_file"].as_object().unwrap();
    assert_eq!(settings.len(), kept["per_file"].as_object().unwrap().len());
    for (setting, policies) in settings {
        for (policy, numbers) in policies.as_object().unwrap() {
            for (name, files) in numbers.as_object().unwrap() {
                assert_eq!(
                    first(&kept["per_file"][setting][policy][name]),
                    *files,
                    "{setting}, {policy}, {name}"
                );
            }
        }
    }
}
