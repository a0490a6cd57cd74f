//! `pattern from-parallelism`, and patterns in bytes in every other command.

use std::fs;
use std::path::PathBuf;

use crate::common::{answer, error, no, run, text};
use serde_json::{Value, json};

/// A file of these contents, of its own.
fn file(name: &str, contents: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("parallelism-{name}.toml"));
    fs::write(&path, contents).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn three_degrees_are_answered_as_before() {
    let own = answer("pattern from-parallelism tp=2,pp=2 --bytes tp=2e9,pp=1e8");
    assert_eq!(own["parallelism"], "tp=2,pp=2,dp=1");
    assert_eq!(own["bytes"], json!({ "tp": 2e9, "pp": 1e8, "dp": 2e7 }));
    assert_eq!(own["edges"].as_array().unwrap().len(), 6);
}

#[test]
fn sequences_and_experts_go_through_the_file_to_the_allocation() {
    let path = file("experts", "");
    let words = "tp=2,dp=4,ep=2,order=tp-ep-dp-pp --bytes ep=4e9,edp=5e8";
    let own = answer(&format!("pattern from-parallelism {words} --output {path}"));
    assert_eq!(
        own["parallelism"],
        "tp=2,pp=1,dp=4,ep=2,order=tp-ep-dp-pp-sp"
    );
    let written = fs::read_to_string(&path).unwrap();
    assert!(
        written.contains("order=tp-ep-dp-pp-sp")
            && written.contains("ep=4000000000.0,edp=500000000.0"),
        "{written}"
    );
    let by_file = answer(&format!(
        "allocate --machine dgx-1v --pattern {path} --policy min-step-time"
    ));
    let by_words = answer(&format!(
        "allocate --machine dgx-1v --pattern {words} --policy min-step-time"
    ));
    for key in ["devices", "step_seconds", "phase_seconds"] {
        assert_eq!(by_file[key], by_words[key], "{key}");
    }
    assert!(
        by_file["phase_seconds"]["expert"].as_f64().unwrap() > 0.0,
        "{by_file}"
    );
    let shown = answer(&format!("pattern show {path}"));
    assert_eq!(shown["edges"], own["edges"]);
    // A batch has the same words.
    let line = r#"{"op":"allocate","id":1,"pattern":"tp=2,dp=4,ep=2,order=tp-ep-dp-pp","bytes":"ep=4e9,edp=5e8","policy":"min-step-time"}"#;
    let output = run("allocate --machine dgx-1v --batch -", line);
    let batch: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(batch["devices"], by_file["devices"]);
}

#[test]
fn orders_of_frameworks_number_ranks() {
    let pairs = |order: &str| {
        let own = answer(&format!(
            "pattern from-parallelism pp=2,dp=2,order={order} --bytes dp=0"
        ));
        own["edges"]
            .as_array()
            .unwrap()
            .iter()
            .map(|edge| [edge[0].clone(), edge[1].clone()])
            .collect::<Vec<_>>()
    };
    for order in ["megatron", "deepspeed", "torchtitan", "tp-cp-ep-dp-pp"] {
        assert_eq!(pairs(order), [[json!(0), json!(2)], [json!(1), json!(3)]]);
    }
    for order in ["vllm", "tp-pp-dp"] {
        assert_eq!(pairs(order), [[json!(0), json!(1)], [json!(2), json!(3)]]);
    }
}

