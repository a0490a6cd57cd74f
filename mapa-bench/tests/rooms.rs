//! The house keeps its order: which crate may depend on which, and what the core knows nothing of.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// From each crate of the workspace, the arrows that may leave it. They point down; a new one is argued for in
/// ARCHITECTURE.md.
const ARROWS: [(&str, &[&str]); 9] = [
    ("mapa-core", &[]),
    // The catalogue is for its tests and examples.
    ("mapa-regress", &["mapa-core", "mapa-topologies"]),
    // Counters are read by its readers, and matched to peers by the machine.
    ("mapa-patterns", &["mapa-core", "mapa-topologies"]),
    ("mapa-sched", &["mapa-core"]),
    // The catalogue is for its tests.
    ("mapa-sim", &["mapa-core", "mapa-sched", "mapa-topologies"]),
    ("mapa-topologies", &["mapa-core"]),
    ("mapa-bench", &["mapa-core", "mapa-patterns", "mapa-regress", "mapa-sched", "mapa-sim", "mapa-topologies"]),
    ("mapa-benches", &["mapa-core", "mapa-patterns", "mapa-regress", "mapa-sched", "mapa-sim", "mapa-topologies"]),
    ("mapa-examples", &["mapa-core", "mapa-patterns", "mapa-regress", "mapa-sched", "mapa-sim", "mapa-topologies"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn dependencies_between_crates_point_down() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    assert_eq!(names.len(), ARROWS.len(), "every crate has its arrows here: {names:?}");
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let (_, allowed) = ARROWS.iter().find(|(known, _)| *known == name).expect(name);
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            // A crate may use its own test features in its tests.
            let inside = names.contains(&to) && to != name;
            assert!(!inside || allowed.contains(&to), "{name} must not depend on {to}");
        }
    }
}

/// Source lines outside comments and tests.
fn code(folder: &Path, lines: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            code(&path, lines);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let code = code.lines().map(|line| line.split("//").next().unwrap_or_default());
            lines.extend(code.map(|line| (path.clone(), line.to_owned())));
        }
    }
}

#[test]
fn the_core_does_no_io_reads_no_clock_draws_no_random_number_and_knows_no_vendor() {
    let mut lines = Vec::new();
    code(&root().join("mapa-core/src"), &mut lines);
    assert!(lines.len() > 1000);
    let foreign = [
        "std::fs",
        "std::io",
        "std::net",
        "std::env",
        "std::process",
        "std::time",
        "Instant",
        "SystemTime",
        "rand::",
        "println!",
        "print!",
        "unsafe",
        "nvidia",
        "NVLink",
        "XGMI",
        "\"NV",
        "CUDA",
        "todo!",
        "unimplemented!",
    ];
    for (path, line) in &lines {
        if let Some(word) = foreign.iter().find(|word| line.contains(**word)) {
            panic!("{}: `{word}` in: {line}", path.display());
        }
    }
}
