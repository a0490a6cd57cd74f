//! Queues that a scheduler orders: every scheduler serves or says why not, and one bad ticket harms itself
//! alone.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use mapa_node::{Durability, Ledger, Processes};

use super::common::{Place, asker, error};

/// A job that holds the whole machine until the file `go` is there.
fn hold_all(place: &Place) -> Child {
    let script = "echo >>$LOCKS/there; while [ ! -e $LOCKS/go ]; do sleep .02; done";
    let job = place
        .mapa(&["run", "-n", "8", "--time", "60", "--", "sh", "-c", script])
        .spawn()
        .unwrap();
    place.await_lines("there", 1);
    job
}

fn await_queue(place: &Place, length: usize) {
    let begun = Instant::now();
    while place.json(&["ps"])["queue"].as_array().unwrap().len() != length {
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn wait_by(place: &Place, scheduler: &str, words: &[&str]) -> Child {
    let base = ["run", "--wait", "--scheduler", scheduler];
    place
        .mapa(&[&base[..], words, &["--", "true"]].concat())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn jobs_wait_and_run_by_every_scheduler() {
    for scheduler in [
        "fifo",
        "easy-backfill",
        "conservative-backfill",
        "foresight",
        "topology-plan",
        "energy-plan",
        "pcie-plan",
        "pcie-aware",
        "case",
    ] {
        let place = Place::new();
        let mut holder = hold_all(&place);
        let mut jobs = Vec::new();
        // Some say how long they run, and some do not.
        for words in [&["-n", "2"][..], &["-n", "3", "--time", "5"], &["-n", "8"]] {
            jobs.push(wait_by(&place, scheduler, words));
            await_queue(&place, jobs.len());
        }
        std::fs::write(place.path().join("go"), "").unwrap();
        for job in jobs {
            let output = job.wait_with_output().unwrap();
            let code = output.status.code();
            assert_eq!(code, Some(0), "{scheduler}: {}", error(&output));
        }
        assert!(holder.wait().unwrap().success());
        let log = place.log();
        let granted = log.iter().filter(|value| value["kind"] == "grant").count();
        assert_eq!(granted, 4, "{scheduler}");
    }
}

#[test]
fn a_scheduler_that_would_only_repartition_says_so() {
    let place = Place::new();
    let words = ["-n", "1", "--slice", "1g.5gb"];
    let mut job = place.mapa(&[
        "--mig",
        "a100-40gb",
        "run",
        "--wait",
        "--scheduler",
        "pcie-plan",
    ]);
    let output = job.args(words).args(["--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", error(&output));
    assert!(
        error(&output).contains("starts no job of the queue"),
        "{}",
        error(&output)
    );
    // What makes no sense does not wait.
    let mixed = place.run(&[
        "run",
        "-n",
        "1",
        "--wait",
        "--scheduler",
        "fifo,patience=x",
        "--",
        "true",
    ]);
    assert_eq!(mixed.status.code(), Some(2), "{}", error(&mixed));
    assert_eq!(place.json(&["ps"])["queue"].as_array().unwrap().len(), 0);
}

#[test]
fn a_ticket_that_cannot_be_read_harms_nobody_else() {
    let place = Place::new();
    let mut holder = hold_all(&place);
    // This test waits as somebody whose device the machine does not have any more.
    let mut bad = asker(&Processes::new().unwrap());
    bad.spec = r#"{"gpus":1,"must_include":["GPU99"]}"#.to_owned();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    ledger
        .change(Durability::Boot, |books| {
            books.enqueue(&bad, "fifo", None, "test")
        })
        .unwrap();
    let job = wait_by(&place, "fifo", &["-n", "2"]);
    await_queue(&place, 2);
    std::fs::write(place.path().join("go"), "").unwrap();
    let output = job.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    assert!(holder.wait().unwrap().success());
    await_queue(&place, 1);
}

#[test]
fn a_model_by_a_relative_path_is_read_from_anywhere() {
    let place = Place::new();
    let model = r#"format = "mapa-coefficients"
version = 1
name = "two-tiers"
tiers = ["direct-1", "rest"]
terms = [{ of = ["direct-1"], coefficient = 20.0 }, { of = ["rest"], coefficient = 5.0 }]
"#;
    std::fs::write(place.path().join("model.toml"), model).unwrap();
    let mut holder = hold_all(&place);
    let base = [
        "run",
        "-n",
        "2",
        "--wait",
        "--scheduler",
        "fifo",
        "--policy",
        "max-bandwidth",
    ];
    let mut first = place.mapa(&[&base[..], &["--model", "model.toml", "--", "true"]].concat());
    let first = first
        .current_dir(place.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    await_queue(&place, 1);
    let second = wait_by(&place, "fifo", &["-n", "2"]);
    await_queue(&place, 2);
    std::fs::write(place.path().join("go"), "").unwrap();
    for job in [first, second] {
        let output = job.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    }
    assert!(holder.wait().unwrap().success());
}

#[test]
fn a_ledger_with_an_answer_that_is_none_is_a_failure_and_not_a_busy_machine() {
    let place = Place::new();
    let mut holder = hold_all(&place);
    let job = wait_by(&place, "fifo", &["-n", "2"]);
    await_queue(&place, 1);
    let database = rusqlite::Connection::open(place.ledger()).unwrap();
    database.busy_timeout(Duration::from_secs(30)).unwrap();
    let told = database.execute("UPDATE queue SET refusal = 'no sense'", []);
    assert_eq!(told.unwrap(), 1);
    let output = job.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", error(&output));
    assert!(error(&output).contains("`no sense`"), "{}", error(&output));
    std::fs::write(place.path().join("go"), "").unwrap();
    assert!(holder.wait().unwrap().success());
    await_queue(&place, 0);
}
