//! `[slo]` of the daemon with programs that it starts, and beside leases.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mapa_front::drive_log::{ReplayedDrive, replay};
use mapa_front::{Error, Files, Names};

use serde_json::Value;

use super::common::{Systemd, assert_valid, error};

/// The programs of this test end when the folder is gone.
const ALIVE: &str = "while [ -e \"$0\" ]; do sleep 0.1; done";

/// A program that is ended where a test fails too.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A place takes long to be ready. Meanwhile the loop goes on, and systemd hears it. A program that is started again adds
/// to the record.
#[test]
fn a_tenant_is_handed_over_while_the_loop_lives_and_the_record_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    std::fs::write(path("alive"), "").unwrap();
    let trainer = Command::new("sh")
        .args(["-c", ALIVE, &path("alive")])
        .spawn();
    let trainer = Running(trainer.unwrap());
    std::fs::write(path("pid"), trainer.0.id().to_string()).unwrap();
    let alive = path("alive");
    let place = |id: &str, more: &str| {
        format!(
            "[[slo.tenants.api.places]]\nid = \"{id}-{}\"\ncommand = [\"sh\", \"-c\", '{ALIVE}', \"{alive}\"]\n{more}\n",
            std::process::id()
        )
    };
    let ready = format!(
        "ready = {{ kind = \"file\", path = \"{}\" }}\nready_s = 600",
        path("ready")
    );
    let config = format!(
        "[service]\nlatencies = \"{}\"\n[slo.settings]\npersistence = 1\ndwell = 0\n[slo.levers]\nthrottle = false\n[slo.tenants.api]\nlatency_slo_ms = 15\nroute = \"{}\"\n{}{}[slo.neighbours.train]\nactivity = \"train\"\npid_file = \"{}\"\nplaces = [0]\n",
        path("socket"),
        path("route"),
        place("old", ""),
        place("new", &ready),
        path("pid"),
    );
    std::fs::write(path("node.toml"), config).unwrap();
    let systemd = Systemd::new(folder.path());
    let wait = Duration::from_millis(20);
    let start = || {
        let log = std::fs::File::create(path("log")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_mapa-node"))
            .args([
                "--machine",
                "dgx-1v",
                "--ledger",
                &path("ledger.db"),
                "--config",
                &path("node.toml"),
                "--record",
                &path("record"),
            ])
            .env("NOTIFY_SOCKET", systemd.path())
            // It says that it lives once a second, as often as it ticks.
            .env("WATCHDOG_USEC", "2000000")
            .stderr(log)
            .spawn();
        Running(child.unwrap())
    };
    let mut daemon = start();
    let to = UnixDatagram::unbound().unwrap();
    let begun = Instant::now();
    // Nothing is ready, so it is under way.
    let mut moving = None;
    while moving.is_none_or(|began| systemd.watchdog_pings() < began + 4) {
        assert!(begun.elapsed() < Duration::from_secs(90), "{}", read("log"));
        let _ = to.send_to(b"api 40000000\n", path("socket"));
        if moving.is_none() && read("log").contains("order=Relaunch") {
            moving = Some(systemd.watchdog_pings());
        }
        std::thread::sleep(wait);
    }
    assert_eq!(systemd.told()[0], "READY=1");
    assert_eq!(read("route"), "");
    std::fs::write(path("ready"), "").unwrap();
    while !read("log").contains("became=Done") {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "{}",
            read("log")
        );
        std::thread::sleep(wait);
    }
    assert_eq!(read("route"), format!("new-{}\n", std::process::id()));
    let end = |daemon: &mut Running| {
        let pid = daemon.0.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        assert!(daemon.0.wait().unwrap().success(), "{}", read("log"));
    };
    end(&mut daemon);
    while systemd
        .told()
        .last()
        .is_none_or(|candidate| candidate != "STOPPING=1")
    {
        assert!(
            begun.elapsed() < Duration::from_secs(150),
            "{:?}",
            systemd.told()
        );
        std::thread::sleep(wait);
    }

    let first = read("record");
    assert!(first.contains("\"line\":\"latency\""), "{first}");
    // As one that was killed leaves it.
    std::fs::write(path("record"), format!("{first}{{\"line\":")).unwrap();
    let mut again = start();
    while !read("log").contains("ready") {
        assert!(
            begun.elapsed() < Duration::from_secs(180),
            "{}",
            read("log")
        );
        std::thread::sleep(wait);
    }
    end(&mut again);
    let both = read("record");
    let head = both.strip_prefix(&first).unwrap();
    assert!(head.starts_with("{\"line\":\"head\""), "{head}");
    let replayed = replayed(&folder.path().join("record"));
    let latency = replayed.latency.as_ref().unwrap();
    assert!(
        replayed.is_same() && replayed.daemons == 2 && latency.decisions > 0,
        "{replayed:?}"
    );
}

