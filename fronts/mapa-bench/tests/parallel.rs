//! Training jobs on the command line: the pattern tp=T,pp=P,dp=D.

use crate::common::{answer, error, no, run, text};
use serde_json::{Value, json};

const JOB: &str = "--machine dgx-1v --pattern tp=4,pp=2,dp=1 --bytes tp=2e9,pp=1e8,dp=5e8";

#[test]
fn allocate_takes_the_placement_of_least_step_time_and_says_what_it_takes() {
    let best = answer(&format!("allocate {JOB} --policy min-step-time"));
    let lowest = answer(&format!("allocate {JOB} --policy lowest-id"));
    assert_eq!(lowest["devices"], json!([0, 1, 2, 3, 4, 5, 6, 7]));
    // Rings of 3 GB an edge over single links, stages joined across: 0-4, 1-5, 2-6, 3-7, of which
    // two are single.
    assert_eq!(best["scores"]["step_seconds"], best["step_seconds"]);
    assert_eq!(
        (&best["complete"], &best["phase_seconds"]["tensor"]),
        (&json!(true), &json!(3.0 / 25.0))
    );
    let seconds = |answer: &Value| answer["step_seconds"].as_f64().unwrap();
    assert!(seconds(&best) <= seconds(&lowest), "{best} {lowest}");
    let printed = text(
        &format!("allocate {JOB} --policy min-step-time --explain"),
        "",
    );
    assert!(
        printed.contains("s of communication: tensor 0.12 + pipeline"),
        "{printed}"
    );
    assert!(printed.contains("score     step_seconds 0.12"), "{printed}");
}

#[test]
fn bytes_default_to_those_of_training_runs_and_gpus_may_be_left_out_or_agree() {
    let mut plain = answer("allocate --machine dgx-1v --pattern tp=2,dp=2 --policy min-step-time");
    let told = answer(
        "allocate --machine dgx-1v --gpus 4 --pattern dp=2,tp=2 --bytes tp=1e9,pp=3e7,dp=2e7 --policy min-step-time",
    );
    let notes = plain["notes"].take();
    let assumed = "bytes assumed, in the shares of published training runs: --bytes tp=1e9,dp=2e7 (docs/training-jobs.md)";
    assert_eq!(notes, json!([assumed]));
    plain["notes"] = json!([]);
    assert_eq!(plain, told);
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 4 --pattern tp=4,pp=2"),
        @"error: --gpus 4: the pattern tp=4,pp=2,dp=1 has 8 ranks: expected 8, or no --gpus"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --pattern tp=4,xp=2"),
        @"error: parallel job: `xp=2`: no setting is called `xp`: expected tp=T,pp=P,dp=D, sp=S or ulysses=S, ep=E and etp=1, order=tp-cp-ep-dp-pp, each once and degrees whole numbers of at least 1, such as tp=4,pp=2,dp=1"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --pattern tp=4 --bytes tp=-1"),
        @"error: parallel job: `tp=-1`: expected tp=T,pp=P,dp=D, sp=S, ep=E, edp=F, each once and a number of bytes from 0 to 1e18, such as tp=2e9,pp=1e8"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 4 --bytes tp=1"),
        @"error: --bytes is for patterns such as tp=4,pp=2,dp=1"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --gpus 4 --policy min-step-time"),
        @"error: --policy min-step-time needs known traffic: expected a pattern such as tp=4,pp=2,dp=1, or a pattern file in bytes"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v"),
        @"error: --gpus <K>: expected how many devices the job needs, unless the pattern implies it, such as --pattern tp=4,pp=2,dp=1 or a pattern file"
    );
    insta::assert_snapshot!(
        error("compare --machine dgx-1v"),
        @"error: --gpus <K>: expected how many devices the job needs, unless the pattern implies it, such as --pattern tp=4,pp=2,dp=1 or a pattern file"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --pattern tp=4 --policy min-step-time --preserved direct"),
        @"error: --preserved is for the policy preserve, not min-step-time: expected --policy preserve, or no --preserved"
    );
    insta::assert_snapshot!(
        error("allocate --machine dgx-1v --batch - --bytes tp=1"),
        @"error: the argument '--batch <FILE|->' cannot be used with '--bytes <BYTES>'"
    );
    let (refusal, code) =
        no("allocate --machine dgx-1v --pattern tp=4,pp=4 --policy min-step-time");
    assert_eq!((&refusal["refusal"], code), (&json!("infeasible"), 3));
    let (refusal, code) =
        no("allocate --machine dgx-1v --pattern tp=100000,dp=100000 --policy min-step-time");
    assert_eq!((&refusal["refusal"], code), (&json!("infeasible"), 3));
}

