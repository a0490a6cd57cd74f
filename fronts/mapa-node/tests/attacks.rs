//! Attacks on the daemon at its socket: by members of its group, by users outside of it, and by programs with faults.

use std::fs;
use std::io::{BufRead, BufReader, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mapa_node::Processes;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::Uid;
use serde_json::{Value, json};

use super::common::{Place, error, text};
use super::crowd::judge;
use super::daemon::{Daemon, until};
use super::served::{Connection, command, run, shared};
use super::users::{GROUP, USERS, mapa};

/// The variable that makes this program a client of the socket that it names.
const SOCKET: &str = "MAPA_ATTACKS_SOCKET";

/// The variable that makes that client pass its connection to whoever listens at this socket.
const PASS: &str = "MAPA_ATTACKS_PASS";

fn socket(place: &Place) -> PathBuf {
    place.path().join("ledger.db.sock")
}

fn served() -> (Place, Daemon) {
    let place = Place::new();
    let daemon = Daemon::start(&place, &["--scheduler", "fifo"]);
    (place, daemon)
}

/// A device count that a connection gets at once.
fn granted(connection: &mut Connection, gpus: usize) -> i64 {
    let mut answer = connection.ask(&run("dgx-a100", gpus));
    while answer["answer"] == "queued" {
        answer = connection.next();
    }
    assert_eq!(answer["answer"], "granted", "{answer}");
    answer["grant"]["lease"].as_i64().unwrap()
}

fn queued(connection: &mut Connection, gpus: usize) -> i64 {
    let answer = connection.ask(&run("dgx-a100", gpus));
    assert_eq!(answer["answer"], "queued", "{answer}");
    answer["ticket"].as_i64().unwrap()
}

fn ended(lease: i64) -> Value {
    json!({"query": "ended", "lease": lease, "reason": "it ended", "status": 0})
}

/// The next answer that is not about a place in the queue.
fn settled(connection: &mut Connection) -> Value {
    loop {
        let answer = connection.next();
        if answer["answer"] != "queued" {
            return answer;
        }
    }
}

/// Whether the daemon answers a client who comes now.
pub(crate) fn is_well(place: &Place) {
    let begun = Instant::now();
    let answer = Connection::of(place).ask(&json!({"query": "status"}));
    assert_eq!(answer["answer"], "status", "{answer}");
    let decided = Connection::of(place).ask(&json!({"query": "free"}));
    assert_eq!(decided["answer"], "free", "{decided}");
    assert!(begun.elapsed() < Duration::from_secs(30));
}

/// Whether the other end closes a connection: soon, or after what it waits for.
fn is_closed(stream: &mut UnixStream) -> bool {
    let limit = Duration::from_secs(60);
    stream.set_read_timeout(Some(limit)).unwrap();
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// Resident memory of a daemon, MiB.
pub(crate) fn resident(daemon: &Daemon) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", daemon.0.id())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let mut words = line.unwrap().split_ascii_whitespace();
    words.next().unwrap().parse::<u64>().unwrap() >> 10
}

/// A client of another user, who is a member of the group.
struct Other {
    child: Child,
    answers: BufReader<std::process::ChildStderr>,
}

impl Other {
    /// This program as that user: what `is_the_client_of_another_user` does.
    fn command(place: &Place, user: u32) -> Command {
        let program = place.path().join("client");
        if !program.exists() {
            fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = Command::new(program);
        command
            .args([
                "--exact",
                "attacks::is_the_client_of_another_user",
                "--nocapture",
            ])
            .env(SOCKET, socket(place))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .gid(GROUP)
            .uid(user);
        command
    }

    fn of(place: &Place, user: usize) -> Self {
        drop(Connection::of(place));
        let mut child = Self::command(place, USERS[user]).spawn().unwrap();
        let answers = BufReader::new(child.stderr.take().unwrap());
        Self { child, answers }
    }

    fn ask(&mut self, query: &Value) -> Value {
        writeln!(self.child.stdin.as_mut().unwrap(), "{query}").unwrap();
        let mut line = String::new();
        while !line.starts_with('{') {
            line.clear();
            let length = self.answers.read_line(&mut line).unwrap();
            assert!(length > 0, "no answer to {query}");
        }
        serde_json::from_str::<Value>(&line).unwrap()["result"].clone()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Not a test of its own: asks what comes at its input, each query by a new connection if the line before was `new`.
#[test]
fn is_the_client_of_another_user() {
    let Ok(socket) = std::env::var(SOCKET) else {
        return;
    };
    let mut stream = UnixStream::connect(&socket).unwrap();
    if let Ok(to) = std::env::var(PASS) {
        // The daemon lets nobody in who has ended before it looks.
        writeln!(stream, "{{\"query\":\"status\"}}").unwrap();
        BufReader::new(stream.try_clone().unwrap())
            .read_line(&mut String::new())
            .unwrap();
        let to = UnixStream::connect(to).unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut passed = SendAncillaryBuffer::new(&mut space);
        let fds = [stream.as_fd()];
        assert!(passed.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&to, &[IoSlice::new(b"x")], &mut passed, SendFlags::empty()).unwrap();
        return;
    }
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        if line == "\"new\"" {
            stream = UnixStream::connect(&socket).unwrap();
            answers = BufReader::new(stream.try_clone().unwrap());
            eprintln!("{{\"result\": \"new\"}}");
            continue;
        }
        writeln!(stream, "{line}").unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        eprint!("{answer}");
    }
}

#[test]
fn a_line_that_is_no_query_is_an_error_and_the_next_one_is_answered() {
    let (place, daemon) = served();
    let mut connection = Connection::of(&place);
    let deep = format!("{{\"query\":{}", "[".repeat(50_000));
    let wide = format!("{{\"query\":[{}0]}}", "0,".repeat(20_000));
    let long = format!("{{\"query\":\"{}\"}}", "x".repeat(900_000));
    let long_cancel = json!({"query": "cancel", "ticket": 1, "reason": "x".repeat(100_000)});
    for line in [
        "".as_bytes(),
        b"null",
        b"[]",
        b"{}",
        b"\0\0\0",
        b"{\"query\":\"status\xff\"}",
        b"{\"query\":\"status\",\"more\":1}",
        b"{\"query\":\"status\"}{\"query\":\"status\"}",
        b"{\"query\":\"Status\"}",
        b"{\"query\":\"log\",\"last\":-1,\"lease\":null,\"verify\":false}",
        b"{\"query\":\"log\",\"last\":1e400,\"lease\":null,\"verify\":false}",
        b"{\"query\":\"cancel\",\"ticket\":99999999999999999999,\"reason\":\"\"}",
        b"{\"query\":\"run\",\"request\":{}}",
        b"GET / HTTP/1.1\r",
        deep.as_bytes(),
        wide.as_bytes(),
        long.as_bytes(),
        long_cancel.to_string().as_bytes(),
    ] {
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        let stream = connection.stream.get_mut();
        stream.write_all(line).unwrap();
        stream.write_all(b"\n").unwrap();
        let answer = connection.next();
        assert_eq!(answer["answer"], "error", "{shown}: {answer}");
        let length = answer["error"].as_str().unwrap().len();
        assert!(length < 100_000, "{shown}: {length}");
        let status = connection.ask(&json!({"query": "status"}));
        assert_eq!(status["answer"], "status", "{shown}");
    }
    // Nothing of it fills the log.
    assert!(place.text("daemon.log").len() < 100_000);
    assert_eq!(daemon.end("-TERM"), Some(0));
}

#[test]
fn a_query_without_an_end_is_refused_and_its_connection_closed() {
    let (place, _daemon) = served();
    let mut connection = Connection::of(&place);
    let stream = connection.stream.get_mut();
    // Whoever has refused it reads no more.
    let _ = stream.write_all(&vec![b'x'; 4 << 20]);
    let mut answer = String::new();
    if connection.stream.read_line(&mut answer).is_ok() && !answer.is_empty() {
        assert!(answer.contains("expected one line"), "{answer}");
    }
    assert!(is_closed(connection.stream.get_mut()));
    is_well(&place);
}

#[test]
fn a_query_that_comes_byte_by_byte_is_not_waited_for() {
    let (place, _daemon) = served();
    let mut connection = Connection::of(&place);
    let slow = connection.stream.get_mut();
    let begun = Instant::now();
    while slow.write_all(b"{").is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody ends it");
        thread::sleep(Duration::from_millis(200));
    }
    is_well(&place);
}

#[test]
fn whoever_goes_within_a_query_leaves_nothing_behind() {
    let (place, _daemon) = served();
    let query = run("dgx-a100", 8).to_string();
    let mut connection = Connection::of(&place);
    for length in (0..query.len()).step_by(7) {
        let stream = connection.stream.get_mut();
        stream.write_all(&query.as_bytes()[..length]).unwrap();
        connection = Connection::of(&place);
    }
    is_well(&place);
    assert!(place.leases().is_empty());
    assert_eq!(place.json(&["ps"])["queue"], json!([]));
}

#[test]
fn queries_that_come_at_once_are_answered_in_their_order() {
    let (place, _daemon) = served();
    let mut connection = Connection::of(&place);
    let queries = ["status", "tenants", "metrics", "free"];
    let line = queries.map(|query| format!("{}\n", json!({ "query": query })));
    let stream = connection.stream.get_mut();
    stream
        .write_all(line.concat().repeat(50).as_bytes())
        .unwrap();
    for _ in 0..50 {
        for query in queries {
            assert_eq!(connection.next()["answer"], query);
        }
    }
}

/// A connection that always has a next query would have kept the thread of all connections for itself.
#[test]
fn a_client_that_never_stops_asking_delays_nobody_for_long() {
    let (place, _daemon) = served();
    drop(Connection::of(&place));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut floods = Vec::new();
    for _ in 0..2 {
        let stream = UnixStream::connect(socket(&place)).unwrap();
        let (mut to, mut from) = (stream.try_clone().unwrap(), stream);
        let over = is_over.clone();
        floods.push(thread::spawn(move || {
            let queries = "{\"query\":\"status\"}\n".repeat(1000);
            while !over.load(Ordering::Relaxed) && to.write_all(queries.as_bytes()).is_ok() {}
            drop(to.shutdown(std::net::Shutdown::Both));
        }));
        floods.push(thread::spawn(move || {
            let mut part = vec![0; 1 << 20];
            while from.read(&mut part).is_ok_and(|length| length > 0) {}
        }));
    }
    thread::sleep(Duration::from_millis(200));
    for _ in 0..10 {
        is_well(&place);
    }
    is_over.store(true, Ordering::Relaxed);
    for flood in floods {
        flood.join().unwrap();
    }
}

#[test]
fn answers_that_nobody_reads_are_not_kept() {
    let (place, daemon) = served();
    drop(Connection::of(&place));
    let before = resident(&daemon);
    let mut deaf = Vec::new();
    for _ in 0..8 {
        let stream = UnixStream::connect(socket(&place)).unwrap();
        stream
            .set_write_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let queries = "{\"query\":\"metrics\"}\n".repeat(1000);
        while (&stream).write_all(queries.as_bytes()).is_ok() {}
        deaf.push(stream);
    }
    is_well(&place);
    let grown = resident(&daemon).saturating_sub(before);
    assert!(grown < 64, "by {grown} MiB");
    // They are ended after a while, though none of them reads that.
    for mut stream in deaf {
        until(|| {
            let sent = stream.write_all(b"{\"query\":\"status\"}\n");
            sent.is_err_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
        });
    }
}

#[test]
fn what_one_user_has_the_daemon_keep_is_limited() {
    let (place, daemon) = served();
    drop(Connection::of(&place));
    let before = resident(&daemon);
    let half = vec![b'x'; 1_000_000];
    let mut streams = Vec::new();
    for _ in 0..200 {
        let mut stream = UnixStream::connect(socket(&place)).unwrap();
        let _ = stream.write_all(&half);
        streams.push(stream);
    }
    let grown = resident(&daemon).saturating_sub(before);
    assert!(grown < 100, "by {grown} MiB of 200");
    drop(streams);
    is_well(&place);
}

/// A daemon with few descriptors, its socket the group's.
fn with_few_descriptors(place: &Place, limit: u32) -> Daemon {
    let own = command(place);
    let mut few = Command::new("sh");
    few.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\"")])
        .arg(own.get_program())
        .args(own.get_args())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Daemon::of(place, few)
}

