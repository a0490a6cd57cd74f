//! Damaged files, many connections, wrong clocks and other versions: each command answers or reports an error, and none hangs.
//!
//! `MAPA_DAMAGES` sets how many damaged copies each test tries.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mapa_core::testing::seed;
use mapa_node::Ledger;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::attacks::{is_well, resident};
use super::common::{Place, error, text};
use super::daemon::{Daemon, until};
use super::served::{Connection, run};

fn damages() -> usize {
    std::env::var("MAPA_DAMAGES").map_or(24, |text| text.parse().unwrap())
}

/// The bytes, with some of them cut off, flipped, zeroed, repeated or exchanged.
fn damaged(bytes: &[u8], random: &mut Pcg64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.is_empty() {
        return b"\0noise\xff".to_vec();
    }
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..bytes.len());
        let end = (at + random.random_range(1..4097)).min(bytes.len());
        match random.random_range(0..6) {
            0 => bytes.truncate(at.max(1)),
            1 => bytes[at] ^= 1 << random.random_range(0..8),
            2 => bytes[at..end].fill(0),
            3 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            4 => bytes[at..end].reverse(),
            _ => bytes[at..end]
                .iter_mut()
                .for_each(|byte| *byte = random.random()),
        }
    }
    bytes
}

/// Runs a command that must end by itself within a minute, and neither panic nor crash.
fn ended(command: &mut Command, what: &str) -> Output {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    // A pipe holds far more than a command prints.
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{what}: no end within a minute");
        }
        thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    let (status, said): (ExitStatus, String) = (output.status, error(&output));
    assert!(
        status.signal().is_none() && status.code() != Some(101) && !said.contains("panicked"),
        "{what}: {status}: {said}"
    );
    output
}

