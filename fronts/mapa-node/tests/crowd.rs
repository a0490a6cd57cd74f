//! Many programs at once on few devices: each job is alone on its devices, and the queue's order is
//! kept. `MAPA_JOBS` sets how many jobs there are, 256 if it is not set.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mapa_node::Ledger;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::Value;

use super::common::{LOCK, Place, error, text};
use super::daemon::{Daemon, until};
use super::kills::{kill, marked};

/// How many programs there are at once.
const AT_ONCE: usize = 64;

#[test]
fn every_job_is_alone_on_its_devices_and_the_order_of_the_queue_is_kept() {
    let jobs = std::env::var("MAPA_JOBS").map_or(256, |text| text.parse().unwrap());
    let place = Place::new();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    if job >= jobs {
                        break;
                    }
                    // Sizes by a fixed pattern: mostly small, now and then the whole machine.
                    let gpus = ["1", "2", "1", "4", "1", "2", "3", "1"][job * 7 % 8];
                    let output = place.run(&["run", "-n", gpus, "--wait", "--", "sh", "-c", LOCK]);
                    assert!(output.status.success(), "job {job}: {}", error(&output));
                }
            });
        }
    });
    assert_eq!(place.text("faults"), "");
    let log = place.log();
    let granted = log.iter().filter(|value| value["kind"] == "grant").count();
    assert_eq!(granted, jobs);
    judge(&log);
}

/// How many programs come, and how many of them are there at once: `MAPA_CROWD`, `160,24` if it is not set.
fn crowd() -> (usize, usize) {
    let text = std::env::var("MAPA_CROWD").unwrap_or_else(|_| "160,24".to_owned());
    let (jobs, at_once) = text.split_once(',').unwrap();
    (jobs.parse().unwrap(), at_once.parse().unwrap())
}

