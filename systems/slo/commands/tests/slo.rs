//! Tenants with promised latencies: the page's commands, the log and its replay, and what is
//! refused.

use std::fs;

use serde_json::Value;

use crate::common::{Folder, error, stderr, stdout};
use crate::schema::assert_valid;

const PAGE: &str = include_str!("../../docs/controllers.md");

/// A folder with the page's job file.
fn folder() -> Folder {
    let folder = Folder::new();
    let block = PAGE.split("\n```csv\n").nth(1).unwrap();
    folder.write(
        "tenants.csv",
        &(block.split_once("\n```").unwrap().0.to_owned() + "\n"),
    );
    folder
}

/// The commands of systems/slo/docs/controllers.md print what it says.
#[test]
fn the_page_on_tenants_shows_what_commands_print() {
    let folder = folder();
    let mut commands = 0;
    for block in PAGE.split("\n```console\n$ mapa-bench ").skip(1) {
        let (words, rest) = block.split_once('\n').unwrap();
        let (told, _) = rest.split_once("\n```").unwrap();
        let own = stdout(words, folder.run(words));
        assert_eq!(
            own.trim_end(),
            told,
            "systems/slo/docs/controllers.md: {words}"
        );
        commands += 1;
    }
    assert_eq!(commands, 4);
}

#[test]
fn every_decision_of_a_log_is_made_again_bit_for_bit() {
    let folder = folder();
    for scheduler in [
        "slo",
        "slo,warm=on,levers=placement",
        "slo-replay",
        "slo-replay,warm=on",
    ] {
        let words =
            format!("simulate --scheduler {scheduler} --jobs tenants.csv --log log.jsonl --json");
        let answer: Value = serde_json::from_str(&stdout(&words, folder.run(&words))).unwrap();
        assert_valid("simulate-tenants", &answer);
        let words = "slo replay log.jsonl --json";
        let replayed: Value = serde_json::from_str(&stdout(words, folder.run(words))).unwrap();
        assert_valid("slo-replay", &replayed);
        assert_eq!(replayed["differ"], serde_json::json!([]), "{scheduler}");
        assert!(replayed["decisions"].as_u64() > Some(3), "{scheduler}");
        let log = fs::read_to_string(folder.at("log.jsonl")).unwrap();
        for line in log.lines() {
            assert_valid("slo-log", &serde_json::from_str(line).unwrap());
        }
        // A decision that was tampered with is found.
        let changed = log.replacen("\"pinned\":false", "\"pinned\":true", 3);
        if changed != log {
            folder.write("changed.jsonl", &changed);
            let output = folder.run("slo replay changed.jsonl");
            assert_eq!(output.status.code(), Some(2), "{scheduler}");
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(
                told.contains("made otherwise: expected the same decisions"),
                "{told}"
            );
            // In JSON, the answer is the one document.
            let output = folder.run("slo replay changed.jsonl --json");
            assert_eq!(output.status.code(), Some(2), "{scheduler}");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_ne!(answer["differ"], serde_json::json!([]), "{scheduler}");
        }
    }
}

#[test]
fn what_cannot_be_simulated_is_said() {
    let folder = folder();
    let refused = |words: &str| stderr(words, folder.run(words));
    insta::assert_snapshot!(
        refused("simulate --scheduler slo"),
        @"error: this scheduler needs tenants: expected --jobs FILE"
    );
    insta::assert_snapshot!(
        refused("simulate --scheduler slo --machine dgx-1v --jobs tenants.csv"),
        @"error: --machine is not for the scheduler `slo`: expected --jobs FILE, --log and --plot alone; its machine is two hosts of four PCIe switches"
    );
    insta::assert_snapshot!(
        refused("simulate --scheduler slo,levers=some --jobs tenants.csv"),
        @"error: scheduler `slo,levers=some`: `levers=some`: expected all, guards, placement, mig or none"
    );
    insta::assert_snapshot!(
        refused("simulate --scheduler slo,speed=3 --jobs tenants.csv"),
        @"error: scheduler `slo,speed=3`: `speed=3`: no setting is called `speed`: expected levers=all|guards|placement|mig|none, warm=on|off, seed=N, counters=exact|noisy"
    );
    insta::assert_snapshot!(
        refused("simulate --scheduler slo,counters=noisy --jobs tenants.csv"),
        @"error: counters=noisy is for slo-replay: expected counters=exact"
    );
    folder.write("jobs.csv", "id,devices\n1,2\n");
    insta::assert_snapshot!(
        refused("simulate --scheduler slo --jobs jobs.csv"),
        @"error: jobs.csv: expected a job file of tenants, with the columns tenant, does, start_s and end_s (systems/slo/docs/controllers.md)"
    );
    folder.write(
        "wrong.csv",
        "tenant,does,start_s,end_s\nchat,serves,0,60\netl,sings,0,9\n",
    );
    insta::assert_snapshot!(
        refused("simulate --scheduler slo --jobs wrong.csv"),
        @"error: wrong.csv: line 3: does `sings`: expected serves, copies or trains"
    );
    folder.write(
        "wrong.csv",
        "tenant,does,start_s,end_s,promise_ms\nchat,serves,0,60,-4\n",
    );
    insta::assert_snapshot!(
        refused("simulate --scheduler slo --jobs wrong.csv"),
        @"error: wrong.csv: line 2: promise_ms `-4`: expected a number from 0 to 1e9"
    );
    folder.write("wrong.csv", "tenant,does,start_s,end_s\netl,copies,0,9\n");
    insta::assert_snapshot!(
        refused("simulate --scheduler slo --jobs wrong.csv"),
        @"error: wrong.csv: tenants: expected at least one row that serves"
    );
    folder.write("log.jsonl", "{}\n");
    insta::assert_snapshot!(
        refused("slo replay log.jsonl"),
        @"error: log.jsonl: line 1: missing field `line` at line 1 column 2"
    );
    folder.write("log.jsonl", "");
    insta::assert_snapshot!(
        refused("slo replay log.jsonl"),
        @"error: log.jsonl: an empty log: expected a head"
    );
    insta::assert_snapshot!(
        error("simulate --machine dgx-1v --log a.jsonl"),
        @"error: --log is for the schedulers slo and slo-replay: expected one of them"
    );
    insta::assert_snapshot!(
        error("simulate --scheduler fifo"),
        @"error: no machine is named: expected --machine, --live or --servers"
    );
    insta::assert_snapshot!(error("simulate"), @"
    error: the following required arguments were not provided:
      --machine <NAME|FILE|->
    ");
}

#[cfg(feature = "plots")]
#[test]
fn latencies_and_tails_are_drawn() {
    let folder = folder();
    let words = "simulate --scheduler slo-replay,counters=noisy --jobs tenants.csv --plot pictures";
    stdout(words, folder.run(words));
    for name in ["chat-over-time.svg", "chat-tails.svg"] {
        let picture = fs::read_to_string(folder.at("pictures").join(name)).unwrap();
        assert!(
            picture.starts_with("<svg") && picture.contains("promise"),
            "{name}"
        );
    }
}
