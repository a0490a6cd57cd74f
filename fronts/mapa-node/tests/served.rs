//! Jobs that ask a daemon at its socket: who they are is what the kernel says, and the ledger is the daemon's alone.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mapa_front::{JobSpec, PolicySpec};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};

use super::common::{Place, error, text};
use super::crowd::judge;
use super::daemon::{Daemon, until};
use super::users::{self, mapa};

/// A connection to the daemon of a place.
pub(crate) struct Connection {
    pub(crate) stream: BufReader<UnixStream>,
}

impl Connection {
    pub(crate) fn of(place: &Place) -> Self {
        let begun = Instant::now();
        let path = place.path().join("ledger.db.sock");
        loop {
            // A daemon is the leader of the queue before it listens.
            if let Ok(stream) = UnixStream::connect(&path) {
                stream
                    .set_read_timeout(Some(Duration::from_secs(60)))
                    .unwrap();
                let stream = BufReader::new(stream);
                return Self { stream };
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "nobody listens");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn send(&mut self, query: &Value) {
        writeln!(self.stream.get_mut(), "{query}").unwrap();
    }

    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("`{line}`"));
        answer["result"].clone()
    }

    pub(crate) fn ask(&mut self, query: &Value) -> Value {
        self.send(query);
        self.next()
    }

    /// An answer that is there already.
    fn ready(&mut self) -> Option<Value> {
        (!self.stream.buffer().is_empty()).then(|| self.next())
    }
}

/// What the daemon answers one of the users: a program of that user connects and asks.
pub(crate) fn ask_as(place: &Place, user: usize, query: &Value) -> Value {
    let script = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.sendall(sys.argv[2].encode() + b'\\n')\nprint(s.makefile().readline())";
    Connection::of(place);
    let asked = Command::new("python3")
        .args(["-c", script])
        .arg(place.path().join("ledger.db.sock"))
        .arg(query.to_string())
        .current_dir("/")
        .gid(users::GROUP)
        .uid(users::USERS[user])
        .output()
        .unwrap();
    let answer: Value =
        serde_json::from_slice(&asked.stdout).unwrap_or_else(|_| panic!("{}", error(&asked)));
    answer["result"].clone()
}

/// A job of a machine as the daemon is asked.
pub(crate) fn run(machine: &str, gpus: usize) -> Value {
    let spec = JobSpec {
        gpus: Some(gpus),
        pattern: "ring".to_owned(),
        ..JobSpec::default()
    };
    json!({"query": "run", "request": {
        "tenant": null,
        "command": "job",
        "machine": machine,
        "policy": serde_json::to_string(&PolicySpec::default()).unwrap(),
        "spec": serde_json::to_string(&spec).unwrap(),
        "scheduler": "first-come",
        "seconds": null,
        "wait": true,
        "dry_run": false,
        "check_drivers": false,
    }})
}

/// A place that a daemon of root serves for two users; none where root may not become them.
pub(crate) fn shared() -> Option<(Place, Daemon)> {
    let place = users::place()?;
    // The daemon lets nobody else write the ledger's folder.
    let open = place.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    let daemon = Daemon::of(&place, command(&place));
    Some((place, daemon))
}

/// A daemon whose socket is the group's.
pub(crate) fn command(place: &Place) -> Command {
    let config = place.path().join("node.toml");
    let group = users::GROUP;
    std::fs::write(&config, format!("[service]\ngroup = \"{group}\"\n")).unwrap();
    let mut command = Daemon::command(place, &["--scheduler", "fifo"]);
    command.arg("--config").arg(config);
    command
}

/// A job of a user that holds devices until it is ended.
pub(crate) fn holder(place: &Place, user: usize, gpus: &str) -> users::Running {
    let before = place.text("open/there").lines().count();
    let script = "echo >>$LOCKS/open/there; exec sleep 600";
    let job = mapa(place, user, &["run", "-n", gpus, "--", "sh", "-c", script]);
    let job = users::Running({ job }.stdout(Stdio::null()).spawn().unwrap());
    place.await_lines("open/there", before + 1);
    job
}

