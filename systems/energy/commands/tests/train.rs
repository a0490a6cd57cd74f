//! `train`, as a user runs it. A training of one update has 8,192 starts.

use std::fs;

use mapa_system_energy::learned::{Formulation, Weights};

use crate::common::{Folder, objects};
use crate::schema::assert_valid;

#[test]
fn a_net_is_trained_compared_and_written_and_a_stopped_training_goes_on() {
    let folder = Folder::new();
    let train = "train --formulation original --settings ours --steps 1 --seed 3 --days 2 --into";
    let output = folder.run(&format!("{train} one.weights --json"));
    assert!(output.status.success(), "{output:?}");
    let answer = objects(&output).remove(0);
    assert_valid("train", &answer);
    assert_eq!(answer["steps"], 8192);
    assert_eq!(answer["curve"].as_array().unwrap().len(), 2);
    let rules = answer["rules"].as_array().unwrap();
    let names: Vec<&str> = rules
        .iter()
        .map(|rule| rule["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["largest-first", "fit", "learned"]);
    assert_eq!(rules[0]["late_above_largest_first"]["mean"], 0.0);

    // On two threads, and as text.
    let output = folder.run(&format!("{train} two.weights --threads 2"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("trained   original, ours, 8192 steps, seed 3"),
        "{text}"
    );
    assert!(text.contains("2 fresh days from seed 50001"), "{text}");
    let path = |name: &str| folder.at(name);
    let [one, two] = ["one.weights", "two.weights"].map(|name| fs::read(path(name)).unwrap());
    assert_eq!(one, two);
    let weights = Weights::from_bytes(&one).unwrap();
    assert_eq!(
        (weights.formulation(), weights.seed()),
        (Formulation::Original, 3)
    );
    assert!(!path("one.weights.checkpoint").exists());

    let output = folder.run(&format!("{train} one.weights --resume"));
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(
        error,
        @"error: one.weights.checkpoint: No such file or directory (os error 2)"
    );
    folder.write("three.weights.checkpoint", "nothing");
    let output = folder.run(&format!("{train} three.weights --resume"));
    let error = String::from_utf8(output.stderr).unwrap();
    insta::assert_snapshot!(
        error,
        @"error: three.weights.checkpoint: checkpoint: the first line: expected `mapa energy training 1`"
    );
}
