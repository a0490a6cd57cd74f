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
fn a_launch_script_brings_its_program_and_the_verdict_reaches_the_allocation() {
    let folder = Folder::new();
    let script = format!("{FOLDER}/ddp.sbatch");
    let file = folder.path("job.toml");
    let found = answer(&format!("pattern from-source {script} --output {file}"));
    assert_eq!(
        (&found["ranks"], &found["shape"]),
        (&json!(4), &json!("ring"))
    );
    let places: Vec<_> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value["file"].as_str().unwrap())
        .collect();
    assert_eq!(places, [script.clone(), format!("{FOLDER}/ddp.py")]);
    assert_eq!(found["notes"], json!([]));
    assert_eq!(found["sensitivity"], "sensitive");
    let printed = text(&format!("pattern show {file}"), "");
    assert!(
        printed.contains("verdict   sensitive: by source, ranks exchange gradients"),
        "{printed}"
    );
    // The file decides unless the command line does.
    let line = format!("allocate --machine dgx-1v --busy 0 --policy preserve --pattern {file}");
    let placed = |more: &str| answer(&format!("{line}{more}"));
    let (told, stated) = (placed(""), placed(" --sensitive"));
    assert_eq!(told["devices"], stated["devices"]);
    assert_ne!(told["devices"], placed(" --sensitive=false")["devices"]);
    let again = answer(&format!("pattern from-source {script} {FOLDER}/ddp.py"));
    assert_eq!(again["findings"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_program_elsewhere_is_noted() {
    let found = answer(&format!("pattern from-source {FOLDER}/pretrain.sh"));
    let note = &found["notes"][0];
    assert!(
        note["what"]
            .as_str()
            .unwrap()
            .starts_with("pretrain_gpt.py, which it runs, is not beside it"),
        "{note}"
    );
    assert_eq!(found["parallelism"], "tp=4,pp=2,dp=1");
}

#[test]
fn what_is_missing_is_named() {
    insta::assert_snapshot!(
        error(&format!("pattern from-source {LAYER}")),
        @"error: ../../mapa-patterns/tests/programs/layer.cpp: the source does not say how many ranks there are: expected their number (--gpus K)"
    );
    let (refused, status) = no(&format!("pattern from-source {LAYER} --json"));
    assert_eq!((refused["error"].is_string(), status), (true, 2));
    insta::assert_snapshot!(
        error("pattern from-source /no/such/file.c"),
        @"error: /no/such/file.c: No such file or directory (os error 2)"
    );
    insta::assert_snapshot!(
        error(&format!("pattern from-source {LAYER} --algorithm star --gpus 4")),
        @"error: algorithm `star`: expected one of ring, tree, both"
    );
}