/// The files of a folder, by name.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = all
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| (entry.file_name().into(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// A ledger with an audit, a cordoned device, a lease of a process that has gone, and a row that waits.
fn with_history() -> Place {
    let place = Place::new();
    assert!(
        place
            .run(&["cordon", "GPU1", "--reason", "noise"])
            .status
            .success()
    );
    for gpus in ["1", "2", "3"] {
        assert!(
            place
                .run(&["run", "-n", gpus, "--", "true"])
                .status
                .success()
        );
    }
    let mut holder = place
        .mapa(&["run", "-n", "3", "--", "sleep", "600"])
        .spawn()
        .unwrap();
    until(|| place.leases().len() == 1);
    let mut waiting = place.mapa(&["run", "-n", "6", "--wait", "--", "true"]);
    let mut waiting = waiting.stderr(Stdio::null()).spawn().unwrap();
    until(|| place.json(&["ps"])["queue"].as_array().unwrap().len() == 1);
    for child in [&mut holder, &mut waiting] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    place
}

#[test]
fn a_ledger_that_is_cut_or_flipped_ends_in_an_error_or_an_answer() {
    let whole = with_history();
    let files = files(whole.path());
    let seed = seed(47);
    let mut answered = 0;
    for round in 0..damages() {
        let mut random = Pcg64::seed_from_u64(seed + round as u64);
        let place = Place::new();
        let hit = random.random_range(0..files.len());
        for (at, (name, bytes)) in files.iter().enumerate() {
            let bytes = if at == hit {
                damaged(bytes, &mut random)
            } else {
                bytes.clone()
            };
            fs::write(place.path().join(name), bytes).unwrap();
        }
        let what = format!("seed {seed}, round {round}, {}", files[hit].0.display());
        for words in [
            &["free"][..],
            &["--json", "ps"],
            &["log", "--verify"],
            &["run", "-n", "2", "--", "true"],
            &["recover"],
        ] {
            let output = ended(&mut place.mapa(words), &format!("{what}: {words:?}"));
            answered += usize::from(output.status.success());
            // An answer that could not be given has a reason.
            assert!(
                output.status.success() || !error(&output).is_empty(),
                "{what}: {words:?}"
            );
        }
        if round % 8 == 0 {
            let mut command = Command::new("timeout");
            let own = Daemon::command(&place, &["--scheduler", "fifo"]);
            let daemon = command.arg("2").arg(own.get_program()).args(own.get_args());
            let output = ended(daemon.stdin(Stdio::null()), &format!("{what}: daemon"));
            // It went on until it was ended, or said why not.
            assert!(
                matches!(output.status.code(), Some(0 | 124)) || !error(&output).is_empty(),
                "{what}: {}",
                output.status
            );
        }
    }
    // Much of a ledger is free pages and old rows: some of the answers are whole.
    assert!(answered > 0 || damages() < 10);
}

#[test]
fn a_record_that_is_cut_or_flipped_is_replayed_as_far_as_it_goes_or_refused() {
    let place = Place::new();
    let record = place.path().join("record");
    let daemon = Daemon::start(
        &place,
        &["--scheduler", "fifo", "--record", record.to_str().unwrap()],
    );
    for gpus in ["1", "8", "3"] {
        assert!(
            place
                .run(&["run", "-n", gpus, "--wait", "--", "true"])
                .status
                .success()
        );
    }
    assert_eq!(daemon.end("-TERM"), Some(0));
    let bytes = fs::read(&record).unwrap();
    let seed = seed(48);
    let mut whole = Command::new(env!("CARGO_BIN_EXE_mapa-node"));
    let output = ended(whole.arg("replay").arg(&record), "the record itself");
    assert!(output.status.success(), "{}", error(&output));
    for round in 0..2 * damages() {
        let mut random = Pcg64::seed_from_u64(seed + round as u64);
        fs::write(&record, damaged(&bytes, &mut random)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-node"));
        let output = ended(
            command.arg("replay").arg(&record).stdin(Stdio::null()),
            &format!("seed {seed}, round {round}"),
        );
        assert!(
            output.status.success() || !error(&output).is_empty(),
            "round {round}"
        );
    }
}

/// One user opens 10,000 idle connections: waiting jobs keep their places, new clients get answers, and the daemon's memory
/// does not grow with the connections.
#[test]
fn ten_thousand_connections_keep_nobody_out() {
    const CONNECTIONS: usize = 10_000;
    let limit = getrlimit(Resource::Nofile);
    if limit
        .maximum
        .is_some_and(|most| most < CONNECTIONS as u64 + 1000)
    {
        eprintln!("skipped: this process may not have {CONNECTIONS} descriptors");
        return;
    }
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let place = Place::new();
    let daemon = Daemon::start(&place, &["--scheduler", "fifo"]);
    let mut holder = Connection::of(&place);
    let mut granted = holder.ask(&run("dgx-a100", 8));
    while granted["answer"] == "queued" {
        granted = holder.next();
    }
    let lease = granted["grant"]["lease"].clone();
    let mut waiter = Connection::of(&place);
    assert_eq!(waiter.ask(&run("dgx-a100", 8))["answer"], "queued");
    let before = resident(&daemon);
    let socket = place.path().join("ledger.db.sock");
    let mut idle: Vec<UnixStream> = Vec::with_capacity(CONNECTIONS);
    while idle.len() < CONNECTIONS {
        // The kernel's list of those who wait to be let in may be full for a moment.
        match UnixStream::connect(&socket) {
            Ok(stream) => idle.push(stream),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}");
                thread::sleep(Duration::from_millis(1));
            }
        }
        // Some say half a query, some go at once.
        match idle.len() % 100 {
            7 => drop(
                idle.last()
                    .map(|mut stream| stream.write_all(b"{\"query\":")),
            ),
            8 => drop(
                idle.last()
                    .map(|stream| stream.shutdown(std::net::Shutdown::Write)),
            ),
            _ => {}
        }
    }
    is_well(&place);
    let grown = resident(&daemon).saturating_sub(before);
    assert!(grown < 64, "by {grown} MiB");
    // The one who waits is next.
    let done = json!({"query": "ended", "lease": lease, "reason": "it ended", "status": 0});
    assert_eq!(holder.ask(&done)["answer"], "noted");
    let mut answer = waiter.next();
    while answer["answer"] == "queued" {
        answer = waiter.next();
    }
    assert_eq!(answer["answer"], "granted", "{answer}");
    drop(idle);
    is_well(&place);
}

/// A library for `LD_PRELOAD`: a wall clock that is off by the seconds in a file. `None` without a compiler of C.
fn clock(folder: &Path) -> Option<PathBuf> {
    const SOURCE: &str = r#"
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        int clock_gettime(clockid_t id, struct timespec *at) {
            int result = syscall(SYS_clock_gettime, id, at);
            const char *name = getenv("MAPA_TEST_CLOCK");
            int file = id == CLOCK_REALTIME && name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
            if (file >= 0) {
                char text[32] = {0};
                if (read(file, text, sizeof text - 1) > 0)
                    at->tv_sec += atoll(text);
                close(file);
            }
            return result;
        }
    "#;
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, SOURCE).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no compiler of C");
        return None;
    }
    Some(library)
}