/// A program of the crowd, in a PID namespace of its own or not: some wait, some have a time, some leave a child behind.
fn come(place: &Place, random: &mut Pcg64, can_contain: bool) -> Child {
    let gpus = ["1", "2", "3", "8"][random.random_range(0..4)];
    let [a, b] = [0, 0].map(|_: i32| random.random_range(0..150));
    let script = format!("{LOCK} sleep 0.{a:03} & sleep 0.{b:03}");
    let mut words = vec!["run", "-n", gpus];
    if random.random_bool(0.8) {
        words.push("--wait");
    }
    if random.random_bool(0.2) {
        words.extend(["--time", "1"]);
    }
    words.extend(["--", "sh", "-c", &script]);
    let own = place.mapa(&words);
    let mut command = if can_contain && random.random_bool(0.2) {
        let mut contained = Command::new("unshare");
        contained
            .args(["--pid", "--fork", "--mount-proc", "--kill-child"])
            .arg(own.get_program())
            .args(own.get_args())
            .env("LOCKS", place.path())
            .env_remove("MAPA_LEASE")
            .env_remove("CUDA_VISIBLE_DEVICES")
            .stdin(Stdio::null());
        contained
    } else {
        own
    };
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Programs, their commands and their containers are killed at random, and where there is a daemon, it is killed and comes
/// again. No device is given twice, none stays taken, and no control group is left.
fn check_crowd(is_served: bool, seed: u64) {
    let place = Place::new();
    let (jobs, at_once) = crowd();
    let can_contain = super::namespaces::can_judge();
    let mut daemon = is_served.then(|| Daemon::start(&place, &["--scheduler", "fifo"]));
    let mut random = Pcg64::seed_from_u64(mapa_core::testing::seed(seed));
    let mut here: Vec<Child> = Vec::new();
    let mut come_so_far = 0;
    while come_so_far < jobs || !here.is_empty() {
        while come_so_far < jobs && here.len() < at_once {
            here.push(come(&place, &mut random, can_contain));
            come_so_far += 1;
        }
        thread::sleep(Duration::from_millis(random.random_range(0..30)));
        let one = random.random_range(0..here.len());
        match random.random_range(0..10) {
            0 | 1 => drop(here[one].kill()),
            2 | 3 => {
                let marked: Vec<u32> = marked(&place).into_iter().map(|(pid, _)| pid).collect();
                if !marked.is_empty() {
                    kill(marked[random.random_range(0..marked.len())]);
                }
            }
            4 => drop(
                Command::new("kill")
                    .args(["-TERM", &here[one].id().to_string()])
                    .stderr(Stdio::null())
                    .status(),
            ),
            5 if random.random_bool(0.2) => {
                if let Some(old) = daemon.take() {
                    drop(old);
                    daemon = Some(Daemon::start(&place, &["--scheduler", "fifo"]));
                }
            }
            _ => {}
        }
        here.retain_mut(|job| job.try_wait().unwrap().is_none());
    }
    until(|| marked(&place).is_empty() && place.leases().is_empty());
    let ps = place.json(&["ps"]);
    assert!(ps["queue"].as_array().unwrap().is_empty(), "{ps}");
    assert_eq!(place.json(&["free"])["free"], 8);
    assert_eq!(place.text("faults"), "");
    place.json(&["log", "--verify"]);
    let ledger = Ledger::open(place.ledger()).unwrap();
    let left = format!("mapa-{}-", ledger.id());
    let found = Command::new("find")
        .args(["/sys/fs/cgroup", "-name", &format!("{left}*")])
        .stderr(Stdio::null())
        .output();
    assert_eq!(text(&found.unwrap()), "", "control groups are left");
    drop(daemon);
    // Whoever is killed gives up its place unseen, so the audit's order is checked of devices alone.
    let mut held: BTreeMap<String, i64> = BTreeMap::new();
    for row in place.log() {
        let devices = row["devices"].as_array().unwrap().iter();
        let devices = devices.map(|device| device.as_str().unwrap().to_owned());
        match row["kind"].as_str().unwrap() {
            "grant" => {
                for device in devices {
                    let before = held.insert(device, row["lease"].as_i64().unwrap());
                    assert_eq!(before, None, "{row}");
                }
            }
            "release" => {
                for device in devices {
                    assert_eq!(held.remove(&device), row["lease"].as_i64(), "{row}");
                }
            }
            _ => {}
        }
    }
    assert!(held.is_empty(), "{held:?}");
}

#[test]
fn a_crowd_of_which_everything_is_killed_leaves_nothing_taken_and_nothing_given_twice() {
    check_crowd(false, 41);
}

#[test]
fn a_crowd_at_a_daemon_that_is_killed_too_leaves_nothing_either() {
    check_crowd(true, 42);
}

/// All wait at once behind one job that has the whole machine. `MAPA_WAITERS` sets how many, 100 if it is not set.
#[test]
fn all_who_wait_start_in_their_order_and_none_is_lost() {
    let waiters: usize = std::env::var("MAPA_WAITERS").map_or(100, |text| text.parse().unwrap());
    let place = Place::new();
    let hold = "echo >$LOCKS/held; while [ ! -e $LOCKS/end ]; do sleep .02; done";
    let holder = place.mapa(&["run", "-n", "8", "--", "sh", "-c", hold]);
    let mut holder = { holder }.spawn().unwrap();
    place.await_lines("held", 1);
    let script = "echo $(date +%s%N) $MAPA_LEASE >>$LOCKS/ran";
    let mut jobs: Vec<_> = (0..waiters)
        .map(|_| {
            let job = place.mapa(&["run", "-n", "1", "--wait", "--", "sh", "-c", script]);
            { job }.stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    while ledger.read(|books| books.queue()).unwrap().len() < waiters {
        thread::sleep(Duration::from_millis(20));
    }
    let released = Instant::now();
    std::fs::write(place.path().join("end"), "").unwrap();
    place.await_lines("ran", 1);
    let first = released.elapsed();
    assert!(holder.wait().unwrap().success());
    for job in &mut jobs {
        assert!(job.wait().unwrap().success());
    }
    // For people: no time is asserted.
    println!(
        "{waiters} waited: the first started after {first:?}, all ended after {:?}",
        released.elapsed()
    );
    assert_eq!(place.text("ran").lines().count(), waiters);
    let log = place.log();
    judge(&log);
    let cancelled = log.iter().filter(|value| value["kind"] == "cancel");
    assert_eq!(cancelled.count(), 0);
}

/// Follows the audit: no device is given while it is held; a job that waits is given its devices
/// before those that came later, and none that does not wait overtakes it.
pub(crate) fn judge(log: &[Value]) {
    let mut held: BTreeMap<String, i64> = BTreeMap::new();
    let mut waits: BTreeSet<i64> = BTreeSet::new();
    for value in log {
        let devices = value["devices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|value| value.as_str().unwrap().to_owned());
        let ticket = value["ticket"].as_i64();
        match value["kind"].as_str().unwrap() {
            "enqueue" => assert!(waits.insert(ticket.unwrap()), "{value}"),
            "cancel" => assert!(waits.remove(&ticket.unwrap()), "{value}"),
            "grant" => {
                let first = waits.first().copied();
                assert_eq!(first, ticket, "{value}");
                waits.pop_first();
                for device in devices {
                    let before = held.insert(device, value["lease"].as_i64().unwrap());
                    assert_eq!(before, None, "{value}");
                }
            }
            "release" => {
                for device in devices {
                    assert_eq!(held.remove(&device), value["lease"].as_i64(), "{value}");
                }
            }
            _ => {}
        }
    }
    assert!(held.is_empty() && waits.is_empty(), "{held:?} {waits:?}");
}