#[test]
fn idle_connections_make_room_for_those_who_ask() {
    let place = Place::new();
    let _daemon = with_few_descriptors(&place, 300);
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(Connection::of(&place));
    }
    is_well(&place);
    let closed = idle.iter_mut().filter(|idle| {
        let stream = idle.stream.get_ref();
        stream.set_nonblocking(true).unwrap();
        let mut byte = [0];
        let mut stream: &UnixStream = stream;
        matches!(stream.read(&mut byte), Ok(0))
    });
    assert!(closed.count() >= 100);
}

#[test]
fn a_user_who_uses_up_all_connections_shuts_no_other_user_out() {
    let Some((place, daemon)) = shared() else {
        return;
    };
    assert_eq!(daemon.end("-TERM"), Some(0));
    let _daemon = with_few_descriptors(&place, 300);
    let mut first = Connection::of(&place);
    granted(&mut first, 8);
    // Each waits in the queue: none is idle.
    let mut waiting = Vec::new();
    while waiting.len() < 43 {
        let mut connection = Connection::of(&place);
        queued(&mut connection, 1);
        waiting.push(connection);
    }
    let free = mapa(&place, 1, &["--json", "free"]).output().unwrap();
    assert!(free.status.success(), "{}", error(&free));
    assert_eq!(
        serde_json::from_slice::<Value>(&free.stdout).unwrap()["free"],
        0
    );
}

