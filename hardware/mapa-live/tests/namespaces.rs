//! Processes of other PID namespaces.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mapa_live::{Identity, Liveness, Processes};
use rustix::process::Signal;

/// The inode of the PID namespace of a process.
fn namespace(pid: &str) -> i64 {
    fs::metadata(format!("/proc/{pid}/ns/pid")).map_or(0, |link| link.ino() as i64)
}

#[test]
fn a_process_of_a_namespace_that_has_ended_has_ended() {
    let processes = Processes::new().unwrap();
    let words = [
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
        "sleep",
        "600",
    ];
    let child = Command::new("unshare")
        .args(words)
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("skipped: there is no program unshare");
        return;
    };
    let (begun, own) = (Instant::now(), namespace("self"));
    // The first process of the namespace, which has number 1 there.
    let here = loop {
        let below = processes.below(child.id() as i32);
        let inner = |process: &&Identity| {
            let found = namespace(&process.id.pid.to_string());
            found != 0 && found != own
        };
        if let Some(here) = below.iter().find(inner) {
            break Some(here.clone());
        }
        if child.try_wait().unwrap().is_some() || begun.elapsed() > Duration::from_secs(30) {
            break None;
        }
    };
    let Some(here) = here else {
        drop(child.kill());
        child.wait().unwrap();
        eprintln!("skipped: no PID namespace can be made here");
        return;
    };
    let mut inside = here.clone();
    inside.namespace = namespace(&here.id.pid.to_string());
    inside.id.pid = 1;
    let namespaces = processes.namespaces();
    assert_eq!(namespaces.life(&inside), Liveness::Runs);
    assert_eq!(namespaces.here(&inside), Some(&here));
    assert_eq!(processes.life(&inside), Liveness::Elsewhere);
    let mut other = inside.clone();
    other.id.start += 1;
    assert_eq!(
        namespaces.life(&other),
        Liveness::Elsewhere,
        "by another clock"
    );
    processes.signal(&here, Signal::KILL).unwrap();
    child.wait().unwrap();
    let namespaces = processes.namespaces();
    // Only a program that sees all processes of the machine can say that one has ended.
    let sees_all = own == 0xefff_fffc && fs::read("/proc/1/stat").is_ok();
    let expected = if sees_all {
        Liveness::Ended
    } else {
        Liveness::Elsewhere
    };
    assert_eq!(namespaces.life(&inside), expected);
    assert_eq!(namespaces.here(&inside), None);
}
