//! The program answers the requests that `mapa-front` is tested with as the functions do, byte for byte.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::run;

// The rows of all systems are in what is compared.
#[cfg(feature = "all-systems")]
#[test]
fn what_functions_compute_is_what_the_program_prints() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mapa-front/tests/commands");
    let mut cases = 0;
    for entry in fs::read_dir(folder).unwrap() {
        for line in fs::read_to_string(entry.unwrap().path()).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let words = case["words"].as_str().unwrap();
            let output = run(&format!("{words} --json"), "");
            let printed = String::from_utf8(output.stdout).unwrap();
            assert_eq!(printed, format!("{}\n", case["answer"]), "{words}");
            cases += 1;
        }
    }
    assert!(cases > 70);
}