#[test]
fn wrong_words_are_named() {
    insta::assert_snapshot!(
        error("pattern from-parallelism tp=2,dp=2,ep=4"),
        @"error: parallel job: `ep=4`: expected experts among a number of devices that divides sp x dp, or with etp=1 tp x sp x dp"
    );
    insta::assert_snapshot!(
        error("pattern from-parallelism tp=2,order=horovod"),
        @"error: parallel job: `order=horovod`: expected order=tp-cp-ep-dp-pp, fastest first, each once and none missing whose degree is above 1; or order=megatron, deepspeed, torchtitan or vllm"
    );
    insta::assert_snapshot!(
        error("pattern from-parallelism tp=2 --model layers=2"),
        @"error: parallel job: `hidden=?`: expected layers=L,hidden=H,sequence=S and also micro-batch=B,micro-batches=M,parameters=P,expert-parameters=Q,top-k=K,bytes=2, each once and a number above 0"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --pattern tp=2,sp=2,cp=2"),
        @"error: parallel job: `cp=2`: already set by `sp=2`: expected each setting once"
    );
    let (refusal, code) =
        no("allocate --machine dgx-1v --pattern tp=4,sp=4 --policy min-step-time --json");
    assert_eq!((&refusal["refusal"], code), (&json!("infeasible"), 3));
}

#[test]
fn a_models_shape_gives_the_bytes_and_what_is_told_goes_before() {
    let shape = "layers=32,hidden=4096,sequence=2048,micro-batch=1,micro-batches=8";
    let own = answer(&format!(
        "pattern from-parallelism tp=4,pp=2 --model {shape} --bytes pp=5"
    ));
    assert_eq!(
        own["bytes"],
        json!({ "tp": 8_589_934_592.0, "pp": 5.0, "dp": 2e7 })
    );
    assert!(own["source"].as_str().unwrap().contains(shape));
}

const RING: &str = "format = \"mapa-pattern\"\nversion = 1\nname = \"ring\"\nranks = 3\n";

#[test]
fn bytes_of_a_file_decide_where_its_edges_go() {
    // Of GPUs 0, 1 and 2 all are joined, 1 and 2 by a double link.
    let edges = |weights: [&str; 3]| {
        let [a, b, c] = weights;
        format!("{RING}unit = \"bytes\"\nedges = [[0, 1, {a}], [1, 2, {b}], [0, 2, {c}]]\n")
    };
    let of = |name: &str, weights| {
        let path = file(name, &edges(weights));
        answer(&format!(
            "allocate --machine dgx-1v --busy 3,4,5,6,7 --pattern {path} --policy min-step-time"
        ))
    };
    let (first, last) = (
        of("first", ["4e9", "1e9", "1e9"]),
        of("last", ["1e9", "4e9", "1e9"]),
    );
    assert_eq!(
        (&first["devices"], &first["edges_seconds"]),
        (&json!([1, 2, 0]), &json!(4.0 / 50.0))
    );
    assert_eq!(
        (&last["devices"], &last["edges_seconds"]),
        (&json!([0, 1, 2]), &json!(4.0 / 50.0))
    );
    assert_eq!(first["scores"]["edges_seconds"], first["edges_seconds"]);
    let path = file("compared", &edges(["4e9", "1e9", "1e9"]));
    let rows = answer(&format!(
        "compare --machine dgx-1v --busy 0 --pattern {path}"
    ));
    let rows = rows["policies"].as_array().unwrap();
    let seconds: Vec<f64> = rows
        .iter()
        .map(|row| row["edges_seconds"].as_f64().unwrap())
        .collect();
    assert_eq!(rows.last().unwrap()["policy"], "min-step-time");
    assert!(
        seconds.iter().all(|other| seconds.last().unwrap() <= other),
        "{seconds:?}"
    );
    assert!(
        text(&format!("compare --machine dgx-1v --pattern {path}"), "").contains("slowest edge, s")
    );
}

#[test]
fn min_step_time_says_what_it_needs_of_a_file() {
    let path = file("unknown", &format!("{RING}edges = [[0, 1], [1, 2]]\n"));
    insta::assert_snapshot!(
        error(&format!("allocate --machine dgx-1v --pattern {path} --policy min-step-time")),
        @r#"error: --policy min-step-time: the pattern ring counts traffic in `unknown`: expected a pattern file with unit = "bytes" or "bytes-per-step""#
    );
    let rows = answer(&format!("compare --machine dgx-1v --pattern {path}"));
    assert!(
        rows["policies"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["policy"] != "min-step-time")
    );
    let path = file("silent", &format!("{RING}unit = \"bytes\"\n"));
    insta::assert_snapshot!(
        error(&format!("allocate --machine dgx-1v --pattern {path} --policy min-step-time")),
        @"error: --policy min-step-time: the pattern ring has no edges: expected ranks that communicate"
    );
}