#[test]
fn a_connection_has_one_job() {
    let (place, _daemon) = served();
    let mut connection = Connection::of(&place);
    let lease = granted(&mut connection, 2);
    for query in [run("dgx-a100", 1), json!({"query": "resume", "ticket": 1})] {
        let second = connection.ask(&query);
        assert_eq!(second["answer"], "error", "{second}");
    }
    assert_eq!(place.leases(), [lease]);
    assert_eq!(connection.ask(&ended(lease))["answer"], "noted");
    let next = granted(&mut connection, 1);
    assert_eq!(place.leases(), [next]);
}

#[test]
fn of_two_who_resume_one_place_the_later_gets_the_devices() {
    let (place, _daemon) = served();
    let mut holder = Connection::of(&place);
    let lease = granted(&mut holder, 8);
    let mut first = Connection::of(&place);
    let ticket = queued(&mut first, 8);
    let mut second = Connection::of(&place);
    let again = second.ask(&json!({"query": "resume", "ticket": ticket}));
    assert_eq!(again["ticket"], ticket, "{again}");
    assert_eq!(
        (&again["position"], &again["length"]),
        (&json!(1), &json!(1))
    );
    // The earlier one would wait for ever.
    assert!(is_closed(first.stream.get_mut()));
    assert_eq!(holder.ask(&ended(lease))["answer"], "noted");
    let answer = settled(&mut second);
    assert_eq!(answer["answer"], "granted", "{answer}");
    assert_eq!(place.leases().len(), 1);
}

