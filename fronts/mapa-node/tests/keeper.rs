//! The time of a job whose `mapa run` was killed: its keeper, or the next `mapa`, ends the job.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::common::Place;

fn kill(pid: impl ToString) {
    let done = Command::new("kill")
        .args(["-9", &pid.to_string()])
        .stderr(Stdio::null())
        .status();
    assert!(done.unwrap().success());
}

/// A job of two seconds that runs for ten minutes if nobody ends it, and whose program is killed.
fn orphan(place: &Place, script: &str) {
    let words = ["run", "-n", "2", "--time", "2", "--", "sh", "-c", script];
    let mut job = place.mapa(&words).stderr(Stdio::null()).spawn().unwrap();
    place.await_lines("there", 1);
    job.kill().unwrap();
    job.wait().unwrap();
}

/// The keeper of a lease of this ledger.
fn keeper(place: &Place) -> Option<i32> {
    let ledger = place.ledger().display().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.find(|pid| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        let words: Vec<&str> = words.split('\0').collect();
        words.contains(&"keep") && words.contains(&ledger.as_str())
    })
}

fn ends(what: &str, has_ended: impl Fn() -> bool) {
    let begun = Instant::now();
    while !has_ended() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

const SCRIPT: &str = "echo $$ >$LOCKS/pid; echo >>$LOCKS/there; exec sleep 600";

fn runs(place: &Place) -> bool {
    let pid = place.text("pid");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_job_whose_program_was_killed_is_ended_in_time_by_its_keeper() {
    let place = Place::new();
    orphan(&place, SCRIPT);
    assert!(runs(&place));
    // No command of `mapa` looks at the ledger meanwhile.
    ends("the job", || !runs(&place));
    ends("the keeper", || keeper(&place).is_none());
    assert_eq!(place.json(&["free"])["free"], 8);
    let log = place.log();
    let release = log.iter().find(|row| row["kind"] == "release");
    assert!(release.is_some(), "{log:?}");
}

/// The keeper and a waiting job look five times a second each.
#[test]
fn a_late_job_gets_one_sigterm() {
    let place = Place::new();
    let script = "trap 'echo >>$LOCKS/terms' TERM; echo $$ >$LOCKS/pid; echo >>$LOCKS/there; while :; do sleep .05; done";
    orphan(&place, script);
    let words = ["run", "-n", "8", "--wait", "--", "true"];
    let mut waits = place.mapa(&words).stderr(Stdio::null()).spawn().unwrap();
    ends("the job", || !runs(&place));
    assert!(waits.wait().unwrap().success());
    assert_eq!(place.text("terms").lines().count(), 1);
    let log = place.log();
    assert_eq!(log.iter().filter(|row| row["kind"] == "expire").count(), 1);
}

#[test]
fn where_the_keeper_was_killed_too_the_next_command_ends_the_job() {
    let place = Place::new();
    // It ignores SIGTERM, so that SIGKILL has to follow.
    let script =
        "trap '' TERM; echo $$ >$LOCKS/pid; echo >>$LOCKS/there; while :; do sleep .1; done";
    orphan(&place, script);
    kill(keeper(&place).unwrap());
    thread::sleep(Duration::from_secs(3));
    assert!(runs(&place), "nobody has ended it");
    ends("the job", || {
        place.json(&["ps"]);
        !runs(&place)
    });
    ends("the lease", || place.leases().is_empty());
}

#[test]
fn a_keeper_ends_with_the_job() {
    let place = Place::new();
    let words = [
        "run",
        "-n",
        "2",
        "--time",
        "600",
        "--",
        "sh",
        "-c",
        "echo >>$LOCKS/there; sleep .3",
    ];
    let mut job = place.mapa(&words).spawn().unwrap();
    place.await_lines("there", 1);
    assert!(keeper(&place).is_some());
    assert!(job.wait().unwrap().success());
    ends("the keeper", || keeper(&place).is_none());
}
