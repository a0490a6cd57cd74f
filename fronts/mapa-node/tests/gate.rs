//! The gate of a command: nothing begins of which the ledger does not know.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mapa_node::{Durability, Ledger};
use rustix::process::{Pid, Signal, kill_process};

use super::common::Place;

/// How often `mapa run` is started until this test has taken the lock of the ledger between its lease and
/// the entry of its command. It takes a few.
const TRIES: usize = 500;

/// The children of a process that have not ended.
fn children(of: u32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| {
            let pid: i32 = name.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
            let (_, rest) = stat.rsplit_once(") ")?;
            let mut words = rest.split(' ');
            let (state, parent) = (words.next()?, words.next()?);
            (!matches!(state, "Z" | "X") && parent == of.to_string()).then_some(pid)
        })
        .collect()
}

/// Starts `mapa run` until its command waits at the gate, because the entry in the ledger waits for the lock
/// that this test has. There `at_the_gate` is called with the program and the process.
fn with_one_at_the_gate<T>(
    place: &Place,
    at_the_gate: impl Fn(&mut Child, i32) -> T,
) -> (T, Child) {
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    for _ in 0..TRIES {
        let words = [
            "run",
            "-n",
            "1",
            "--",
            "sh",
            "-c",
            "echo begun >>$LOCKS/begun",
        ];
        let mut mapa = place.mapa(&words).stderr(Stdio::null()).spawn().unwrap();
        let done = loop {
            let seen = ledger
                .change(Durability::Boot, |books| {
                    let leases = books.leases()?;
                    let pid = mapa.id() as i32;
                    let Some(own) = leases
                        .iter()
                        .find(|lease| lease.asker.process.id.pid == pid)
                    else {
                        return Ok(None);
                    };
                    if own.child.is_some() {
                        return Ok(Some(None));
                    }
                    let begun = Instant::now();
                    // The process that is seen first may be the one that is copied into the group and ends.
                    let mut before = Vec::new();
                    let waiting = loop {
                        let now = children(mapa.id());
                        if let [waiting] = now[..]
                            && before == now
                        {
                            break waiting;
                        }
                        before = now;
                        thread::sleep(Duration::from_millis(5));
                        assert!(begun.elapsed() < Duration::from_secs(30), "no process came");
                    };
                    Ok(Some(Some(at_the_gate(&mut mapa, waiting))))
                })
                .unwrap();
            if let Some(seen) = seen {
                break seen;
            }
            if mapa.try_wait().unwrap().is_some() {
                break None;
            }
        };
        if let Some(done) = done {
            return (done, mapa);
        }
        assert!(mapa.wait().unwrap().success());
        fs::remove_file(place.path().join("begun")).unwrap();
    }
    panic!("the lock was not taken in time in {TRIES} tries");
}

fn ends(pid: i32) {
    let begun = Instant::now();
    let path = format!("/proc/{pid}/stat");
    let runs = || fs::read_to_string(&path).is_ok_and(|stat| !stat.contains(") Z "));
    while runs() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{pid} goes on");
        thread::sleep(Duration::from_millis(2));
    }
}

fn has_not_begun(place: &Path) {
    let begun = place.join("begun");
    assert!(!begun.exists(), "{}", fs::read_to_string(begun).unwrap());
}

#[test]
fn a_command_whose_program_is_killed_before_its_entry_never_begins() {
    let place = Place::new();
    let ((), mut mapa) = with_one_at_the_gate(&place, |mapa, waiting| {
        mapa.kill().unwrap();
        mapa.wait().unwrap();
        ends(waiting);
    });
    assert!(!mapa.wait().unwrap().success());
    has_not_begun(place.path());
    assert_eq!(place.json(&["ps"])["leases"].as_array().unwrap().len(), 0);
}

#[test]
fn a_signal_that_comes_before_the_entry_ends_program_and_command() {
    let place = Place::new();
    let (waiting, mut mapa) = with_one_at_the_gate(&place, |mapa, waiting| {
        let pid = Pid::from_raw(mapa.id() as i32).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        waiting
    });
    assert_eq!(mapa.wait().unwrap().code(), Some(143));
    ends(waiting);
    has_not_begun(place.path());
    assert_eq!(place.json(&["ps"])["leases"].as_array().unwrap().len(), 0);
}

#[test]
fn a_process_at_the_gate_catches_no_signal() {
    let place = Place::new();
    let (caught, mut mapa) = with_one_at_the_gate(&place, |_, waiting| {
        // It waits once it has said who it is, which is the last thing that it does.
        let begun = Instant::now();
        loop {
            let status = fs::read_to_string(format!("/proc/{waiting}/status")).unwrap();
            let word = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
            };
            // The standard library's own handlers, of SIGSEGV and SIGBUS, are for stacks.
            let (caught, held) = (
                word("SigCgt:") & 0xffff & !(1 << 10 | 1 << 6),
                word("SigBlk:"),
            );
            if (caught, held) == (0, 0) || begun.elapsed() > Duration::from_secs(10) {
                return (caught, held);
            }
        }
    });
    assert_eq!(caught, (0, 0));
    assert!(mapa.wait().unwrap().success());
    assert_eq!(place.text("begun"), "begun\n");
}
