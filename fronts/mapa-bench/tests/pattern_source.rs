//! `pattern from-source` as a user runs it.

use crate::common::{Folder, answer, error, no, text};
use serde_json::json;

const LAYER: &str = "../../mapa-patterns/tests/programs/layer.cpp";
const FOLDER: &str = "../../mapa-patterns/tests/programs";

#[test]
fn a_layer_is_a_ring_and_its_pattern_file_is_taken_by_every_command() {
    let found = answer(&format!("pattern from-source {LAYER} --gpus 3"));
    assert_eq!(found["shape"], "ring");
    assert_eq!(found["name"], "layer");
    let finding = json!({
        "file": LAYER, "line": 10, "call": "ncclAllReduce", "library": "NCCL", "kind": "all-reduce", "decided": true,
        "as": "ring",
    });
    assert_eq!(found["findings"], json!([finding]));
    let folder = Folder::new();
    let file = folder.path("job.toml");
    let printed = text(
        &format!("pattern from-source {LAYER} --gpus 3 --output {file}"),
        "",
    );
    assert!(
        printed.contains("layer.cpp:10 | ncclAllReduce | NCCL"),
        "{printed}"
    );
    let placed = answer(&format!("allocate --machine dgx-1v --pattern {file}"));
    assert_eq!(
        placed["devices"].as_array().map(Vec::len),
        Some(3),
        "{placed}"
    );
}

#[test]
fn folders_are_walked_in_order_and_unite() {
    let found = answer(&format!("pattern from-source {FOLDER}"));
    let files: Vec<_> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["file"].as_str().unwrap())
        .collect();
    assert!(files.is_sorted() && files.len() > 8, "{files:?}");
    assert_eq!(found["ranks"], 8);
    assert_eq!(found, answer(&format!("pattern from-source {FOLDER}")));
}

#[test]
fn what_is_missing_is_named() {
    error(
        &format!("pattern from-source {LAYER}"),
        "expected their number (--gpus K)",
    );
    let (refused, status) = no(&format!("pattern from-source {LAYER} --json"));
    assert_eq!((refused["error"].is_string(), status), (true, 2));
    error("pattern from-source /no/such/file.c", "/no/such/file.c");
    error(
        &format!("pattern from-source {LAYER} --algorithm star --gpus 4"),
        "expected one of ring, tree, both",
    );
}
