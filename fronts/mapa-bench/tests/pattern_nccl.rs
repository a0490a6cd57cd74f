//! `pattern from-nccl`: logs and graphs become patterns that other commands take.

use crate::common::{Folder, answer, error, no, run, text};
use serde_json::{Value, json};

const JOB: &str = "../../mapa-patterns/tests/logs/tp2-dp2.log";
const RANK0: &str = "../../mapa-patterns/tests/logs/rank0-of-16.log";

#[test]
fn communicators_of_one_job_unite_into_one_pattern_of_bytes() {
    let job = answer(&format!("pattern from-nccl {JOB} --noise 0"));
    assert_eq!((&job["ranks"], &job["unit"]), (&json!(4), &json!("bytes")));
    assert_eq!(
        job["labels"],
        json!(["gpu01:0", "gpu01:1", "gpu01:2", "gpu01:3"])
    );
    assert_eq!(job["communicators"].as_array().unwrap().len(), 5);
    assert_eq!(
        job["communicators"][0]["rings"][1]["ranks"],
        json!([0, 3, 2, 1])
    );
    // Sixteen all-reduces of 16 MiB in pairs 0-1 and 2-3, two of 512 MiB in 0-2 and 1-3, and a
    // broadcast of 1,024 bytes.
    assert_eq!(
        job["messages"],
        json!([[1024, 1], [16_777_216, 16], [536_870_912, 2]])
    );
    let carried = |a: u64, b: u64| {
        let edges = job["edges"].as_array().unwrap();
        edges
            .iter()
            .find(|edge| edge[0] == a && edge[1] == b)
            .map_or(0.0, |edge| edge[2].as_f64().unwrap())
    };
    assert_eq!(
        (carried(0, 2), carried(1, 3)),
        (2.0 * 536_870_912.0, 2.0 * 536_870_912.0)
    );
    assert_eq!(carried(0, 1), 16.0 * 16_777_216.0 + 512.0);
    assert_eq!(carried(0, 3), 512.0);
    // What one broadcast put on each ring is noise beside that.
    let plain = answer(&format!("pattern from-nccl {JOB}"));
    assert_eq!(
        (plain["edges"].as_array().unwrap().len(), &plain["shape"]),
        (4, &json!("ring"))
    );
    assert_eq!(
        plain["notes"][0]["what"],
        "2 edges below 1 % of the busiest, 512 B at most"
    );
    let printed = text(&format!("pattern from-nccl {JOB}"), "");
    assert!(
        printed.contains("P2P")
            && printed.contains("0x71f3aa10c2d45e01")
            && printed.contains("537 MB"),
        "{printed}"
    );
}

#[test]
fn what_it_writes_is_taken_as_a_pattern() {
    let folder = Folder::new();
    let file = folder.path("job.toml");
    answer(&format!(
        "pattern from-nccl {JOB} --name two-by-two --output {file}"
    ));
    let placed = answer(&format!("allocate --machine dgx-1v --pattern {file}"));
    assert_eq!(placed["devices"].as_array().unwrap().len(), 4);
    assert_eq!(
        answer(&format!("pattern show {file}"))["name"],
        "two-by-two"
    );
}

#[test]
fn one_ranks_log_from_standard_input_gives_rings_or_trees_and_says_what_is_missing() {
    let log = std::fs::read_to_string(RANK0).unwrap();
    let of = |algorithm: &str| -> Value {
        serde_json::from_str(&text(
            &format!("pattern from-nccl - --algorithm {algorithm} --json"),
            &log,
        ))
        .unwrap()
    };
    let ring = of("ring");
    assert_eq!(
        (&ring["unit"], &ring["shape"]),
        (&json!("channels"), &json!("ring"))
    );
    assert_eq!(ring["edges"].as_array().unwrap().len(), 16);
    // One rank's log tells a piece of each tree, which cannot stand for the whole.
    assert_eq!(of("tree")["edges"], ring["edges"]);
    assert!(
        of("tree")["notes"]
            .to_string()
            .contains("its trees are incomplete: rings instead")
    );
    assert!(
        ring["notes"][0]["what"]
            .as_str()
            .unwrap()
            .contains("the logs of 1 of its 16 ranks"),
        "{ring}"
    );
    let printed = text("pattern from-nccl -", &log);
    assert!(
        printed.contains("NET, P2P") && printed.contains("worker-0:1a000"),
        "{printed}"
    );
}

#[test]
fn what_cannot_be_read_is_refused_with_file_and_line() {
    insta::assert_snapshot!(error("pattern from-nccl"), @"
    error: the following required arguments were not provided:
      <FILE>...
    ");
    insta::assert_snapshot!(
        error("pattern from-nccl no-such.log"),
        @"error: no-such.log: No such file or directory (os error 2)"
    );
    assert_eq!(no("pattern from-nccl -").1, 2);
    insta::assert_snapshot!(
        error("pattern from-nccl Cargo.toml"),
        @"error: Cargo.toml: no line of NCCL: expected `host:pid:tid [device] NCCL INFO ...` (NCCL_DEBUG=INFO)"
    );
    insta::assert_snapshot!(
        error(&format!("pattern from-nccl {JOB} --algorithm star")),
        @"error: algorithm `star`: expected one of ring, tree, both"
    );
    let log = "a:1:1 [0] NCCL INFO Channel 00/01 : 0 1 1\na:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 3 cudaDev 0 - Init COMPLETE\n";
    let output = run("pattern from-nccl -", log);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    insta::assert_snapshot!(
        stderr,
        @"error: standard input: line 1: a ring that names a rank twice: expected each once"
    );
}
