//! A disk that fills, empties and fills again beneath the ledger, and one without inodes: no device is given twice, and when it is
//! over, the ledger is sound and all devices are free.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mapa_node::Ledger;

use super::common::{LOCK, Place, error, text};
use super::daemon::{Daemon, until};

/// A small disk of its own, which is unmounted with the test.
struct Disk(PathBuf);

impl Disk {
    /// `None` where this user may not mount one.
    fn on(folder: PathBuf, options: &str) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "mapa-test"])
            .arg(&folder)
            .output();
        if !mounted.is_ok_and(|done| done.status.success()) {
            eprintln!("skipped: this user may not mount a disk");
            return None;
        }
        Some(Self(folder))
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let Ok(mut file) = fs::File::create(self.0.join("fill")) else {
            return;
        };
        for piece in [1 << 16, 1 << 12, 1] {
            while file.write_all(&vec![7; piece]).is_ok() {}
        }
    }

    fn empty(&self) {
        drop(fs::remove_file(self.0.join("fill")));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(
            Command::new("umount")
                .args(["--lazy"])
                .arg(&self.0)
                .status(),
        );
    }
}

/// Whether SQLite finds the file sound, and the audit is whole.
fn assert_sound(place: &Place) {
    let ledger = Ledger::open(place.ledger()).unwrap();
    ledger.verify().unwrap();
    drop(ledger);
    let output = place.run(&["log", "--verify"]);
    assert!(
        output.status.success(),
        "{} {}",
        text(&output),
        error(&output)
    );
}

/// All devices are free once those that were cut off have been cleared up.
fn assert_free(place: &Place) {
    until(|| {
        assert!(place.run(&["recover"]).status.success());
        place.leases().is_empty()
    });
    let whole = place.run(&["run", "-n", "8", "--", "true"]);
    assert!(whole.status.success(), "{}", error(&whole));
}

/// 64 programs, each with several jobs, while the disk fills and empties. What a program says is one of a few answers.
fn crowd(place: &Place, disk: &Disk) {
    const PROGRAMS: usize = 64;
    const JOBS: usize = 192;
    let (next, done, is_over) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicBool::new(false),
    );
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                disk.fill();
                thread::sleep(Duration::from_millis(120));
                disk.empty();
                thread::sleep(Duration::from_millis(180));
            }
        });
        let programs: Vec<_> = (0..PROGRAMS)
            .map(|_| {
                scope.spawn(|| {
                    while let job @ 0..JOBS = next.fetch_add(1, Ordering::Relaxed) {
                        let gpus = ["1", "2", "1", "4", "7"][job % 5];
                        let output =
                            place.run(&["run", "-n", gpus, "--wait", "--", "sh", "-c", LOCK]);
                        match output.status.code() {
                            Some(0) => drop(done.fetch_add(1, Ordering::Relaxed)),
                            // The ledger could not be written: the message says so.
                            Some(125) => assert!(
                                error(&output).contains("full")
                                    || error(&output).contains("No space")
                                    || error(&output).contains("disk I/O"),
                                "{}",
                                error(&output)
                            ),
                            other => panic!(
                                "{other:?}: {}, {}",
                                error(&output),
                                place.text("daemon.log")
                            ),
                        }
                    }
                })
            })
            .collect();
        let ended: Vec<_> = programs.into_iter().map(|program| program.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        for program in ended {
            program.unwrap();
        }
    });
    disk.empty();
    assert_eq!(place.text("faults"), "");
    assert!(done.load(Ordering::Relaxed) > 0, "some jobs ran");
}

#[test]
fn a_disk_that_fills_and_empties_gives_nothing_twice_and_leaves_a_sound_ledger() {
    for is_served in [false, true] {
        let place = Place::new().with_ledger_in("disk");
        let Some(disk) = Disk::on(place.path().join("disk"), "size=3m") else {
            return;
        };
        let daemon = is_served.then(|| Daemon::start(&place, &["--scheduler", "fifo"]));
        if is_served {
            // One that starts on a full disk says so and ends.
            until(|| place.text("daemon.log").contains("ready"));
        }
        crowd(&place, &disk);
        assert_free(&place);
        assert_sound(&place);
        if let Some(daemon) = daemon {
            assert_eq!(daemon.end("-TERM"), Some(0), "{}", place.text("daemon.log"));
            // A daemon of after it goes on with the same ledger.
            drop(Daemon::start(&place, &["--scheduler", "fifo"]));
            assert_free(&place);
        }
        assert_sound(&place);
    }
}

#[test]
fn a_disk_without_inodes_is_an_error_and_no_more() {
    let place = Place::new().with_ledger_in("disk");
    let Some(disk) = Disk::on(place.path().join("disk"), "size=4m,nr_inodes=8") else {
        return;
    };
    let files = |folder: &Path| -> Vec<PathBuf> {
        (0..16)
            .map(|at| folder.join(format!("file-{at}")))
            .filter(|path| fs::File::create(path).is_ok())
            .collect()
    };
    let made = files(&disk.0);
    let output = place.run(&["run", "-n", "1", "--", "true"]);
    assert_eq!(output.status.code(), Some(125), "{}", error(&output));
    for path in made {
        fs::remove_file(path).unwrap();
    }
    let output = place.run(&["run", "-n", "1", "--", "true"]);
    assert!(output.status.success(), "{}", error(&output));
    assert_free(&place);
    assert_sound(&place);
}