#[test]
fn compare_shows_the_step_time_of_what_each_policy_chose() {
    let rows = answer("compare --machine dgx-1v --pattern tp=2,pp=2 --busy 0");
    let rows = rows["policies"].as_array().unwrap();
    let seconds: Vec<f64> = rows
        .iter()
        .map(|row| row["step_seconds"].as_f64().unwrap())
        .collect();
    assert_eq!(rows.last().unwrap()["policy"], "min-step-time");
    assert!(
        seconds.iter().all(|other| seconds.last().unwrap() <= other),
        "{seconds:?}"
    );
    let printed = text("compare --machine dgx-1v --pattern tp=2,pp=2", "");
    assert!(
        printed.contains("step, s") && printed.contains("dgx-1v, 4 devices, tp=2,pp=2"),
        "{printed}"
    );
    assert!(!text("compare --machine dgx-1v --gpus 3", "").contains("step"));
}

#[test]
fn match_and_batch_read_the_pattern_too() {
    // Pairs of single links, each way round: a square of which two opposite sides are tensor
    // groups.
    let found = answer("match --machine dgx-1v --pattern tp=2,pp=2 --min-link nv1");
    let raw = answer("match --machine dgx-1v --pattern tp=2,pp=2 --min-link nv1 --raw");
    assert_eq!(found["gpus"], json!(4));
    assert_eq!(
        raw["count"].as_u64().unwrap(),
        4 * found["count"].as_u64().unwrap()
    );
    insta::assert_snapshot!(
        error("match --machine dgx-1v --pattern tp=2,pp=2 --gpus 3"),
        @"error: --gpus 3: the pattern tp=2,pp=2,dp=1 has 4 ranks: expected 4, or no --gpus"
    );
    let line = r#"{"op":"allocate","id":"a","gpus":4,"pattern":"tp=2,pp=2","policy":"greedy"}"#;
    let output = run("allocate --machine dgx-1v --batch -", &format!("{line}\n"));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (
            output.status.code(),
            answer["devices"].as_array().map(Vec::len)
        ),
        (Some(0), Some(4))
    );
}

#[test]
fn sixteen_devices_are_searched_within_limits() {
    let eight = answer("allocate --machine torus-2d --pattern tp=4,pp=2 --policy min-step-time");
    assert_eq!(eight["complete"], true);
    let all = answer(
        "allocate --machine torus-2d --pattern tp=4,pp=2,dp=2 --policy min-step-time --max-nodes 100000",
    );
    assert!(all["step_seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_batch_takes_training_jobs_with_their_bytes_and_policy() {
    let lines = [
        r#"{"op":"allocate","id":1,"pattern":"tp=4,pp=2","bytes":"tp=2e9,pp=1e8,dp=5e8","policy":"min-step-time"}"#,
        r#"{"op":"reset"}"#,
        r#"{"op":"allocate","id":2,"pattern":"ring"}"#,
        r#"{"op":"allocate","id":3,"gpus":4,"policy":"min-step-time"}"#,
        r#"{"op":"allocate","id":4,"gpus":4,"bytes":"tp=1"}"#,
        r#"{"op":"allocate","id":5,"gpus":4,"pattern":"tp=4,pp=2"}"#,
    ];
    let output = run("allocate --machine dgx-1v --batch -", &lines.join("\n"));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let alone = answer(&format!("allocate {JOB} --policy min-step-time"));
    for key in [
        "devices",
        "scores",
        "step_seconds",
        "phase_seconds",
        "policy",
    ] {
        assert_eq!(answers[0][key], alone[key], "{key}: {stdout}");
    }
    let wrong = [2, 3, 4, 5];
    let wrong = wrong.map(|at| answers[at]["error"].as_str().unwrap());
    insta::assert_snapshot!(wrong.join("\n"), @"
    line 3: missing field `gpus`: expected how many devices the job needs, unless the pattern implies it, such as tp=4,pp=2 or a file
    line 4: --policy min-step-time needs known traffic: expected a pattern such as tp=4,pp=2,dp=1, or a pattern file in bytes
    line 5: --bytes is for patterns such as tp=4,pp=2,dp=1
    line 6: --gpus 4: the pattern tp=4,pp=2,dp=1 has 8 ranks: expected 8, or no --gpus
    ");
    assert_eq!(output.status.code(), Some(2));
}
