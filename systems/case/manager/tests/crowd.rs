//! Many processes and a manager, all of which are killed at random.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mapa_case::message::flags;
use mapa_case::{Declared, Error, Session, SharedTransport, Socket};
use mapa_node::TaskRecord;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rustix::io::{FdFlags, fcntl_setfd};

use super::world::{Node, UNIT};

const CONTEXT: u64 = UNIT / 10;
const MEMORY: [u64; 3] = [60, 60, 100];

/// Starts this test binary again, as a client that does `what`.
pub(crate) fn client(node: &Node, what: &str, seed: u64, tasks: u64) -> Child {
    client_of(&node.socket(), what, seed, tasks)
}

/// The same, of a manager that listens there.
pub(crate) fn client_of(socket: &Path, what: &str, seed: u64, tasks: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crowd::client_process", "--nocapture"])
        .env("MAPA_TEST_CLIENT", what)
        .env("MAPA_TEST_SOCKET", socket)
        .env("MAPA_TEST_SEED", seed.to_string())
        .env("MAPA_TEST_TASKS", tasks.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a client does. Does nothing as a test of its own.
#[test]
fn client_process() {
    let Ok(what) = std::env::var("MAPA_TEST_CLIENT") else {
        return;
    };
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let socket = PathBuf::from(std::env::var_os("MAPA_TEST_SOCKET").unwrap());
    let (seed, tasks) = (number("MAPA_TEST_SEED"), number("MAPA_TEST_TASKS"));
    match &*what {
        "hold" => hold(socket),
        "keep" => keep(&socket, seed),
        "forge" => super::hostile::forge(&socket, seed),
        "work" => work(by_messages(socket), seed, tasks),
        "work-by-memory" => work(by_memory(socket), seed, tasks),
        other => panic!("no client does {other}"),
    }
}

/// Holds nearly all of an instance. A child inherits the connection; its number is left in a file.
fn hold(socket: PathBuf) {
    let pid = socket.with_file_name("grandchild");
    let session = Session::over(socket, Declared::default(), |path| {
        let socket = Socket::connect(path)?;
        fcntl_setfd(socket.fd(), FdFlags::empty())?;
        Ok(Arc::new(socket))
    });
    session.begin(1, 59 * UNIT, 1, 0).unwrap();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    std::fs::write(pid, child.id().to_string()).unwrap();
    child.wait().unwrap();
}

/// Holds so many units until it is killed. What the process sees is left in a file.
fn keep(socket: &Path, units: u64) {
    let session = Session::new(socket.to_owned(), Declared::default());
    let instance = session.begin(1, units * UNIT, 1, 0).unwrap().instance;
    let visible = session.describe(instance).unwrap().visible;
    let [new, file] = ["kept.new", "kept"].map(|name| socket.with_file_name(name));
    std::fs::write(&new, visible).unwrap();
    std::fs::rename(new, file).unwrap();
    loop {
        std::thread::park();
    }
}

fn by_messages(socket: PathBuf) -> impl Fn(Declared) -> Session {
    move |declared| Session::new(socket.clone(), declared)
}

fn by_memory(socket: PathBuf) -> impl Fn(Declared) -> Session {
    move |declared| {
        Session::over(socket.clone(), declared, |path| {
            Ok(Arc::new(SharedTransport::connect(path)?))
        })
    }
}

/// Tasks of random sizes, some of which grow. Every call must be answered.
fn work(begins: impl Fn(Declared) -> Session, seed: u64, tasks: u64) {
    let mut random = Pcg64::seed_from_u64(mapa_core::testing::seed(seed));
    if seed.is_multiple_of(16) {
        // An isolated job, for a moment.
        let session = begins(Declared {
            largest: 20 * UNIT,
            isolated: true,
            grows: false,
        });
        session.init().unwrap();
        std::thread::sleep(Duration::from_millis(random.random_range(1..30)));
        return;
    }
    let grows = seed.is_multiple_of(5);
    let session = begins(Declared {
        largest: if seed.is_multiple_of(2) { 30 * UNIT } else { 0 },
        grows,
        isolated: false,
    });
    for task in 1..=tasks {
        let bytes = random.random_range(0..=30) * UNIT;
        let begun = session.begin(task, bytes, random.random_range(0..64), 0);
        match begun {
            Ok(_) => {}
            Err(Error::OutOfMemory) => continue,
            Err(other) => panic!("begin {task} of {seed}: {other}"),
        }
        if grows && random.random_range(0..4) == 0 {
            let more = random.random_range(1..=50) * UNIT;
            match session.extend(task, more, 0) {
                Ok(_) | Err(Error::OutOfMemory) => {}
                Err(other) => panic!("extend {task} of {seed}: {other}"),
            }
        }
        session.end(task).unwrap();
    }
    session.destroy().unwrap();
}

fn check(all: &[TaskRecord]) {
    let mut used: BTreeMap<u64, u64> = BTreeMap::new();
    let mut alone: BTreeMap<u64, u64> = BTreeMap::new();
    let mut tasks: BTreeMap<u64, u64> = BTreeMap::new();
    for entry in all {
        if entry.is_session && entry.flags & flags::ISOLATED != 0 {
            *alone.entry(entry.instance).or_default() += 1;
        } else if entry.is_session && entry.instance > 0 {
            *used.entry(entry.instance).or_default() += CONTEXT;
        } else if !entry.is_session {
            *used.entry(entry.instance).or_default() += entry.bytes;
            *tasks.entry(entry.instance).or_default() += 1;
        }
    }
    for (instance, bytes) in used {
        let capacity = MEMORY[instance as usize - 1] * UNIT;
        assert!(
            bytes < capacity,
            "{bytes} of {capacity} on {instance}: {all:?}"
        );
    }
    for (instance, jobs) in alone {
        assert_eq!(jobs, 1, "{all:?}");
        assert!(
            !tasks.contains_key(&instance),
            "a task beside an isolated job: {all:?}"
        );
    }
}

/// Runs so many clients that do `what`, with so many tasks each. Every so often a client or the manager
/// is killed; a killed client is replaced. Returns how many of both were killed.
fn crowd(what: &str, clients: usize, tasks: u64, words: &[&str], seed: u64) -> (usize, usize) {
    let context = CONTEXT.to_string();
    let mut all_words = vec!["--processes-per-slice", "64", "--context-bytes", &context];
    all_words.extend(words);
    let mut node = Node::new(&MEMORY, &all_words);
    let mut random = Pcg64::seed_from_u64(mapa_core::testing::seed(seed));
    let mut next = 1000 * seed;
    let mut running: Vec<Child> = Vec::new();
    let mut start = |node: &Node| {
        next += 1;
        client(node, what, next, tasks)
    };
    for _ in 0..clients {
        running.push(start(&node));
    }
    let (mut killed, mut managers, mut done, mut rounds) = (0, 0, 0, 0);
    // As many as there are clients are killed and replaced; then those that are left finish.
    let begun = Instant::now();
    while done < clients {
        assert!(
            begun.elapsed() < Duration::from_secs(3600),
            "{done} of {clients} are done"
        );
        std::thread::sleep(Duration::from_millis(random.random_range(1..40)));
        check(&node.entries());
        rounds += 1;
        let mut at = 0;
        while at < running.len() {
            match running[at].try_wait().unwrap() {
                Some(status) => {
                    assert!(status.success(), "a client has failed: {status}");
                    running.swap_remove(at).wait().unwrap();
                    done += 1;
                }
                None => at += 1,
            }
        }
        // The first of both at the first round, however fast the clients are.
        let is_time = rounds == 1 || random.random_range(0..2) == 0;
        if killed < clients && !running.is_empty() && is_time {
            let at = random.random_range(0..running.len());
            let mut victim = running.swap_remove(at);
            // It may have ended just now.
            let ended = victim.try_wait().unwrap();
            victim.kill().unwrap();
            victim.wait().unwrap();
            if ended.is_some_and(|status| status.success()) {
                done += 1;
            } else {
                killed += 1;
                running.push(start(&node));
            }
        }
        if rounds == 1 || random.random_range(0..12) == 0 {
            node.kill();
            check(&node.entries());
            std::thread::sleep(Duration::from_millis(random.random_range(0..20)));
            node.start();
            managers += 1;
        }
    }
    assert!(rounds > 0);
    // Nothing has leaked: all of each instance can be had.
    let all: Vec<Session> = MEMORY
        .iter()
        .map(|_| node.session(Declared::default()))
        .collect();
    for (session, units) in all.iter().zip([100, 60, 60]) {
        // A context, and strictly less than the instance.
        session.begin(1, units * UNIT - CONTEXT - 1, 1, 0).unwrap();
    }
    for session in &all {
        session.end(1).unwrap();
    }
    let left = node.entries();
    assert!(
        left.iter()
            .all(|entry| entry.is_session && entry.pid == std::process::id() as i32),
        "{left:?}"
    );
    (killed, managers)
}

#[test]
fn kills_break_nothing() {
    let (killed, managers) = crowd("work", 8, 3000, &[], 1);
    assert!(
        killed > 0 && managers > 0,
        "{killed} clients and {managers} managers were killed"
    );
}

#[test]
fn kills_break_nothing_under_the_balanced_manager() {
    crowd("work", 6, 2000, &["--scheduler", "case-balanced"], 2);
}

#[test]
fn kills_break_nothing_by_shared_memory() {
    crowd("work-by-memory", 6, 2000, &[], 3);
}

/// The measure of the specification, of 64 clients with 10,000 tasks each. `.ci/full` runs it.
fn large(what: &str, seed: u64) {
    let begun = Instant::now();
    let (killed, managers) = crowd(what, 64, 10_000, &[], seed);
    assert!(
        killed >= 32 && managers >= 8,
        "{killed} clients and {managers} managers were killed"
    );
    let seconds = begun.elapsed().as_secs();
    eprintln!("{what}: {seconds} s; killed: {killed} clients, {managers} managers");
}

#[test]
#[ignore = "takes minutes: 64 clients with 10,000 tasks each"]
fn kills_break_nothing_in_a_large_crowd() {
    large("work", 4);
}

#[test]
#[ignore = "takes minutes: 64 clients with 10,000 tasks each"]
fn kills_break_nothing_in_a_large_crowd_by_shared_memory() {
    large("work-by-memory", 5);
}