#[test]
fn more_ranks_than_any_machine_has_are_refused() {
    let said = [
        "from-parallelism tp=1024,dp=2",
        "show tp=1025",
        "show ring --gpus 2048",
    ]
    .map(|option| error(&format!("pattern {option}")));
    insta::assert_snapshot!(said.join("\n"), @"
    error: tp=1024,pp=1,dp=2 has 2048 ranks: expected at most 1024
    error: tp=1025,pp=1,dp=1 has 1025 ranks: expected at most 1024
    error: ring has 2048 ranks: expected at most 1024
    ");
}

#[test]
fn made_up_bytes_are_noted() {
    let notes = |words: &str| answer(&format!("pattern {words}"))["notes"].clone();
    assert!(
        notes("from-parallelism tp=4,pp=2 --bytes tp=1e9")[0]["what"]
            .as_str()
            .unwrap()
            .starts_with("the bytes for pp, in the shares")
    );
    assert!(
        notes("show tp=4,pp=2")[0]["what"]
            .as_str()
            .unwrap()
            .starts_with("the bytes for tp, pp, in the shares")
    );
    assert_eq!(
        notes("from-parallelism tp=4,pp=2 --bytes tp=1e9,pp=1e9"),
        json!([])
    );
}

#[test]
fn each_server_numbers_its_own_devices() {
    let path = file(
        "two-servers",
        &format!("{RING}unit = \"bytes\"\nedges = [[0, 1, 5e9], [1, 2, 5e9]]\n"),
    );
    let words = "allocate --machine fleet:2xdgx-1v --pattern ring --gpus 16 --policy lowest-id";
    let own = answer(words);
    assert_eq!(own["environment"], json!(null));
    let servers = own["environment_by_server"].as_array().unwrap();
    assert_eq!(servers.len(), 2);
    assert!(
        servers
            .iter()
            .all(|server| server["environment"]["CUDA_VISIBLE_DEVICES"] == "0,3,2,1,5,6,7,4"),
        "{own}"
    );
    let printed = text(words, "");
    assert_eq!(
        printed
            .matches("CUDA_VISIBLE_DEVICES=0,3,2,1,5,6,7,4   # on the server of ")
            .count(),
        2,
        "{printed}"
    );
    // On the second server alone.
    let second =
        "allocate --machine fleet:2xdgx-1v --gpus 2 --busy 0,1,2,3,4,5,6,7 --policy lowest-id";
    assert_eq!(answer(second)["environment"]["CUDA_VISIBLE_DEVICES"], "0,1");
    // Bytes of a whole run are of no step.
    let printed = text(&format!("allocate --machine dgx-1v --pattern {path}"), "");
    assert!(
        printed.contains("time      ") && printed.contains("if all its bytes were sent at once"),
        "{printed}"
    );
}

#[test]
fn edges_alike_are_one_row_and_what_was_written_is_told() {
    let path = file("written", "");
    let printed = text(
        &format!("pattern from-parallelism tp=2 --output {path}"),
        "",
    );
    assert_eq!(printed.matches("0-1").count(), 1, "{printed}");
    assert!(
        printed.contains("0-1 (twice)") && printed.contains(&format!("written   {path}")),
        "{printed}"
    );
    assert!(text("pattern show pp=2", "").contains("2, 1 edge, a pair"));
    let alone = text("pattern show tp=1", "");
    assert!(
        alone.contains("No two ranks communicate.") && !alone.contains("| edge"),
        "{alone}"
    );
}

#[test]
fn score_speaks_of_what_was_given() {
    insta::assert_snapshot!(
        error("score --machine dgx-1v --devices 1,2,6 --pattern tp=2"),
        @"error: --devices: the pattern tp=2 has 2 ranks: expected 2 devices, not 3"
    );
}