#[test]
fn to_cancel_or_end_what_is_not_there_costs_no_place_and_no_lease() {
    let (place, _daemon) = served();
    let mut holder = Connection::of(&place);
    let lease = granted(&mut holder, 8);
    assert_eq!(holder.ask(&ended(lease + 7))["answer"], "error");
    let mut waiter = Connection::of(&place);
    queued(&mut waiter, 8);
    let cancel = json!({"query": "cancel", "ticket": 999, "reason": "none"});
    waiter.send(&cancel);
    while waiter.next()["answer"] == "queued" {}
    assert_eq!(holder.ask(&ended(lease))["answer"], "noted");
    let answer = settled(&mut waiter);
    assert_eq!(answer["answer"], "granted", "{answer}");
}

#[test]
fn the_tickets_and_leases_of_another_user_are_out_of_reach() {
    let Some((place, _daemon)) = shared() else {
        return;
    };
    let mut holder = Connection::of(&place);
    let lease = granted(&mut holder, 8);
    let mut waiter = Connection::of(&place);
    let ticket = queued(&mut waiter, 8);
    let mut other = Other::of(&place, 0);
    let own = Processes::new().unwrap().own().unwrap();
    let started = json!({
        "query": "started", "lease": lease, "pid": own.id.pid, "start": own.id.start,
        "namespace": own.namespace, "cgroup": null,
    });
    for query in [
        json!({"query": "resume", "ticket": ticket}),
        json!({"query": "resume", "ticket": ticket - 1}),
        started,
        json!({"query": "grouped", "lease": lease, "cgroup": "/sys/fs/cgroup"}),
        ended(lease),
        json!({"query": "release", "lease": lease, "force": true}),
        json!({"query": "cordon", "devices": [], "reason": "x", "seconds": null}),
        json!({"query": "uncordon", "devices": [], "reason": "x"}),
        json!({"query": "recover"}),
    ] {
        let answer = other.ask(&query);
        assert_eq!(answer["answer"], "error", "{query}: {answer}");
    }
    other.ask(&json!({"query": "cancel", "ticket": ticket, "reason": "x"}));
    let ps = place.json(&["ps"]);
    assert_eq!(ps["leases"][0]["lease"], lease);
    assert_eq!(ps["queue"][0]["ticket"], ticket);
    assert_eq!(ps["leases"][0]["command_pid"], Value::Null);
}

#[test]
fn a_user_outside_of_the_group_is_not_let_in() {
    let Some((place, _daemon)) = shared() else {
        return;
    };
    drop(Connection::of(&place));
    let mut outside = mapa(&place, 0, &["free"]);
    let folder = fs::metadata(place.path()).unwrap().permissions();
    // Whoever may enter the folder may still not ask.
    let mode = fs::Permissions::from_mode(folder.mode() | 0o005);
    fs::set_permissions(place.path(), mode).unwrap();
    outside.gid(51_003).uid(51_003);
    let output = outside.output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", text(&output));
    assert!(
        error(&output).contains("expected a member of the group"),
        "{}",
        error(&output)
    );
}

/// It connects as a user whom its process is not: as if its number had been given to a process of another user since.
#[test]
fn a_number_that_another_users_process_has_now_is_no_identity() {
    let Some((place, _daemon)) = shared() else {
        return;
    };
    drop(Connection::of(&place));
    let path = socket(&place);
    let user = thread::spawn(move || {
        rustix::thread::set_thread_gid(rustix::process::Gid::from_raw(GROUP)).unwrap();
        rustix::thread::set_thread_uid(Uid::from_raw(USERS[0])).unwrap();
        UnixStream::connect(path).unwrap()
    });
    let mut stream = user.join().unwrap();
    let _ = stream.write_all(b"{\"query\":\"status\"}\n");
    assert!(is_closed(&mut stream));
    is_well(&place);
}

#[test]
fn a_connection_that_was_passed_on_stays_that_of_its_first_process() {
    let Some((place, _daemon)) = shared() else {
        return;
    };
    drop(Connection::of(&place));
    let to = place.path().join("open/pass");
    let listener = UnixListener::bind(&to).unwrap();
    fs::set_permissions(&to, fs::Permissions::from_mode(0o777)).unwrap();
    let mut child = Other::command(&place, USERS[0]);
    let mut child = child.env(PASS, &to).stderr(Stdio::null()).spawn().unwrap();
    let (from, _) = listener.accept().unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut passed = RecvAncillaryBuffer::new(&mut space);
    let (mut byte, flags) = ([0], RecvFlags::empty());
    let mut part = [std::io::IoSliceMut::new(&mut byte)];
    recvmsg(&from, &mut part, &mut passed, flags).unwrap();
    let fd: OwnedFd = passed
        .drain()
        .find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        })
        .unwrap();
    child.wait().unwrap();
    let mut connection = Connection {
        stream: BufReader::new(UnixStream::from(fd)),
    };
    // This process is root, and the connection is not.
    let recover = connection.ask(&json!({"query": "recover"}));
    assert_eq!(recover["answer"], "error", "{recover}");
    // Devices for a process that has ended would be given to another at once.
    let answer = connection.ask(&run("dgx-a100", 1));
    assert_eq!(answer["answer"], "error", "{answer}");
    assert!(
        answer["error"].as_str().unwrap().contains("has ended"),
        "{answer}"
    );
    assert!(place.leases().is_empty());
}