/// Each decision in the record can be made again, and a dry run says what it would do. The default scheduler orders the
/// queue meanwhile, and both tell of themselves at one socket.
#[test]
fn slo_guards_a_tenant_named_by_its_socket_and_prints_what_it_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let kind = rustix::fs::statfs(folder.path()).unwrap().f_type;
    if kind == 0x0102_1994 {
        eprintln!(
            "skipped: {} is in memory, where nobody writes to a disk",
            folder.path().display()
        );
        return;
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    // A neighbour that reads and writes all the time, past the page cache.
    let script = "while :; do dd if=/dev/zero of=\"$0\" bs=1M count=64 oflag=dsync conv=notrunc 2>/dev/null; done";
    let mut neighbour = Command::new("sh")
        .args(["-c", script, &path("written")])
        .spawn()
        .unwrap();
    std::fs::write(path("pid"), neighbour.id().to_string()).unwrap();
    let config = format!(
        "[service]\nlatencies = \"{}\"\n[levers]\nblock_devices = [\"254:0\"]\n[slo]\ncontroller = \"slo-replay\"\n[slo.tenants.api]\nlatency_slo_ms = 15\n[slo.neighbours.etl]\nactivity = \"copy\"\nactive_above_mb_s = 1\npid_file = \"{}\"\n",
        path("socket"),
        path("pid")
    );
    std::fs::write(path("node.toml"), config).unwrap();
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_mapa-node"))
        .args([
            "--machine",
            "dgx-1v",
            "--ledger",
            &path("ledger.db"),
            "--dry-run",
            "--duration",
            "8s",
            "--config",
            &path("node.toml"),
        ])
        .args(["--record", &path("record")])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let to = UnixDatagram::unbound().unwrap();
    let mut answers = BTreeMap::new();
    while daemon.try_wait().unwrap().is_none() {
        drop(to.send_to(b"api 40000000\nstranger 1\n", path("socket")));
        for ask in ["status", "metrics"] {
            if let Some(answer) = asked(&folder.path().join("ledger.db.sock"), ask) {
                answers.insert(ask, answer);
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
    let output = daemon.wait_with_output().unwrap();
    let log = error(&output);
    // The shell ends when it is killed; what it has started last ends by itself.
    neighbour.kill().unwrap();
    neighbour.wait().unwrap();
    assert!(output.status.success(), "{log}");
    assert!(
        log.contains("order=Throttle") && log.contains("dry run"),
        "{log}"
    );
    assert!(!log.contains("change applied"), "{log}");
    let again = replayed(&folder.path().join("record"));
    let latency = again.latency.as_ref().unwrap();
    assert!(again.is_same() && latency.decisions > 0, "{again:?}");
    assert_valid("node-answer", &answers["status"]);
    let status = &answers["status"]["result"]["status"];
    assert_eq!(status["scheduler"], "fifo", "{status}");
    let told = &status["latency"][0];
    assert_eq!(told["tenant"], "api", "{status}");
    assert!(told["late"].as_u64().unwrap() > 50, "{status}");
    let metrics = answers["metrics"].to_string();
    for expected in [
        "mapa_latency_actions_total{tenant=\\\"api\\\",kind=\\\"throttle\\\"} ",
        "mapa_late_requests_total{tenant=\\\"api\\\"} ",
        "mapa_request_latency_seconds_count{tenant=\\\"api\\\"} ",
        "mapa_neighbours_throttled{tenant=\\\"api\\\"} ",
    ] {
        assert!(metrics.contains(expected), "{expected}: {metrics}");
    }
}

/// What a daemon answers at its socket, once it is there.
fn asked(socket: &Path, ask: &str) -> Option<Value> {
    let mut stream = UnixStream::connect(socket).ok()?;
    writeln!(stream, "{{\"query\":\"{ask}\"}}").ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// Fresh schedulers that receive the recorded events make the recorded decisions again.
pub(crate) fn replayed(record: &Path) -> ReplayedDrive {
    let text = std::fs::read(record).unwrap();
    for line in text.split(|byte| *byte == b'\n') {
        if let Ok(line) = serde_json::from_slice(line) {
            assert_valid("drive-record", &line);
        }
    }
    replay(text.as_slice(), &Names::built_in(), &NoFiles).unwrap()
}

/// The schedulers of these tests read no files.
struct NoFiles;

impl Files for NoFiles {
    fn bytes(&self, file: &str, _: mapa_front::FileKind) -> Result<Vec<u8>, Error> {
        Err(Error::at(file, "no files here"))
    }

    fn exists(&self, _: &str) -> bool {
        false
    }

    fn is_folder(&self, _: &str) -> bool {
        false
    }

    fn machine(&self, folder: &str) -> Result<mapa_topologies::Dump, Error> {
        Err(Error::at(folder, "no files here"))
    }
}
