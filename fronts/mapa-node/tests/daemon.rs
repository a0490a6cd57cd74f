//! `mapa-node --scheduler`: real programs wait for the orders of one long-lived scheduler.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fake_nvml::{Code, Fault};
use mapa_live::levers::{
    FolderJournal, Journal, JournalEntry, LeverChange, Lifetime, MpsScope, MpsServer, Plan, Step,
};
use mapa_node::{DeviceKey, Durability, Ledger, Processes};
use serde_json::Value;

use super::common::{LOCK, Place, Systemd, asker, assert_valid, error, text};
use super::daemon_kills::{Machine, Mps, entries, since_boot_ms};

/// A daemon that is killed with the test.
pub(crate) struct Daemon(pub(crate) Child);

impl Daemon {
    /// Starts a daemon, and waits until it is the leader of the queue.
    pub(crate) fn start(place: &Place, words: &[&str]) -> Self {
        Self::of(place, Self::command(place, words))
    }

    /// Starts this daemon, and waits until it is the leader of the queue.
    pub(crate) fn of(place: &Place, mut command: Command) -> Self {
        let mut own = Self(command.spawn().unwrap());
        let begun = Instant::now();
        while !is_leader(place, own.0.id()) {
            assert!(begun.elapsed() < Duration::from_secs(60), "no leader");
            if let Some(status) = own.0.try_wait().unwrap() {
                panic!("{status}: {}", place.text("daemon.log"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        own
    }

    /// The command of a daemon.
    pub(crate) fn command(place: &Place, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-node"));
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(place.path().join("daemon.log"));
        command
            .args(["--machine", place.machine(), "--ledger"])
            .arg(place.ledger())
            .args(place.more())
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.unwrap());
        command
    }

    /// Ends it by a signal, and returns its exit status.
    pub(crate) fn end(mut self, signal: &str) -> Option<i32> {
        let pid = self.0.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(sent.success());
        self.0.wait().unwrap().code()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn is_leader(place: &Place, pid: u32) -> bool {
    if !place.ledger().exists() {
        return false;
    }
    let mut ledger = Ledger::open(place.ledger()).unwrap();
    let leader = ledger.read(|books| books.leader()).unwrap();
    leader.is_some_and(|leader| leader.process.id.pid.unsigned_abs() == pid)
}

fn replayed(place: &Place, record: &PathBuf) -> (bool, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_mapa-node"))
        .args(["--json", "replay"])
        .arg(record)
        .current_dir(place.path())
        .output()
        .unwrap();
    let answer = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}: {}", text(&output), error(&output)));
    assert_valid("drive-replay", &answer);
    (output.status.success(), answer)
}

/// Waits until something is so.
pub(crate) fn until(mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "in 60 s");
        thread::sleep(Duration::from_millis(10));
    }
}

/// What a record was told and ordered, by kind. The last line may be half written.
pub(crate) fn kinds(record: &PathBuf, list: &str, key: &str) -> Vec<String> {
    let text = std::fs::read_to_string(record).unwrap_or_default();
    let mut found = Vec::new();
    for line in text
        .split_inclusive('\n')
        .filter(|text| text.ends_with('\n'))
    {
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(own) = line["is"][list].as_array() else {
            continue;
        };
        found.extend(
            own.iter()
                .map(|value| value[key].as_str().unwrap().to_owned()),
        );
    }
    found
}

/// A day under a scheduler: jobs wait, start and end; one comes by itself, a device is cordoned, a
/// tenant tells how long its requests took. Its record gives its orders again, bit for bit.
fn check_live(scheduler: &str, machine: &[&str], job: &[&str]) {
    let place = Place::of("dgx-a100").with(machine);
    let record = place.path().join("record");
    let latencies = place.path().join("latencies");
    let config = place.path().join("node.toml");
    let text = format!(
        "[service]\nlatencies = \"{}\"\n[tenants.api]\nlatency_slo_ms = 15\n[tenants.etl]\npcie_mb_s = 12000\n[queue]\npoll_ms = 100\n",
        latencies.display()
    );
    std::fs::write(&config, text).unwrap();
    let words = [
        "--scheduler",
        scheduler,
        "--record",
        record.to_str().unwrap(),
        "--config",
        config.to_str().unwrap(),
    ];
    let daemon = Daemon::start(&place, &words);
    let run = |tenant: &str, wait: &[&str], script: &str| {
        let script = format!("{LOCK} echo $MAPA_DEVICES >> \"$LOCKS/done\"; {script}");
        let mut words = vec!["run", "--time", "20s", "--tenant", tenant];
        words.extend(wait);
        words.extend(job);
        words.extend(["--", "sh", "-c", &script]);
        let mut command = place.mapa(&words);
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    let wait = "while [ ! -e \"$LOCKS/seen\" ]; do sleep 0.02; done";
    let mut runs = vec![run("direct", &[], wait)];
    until(|| kinds(&record, "events", "event").contains(&"adopted".to_owned()));
    std::fs::write(place.path().join("seen"), "").unwrap();
    for tenant in ["api", "etl", "train", "etl", "train"] {
        runs.push(run(tenant, &["--wait"], "sleep 0.6"));
    }
    place.json(&["cordon", "GPU7", "--reason", "fan"]);
    let to = UnixDatagram::unbound().unwrap();
    for _ in 0..40 {
        to.send_to(b"api 25000000\n", &latencies).unwrap();
        thread::sleep(Duration::from_millis(50));
    }
    for run in &mut runs {
        let status = run.wait().unwrap();
        assert!(
            status.success(),
            "{scheduler}: {status}: {}",
            place.text("daemon.log")
        );
    }
    place.json(&["uncordon", "GPU7"]);
    thread::sleep(Duration::from_millis(300));
    assert_eq!(daemon.end("-TERM"), Some(0), "{}", place.text("daemon.log"));
    assert_eq!(place.text("faults"), "");
    assert_eq!(place.text("done").lines().count(), 6);

    for line in std::fs::read_to_string(&record).unwrap().lines() {
        assert_valid("drive-record", &serde_json::from_str(line).unwrap());
    }
    let (is_same, answer) = replayed(&place, &record);
    assert!(is_same, "{scheduler}: {answer}");
    let events = kinds(&record, "events", "event");
    for expected in ["arrived", "adopted", "finished", "cordoned", "latency"] {
        assert!(
            events.iter().any(|event| event == expected),
            "{scheduler}: {expected}: {events:?}"
        );
    }
    let orders = kinds(&record, "actions", "action");
    let placed = orders.iter().filter(|order| *order == "place").count();
    assert!(
        placed >= 5,
        "{scheduler}: {orders:?} {}",
        place.text("daemon.log")
    );

    // A line that is changed does not fit its seal. In a record of an earlier release, which has none, the scheduler's
    // orders tell.
    assert_eq!(answer["seal"].as_str().unwrap().len(), 64, "{answer}");
    let text = std::fs::read_to_string(&record).unwrap();
    let changed = text.replacen("\"action\":\"place\"", "\"action\":\"move\"", 1);
    std::fs::write(&record, &changed).unwrap();
    let refused = Command::new(env!("CARGO_BIN_EXE_mapa-node"))
        .arg("replay")
        .arg(&record)
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        error(&refused).contains("One of them was changed"),
        "{}",
        error(&refused)
    );
    let is_seal = |line: &&str| line.starts_with("{\"line\":\"seal\"");
    let lines: Vec<&str> = changed.lines().filter(|line| !is_seal(line)).collect();
    std::fs::write(&record, lines.join("\n") + "\n").unwrap();
    let (is_same, answer) = replayed(&place, &record);
    assert!(!is_same && answer["differ"] == 1, "{scheduler}: {answer}");
}

const WHOLE: (&[&str], &[&str]) = (&[], &["-n", "1"]);
const SLICES: (&[&str], &[&str]) = (
    &["--mig", "a100-40gb=3g,2g,1g,1g"],
    &["-n", "1", "--slice", "1g.5gb"],
);

#[test]
fn slo_is_driven_live_and_its_record_gives_its_orders_again() {
    check_live("slo", WHOLE.0, WHOLE.1);
}

#[test]
fn slo_replay_is_driven_live_and_its_record_gives_its_orders_again() {
    check_live("slo-replay", WHOLE.0, WHOLE.1);
}

#[test]
fn energy_plan_is_driven_live_and_its_record_gives_its_orders_again() {
    check_live("energy-plan", SLICES.0, SLICES.1);
}

#[test]
fn pcie_plan_is_driven_live_and_its_record_gives_its_orders_again() {
    check_live("pcie-plan", SLICES.0, SLICES.1);
}

#[test]
fn case_balanced_is_driven_live_and_its_record_gives_its_orders_again() {
    check_live("case-balanced", SLICES.0, SLICES.1);
}

#[test]
fn foresight_is_driven_live_and_its_record_gives_its_orders_again() {
    check_live("foresight", WHOLE.0, &["-n", "2", "--sensitive"]);
}

#[test]
fn topology_plan_is_driven_live_and_its_record_gives_its_orders_again() {
    check_live("topology-plan", WHOLE.0, &["-n", "2", "--sensitive"]);
}

#[test]
fn a_queue_has_one_daemon_and_a_second_one_is_refused() {
    let place = Place::new();
    let daemon = Daemon::start(&place, &["--scheduler", "fifo"]);
    let second = Daemon::command(&place, &["--scheduler", "easy-backfill"])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(125));
    assert!(
        error(&second).contains("expected one daemon for each ledger"),
        "{}",
        error(&second)
    );
    assert_eq!(daemon.end("-TERM"), Some(0));
    let third = Daemon::start(&place, &["--scheduler", "easy-backfill"]);
    assert_eq!(third.end("-TERM"), Some(0));
}

/// Whoever waits is placed by the daemon, whatever order it has named; when the daemon is killed,
/// those who wait go on by themselves, by the order of the queue.
#[test]
fn whoever_waits_goes_on_without_a_daemon_that_was_killed() {
    let place = Place::new();
    let daemon = Daemon::start(&place, &["--scheduler", "easy-backfill"]);
    let script = format!(
        "{LOCK} echo up >> \"$LOCKS/up\"; while [ ! -e \"$LOCKS/go\" ]; do sleep 0.02; done"
    );
    // A shell opens files by one digit alone, so seven locks are all that it takes.
    let all = ["run", "-n", "7", "--wait", "--", "sh", "-c", &script];
    let mut first = place.mapa(&all).stderr(Stdio::piped()).spawn().unwrap();
    place.await_lines("up", 1);
    let mut second = place
        .mapa(&[
            "run",
            "-n",
            "8",
            "--wait",
            "--scheduler",
            "foresight",
            "--policy",
            "greedy",
            "--",
            "true",
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(second.stderr.take().unwrap());
    let mut told = told.lines();
    let line = told.next().unwrap().unwrap();
    assert!(
        line.contains("easy-backfill, which a daemon decides, not by foresight, and by its policy, not by greedy"),
        "{line}"
    );
    daemon.end("-KILL");
    std::fs::write(place.path().join("go"), "").unwrap();
    assert!(first.wait().unwrap().success());
    assert!(second.wait().unwrap().success());
    // Without --wait nobody needs a daemon.
    assert!(
        place
            .run(&["run", "-n", "7", "--", "true"])
            .status
            .success()
    );
    let log = place.log();
    let turns: Vec<&Value> = log
        .iter()
        .filter(|value| value["kind"] == "grant")
        .collect();
    assert_eq!(turns.len(), 3, "{turns:?}");
}

/// Devices that another job takes between a poll and an action stay with it: the action fails, and its job waits
/// on.
#[test]
fn an_order_that_comes_too_late_fails_and_its_job_waits_on() {
    let machine = Machine::new();
    for device in 0..8 {
        machine.fake.set_mig(device, false).unwrap();
    }
    let record = machine.place.path().join("record");
    let words = ["--scheduler", "fifo", "--record", record.to_str().unwrap()];
    let daemon = machine.daemon_with(&words);
    let mut books = Ledger::open(machine.place.ledger()).unwrap();
    // The daemon queries the drivers before a poll and before an action. Another job comes during the query.
    let slow = Fault::delay("nvmlDeviceGetComputeRunningProcesses_v3", 3000).on(0);
    machine.fake.inject(slow).unwrap();
    let mut waits = machine
        .command(env!("CARGO_BIN_EXE_mapa"))
        .args(["run", "-n", "1", "--wait", "--", "true"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The daemon records the wait reason after its poll, before the action.
    let mut reason = || {
        let queue = books.read(|books| books.queue()).unwrap();
        queue.first().map(|ticket| ticket.reason.clone())
    };
    until(|| reason().is_some_and(|text| text == "its turn by fifo"));
    let taken = books.change(Durability::Boot, |books| {
        let (_, devices) = books.machine()?.unwrap();
        let keys: Vec<DeviceKey> = devices
            .iter()
            .map(|device| DeviceKey::whole(device))
            .collect();
        books.grant(&asker(&Processes::new()?), &keys, None, None, "a test")
    });
    let taken = taken.unwrap();
    until(|| kinds(&record, "events", "event").contains(&"action-failed".to_owned()));
    machine.fake.clear_faults().unwrap();
    assert!(waits.try_wait().unwrap().is_none(), "it waits on");
    let freed = books.change(Durability::Boot, |books| {
        let lease = books.leases()?.into_iter().find(|lease| lease.id == taken);
        books.release("tester", &lease.unwrap(), "a test")
    });
    assert!(freed.unwrap());
    assert!(waits.wait().unwrap().success());
    let log = machine.place.text("daemon.log");
    assert_eq!(daemon.end("-TERM"), Some(0), "{log}");
    assert!(replayed(&machine.place, &record).0, "{log}");
    let events = kinds(&record, "events", "event");
    assert!(events.contains(&"adopted".to_owned()), "{events:?}");
}

/// A daemon that was stopped for so long that another has its queue changes nothing more.
#[test]
fn a_daemon_that_was_replaced_refuses_nobody_and_ends() {
    let place = Place::new();
    let mut daemon = Daemon::start(&place, &["--scheduler", "fifo"]);
    let pid = daemon.0.id().to_string();
    let signal = |text: &str| {
        let sent = Command::new("kill").args([text, &pid]).status().unwrap();
        assert!(sent.success());
    };
    until(|| place.text("daemon.log").contains("ready"));
    signal("-STOP");
    let mut books = Ledger::open(place.ledger()).unwrap();
    let processes = Processes::new().unwrap();
    let ticket = books.change(Durability::Boot, |books| {
        books.acquire_leadership("tester", &processes.own()?, "fifo")?;
        // This would be refused: it is no request.
        books.enqueue(&asker(&processes), "fifo", None, "a test")
    });
    let ticket = ticket.unwrap();
    signal("-CONT");
    let status = daemon.0.wait().unwrap();
    let log = place.text("daemon.log");
    assert_eq!(status.code(), Some(125), "{log}");
    assert!(log.contains("another daemon has taken this queue"), "{log}");
    let (found, leader) = books
        .read(|books| Ok((books.ticket(ticket)?, books.leader()?)))
        .unwrap();
    assert_eq!(found.unwrap().refusal, None);
    let leader = leader.unwrap().process.id.pid.unsigned_abs();
    assert_eq!(leader, std::process::id());
}

/// A tenant that sends as fast as it can delays neither jobs nor the watchdog, and costs no other tenant a report.
#[test]
fn a_flood_of_latencies_costs_others_nothing() {
    let place = Place::new();
    let systemd = Systemd::new(place.path());
    let latencies = place.path().join("latencies");
    let config = place.path().join("node.toml");
    let text = format!(
        "[queue]\npoll_ms = 100\n[service]\nlatencies = \"{}\"\n",
        latencies.display()
    );
    std::fs::write(&config, text).unwrap();
    let words = ["--scheduler", "slo", "--config", config.to_str().unwrap()];
    let mut command = Daemon::command(&place, &words);
    command
        .env("NOTIFY_SOCKET", systemd.path())
        .env("WATCHDOG_USEC", "400000");
    let daemon = Daemon::of(&place, command);
    let script = "echo >>$LOCKS/there; while [ ! -e $LOCKS/end ]; do sleep .02; done";
    let mut jobs = ["noisy", "api"].map(|tenant| {
        let words = [
            "run", "-n", "1", "--tenant", tenant, "--", "sh", "-c", script,
        ];
        place.mapa(&words).spawn().unwrap()
    });
    place.await_lines("there", 2);
    thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    let flood = thread::spawn({
        let latencies = latencies.clone();
        move || {
            let to = UnixDatagram::unbound().unwrap();
            let datagram = "noisy 1000000\n".repeat(500);
            let mut count = 0;
            while begun.elapsed() < Duration::from_secs(2) {
                to.send_to(datagram.as_bytes(), &latencies).unwrap();
                count += 500;
            }
            count
        }
    });
    let pings = systemd.watchdog_pings();
    let to = UnixDatagram::unbound().unwrap();
    let mut slowest = Duration::ZERO;
    while !flood.is_finished() {
        to.send_to(b"api 2000000\n".repeat(10).as_slice(), &latencies)
            .unwrap();
        let asked = Instant::now();
        let output = place.run(&["run", "-n", "1", "--wait", "--", "true"]);
        assert!(output.status.success(), "{}", error(&output));
        slowest = slowest.max(asked.elapsed());
        thread::sleep(Duration::from_millis(20));
    }
    let pings = systemd.watchdog_pings() - pings;
    let count = flood.join().unwrap();
    to.send_to(b"api 2000000\n", &latencies).unwrap();
    // Every report of the other tenant has arrived, the last among them.
    let told = |tenant: &str| {
        let mut stream = UnixStream::connect(place.path().join("ledger.db.sock")).unwrap();
        writeln!(stream, "{{\"query\":\"metrics\"}}").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        let metrics = answer["result"]["text"].as_str().unwrap();
        let name = format!("mapa_request_latency_seconds_count{{tenant=\"{tenant}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
        line.map_or(0, |number| number.parse::<u64>().unwrap())
    };
    until(|| told("api") % 10 == 1);
    eprintln!(
        "{count} reports, {} of them counted; {pings} pings; a job took {slowest:?}",
        told("noisy")
    );
    assert!(pings >= 5, "{pings} pings in 2 s, one is due each 0.2 s");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    std::fs::write(place.path().join("end"), "").unwrap();
    for job in &mut jobs {
        assert!(job.wait().unwrap().success());
    }
    assert_eq!(daemon.end("-TERM"), Some(0));
}

/// A share of multiprocessors that a daemon of before has set, until this moment.
fn throttle(machine: &Machine, mps: &Mps, until_ms: u64) {
    let server = MpsServer(mps.pipe());
    let step = Step::MpsPercent {
        server: server.clone(),
        scope: MpsScope::Daemon,
        from: 100_000,
        to: 70_000,
    };
    let percent = 70;
    let entry = JournalEntry {
        id: 1,
        change: LeverChange::MpsPercent { server, percent },
        plan: Plan {
            lever: "mps-percent".to_owned(),
            steps: vec![step],
            words: vec!["a test".to_owned()],
            warnings: Vec::new(),
        },
        lifetime: Lifetime::Until { ms: until_ms },
        confirmed: true,
        boot: Some(Processes::new().unwrap().boot().to_owned()),
    };
    let folder = machine.place.path().join("ledger.db.pulls");
    FolderJournal::open(folder).unwrap().put(&entry).unwrap();
}

/// A daemon of before counted from 1970: by this clock its throttle would hold for half a century.
#[test]
fn a_throttle_of_a_journal_that_counts_from_1970_ends_at_the_start() {
    let machine = Machine::new();
    let mps = Mps::new(&machine.place);
    let now_ms = (mapa_node::now() / 1_000_000).unsigned_abs();
    throttle(&machine, &mps, now_ms + 60_000);
    let daemon = machine.daemon_in(&["--scheduler", "fifo"], &mps.path());
    until(|| entries(&machine.place.ledger()).is_empty());
    let log = machine.place.text("daemon.log");
    assert_eq!(daemon.end("-TERM"), Some(0), "{log}");
}

/// Time goes on for a throttle also while nobody knows who uses what.
#[test]
fn a_throttle_ends_in_its_time_though_the_drivers_do_not_answer() {
    let machine = Machine::new();
    let mps = Mps::new(&machine.place);
    throttle(&machine, &mps, since_boot_ms() + 5000);
    let daemon = machine.daemon_in(&["--scheduler", "fifo"], &mps.path());
    until(|| machine.place.text("daemon.log").contains("ready"));
    let silent = Fault::new("nvmlDeviceGetCount_v2", Code::Unknown);
    machine.fake.inject(silent).unwrap();
    let ledger = machine.place.ledger();
    assert_eq!(
        entries(&ledger).len(),
        1,
        "{}",
        machine.place.text("daemon.log")
    );
    until(|| entries(&ledger).is_empty());
    let log = machine.place.text("daemon.log");
    assert!(log.contains("component=\"drivers\""), "{log}");
    assert_eq!(daemon.end("-TERM"), Some(0), "{log}");
}

/// Jobs do not wait for a control daemon of MPS that hangs, and it is asked until it answers.
#[test]
fn a_control_daemon_of_mps_that_hangs_delays_no_job() {
    let machine = Machine::new();
    for device in 0..8 {
        machine.fake.set_mig(device, false).unwrap();
    }
    let mps = Mps::new(&machine.place);
    throttle(&machine, &mps, 0);
    let hangs = mps.pipe().join("hangs");
    std::fs::write(&hangs, "").unwrap();
    let daemon = machine.daemon_in(&["--scheduler", "fifo"], &mps.path());
    let log = || machine.place.text("daemon.log");
    until(|| log().contains("ready"));
    until(|| std::fs::read_to_string(&hangs).unwrap().contains("asked"));
    let words = ["run", "-n", "1", "--wait", "--", "true"];
    let mut job = machine.command(env!("CARGO_BIN_EXE_mapa"));
    let job = job.args(words).output().unwrap();
    assert!(job.status.success(), "{job:?}\n{}", log());
    assert_eq!(entries(&machine.place.ledger()).len(), 1, "{}", log());
    std::fs::remove_file(&hangs).unwrap();
    until(|| entries(&machine.place.ledger()).is_empty());
    assert_eq!(daemon.end("-TERM"), Some(0), "{}", log());
}

/// MIG may be switched by hand.
#[test]
fn a_device_that_somebody_takes_out_of_mig_mode_is_reported() {
    let machine = Machine::new();
    let record = machine.place.path().join("record");
    let words = ["--scheduler", "fifo", "--record", record.to_str().unwrap()];
    let daemon = machine.daemon_with(&words);
    let layouts = || {
        let events = kinds(&record, "events", "event");
        events.iter().filter(|event| *event == "layout-is").count()
    };
    until(|| layouts() == 8);
    // Its next poll has seen the modes once.
    thread::sleep(Duration::from_millis(1500));
    machine.fake.set_mig(3, false).unwrap();
    until(|| layouts() == 9);
    let log = machine.place.text("daemon.log");
    assert_eq!(daemon.end("-TERM"), Some(0), "{log}");
}

/// A driver that fails just when the machine is read anew has lost no link and no device.
#[test]
fn a_driver_that_fails_while_the_machine_is_read_anew_is_asked_again() {
    let machine = Machine::new();
    let record = machine.place.path().join("record");
    let words = ["--scheduler", "fifo", "--record", record.to_str().unwrap()];
    let mut daemon = machine.daemon_with(&words);
    let layouts = || {
        let events = kinds(&record, "events", "event");
        events.iter().filter(|event| *event == "layout-is").count()
    };
    until(|| layouts() == 8);
    // Its next poll has seen the modes once.
    thread::sleep(Duration::from_millis(1500));
    // A poll does not query this; reading the machine does.
    let fails = Fault::new("nvmlDeviceGetTopologyCommonAncestor", Code::Unknown);
    machine.fake.inject(fails).unwrap();
    machine.fake.set_mig(3, false).unwrap();
    let log = || machine.place.text("daemon.log");
    until(|| log().contains("component=\"drivers\""));
    thread::sleep(Duration::from_millis(1500));
    assert!(daemon.0.try_wait().unwrap().is_none(), "{}", log());
    assert_eq!(layouts(), 8, "nothing is told of what is not known");
    machine.fake.clear_faults().unwrap();
    until(|| layouts() == 9);
    assert_eq!(daemon.end("-TERM"), Some(0), "{}", log());
}

#[test]
fn the_socket_answers_its_group_and_the_counters_are_there() {
    let place = Place::new();
    let socket = place.path().join("ledger.db.sock");
    let daemon = Daemon::start(&place, &["--scheduler", "fifo"]);
    let ask = |question: &str| -> Value {
        let mut stream = UnixStream::connect(&socket).unwrap();
        writeln!(stream, "{question}").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_valid("node-answer", &answer);
        assert_eq!(answer["version"], 2);
        let answer = answer["result"].clone();
        if let Ok(question) = serde_json::from_str::<Value>(question)
            && answer["answer"] != "error"
        {
            assert_valid("node-query", &question);
        }
        answer
    };
    let begun = Instant::now();
    while !socket.exists() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(5));
    }
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&socket).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o660);
    let status = ask("{\"query\":\"status\"}");
    assert_eq!(status["status"]["scheduler"], "fifo", "{status}");
    let script = format!("{LOCK} echo up >> \"$LOCKS/up\"; sleep 0.5");
    let mut run = place
        .mapa(&["run", "-n", "3", "--wait", "--", "sh", "-c", &script])
        .spawn()
        .unwrap();
    place.await_lines("up", 1);
    let ps = ask("{\"query\":\"ps\"}");
    assert_eq!(
        ps["ps"]["leases"][0]["devices"].as_array().unwrap().len(),
        3,
        "{ps}"
    );
    // The same by the program, for people and programs.
    let program = |words: &[&str], ledger: &std::path::Path| {
        Command::new(env!("CARGO_BIN_EXE_mapa-node"))
            .args(words)
            .arg(ledger)
            .output()
            .unwrap()
    };
    let told = program(&["status", "--ledger"], &place.ledger());
    let said = text(&told);
    assert!(told.status.success());
    for words in [
        "scheduler  fifo",
        "machine    ",
        "1 lease, 0 jobs waiting, 5 of 8 devices free",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let told = program(&["--json", "status", "--ledger"], &place.ledger());
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_valid("node-answer", &told);
    assert_eq!(told["result"]["status"]["leases"], 1, "{told}");
    let nobody = program(&["status", "--ledger"], &place.path().join("nobody"));
    assert_eq!(nobody.status.code(), Some(125));
    assert!(
        error(&nobody).contains("expected a daemon"),
        "{}",
        error(&nobody)
    );
    let metrics = ask("{\"query\":\"metrics\"}");
    let text = metrics["text"].as_str().unwrap();
    assert!(
        text.contains("mapa_actions_total{kind=\"place\"} 1"),
        "{text}"
    );
    for (question, expected) in [
        ("{\"query\":\"x\"}", "expected"),
        ("x", "expected"),
        ("{\"query\":\"ps\",\"y\":1}", "expected"),
    ] {
        let answer = ask(question);
        assert_eq!(answer["answer"], "error");
        assert!(
            answer["error"].as_str().unwrap().contains(expected),
            "{answer}"
        );
    }
    for query in ["status", "ps", "free", "tenants", "recover", "metrics"] {
        assert_valid("node-query", &serde_json::json!({ "query": query }));
    }
    // A question that never ends is answered, and nobody else is kept waiting.
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(&vec![b'x'; 5000]).unwrap();
    assert_eq!(ask("{\"query\":\"free\"}")["answer"], "free");
    assert!(run.wait().unwrap().success());
    assert_eq!(daemon.end("-TERM"), Some(0));
    assert!(!socket.exists());
}

#[test]
fn a_configuration_that_is_none_is_refused_by_file_line_and_expected_form() {
    let place = Place::new();
    let config = place.path().join("node.toml");
    let check = |text: &str, expected: &str| {
        std::fs::write(&config, text).unwrap();
        let words = ["--scheduler", "fifo", "--config", config.to_str().unwrap()];
        let output = Daemon::command(&place, &words)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let error = error(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains("node.toml: ") && error.contains(expected),
            "{text}: {error}"
        );
    };
    check("[queue]\npoll_ms = 5\n", "line 2: 5: expected 100 to 5000");
    check(
        "[queue]\npoll_ms = 5001\n",
        "line 2: 5001: expected 100 to 5000",
    );
    check("[queues]\n", "line 1: unknown field `queues`");
    check(
        "[levers]\nbounds.io_mb_s = { min = 1 }\n",
        "line 2: missing field `max`",
    );
    check(
        "[tenants.a]\n\nlatency_slo_ms = -2\n",
        "line 3: -2: expected milliseconds above 0",
    );
    check(
        "[levers]\nblock_devices = [\"sda\"]\n",
        "expected its numbers, such as 254:0",
    );
}

#[test]
fn doctor_says_what_a_machine_lacks_and_what_to_do() {
    let place = Place::new();
    drop(place.json(&["free"]));
    let config = place.path().join("node.toml");
    let socket = place.path().join("none/latencies");
    std::fs::write(
        &config,
        format!("[service]\nlatencies = \"{}\"\n", socket.display()),
    )
    .unwrap();
    let doctor = || {
        Command::new(env!("CARGO_BIN_EXE_mapa-node"))
            .args(["--json", "--nvml", "/nowhere/libnvidia-ml.so.1", "--ledger"])
            .arg(place.ledger())
            .args(["doctor", "--config"])
            .arg(&config)
            .env("XDG_CACHE_HOME", place.path())
            .output()
            .unwrap()
    };
    let output = doctor();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_valid("node-doctor", &answer);
    let checks = answer["checks"].as_array().unwrap();
    let of = |what: &str| checks.iter().find(|check| check["check"] == what).unwrap();
    assert_eq!(of("ledger")["status"], "ok", "{answer}");
    assert_eq!(of("MIG")["status"], "missing", "{answer}");
    assert_eq!(of("latencies")["status"], "broken", "{answer}");
    assert_eq!(output.status.code(), Some(1));
    for check in checks {
        assert_eq!(check["status"] == "ok", check["hint"].is_null(), "{check}");
    }
    std::fs::write(&config, "").unwrap();
    let answer: Value = serde_json::from_slice(&doctor().stdout).unwrap();
    let checks = answer["checks"].as_array().unwrap();
    assert!(
        checks
            .iter()
            .any(|check| check["check"] == "latencies" && check["status"] == "missing")
    );
}

/// Where no path is known, jobs on other devices are no neighbours: whoever trusts in throttles is told.
#[test]
fn slo_on_a_host_that_hides_its_topology_says_who_is_not_throttled() {
    for is_hidden in [true, false] {
        let machine = Machine::new();
        if is_hidden {
            let fails = "nvmlDeviceGetTopologyCommonAncestor";
            let fault = Fault::new(fails, Code::NotSupported);
            machine.fake.inject(fault).unwrap();
        }
        let daemon = machine.daemon_with(&["--scheduler", "slo"]);
        let log = || machine.place.text("daemon.log");
        until(|| log().contains("ready"));
        let told = "does not tell the paths between devices: jobs on other devices are not known";
        assert_eq!(log().contains(told), is_hidden, "{}", log());
        assert_eq!(daemon.end("-TERM"), Some(0));
    }
}

/// systemd starts what comes after the daemon once it is ready, and kills it if it is silent.
#[test]
fn systemd_is_notified_that_the_daemon_is_ready_lives_and_ends() {
    let place = Place::new();
    let systemd = Systemd::new(place.path());
    let mut command = Daemon::command(&place, &["--scheduler", "fifo"]);
    command
        .env("NOTIFY_SOCKET", systemd.path())
        .env("WATCHDOG_USEC", "2000000");
    let daemon = Daemon::of(&place, command);
    until(|| systemd.watchdog_pings() >= 3);
    assert_eq!(systemd.told()[0], "READY=1", "{:?}", systemd.told());
    assert_eq!(daemon.end("-TERM"), Some(0));
    until(|| {
        systemd
            .told()
            .last()
            .is_some_and(|candidate| candidate == "STOPPING=1")
    });
    // A watchdog that is meant for another process is none of its own.
    let folder = tempfile::tempdir().unwrap();
    let other = Systemd::new(folder.path());
    let mut command = Daemon::command(&place, &["--scheduler", "fifo"]);
    command
        .env("NOTIFY_SOCKET", other.path())
        .env("WATCHDOG_USEC", "100000")
        .env("WATCHDOG_PID", "1");
    let daemon = Daemon::of(&place, command);
    until(|| !other.told().is_empty());
    assert_eq!(daemon.end("-TERM"), Some(0));
    until(|| other.told() == ["READY=1", "STOPPING=1"]);
}

/// Counts of an exporter are reported as if the tenant had sent them, and what cannot be read is reported as missing.
#[test]
fn exporters_of_tenants_are_heard_and_what_is_missing_is_reported() {
    let place = Place::new();
    let config = place.path().join("node.toml");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (turn, stream) in (1_u32..).zip(listener.incoming()) {
            let mut stream = stream.unwrap();
            let _ = std::io::Read::read(&mut stream, &mut [0; 4096]);
            let name = "dynamo_frontend_inter_token_latency_seconds";
            let (sum, count) = (f64::from(turn) * 0.02, turn);
            let body =
                format!("{name}_sum{{model=\"m\"}} {sum}\n{name}_count{{model=\"m\"}} {count}\n");
            let length = body.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    let metrics = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = metrics.local_addr().unwrap();
    drop(metrics);
    std::fs::write(
        &config,
        format!(
            "[queue]\npoll_ms = 100\n[service]\nmetrics = \"{address}\"\n[telemetry]\ndcgm = \"http://127.0.0.1:1/metrics\"\n[tenants.api.exporter]\nkind = \"dynamo\"\nurl = \"{url}\"\nmetric = \"dynamo_frontend_inter_token_latency_seconds\"\nmodel_name = \"m\"\n",
        ),
    )
    .unwrap();
    let words = ["--scheduler", "fifo", "--config", config.to_str().unwrap()];
    let daemon = Daemon::start(&place, &words);
    let get = |path: &str| {
        let mut stream = std::net::TcpStream::connect(address).ok()?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        )
        .ok()?;
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer).ok()?;
        Some(answer)
    };
    until(|| {
        get("/healthz")
            .is_some_and(|text| text.starts_with("HTTP/1.1 200") && text.ends_with("ok\n"))
    });
    assert!(get("/x").unwrap().starts_with("HTTP/1.1 404"));
    // Each request took 20 ms: none of them is in the bucket below 12.8, and all are in that below 25.6.
    until(|| {
        let text = get("/metrics").unwrap();
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.trim().parse::<u64>().ok())
                .unwrap_or(0)
        };
        let bucket = |le: &str| {
            of(&format!(
                "mapa_request_latency_seconds_bucket{{le=\"{le}\",tenant=\"api\"}}"
            ))
        };
        let count = of("mapa_request_latency_seconds_count{tenant=\"api\"}");
        count >= 3
            && bucket("0.0128") == 0
            && bucket("0.0256") == count
            && of("mapa_missing_signals") > 0
    });
    let mut stream = UnixStream::connect(place.path().join("ledger.db.sock")).unwrap();
    writeln!(stream, "{{\"query\":\"status\"}}").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_valid("node-answer", &answer);
    let missing = answer["result"]["status"]["missing"].to_string();
    for expected in [
        "http://127.0.0.1:1/metrics",
        "dynamo_frontend_queued_requests",
    ] {
        assert!(missing.contains(expected), "{expected}: {missing}");
    }
    assert_eq!(daemon.end("-TERM"), Some(0));
}