/// The wall clock jumps by decades, forward and back, under a daemon and under programs: leases last as long as they were
/// asked for, and the audit is whole.
#[test]
fn a_wall_clock_that_jumps_ends_no_lease_and_prolongs_none() {
    for is_served in [false, true] {
        let place = Place::new();
        let Some(library) = clock(place.path()) else {
            return;
        };
        let offset = place.path().join("offset");
        let set = |seconds: i64| {
            // In one step: a reader never finds it empty.
            let draft = place.path().join("offset.draft");
            fs::write(&draft, seconds.to_string()).unwrap();
            fs::rename(draft, &offset).unwrap();
        };
        let shifted = |command: &mut Command| {
            command
                .env("LD_PRELOAD", &library)
                .env("MAPA_TEST_CLOCK", &offset);
        };
        set(0);
        let _daemon = is_served.then(|| {
            let mut command = Daemon::command(&place, &["--scheduler", "fifo"]);
            shifted(&mut command);
            Daemon::of(&place, command)
        });
        if is_served {
            drop(Connection::of(&place));
        }
        let program = |words: &[&str]| {
            let mut command = place.mapa(words);
            shifted(&mut command);
            command
        };
        let output = program(&["--json", "log"]).output().unwrap();
        assert!(output.status.success(), "{}", error(&output));
        // The clock is off: a year of the audit tells.
        set(20 * 365 * 24 * 3600);
        assert!(
            program(&["cordon", "GPU7"])
                .output()
                .unwrap()
                .status
                .success()
        );
        let log = text(&program(&["log"]).output().unwrap());
        assert!(log.contains("\n204") || log.starts_with("204"), "{log}");
        assert!(
            program(&["uncordon", "GPU7"])
                .output()
                .unwrap()
                .status
                .success()
        );
        set(0);

        let long = program(&["run", "-n", "2", "--time", "1h", "--", "sleep", "600"]).spawn();
        let mut long = long.unwrap();
        let begun = Instant::now();
        let short = program(&["run", "-n", "2", "--time", "2s", "--", "sleep", "600"])
            .stderr(Stdio::null())
            .spawn();
        let mut short = short.unwrap();
        until(|| place.leases().len() == 2);
        // As long as 1970 is not reached, which no clock of Linux can pass.
        for seconds in [30 * 365 * 24 * 3600, -30 * 365 * 24 * 3600, -1_700_000_000] {
            set(seconds);
            assert!(program(&["recover"]).output().unwrap().status.success());
            assert!(place.leases().contains(&lease_of(&place, long.id())));
            thread::sleep(Duration::from_millis(200));
        }
        let status = short.wait().unwrap();
        // The lease ended after its two seconds of real time.
        assert!(!status.success());
        let took = begun.elapsed();
        assert!(
            Duration::from_secs(2) <= took && took < Duration::from_secs(40),
            "{took:?}"
        );
        set(-1_000_000_000);
        let output = program(&["run", "-n", "6", "--wait", "--", "true"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", error(&output));
        assert!(long.try_wait().unwrap().is_none());
        let ended = Command::new("kill").arg(long.id().to_string()).status();
        assert!(ended.unwrap().success());
        long.wait().unwrap();
        until(|| {
            assert!(program(&["recover"]).output().unwrap().status.success());
            place.leases().is_empty()
        });
        let verified = program(&["log", "--verify"]).output().unwrap();
        assert!(verified.status.success(), "{}", error(&verified));
        if !is_served {
            Ledger::open(place.ledger()).unwrap().verify().unwrap();
        }
    }
}

/// The lease of the program with this number.
fn lease_of(place: &Place, pid: u32) -> i64 {
    let ps = place.json(&["ps"]);
    let leases = ps["leases"].as_array().unwrap();
    let found = leases.iter().find(|lease| lease["pid"] == pid);
    found.unwrap_or_else(|| panic!("{ps}"))["lease"]
        .as_i64()
        .unwrap()
}

/// A daemon of another version, or a broken one, at the socket: it says what this program does not know, says half, says
/// too much, or hangs up. Its clients end with an error that names the socket.
#[test]
fn a_daemon_that_answers_nonsense_is_an_error() {
    let place = Place::new();
    assert!(place.run(&["free"]).status.success());
    let socket = place.path().join("ledger.db.sock");
    let deep = format!("{}\n", "[".repeat(200_000));
    let other = json!({"version": 1, "result": {"answer": "of another version", "more": 7}});
    let wrong = json!({"version": 1, "result": {"answer": "granted", "grant": {}}});
    let answers: [&[u8]; 9] = [
        b"",
        b"\n",
        b"{}\n",
        b"{\"schema\":",
        b"\xff\xfe\x00\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        deep.as_bytes(),
        &line(&other),
        &line(&wrong),
    ];
    for answer in answers {
        let listener = UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let _over = Over(&is_over);
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let Ok((mut stream, _)) = listener.accept() else {
                        thread::sleep(Duration::from_millis(1));
                        continue;
                    };
                    stream.set_nonblocking(false).unwrap();
                    let mut query = [0; 4096];
                    drop(stream.read(&mut query));
                    drop(stream.write_all(answer));
                }
            });
            for words in [
                &["free"][..],
                &["--json", "ps"],
                &["log"],
                &["run", "-n", "1", "--", "true"],
                &["release", "1"],
                &["cordon", "GPU0"],
            ] {
                let what = format!(
                    "{words:?}: {}",
                    String::from_utf8_lossy(&answer[..answer.len().min(60)])
                );
                let output = ended(&mut place.mapa(words), &what);
                let said = error(&output) + &text(&output);
                assert_eq!(output.status.code(), Some(125), "{what}: {said}");
                assert!(
                    said.contains("ledger.db.sock") && said.contains("expected"),
                    "{what}: {said}"
                );
                assert!(said.len() < 8000, "{what}: {} bytes", said.len());
            }
        });
        drop(listener);
        fs::remove_file(&socket).unwrap();
    }
    // Without it, all is as before.
    assert!(
        place
            .run(&["run", "-n", "8", "--", "true"])
            .status
            .success()
    );
}

/// Says at its end that it is over, also where a test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn line(answer: &Value) -> Vec<u8> {
    format!("{answer}\n").into_bytes()
}
