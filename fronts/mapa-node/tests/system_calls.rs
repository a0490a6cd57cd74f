//! `mapa run` killed at each of its system calls: the devices of a command that runs are never another's, and whatever was
//! held is free once nothing runs.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::common::{LOCK, Place, error};
use super::daemon::{Daemon, until};

/// How many of the calls are tried: `MAPA_CALLS`, 40 if it is not set, `all` for each.
fn rounds() -> Option<usize> {
    match std::env::var("MAPA_CALLS").as_deref() {
        Ok("all") => None,
        Ok(text) => Some(text.parse().unwrap()),
        Err(_) => Some(40),
    }
}

/// The same command under strace with these words.
fn traced(command: &Command, words: &[&str]) -> Command {
    let mut traced = Command::new("strace");
    traced
        .args(words)
        .arg("--")
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => traced.env(name, value),
            None => traced.env_remove(name),
        };
    }
    traced
}

/// Each system call of a job by its name and its number among calls of that name; none where nothing may be traced.
fn calls(place: &Place, words: &[&str]) -> Option<Vec<(String, usize)>> {
    let file = place.path().join("calls");
    // The first one of all makes the ledger, which no other does.
    assert!(place.run(words).status.success());
    let output = traced(&place.mapa(words), &["-qq", "-o", file.to_str()?]).output();
    let Ok(output) = output.inspect_err(|error| eprintln!("skipped: strace: {error}")) else {
        return None;
    };
    let text = place.text("calls");
    if text.is_empty() {
        eprintln!("skipped: strace: {}", error(&output));
        return None;
    }
    assert!(output.status.success(), "{}", error(&output));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let names = text.lines().filter_map(|line| line.split_once('('));
    let number = |(name, _): (&str, &str)| {
        let count = counts.entry(name.to_owned()).or_default();
        *count += 1;
        (name.to_owned(), *count)
    };
    let calls: Vec<(String, usize)> = names.map(number).collect();
    assert!(calls.len() > 100, "{text}");
    Some(calls)
}

/// Kills jobs at their calls, those of the program alone or those of all that it starts too.
fn check(place: &Place, seed: u64) {
    let script = format!("{LOCK} sleep 0.05");
    let words = ["run", "-n", "5", "--wait", "--", "sh", "-c", &script];
    let Some(mut calls) = calls(place, &words) else {
        return;
    };
    let mut random = Pcg64Mcg::seed_from_u64(mapa_core::testing::seed(seed));
    if let Some(rounds) = rounds() {
        while calls.len() > rounds {
            calls.swap_remove(random.random_range(0..calls.len()));
        }
    }
    let (count, mut kills) = (calls.len(), 0);
    for (name, number) in calls {
        let inject = format!("inject={name}:signal=KILL:when={number}");
        let mut options = vec!["-qq", "-o", "/dev/null", "-e", &inject];
        if random.random_bool(0.3) {
            options.push("-f");
        }
        let mut killed = traced(&place.mapa(&words), &options);
        // strace ends as its program does.
        let ended = killed.stderr(Stdio::null()).status().unwrap();
        kills += usize::from(ended.signal() == Some(9));
        // Whoever comes next has the devices only when nothing runs on them: its command takes the locks too.
        let next = place.run(&[
            "run", "-n", "5", "--wait", "--time", "60", "--", "sh", "-c", &script,
        ]);
        assert!(next.status.success(), "{name} {number}: {}", error(&next));
        assert_eq!(place.text("faults"), "", "{name} {number}");
    }
    // A program that meets fewer calls of a name than the traced one lives.
    assert!(kills > count / 4, "{kills} of {count}");
    until(|| place.leases().is_empty());
    assert!(place.json(&["ps"])["queue"].as_array().unwrap().is_empty());
    assert_eq!(place.json(&["free"])["free"], 8);
    place.json(&["log", "--verify"]);
}

#[test]
fn a_job_that_is_killed_at_any_call_leaves_no_device_taken_and_none_given_twice() {
    check(&Place::new(), 1);
}

#[test]
fn a_job_of_a_daemon_that_is_killed_at_any_call_leaves_none_either() {
    let place = Place::new();
    let daemon = Daemon::start(&place, &["--scheduler", "fifo"]);
    check(&place, 2);
    assert_eq!(daemon.end("-TERM"), Some(0));
}