#[test]
fn a_lease_does_not_end_while_its_command_runs() {
    let (place, _daemon) = served();
    let mut connection = Connection::of(&place);
    let lease = granted(&mut connection, 2);
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let processes = Processes::new().unwrap();
    let identity = processes.identity(child.id() as i32).unwrap();
    let started = |pid: i32, start: i64, namespace: i64, cgroup: Option<&str>| {
        json!({
            "query": "started", "lease": lease, "pid": pid, "start": start,
            "namespace": namespace, "cgroup": cgroup,
        })
    };
    let (pid, start, namespace) = (identity.id.pid, identity.id.start, identity.namespace);
    // One that has ended and whose number was given anew, none at all, one of another namespace.
    for bad in [
        started(pid, start - 1, namespace, None),
        started(0, 0, namespace, None),
        started(-1, start, namespace, None),
        started(i32::MAX, start, namespace, None),
        started(pid, start, namespace + 1, None),
        started(pid, start, -1, None),
    ] {
        let answer = connection.ask(&bad);
        assert_eq!(answer["answer"], "error", "{bad}: {answer}");
    }
    let answer = connection.ask(&started(pid, start, namespace, None));
    assert_eq!(answer["answer"], "noted", "{answer}");
    let refused = connection.ask(&ended(lease));
    assert_eq!(refused["answer"], "error", "{refused}");
    assert_eq!(place.leases(), [lease]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(connection.ask(&ended(lease))["answer"], "noted");
    // A second time there is nothing to end.
    assert_eq!(connection.ask(&ended(lease))["answer"], "error");
}

#[test]
fn the_command_of_a_lease_is_no_process_of_another_user() {
    let Some((place, _daemon)) = shared() else {
        return;
    };
    let mut other = Other::of(&place, 0);
    let mut query = run("dgx-a100", 1);
    query["request"]["wait"] = json!(false);
    let answer = other.ask(&query);
    let lease = answer["grant"]["lease"].clone();
    assert!(lease.is_i64(), "{answer}");
    // The test's own process is root's.
    let own = Processes::new().unwrap().own().unwrap();
    let refused = other.ask(&json!({
        "query": "started", "lease": lease, "pid": own.id.pid, "start": own.id.start,
        "namespace": own.namespace, "cgroup": null,
    }));
    assert_eq!(refused["answer"], "error", "{refused}");
}

#[test]
fn a_group_is_one_of_the_lease_and_below_the_mount() {
    let (place, _daemon) = served();
    let mut connection = Connection::of(&place);
    let first = connection.ask(&run("dgx-a100", 1));
    let answer = if first["answer"] == "queued" {
        settled(&mut connection)
    } else {
        first
    };
    let lease = answer["grant"]["lease"].as_i64().unwrap();
    let name = format!(
        "mapa-{}-{lease}",
        answer["grant"]["ledger"].as_str().unwrap()
    );
    for cgroup in [
        "",
        "/",
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/mapa-x-1",
        &format!("/sys/fs/cgroup/../../{name}"),
        &format!("/tmp/{name}"),
        &name,
        &format!("/sys/fs/cgroup/a\n/{name}x"),
    ] {
        let query = json!({"query": "grouped", "lease": lease, "cgroup": cgroup});
        let answer = connection.ask(&query);
        assert_eq!(answer["answer"], "error", "{cgroup}: {answer}");
    }
}

#[test]
fn what_a_job_says_of_itself_is_neither_obeyed_nor_printed_raw() {
    let (place, daemon) = served();
    let evil = "x\n2026 grant root(0) lease 9\u{1b}[2J\u{7}\u{202e}\0";
    let mut query = run("dgx-a100", 1);
    query["request"]["command"] = json!(evil.repeat(2000));
    query["request"]["tenant"] = json!(evil);
    let mut connection = Connection::of(&place);
    let mut answer = connection.ask(&query);
    while answer["answer"] == "queued" {
        answer = connection.next();
    }
    assert_eq!(answer["answer"], "granted", "{answer}");
    for words in [&["log"][..], &["ps"], &["tenants"]] {
        let shown = text(&place.run(words));
        let bad = |one: char| one.is_control() && one != '\n' || one == '\u{202e}';
        assert!(!shown.contains(bad), "{words:?}: {shown:?}");
    }
    let log = place.text("daemon.log");
    assert!(!log.contains('\u{1b}') && !log.contains('\u{7}'), "{log:?}");
    assert!(log.len() < 20_000, "{}", log.len());
    // The audit keeps a part of a long command.
    let row = place.log().pop().unwrap();
    assert!(row["command"].as_str().unwrap().len() <= 3 * 4096, "{row}");
    for tenant in ["".to_owned(), "x".repeat(257)] {
        query["request"]["tenant"] = json!(tenant);
        let refused = Connection::of(&place).ask(&query);
        assert_eq!(refused["answer"], "error", "{refused}");
    }
    assert_eq!(daemon.end("-TERM"), Some(0));
}

/// Asks for a job with this request; the answer comes within a time.
fn decided(place: &Place, spec: &Value, policy: &Value, seconds: Option<u64>) -> Value {
    let mut query = run("dgx-a100", 1);
    query["request"]["spec"] = json!(spec.to_string());
    query["request"]["policy"] = json!(policy.to_string());
    query["request"]["seconds"] = json!(seconds);
    let mut connection = Connection::of(place);
    let mut answer = connection.ask(&query);
    while answer["answer"] == "queued" {
        answer = connection.next();
    }
    if let Some(lease) = answer["grant"]["lease"].as_i64() {
        assert_eq!(connection.ask(&ended(lease))["answer"], "noted");
    }
    answer
}

#[test]
fn numbers_out_of_all_proportion_are_refused_at_once() {
    let (place, daemon) = served();
    drop(Connection::of(&place));
    let before = resident(&daemon);
    let auto = json!({});
    for spec in [
        json!({"gpus": u64::MAX}),
        json!({"gpus": 1_u64 << 40, "pattern": "all-to-all"}),
        json!({"gpus": 1_000_000, "pattern": "all-to-all"}),
        json!({"gpus": 0}),
        json!({"pattern": "tp=4294967295,pp=4294967295,dp=4294967295"}),
        json!({"pattern": "tp=1000000"}),
        json!({"gpus": 3, "pattern": "0-18446744073709551615"}),
        json!({"gpus": 2, "memory": 1e308}),
        json!({"gpus": 2, "pcie_traffic": -1.0}),
        json!({"gpus": 8, "pattern": "all-to-all", "max_nodes": u64::MAX}),
    ] {
        let answer = decided(&place, &spec, &auto, None);
        let kind = answer["answer"].as_str().unwrap();
        assert!(["error", "refused"].contains(&kind), "{spec}: {answer}");
        is_well(&place);
    }
    let answer = decided(&place, &json!({"gpus": 1}), &auto, Some(u64::MAX));
    assert!(answer.is_object(), "{answer}");
    let log = json!({"query": "log", "last": u64::MAX, "lease": i64::MIN, "verify": true});
    let answer = Connection::of(&place).ask(&log);
    assert_eq!(answer["answer"], "log", "{answer}");
    let grown = resident(&daemon).saturating_sub(before);
    assert!(grown < 128, "by {grown} MiB");
    assert_eq!(daemon.end("-TERM"), Some(0));
}

#[test]
fn a_pattern_with_as_many_edges_as_a_query_has_room_for_is_refused() {
    let (place, _daemon) = served();
    let pairs = |ranks: usize| {
        let pairs = (0..ranks).flat_map(|a| (0..a).map(move |b| format!("{b}-{a}")));
        pairs.collect::<Vec<_>>().join(",")
    };
    for (gpus, pattern) in [
        (2, vec!["0-1"; 200_000].join(",")),
        (8, vec!["0-1"; 200_000].join(",")),
        (400, pairs(400)),
    ] {
        let spec = json!({"gpus": gpus, "pattern": pattern});
        let answer = decided(&place, &spec, &json!({}), None);
        assert_eq!(answer["answer"], "error", "{answer}");
        assert!(
            answer["error"].as_str().unwrap().contains(" edges"),
            "{answer}"
        );
        is_well(&place);
    }
    let spec = json!({"gpus": 8, "pattern": pairs(8)});
    let answer = decided(&place, &spec, &json!({}), None);
    assert_eq!(answer["answer"], "granted", "{answer}");
}

#[test]
fn a_file_that_a_query_names_is_not_opened() {
    let (place, _daemon) = served();
    let pipe = place.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let pipe = pipe.display().to_string();
    let policy = json!({"policy": "max-bandwidth", "model": pipe});
    for (spec, policy) in [
        (json!({"gpus": 2, "pattern": pipe}), json!({})),
        (json!({"pattern": "/etc/passwd"}), json!({})),
        (json!({"gpus": 2}), policy),
        (json!({"gpus": 2}), json!({"policy": pipe})),
    ] {
        let answer = decided(&place, &spec, &policy, None);
        assert_eq!(answer["answer"], "error", "{spec}: {answer}");
        assert!(!answer.to_string().contains("root:"), "{answer}");
    }
    is_well(&place);
}

#[test]
fn how_much_of_a_users_jobs_may_wait_is_limited() {
    let Some((place, _daemon)) = shared() else {
        return;
    };
    let mut holder = Connection::of(&place);
    granted(&mut holder, 8);
    let mut other = Other::of(&place, 0);
    let mut query = run("dgx-a100", 1);
    let spec = query["request"]["spec"].as_str().unwrap().to_owned();
    query["request"]["spec"] = json!(format!("{spec}{}", " ".repeat(1_000_000)));
    for number in 0..100 {
        let answer = other.ask(&query);
        if answer["answer"] == "refused" {
            assert_eq!(answer["kind"], "busy", "{answer}");
            assert!(number > 50, "{number}: {answer}");
            // Others wait as before.
            let mut more = Connection::of(&place);
            queued(&mut more, 1);
            return;
        }
        assert_eq!(answer["answer"], "queued", "{answer}");
        other.ask(&json!("new"));
    }
    panic!("nothing ends it");
}

#[test]
fn slow_queries_of_one_user_leave_others_a_thread() {
    let Some((place, _daemon)) = shared() else {
        return;
    };
    let mut floods = Vec::new();
    let log = json!({"query": "log", "last": 100_000, "lease": null, "verify": true});
    for _ in 0..30 {
        let mut connection = Connection::of(&place);
        for _ in 0..20 {
            connection.send(&log);
        }
        floods.push(connection);
    }
    let free = mapa(&place, 1, &["free"]).output().unwrap();
    assert!(free.status.success(), "{}", error(&free));
    for mut connection in floods {
        for _ in 0..20 {
            assert_eq!(connection.next()["answer"], "log");
        }
    }
}

#[test]
fn a_lease_that_several_release_at_once_ends_once() {
    let (place, _daemon) = served();
    let mut holder = place.mapa(&["run", "-n", "8", "--", "sleep", "600"]);
    let mut holder = holder.stderr(Stdio::null()).spawn().unwrap();
    until(|| place.json(&["ps"])["leases"][0]["command_pid"].is_i64());
    let lease = place.leases()[0];
    let release = json!({"query": "release", "lease": lease, "force": false});
    let mut several: Vec<Connection> = (0..10).map(|_| Connection::of(&place)).collect();
    several.iter_mut().for_each(|one| one.send(&release));
    let answers: Vec<Value> = several.iter_mut().map(Connection::next).collect();
    assert!(
        answers.iter().any(|answer| answer["answer"] == "release"),
        "{answers:?}"
    );
    holder.wait().unwrap();
    let log = place.log();
    let rows = log.iter().filter(|row| row["kind"] == "release");
    assert_eq!(rows.count(), 1, "{log:?}");
    assert!(place.leases().is_empty());
}

#[test]
fn a_second_daemon_is_refused_and_the_first_goes_on() {
    let (place, mut first) = served();
    drop(Connection::of(&place));
    let mut second = Daemon::command(&place, &["--scheduler", "fifo"]);
    let status = second.status().unwrap();
    assert!(!status.success());
    assert!(first.0.try_wait().unwrap().is_none());
    is_well(&place);
}

#[test]
fn a_file_or_a_link_in_place_of_the_socket_serves_nobody() {
    let place = Place::new();
    assert!(place.run(&["free"]).status.success());
    let path = socket(&place);
    // A file, a folder, a link into nothing: there is no daemon, and no other file is touched.
    for make in [
        |path: &PathBuf| fs::write(path, "x").unwrap(),
        |path: &PathBuf| fs::create_dir(path).unwrap(),
        |path: &PathBuf| symlink("/nowhere", path).unwrap(),
    ] {
        make(&path);
        let output = place.run(&["free"]);
        assert!(output.status.success(), "{}", error(&output));
        let mut daemon = Daemon::command(&place, &["--scheduler", "fifo"]);
        assert_eq!(daemon.status().unwrap().code(), Some(125));
        assert!(place.text("daemon.log").contains("is no socket"));
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
    }
    // One that a killed daemon has left is replaced.
    drop(UnixListener::bind(&path).unwrap());
    let _daemon = Daemon::start(&place, &["--scheduler", "fifo"]);
    is_well(&place);
}

#[test]
fn a_daemon_of_another_user_at_the_socket_is_not_believed() {
    let Some(place) = super::users::place() else {
        return;
    };
    assert!(place.run(&["free"]).status.success());
    let path = socket(&place);
    let fake = thread::spawn(move || {
        rustix::thread::set_thread_gid(rustix::process::Gid::from_raw(GROUP)).unwrap();
        rustix::thread::set_thread_uid(Uid::from_raw(USERS[1])).unwrap();
        UnixListener::bind(path).unwrap()
    });
    let listener = fake.join().unwrap();
    fs::set_permissions(socket(&place), fs::Permissions::from_mode(0o777)).unwrap();
    for words in [
        &["free"][..],
        &["ps"],
        &["run", "-n", "1", "--", "true"],
        &["release", "1"],
    ] {
        let output = place.run(words);
        assert_eq!(output.status.code(), Some(125), "{words:?}");
        assert!(
            error(&output).contains("expected a daemon of root"),
            "{}",
            error(&output)
        );
    }
    drop(listener);
}

#[test]
fn a_socket_whose_file_is_removed_costs_nobody_a_lease() {
    let (place, daemon) = served();
    let mut connection = Connection::of(&place);
    let lease = granted(&mut connection, 5);
    fs::remove_file(socket(&place)).unwrap();
    // The daemon's user goes to the file, which the daemon decides as before.
    let busy = place.run(&["run", "-n", "4", "--", "true"]);
    assert_eq!(busy.status.code(), Some(75), "{}", error(&busy));
    assert!(
        place
            .run(&["run", "-n", "3", "--wait", "--", "true"])
            .status
            .success()
    );
    assert_eq!(connection.ask(&ended(lease))["answer"], "noted");
    judge(&place.log());
    assert_eq!(daemon.end("-TERM"), Some(0));
}

fn restarted(place: &Place, mut daemon: Daemon) -> Daemon {
    daemon.0.kill().unwrap();
    daemon.0.wait().unwrap();
    Daemon::start(place, &["--scheduler", "fifo"])
}

/// The query with the word that it was sent before.
fn again(gpus: usize) -> Value {
    let mut query = run("dgx-a100", gpus);
    query["request"]["again"] = json!(true);
    query
}

#[test]
fn a_daemon_that_dies_before_it_says_a_place_gives_the_same_place() {
    let (place, daemon) = served();
    let mut holder = Connection::of(&place);
    let lease = granted(&mut holder, 8);
    let mut waiter = Connection::of(&place);
    // It is in the queue, and its answer is never read.
    waiter.send(&run("dgx-a100", 8));
    until(|| place.json(&["ps"])["queue"].as_array().unwrap().len() == 1);
    let _daemon = restarted(&place, daemon);
    let mut holder = Connection::of(&place);
    let mut waiter = Connection::of(&place);
    let answer = waiter.ask(&again(8));
    assert_eq!(answer["answer"], "queued", "{answer}");
    assert_eq!(place.json(&["ps"])["queue"].as_array().unwrap().len(), 1);
    assert_eq!(holder.ask(&ended(lease))["answer"], "noted");
    let given = settled(&mut waiter)["grant"]["lease"].as_i64().unwrap();
    assert_eq!(place.leases(), [given]);
    assert_eq!(waiter.ask(&ended(given))["answer"], "noted");
    judge(&place.log());
}

#[test]
fn a_daemon_that_dies_before_it_says_the_devices_gives_the_same_devices() {
    let (place, daemon) = served();
    let mut job = Connection::of(&place);
    // Granted, and never read.
    job.send(&run("dgx-a100", 8));
    until(|| place.leases().len() == 1);
    let lease = place.leases()[0];
    let daemon = restarted(&place, daemon);
    let mut job = Connection::of(&place);
    let mut answer = job.ask(&again(8));
    if answer["answer"] == "queued" {
        answer = settled(&mut job);
    }
    assert_eq!(answer["grant"]["lease"], lease, "{answer}");
    // Once more, where the place has gone and the lease alone counts.
    let _daemon = restarted(&place, daemon);
    let mut job = Connection::of(&place);
    let answer = job.ask(&again(8));
    assert_eq!(answer["grant"]["lease"], lease, "{answer}");
    assert_eq!(place.leases(), [lease]);
    assert_eq!(job.ask(&ended(lease))["answer"], "noted");
    judge(&place.log());
}

#[test]
fn a_daemon_that_dies_while_a_job_runs_hears_of_its_start_and_end_later() {
    let (place, daemon) = served();
    let mut job = Connection::of(&place);
    let lease = granted(&mut job, 8);
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let identity = Processes::new()
        .unwrap()
        .identity(child.id() as i32)
        .unwrap();
    let started = json!({
        "query": "started", "lease": lease, "pid": identity.id.pid, "start": identity.id.start,
        "namespace": identity.namespace, "cgroup": null,
    });
    assert_eq!(job.ask(&started)["answer"], "noted");
    let daemon = restarted(&place, daemon);
    // The answer was lost: it says so again.
    let mut job = Connection::of(&place);
    assert_eq!(job.ask(&started)["answer"], "noted");
    child.kill().unwrap();
    child.wait().unwrap();
    let daemon = restarted(&place, daemon);
    let mut job = Connection::of(&place);
    assert_eq!(job.ask(&ended(lease))["answer"], "noted");
    let _daemon = restarted(&place, daemon);
    let mut job = Connection::of(&place);
    assert_eq!(job.ask(&ended(lease))["answer"], "error");
    let log = place.log();
    let rows = log.iter().filter(|row| row["kind"] == "release");
    assert_eq!(rows.count(), 1, "{log:?}");
    judge(&log);
}

/// The page names every attack of these files by its test, and no test that is not there.
#[test]
fn the_page_names_the_tests_of_all_attacks() {
    let sources = [
        include_str!("attacks.rs"),
        include_str!("answers.rs"),
        include_str!("damaged.rs"),
        include_str!("full_disk.rs"),
        include_str!("hostile.rs"),
        include_str!("http.rs"),
        include_str!("../src/daemon/journal.rs"),
    ];
    let page = include_str!("../../../docs/mapa-run.md");
    let table = page.split("### Attacks that tests try").nth(1).unwrap();
    let rows = table.lines().filter_map(|line| {
        let (_, name) = line.strip_suffix("` |")?.rsplit_once("| `")?;
        Some(name)
    });
    let rows: Vec<&str> = rows.collect();
    assert!(rows.len() >= 40, "{}", rows.len());
    for name in &rows {
        let head = format!("fn {name}() {{");
        assert!(
            sources.iter().any(|source| source.contains(&head)),
            "{name}"
        );
    }
    for source in &sources[..3] {
        for (test, _) in source.match_indices("#[test]\nfn ") {
            let name = &source[test + "#[test]\nfn ".len()..];
            let name = name.split('(').next().unwrap();
            let is_attack = !name.starts_with("is_the_client") && !name.starts_with("the_page");
            assert!(!is_attack || rows.contains(&name), "{name}");
        }
    }
}
