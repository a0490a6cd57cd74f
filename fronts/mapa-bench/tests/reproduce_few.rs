//! `reproduce` of an experiment that draws job files.

use crate::common::{error, run};
use serde_json::{Value, json};

#[test]
fn few_files_are_warned_of_and_seeds_and_the_generator_are_told() {
    insta::assert_snapshot!(
        error("reproduce auto --files 1"),
        @"error: --files: expected at least 2, as an interval needs them, and 50 to be believed"
    );
    let output = run("reproduce auto --files 2 --untimed --json", "");
    assert_eq!(output.status.code(), Some(0));
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(warning.contains("expected at least 50"), "{warning}");
    let numbers: Value = serde_json::from_slice(&output.stdout).unwrap();
    let seeds = numbers["seeds"].as_array().unwrap();
    let first = seeds[0].as_u64().unwrap();
    assert_eq!(*seeds, [json!(first), json!(first + 1)]);
    assert_eq!(numbers["generator"], mapa_sim::GENERATOR);
    assert_eq!(
        numbers["command"],
        format!("mapa-bench reproduce auto --files 2 --seed {first} --untimed")
    );
    let keys: Vec<&String> = numbers.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "assumptions",
            "command",
            "experiment",
            "generator",
            "paper",
            "per_file",
            "schema",
            "sections",
            "seeds"
        ]
    );
}
