//! Many programs at once on few devices: each job is alone on its devices, and the queue's order is
//! kept. `MAPA_JOBS` sets how many jobs there are, 256 if it is not set.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mapa_node::Ledger;
use serde_json::Value;

use super::common::{LOCK, Place, error};

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