#[test]
fn a_served_ledger_is_the_daemons_alone_and_users_ask_at_its_socket() {
    let Some((place, daemon)) = shared() else {
        return;
    };
    Connection::of(&place);
    // Of the file, its log and its folder nothing is the group's any more.
    for end in ["", "-wal", "-shm"] {
        let file = format!("{}{end}", place.ledger().display());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let folder = std::fs::metadata(place.path()).unwrap();
    assert_eq!(folder.permissions().mode() & 0o7777, 0o2750);
    let mut direct = Command::new("cat");
    direct
        .arg(place.ledger())
        .gid(users::GROUP)
        .uid(users::USERS[0]);
    assert!(!{ direct }.stderr(Stdio::null()).status().unwrap().success());

    let first = holder(&place, 0, "5");
    let held = place.json(&["ps"])["leases"][0].clone();
    assert_eq!(held["devices"].as_array().unwrap().len(), 5);
    let lease = held["lease"].to_string();
    let rows = mapa(&place, 1, &["--json", "free"]).output().unwrap();
    let rows: Value = serde_json::from_slice(&rows.stdout).unwrap();
    assert_eq!(rows["free"], 3, "{rows}");
    // Devices that are free at once, devices that are not, and a dry run.
    let script = "echo $MAPA_DEVICES; exit 7";
    let now = mapa(&place, 1, &["run", "-n", "3", "--", "sh", "-c", script]);
    let now = { now }.output().unwrap();
    assert_eq!(
        (now.status.code(), text(&now).as_str()),
        (Some(7), "GPU5,GPU6,GPU7"),
        "{}",
        error(&now)
    );
    let busy = mapa(&place, 1, &["run", "-n", "4", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(busy.status.code(), Some(75), "{}", error(&busy));
    let never = mapa(&place, 1, &["run", "-n", "9", "--wait", "--", "true"]);
    let never = { never }.output().unwrap();
    assert_eq!(never.status.code(), Some(69), "{}", error(&never));
    let shown = mapa(&place, 1, &["run", "-n", "2", "--dry-run"])
        .output()
        .unwrap();
    assert!(
        text(&shown).starts_with("devices  GPU"),
        "{} {}",
        text(&shown),
        error(&shown)
    );
    let missing = mapa(&place, 1, &["run", "-n", "1", "--", "/no/such"])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(127), "{}", error(&missing));

    // What is another's, or the machine's, is neither ended nor withheld by whoever asks.
    for words in [
        &["release", &lease][..],
        &["release", "--force", &lease],
        &["cordon", "GPU5"],
        &["uncordon", "GPU5"],
        &["cordon", "--all"],
        &["recover"],
    ] {
        let refused = mapa(&place, 1, words).output().unwrap();
        assert_eq!(
            refused.status.code(),
            Some(2),
            "{words:?}: {}",
            error(&refused)
        );
        let said = error(&refused);
        assert!(
            said.contains("expected root, or the user of the daemon"),
            "{said}"
        );
    }
    // Its owner ends it, and root whatever there is.
    let ended = mapa(&place, 0, &["release", &lease]).output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", error(&ended));
    drop(first);
    let second = holder(&place, 1, "1");
    let lease = place.json(&["ps"])["leases"][0]["lease"].to_string();
    place.json(&["release", &lease]);
    drop(second);
    place.json(&["cordon", "GPU5"]);
    place.json(&["uncordon", "GPU5"]);
    place.json(&["recover"]);
    place.json(&["tenants"]);

    // The audit has who asked, by the kernel, what for, and how it ended.
    let log = place.log();
    let of = |kind: &str| -> Vec<&Value> { log.iter().filter(|row| row["kind"] == kind).collect() };
    assert_eq!(of("grant")[1]["uid"], users::USERS[1]);
    assert_eq!(of("release")[0]["exit_status"], 7);
    assert_eq!(of("cordon")[0]["uid"], 0);
    let verified = place.json(&["log", "--verify"]);
    assert_eq!(verified["verified"]["rows"], log.len());
    assert_eq!(daemon.end("-TERM"), Some(0));
    // Without the daemon, nobody falls back to a file that he may not open.
    let gone = mapa(&place, 1, &["run", "-n", "1", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(gone.status.code(), Some(125), "{}", error(&gone));
    assert!(
        error(&gone).contains("expected `mapa-node` to run"),
        "{}",
        error(&gone)
    );
    assert!(
        place
            .run(&["run", "-n", "1", "--", "true"])
            .status
            .success()
    );
}

/// Those who wait keep their places, and jobs that run their devices, while the daemon is killed and comes again.
#[test]
fn a_daemon_that_is_killed_costs_nobody_a_place_or_a_device() {
    let Some((place, mut daemon)) = shared() else {
        return;
    };
    let first = holder(&place, 0, "8");
    let script = "echo $0 >>$LOCKS/open/ran";
    let mut waiting = Vec::new();
    for number in 0..4 {
        let user = number % 2;
        let own = number.to_string();
        let words = ["run", "-n", "8", "--wait", "--", "sh", "-c", script, &own];
        let job = mapa(&place, user, &words);
        waiting.push({ job }.stderr(Stdio::piped()).spawn().unwrap());
        until(|| place.json(&["ps"])["queue"].as_array().unwrap().len() == number + 1);
    }
    for _ in 0..2 {
        daemon.0.kill().unwrap();
        daemon.0.wait().unwrap();
        std::thread::sleep(Duration::from_millis(1300));
        daemon = Daemon::of(&place, command(&place));
        Connection::of(&place);
    }
    let ps = place.json(&["ps"]);
    assert_eq!(ps["queue"].as_array().unwrap().len(), 4, "{ps}");
    assert_eq!(ps["leases"].as_array().unwrap().len(), 1, "{ps}");
    // It is killed once more while the job ends.
    daemon.0.kill().unwrap();
    daemon.0.wait().unwrap();
    drop(first);
    let _daemon = Daemon::of(&place, command(&place));
    for job in waiting {
        let output = job.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", error(&output));
        assert!(
            error(&output).contains("keeps its place"),
            "{}",
            error(&output)
        );
    }
    assert_eq!(place.text("open/ran"), "0\n1\n2\n3\n");
    until(|| place.leases().is_empty());
    judge(&place.log());
}

/// A signal ends the wait, a killed waiter leaves the queue, and a killed `mapa run` leaves its devices to its command.
#[test]
fn whoever_leaves_the_queue_of_a_daemon_leaves_nothing_behind() {
    let Some((place, _daemon)) = shared() else {
        return;
    };
    let mut first = holder(&place, 0, "8");
    let wait = |user: usize| {
        let job = mapa(&place, user, &["run", "-n", "1", "--wait", "--", "true"]);
        { job }.stderr(Stdio::null()).spawn().unwrap()
    };
    let (mut told, mut killed) = (wait(0), wait(1));
    let waits = || place.json(&["ps"])["queue"].as_array().unwrap().len();
    until(|| waits() == 2);
    let pid = told.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(told.wait().unwrap().code(), Some(143));
    killed.kill().unwrap();
    killed.wait().unwrap();
    until(|| waits() == 0);
    let log = place.log();
    let left = log.iter().filter(|row| row["kind"] == "cancel");
    let reasons: Vec<&str> = left.map(|row| row["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["signal 15 ended the wait", "its process is gone"]);
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    until(|| place.json(&["ps"])["leases"][0]["adopted"] == true);
    let refused = mapa(&place, 1, &["run", "-n", "1", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(75), "{}", error(&refused));
    // Its owner may still end what goes on.
    let lease = place.leases()[0].to_string();
    let ended = mapa(&place, 0, &["release", &lease]).output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", error(&ended));
    assert!(place.leases().is_empty());
}

/// A daemon that cannot start takes nothing, and one that is gone for good leaves jobs that can be ended.
#[test]
fn a_ledger_that_is_given_back_is_the_groups_with_all_its_leases() {
    let Some((place, daemon)) = shared() else {
        return;
    };
    let job = holder(&place, 0, "2");
    let lease = place.leases()[0].to_string();
    assert_eq!(daemon.end("-TERM"), Some(0));
    // As the page says.
    for end in ["", "-wal", "-shm"] {
        let file = format!("{}{end}", place.ledger().display());
        std::fs::set_permissions(file, Permissions::from_mode(0o660)).unwrap();
    }
    std::fs::set_permissions(place.path(), Permissions::from_mode(0o2770)).unwrap();
    let config = place.path().join("bad.toml");
    std::fs::write(&config, "[service]\ngroup = \"no-such-group\"\n").unwrap();
    let mut command = Daemon::command(&place, &["--scheduler", "fifo", "--config"]);
    assert_eq!(command.arg(&config).status().unwrap().code(), Some(2));
    let mode = std::fs::metadata(place.ledger()).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o660);
    // The other user may not end what is not theirs; its owner may.
    let other = mapa(&place, 1, &["release", &lease]).output().unwrap();
    assert!(!other.status.success(), "{}", error(&other));
    let ended = mapa(&place, 0, &["release", &lease]).output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", error(&ended));
    drop(job);
    assert!(place.leases().is_empty());
    let log = place.log();
    let asked = log.iter().filter(|row| row["kind"] == "terminate");
    let uids: Vec<&Value> = asked.map(|row| &row["uid"]).collect();
    assert_eq!(uids.last(), Some(&&json!(users::USERS[0])));
}

/// The time of a lease is kept by the daemon, also where its `mapa run` was killed.
#[test]
fn a_daemon_keeps_the_time_of_its_leases() {
    let Some((place, _daemon)) = shared() else {
        return;
    };
    let script = "echo >>$LOCKS/open/there; exec sleep 600";
    let words = ["run", "-n", "2", "--time", "2", "--", "sh", "-c", script];
    let job = mapa(&place, 0, &words).spawn().unwrap();
    let mut job = users::Running(job);
    place.await_lines("open/there", 1);
    job.0.kill().unwrap();
    job.0.wait().unwrap();
    until(|| place.leases().is_empty());
    let log = place.log();
    assert!(log.iter().any(|row| row["kind"] == "expire"), "{log:?}");
    // While it lives, it ends the command itself.
    let late = mapa(
        &place,
        1,
        &["run", "-n", "1", "--time", "1", "--", "sleep", "60"],
    );
    assert_eq!({ late }.output().unwrap().status.code(), Some(124));
}

/// A waiting job is a process of one thread.
#[test]
fn a_job_that_waits_has_one_thread() {
    for is_served in [false, true] {
        let place = Place::new();
        let _daemon = is_served.then(|| Daemon::start(&place, &["--scheduler", "fifo"]));
        let _holder = users::Running(
            place
                .mapa(&["run", "-n", "8", "--", "sleep", "600"])
                .spawn()
                .unwrap(),
        );
        until(|| place.leases().len() == 1);
        let job = place.mapa(&["run", "-n", "1", "--wait", "--", "true"]);
        let mut job = { job }.stderr(Stdio::null()).spawn().unwrap();
        until(|| place.json(&["ps"])["queue"].as_array().unwrap().len() == 1);
        let threads = std::fs::read_dir(format!("/proc/{}/task", job.id())).unwrap();
        assert_eq!(threads.count(), 1, "served: {is_served}");
        job.kill().unwrap();
        job.wait().unwrap();
    }
}

/// All wait at once behind one job that has the whole machine. `MAPA_WAITERS` sets how many, 300 if it is not set.
#[test]
fn thousands_wait_at_the_socket_and_start_in_their_order() {
    let waiters: usize = std::env::var("MAPA_WAITERS").map_or(300, |text| text.parse().unwrap());
    let place = Place::new();
    let daemon = Daemon::start(&place, &["--scheduler", "fifo"]);
    let mut holder = Connection::of(&place);
    let mut first = holder.ask(&run("dgx-a100", 8));
    while first["answer"] == "queued" {
        first = holder.next();
    }
    assert_eq!(first["answer"], "granted", "{first}");
    let begun = Instant::now();
    let mut waiting = BTreeMap::new();
    for number in 0..waiters {
        let mut connection = Connection::of(&place);
        let place_in_queue = connection.ask(&run("dgx-a100", 1));
        assert_eq!(place_in_queue["answer"], "queued", "{place_in_queue}");
        assert_eq!(place_in_queue["position"], number + 1);
        waiting.insert(number, connection);
    }
    let came = begun.elapsed();
    let released = Instant::now();
    let ended = |lease: &Value| json!({"query": "ended", "lease": lease, "reason": "it ended with status 0", "status": 0});
    let noted = holder.ask(&ended(&first["grant"]["lease"]));
    assert_eq!(noted["answer"], "noted", "{noted}");
    let (mut started, mut first_at) = (0, None);
    while !waiting.is_empty() {
        let ready: Vec<usize> = {
            let sockets: Vec<(usize, &UnixStream)> = (waiting.iter())
                .map(|(number, connection): (_, &Connection)| {
                    (*number, connection.stream.get_ref())
                })
                .collect();
            let mut polled: Vec<PollFd<'_>> = sockets
                .iter()
                .map(|(_, socket)| PollFd::new(socket, PollFlags::IN))
                .collect();
            poll(&mut polled, None).unwrap();
            let ready = sockets.iter().zip(&polled);
            let ready = ready.filter(|(_, one)| !one.revents().is_empty());
            ready.map(|((number, _), _)| *number).collect()
        };
        for number in ready {
            let connection = waiting.get_mut(&number).unwrap();
            let mut answer = Some(connection.next());
            while let Some(told) = answer {
                answer = match told["answer"].as_str().unwrap() {
                    "queued" => connection.ready(),
                    "granted" => {
                        first_at.get_or_insert_with(|| released.elapsed());
                        started += 1;
                        connection.send(&ended(&told["grant"]["lease"]));
                        connection.ready()
                    }
                    "noted" => {
                        waiting.remove(&number);
                        break;
                    }
                    _ => panic!("{told}"),
                };
            }
        }
    }
    let took = released.elapsed();
    // For people: no time is asserted.
    println!(
        "{waiters} came in {came:?}; the first started after {first_at:?}, all ended after {took:?}: {:.0} a second",
        started as f64 / took.as_secs_f64()
    );
    assert_eq!(started, waiters);
    drop(holder);
    let log = place.log();
    judge(&log);
    assert_eq!(log.iter().filter(|row| row["kind"] == "cancel").count(), 0);
    assert_eq!(daemon.end("-TERM"), Some(0));
}
