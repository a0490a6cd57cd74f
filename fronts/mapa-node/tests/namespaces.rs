//! Jobs in PID namespaces, as containers have them, and leases that nobody can judge.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mapa_node::{DeviceKey, Durability, Ledger, Processes};

use super::common::{Place, asker, error};

/// Whether this user can make PID namespaces here, and sees all processes of the machine.
pub(crate) fn can_judge() -> bool {
    let first = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let made = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", "true"])
        .stderr(Stdio::null())
        .status();
    let can =
        first.to_string_lossy().contains("4026531836") && made.is_ok_and(|status| status.success());
    if !can {
        eprintln!("skipped: no PID namespace can be made here, or this is one");
    }
    can
}

/// A job in a namespace of its own, which holds three devices.
fn job_in_a_namespace(place: &Place) -> std::process::Child {
    let run = place.mapa(&[
        "run",
        "-n",
        "3",
        "--",
        "sh",
        "-c",
        "echo >>$LOCKS/there; sleep 600",
    ]);
    let mut inner = Command::new("unshare");
    inner
        .args(["--pid", "--fork", "--mount-proc", "--kill-child"])
        .arg(run.get_program())
        .args(run.get_args())
        .env("LOCKS", place.path())
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let child = inner.spawn().unwrap();
    place.await_lines("there", 1);
    child
}

#[test]
fn a_lease_of_a_namespace_that_has_ended_is_freed() {
    if !can_judge() {
        return;
    }
    let place = Place::new();
    let mut child = job_in_a_namespace(&place);
    assert_eq!(
        place.json(&["recover"])["released"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
    assert_eq!(place.json(&["free"])["free"], 5);
    child.kill().unwrap();
    child.wait().unwrap();
    let begun = Instant::now();
    while place.json(&["free"])["free"] != 8 {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{:?}",
            place.json(&["ps"])
        );
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_lease_of_a_namespace_is_ended_from_outside() {
    if !can_judge() {
        return;
    }
    let place = Place::new();
    let mut child = job_in_a_namespace(&place);
    let output = place.run(&["release", "1"]);
    assert!(output.status.success(), "{}", error(&output));
    assert_eq!(place.json(&["free"])["free"], 8);
    child.wait().unwrap();
}

#[test]
fn a_lease_that_nobody_can_judge_is_ended_by_force_alone_and_the_audit_says_so() {
    if !can_judge() {
        return;
    }
    let place = Place::new();
    let mut child = job_in_a_namespace(&place);
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let lease = ledger.read(|books| books.leases()).unwrap().remove(0);
    // A process of that number is there, but started at another time: by its own clock, or another's number.
    let mut asker = asker(&Processes::new().unwrap());
    asker.process = lease.asker.process;
    asker.process.id.start += 1;
    let second = ledger.change(Durability::Boot, |books| {
        books.grant(&asker, &[DeviceKey::whole("GPU7")], None, None, "test")
    });
    let second = second.unwrap().to_string();
    assert_eq!(
        place.json(&["recover"])["released"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
    let refused = place.run(&["release", &second]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(error(&refused).contains("--force"), "{}", error(&refused));
    let forced = place.run(&["release", "--force", &second]);
    assert!(forced.status.success(), "{}", error(&forced));
    assert_eq!(place.leases(), [lease.id]);
    let log = place.log();
    let last = log.last().unwrap();
    assert_eq!(last["kind"], "release");
    assert!(
        last["reason"]
            .as_str()
            .unwrap()
            .starts_with("ended by force"),
        "{last}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}
