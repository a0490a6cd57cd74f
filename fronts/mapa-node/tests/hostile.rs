//! Attacks by a user who may write a ledger, or its folder, on the programs that read it.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mapa_node::{DeviceKey, Durability, Ledger, Processes};

use super::common::{Place, asker, error, text};

/// Makes a FIFO of this name.
fn fifo(path: &std::path::Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn a_link_in_place_of_a_ledger_is_not_followed() {
    let place = Place::new();
    let target = place.path().join("target");
    symlink(&target, place.ledger()).unwrap();
    for words in [
        &["ps"][..],
        &["run", "-n", "1", "--", "true"],
        &["cordon", "GPU0"],
    ] {
        let output = place.run(words);
        assert_eq!(output.status.code(), Some(125), "{words:?}");
        assert!(error(&output).contains("is a link"), "{}", error(&output));
    }
    assert!(!target.exists(), "nothing was made where it leads");
    // To a file that exists as well.
    fs::write(&target, "").unwrap();
    assert_eq!(place.run(&["ps"]).status.code(), Some(125));
    assert_eq!(fs::read(&target).unwrap(), b"");
}

#[test]
fn the_folder_of_a_ledger_may_be_a_link() {
    let place = Place::new();
    let folder = place.path().join("folder");
    fs::create_dir(&folder).unwrap();
    symlink(&folder, place.path().join("link")).unwrap();
    let ledger = Ledger::open(place.path().join("link/ledger.db")).unwrap();
    drop(ledger);
    assert!(folder.join("ledger.db").exists());
}

#[test]
fn a_fifo_or_a_device_in_place_of_a_ledger_holds_nobody_up() {
    let place = Place::new();
    fifo(&place.ledger());
    let output = place.run(&["ps"]);
    assert_eq!(output.status.code(), Some(125), "{}", error(&output));
    let begun = Instant::now();
    let output = Command::new(super::mapa())
        .args(["--ledger", "/dev/zero", "--machine", "dgx-1v", "ps"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", error(&output));
    assert!(begun.elapsed() < Duration::from_secs(60));
}

/// SQLite would open it before it knows that a ledger has none.
#[test]
fn a_fifo_beside_a_ledger_holds_nobody_up() {
    for end in ["-journal", "-wal", "-shm"] {
        let place = Place::new();
        let name = format!("ledger.db{end}");
        fifo(&place.path().join(&name));
        let output = place.run(&["run", "-n", "1", "--", "true"]);
        assert_eq!(output.status.code(), Some(125), "{end}");
        assert!(error(&output).contains(&name), "{}", error(&output));
    }
}

/// What another program adds to the tables would run in our transactions, and may never end.
#[test]
fn a_ledger_with_an_object_that_is_none_of_ours_is_refused() {
    const ENDLESS: &str =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c";
    for strange in [
        &format!(
            "CREATE TRIGGER x AFTER INSERT ON decisions BEGIN SELECT count(*) FROM ({ENDLESS}); END"
        ),
        "CREATE VIEW x AS SELECT * FROM leases",
        &format!(
            "ALTER TABLE leases RENAME TO x; CREATE VIEW leases AS SELECT x.* FROM x, ({ENDLESS})"
        ),
        "DROP TRIGGER one_holder; CREATE TRIGGER one_holder BEFORE INSERT ON held BEGIN SELECT 1; END",
        "ALTER TABLE decisions ADD COLUMN x TEXT GENERATED ALWAYS AS (replace(hex(zeroblob(100000000)), '0', reason)) VIRTUAL",
        "ALTER TABLE decisions ADD COLUMN x TEXT CHECK (length(replace(hex(zeroblob(100000000)), '0', reason)) > 0)",
        "CREATE INDEX x ON leases (replace(hex(zeroblob(1000)), '0', command))",
        "CREATE INDEX x ON leases (command) WHERE length(hex(zeroblob(1000))) > 1",
        "DROP INDEX held_of_lease",
        "DROP TRIGGER one_holder",
        "CREATE TABLE x (y)",
    ] {
        let place = Place::new();
        drop(Ledger::open(place.ledger()).unwrap());
        let database = rusqlite::Connection::open(place.ledger()).unwrap();
        database.execute_batch(strange).unwrap();
        drop(database);
        let output = place.run(&["run", "-n", "1", "--", "true"]);
        assert_eq!(
            output.status.code(),
            Some(125),
            "{strange}: {}",
            error(&output)
        );
    }
    let place = Place::new();
    drop(Ledger::open(place.ledger()).unwrap());
    let database = rusqlite::Connection::open(place.ledger()).unwrap();
    database
        .execute("UPDATE ledger SET id = '../../../tmp/x'", [])
        .unwrap();
    drop(database);
    assert_eq!(place.run(&["ps"]).status.code(), Some(125));
}

/// An invented lease that has expired names a process, and the ledger's name becomes a link to a file which that process
/// has open.
#[test]
fn a_ledger_that_was_exchanged_for_a_link_signals_nobody() {
    let place = Place::new();
    let other = place.path().join("other");
    fs::write(&other, "").unwrap();
    let mut victim = Command::new("sleep")
        .arg("600")
        .stdin(fs::File::open(&other).unwrap())
        .spawn()
        .unwrap();
    let processes = Processes::new().unwrap();
    let mut bad = asker(&processes);
    bad.process = processes.identity(victim.id() as i32).unwrap();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    ledger
        .change(Durability::Boot, |books| {
            let now = mapa_node::now();
            books.grant(
                &bad,
                &[DeviceKey::whole("GPU0")],
                None,
                Some(now + 1),
                "test",
            )
        })
        .unwrap();
    // It has expired, and its `mapa run` is gone, so that others end its processes at once.
    let database = rusqlite::Connection::open(place.ledger()).unwrap();
    let early = "UPDATE leases SET adopted = 1, deadline = start * 10000000 + 1";
    assert_eq!(database.execute(early, []).unwrap(), 1);
    drop(database);
    thread::sleep(Duration::from_millis(50));
    fs::rename(place.ledger(), place.path().join("old.db")).unwrap();
    symlink(&other, place.ledger()).unwrap();
    for _ in 0..3 {
        let found = ledger.change(Durability::Boot, |books| {
            mapa_node::recover(books, &processes, "tester")
        });
        assert!(found.unwrap().released.is_empty());
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(victim.try_wait().unwrap(), None, "it goes on");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn a_database_of_another_program_is_not_written_to() {
    for number in [0, 7] {
        let place = Place::new();
        let other = rusqlite::Connection::open(place.ledger()).unwrap();
        other
            .execute_batch("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('x');")
            .unwrap();
        other.pragma_update(None, "application_id", number).unwrap();
        drop(other);
        let before = fs::read(place.ledger()).unwrap();
        for words in [&["ps"][..], &["run", "-n", "1", "--", "true"]] {
            let output = place.run(words);
            assert_eq!(output.status.code(), Some(125), "{words:?}");
            assert!(
                error(&output).contains("another program"),
                "{}",
                error(&output)
            );
        }
        assert_eq!(fs::read(place.ledger()).unwrap(), before);
    }
}

/// Runs a command that must not hang: a file that it opens without a writer would hold it up for ever.
fn in_time(place: &Place, words: &[&str]) -> Option<i32> {
    let mut child = place.mapa(words).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if begun.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// A pattern and a model by the name of a file, in the ticket of another user.
#[test]
fn files_that_others_name_in_the_ledger_are_not_opened() {
    let place = Place::new();
    let pipe = place.path().join("pipe");
    fifo(&pipe);
    let pipe = pipe.display().to_string();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let processes = Processes::new().unwrap();
    let words = ["run", "-n", "1", "--scheduler", "fifo", "--", "true"];
    let mut with_ticket = |policy: serde_json::Value, spec: serde_json::Value| {
        let mut bad = asker(&processes);
        (bad.policy, bad.spec) = (policy.to_string(), spec.to_string());
        let ticket = ledger
            .change(Durability::Boot, |books| {
                books.enqueue(&bad, "fifo", None, "test")
            })
            .unwrap();
        let status = in_time(&place, &words);
        assert!(place.run(&["ps"]).status.success());
        ledger
            .change(Durability::Boot, |books| {
                books.cancel("tester", ticket, "test")
            })
            .unwrap();
        status
    };
    use serde_json::json;
    // A request that cannot be read is left out, and the next one starts.
    let spec = json!({ "gpus": 2, "pattern": pipe });
    assert_eq!(with_ticket(json!({}), spec), Some(0));
    // Whose policy names a file decides by itself: the others wait, and one that may not is refused.
    let policy = json!({ "policy": "max-bandwidth", "model": pipe });
    assert_eq!(with_ticket(policy, json!({ "gpus": 2 })), Some(75));
    // The keys are those of a policy: one with a known model is no obstacle.
    let policy = json!({ "policy": "max-bandwidth", "model": "paper" });
    assert_eq!(with_ticket(policy, json!({ "gpus": 2 })), Some(0));
}

/// A lease that names a process which has nothing to do with it.
#[test]
fn a_process_that_an_invented_lease_names_gets_no_signal() {
    let place = Place::new();
    let processes = Processes::new().unwrap();
    let mut victim = Command::new("sleep").arg("600").spawn().unwrap();
    let mut bad = asker(&processes);
    bad.process = processes.identity(victim.id() as i32).unwrap();
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let lease = ledger
        .change(Durability::Boot, |books| {
            let lease = books.grant(&bad, &[DeviceKey::whole("GPU0")], None, None, "test")?;
            books.set_command_process(lease, &bad.process, Some("/sys/fs/cgroup"))?;
            Ok(lease)
        })
        .unwrap();
    let output = place.run(&["release", &lease.to_string()]);
    assert_eq!(output.status.code(), Some(125), "{}", error(&output));
    assert_eq!(victim.try_wait().unwrap(), None, "it goes on");
    let output = place.run(&["release", "--force", &lease.to_string()]);
    assert!(output.status.success(), "{}", error(&output));
    assert_eq!(victim.try_wait().unwrap(), None, "it goes on");
    assert_eq!(place.leases(), Vec::<i64>::new());
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn what_is_printed_has_neither_control_characters_nor_forged_lines() {
    let place = Place::new();
    let forged =
        "none\n2026-11-27 00:00:00 grant     root(0) lease 9 [GPU0]: forged\u{1b}]0;x\u{7}\u{202e}";
    assert!(
        place
            .run(&["cordon", "GPU7", "--reason", forged])
            .status
            .success()
    );
    let job = place
        .mapa(&[
            "run",
            "-n",
            "1",
            "--tenant",
            "\u{1b}[2Jroot",
            "--",
            "sh",
            "-c",
            "sleep 600 # \u{1b}[2J\nx",
        ])
        .stderr(Stdio::null())
        .spawn();
    let mut job = job.unwrap();
    let begun = Instant::now();
    while place.leases().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(10));
    }
    let before = place.log().len();
    for words in [&["log"][..], &["ps"], &["free"], &["tenants"]] {
        let output = place.run(words);
        let shown = text(&output);
        let bad = |character: char| {
            character.is_control() && character != '\n' || character == '\u{202e}'
        };
        assert!(!shown.contains(bad), "{words:?}: {shown:?}");
    }
    assert_eq!(text(&place.run(&["log"])).lines().count(), before);
    assert!(place.run(&["release", "1"]).status.success());
    job.wait().unwrap();
}

#[test]
fn the_audit_says_who_it_was_by_the_kernels_word() {
    let place = Place::new();
    let words = [
        "run",
        "-n",
        "1",
        "--tenant",
        "nobody(7)",
        "--",
        "sh",
        "-c",
        "exit 3",
    ];
    let output = place
        .mapa(&words)
        .env("USER", "somebody-else")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    let uid = rustix::process::geteuid().as_raw();
    let log = place.log();
    for kind in ["grant", "release"] {
        let row = log.iter().find(|row| row["kind"] == kind).unwrap();
        let owner = row["owner"].as_str().unwrap();
        assert!(
            owner.contains(&uid.to_string()) && owner.ends_with(" as nobody(7)"),
            "{row}"
        );
        assert!(!owner.contains("somebody-else"), "{row}");
        assert_eq!(row["uid"], uid);
        assert_eq!(row["command"], "sh -c exit 3");
    }
    let release = log.iter().find(|row| row["kind"] == "release").unwrap();
    assert_eq!(release["exit_status"], 3);
}

#[test]
fn a_row_of_the_audit_that_was_changed_or_removed_is_found() {
    let place = Place::new();
    for reason in ["first", "second", "third"] {
        assert!(
            place
                .run(&["cordon", "GPU1", "--reason", reason])
                .status
                .success()
        );
    }
    let verified = place.json(&["log", "--verify"]);
    let rows = verified["decisions"].as_array().unwrap().len();
    assert_eq!(verified["verified"]["rows"], rows);
    let hash = verified["verified"]["hash"].as_str().unwrap().to_owned();
    assert!(text(&place.run(&["log", "--verify"])).contains(&hash));
    for change in [
        "UPDATE decisions SET reason = 'another' WHERE reason = 'second'",
        "DELETE FROM decisions WHERE reason = 'second'",
        "UPDATE decisions SET uid = 7 WHERE reason = 'second'",
        "UPDATE decisions SET hash = NULL WHERE reason = 'second'",
    ] {
        let copy = place.path().join("copy.db");
        fs::copy(place.ledger(), &copy).unwrap();
        let log = place.ledger().with_extension("db-wal");
        fs::copy(log, copy.with_extension("db-wal")).unwrap();
        let database = rusqlite::Connection::open(&copy).unwrap();
        database.pragma_update(None, "foreign_keys", false).unwrap();
        assert_eq!(database.execute(change, []).unwrap(), 1, "{change}");
        drop(database);
        let ledger = Ledger::open(&copy).unwrap();
        let found = ledger.verify_audit().unwrap_err().to_string();
        assert!(found.contains("of the audit"), "{change}: {found}");
        for end in ["db", "db-wal", "db-shm"] {
            drop(fs::remove_file(copy.with_extension(end)));
        }
    }
    // A program of an earlier release may write rows without a hash while this one writes its own.
    let database = rusqlite::Connection::open(place.ledger()).unwrap();
    let old = "INSERT INTO decisions (at, kind, owner, devices, reason) VALUES (1, 'release', 'old', '', 'x')";
    database.execute(old, []).unwrap();
    drop(database);
    assert!(place.run(&["cordon", "GPU2"]).status.success());
    assert_eq!(
        place.json(&["log", "--verify"])["verified"]["rows"],
        rows + 1
    );
    // Rows that were removed at the end leave a chain, with another hash.
    let database = rusqlite::Connection::open(place.ledger()).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    let last = "DELETE FROM decisions WHERE reason = 'third' OR devices = 'GPU2'";
    database.execute(last, []).unwrap();
    assert_ne!(place.json(&["log", "--verify"])["verified"]["hash"], hash);
}

#[test]
fn what_replay_says_of_a_record_has_no_control_characters() {
    let place = Place::new();
    let record = place.path().join("record");
    fs::write(&record, "{\"line\":\"\\u001b[2Jx\\nforged\"}\n{}\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_mapa-node"))
        .arg("replay")
        .arg(&record)
        .output()
        .unwrap();
    let said = error(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("forged"), "{said}");
    assert!(!said.trim_end().contains(['\u{1b}', '\n']), "{said:?}");
}
