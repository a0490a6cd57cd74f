//! Links that go down and come up, and PCIe with fewer lanes: decisions are made on the machine as it is now, each
//! change is noted once, and everybody shows it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::common::{Machine, error, text};

/// Takes all links of GPU2 and GPU3 down, or up again. A job of two is given these while all links of the machine are
/// up.
fn set_links(machine: &Machine, up: bool) {
    for device in [2, 3] {
        (0..6).for_each(|link| machine.fake.set_link(device, link, up).unwrap());
    }
}

/// How many devices have links to GPU2 or GPU3, with these two.
const TOUCHED: usize = 6;

/// The devices of a dry run.
fn chosen(machine: &Machine) -> Vec<String> {
    let answer = machine.json(&["run", "-n", "2", "--sensitive", "--dry-run"]);
    let names = answer["names"].as_array().unwrap().iter();
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

/// The entries of this kind in the audit.
fn noted(machine: &Machine, kind: &str) -> usize {
    let log = machine.json(&["log", "-n", "1000"]);
    let all = log["decisions"].as_array().unwrap();
    all.iter().filter(|value| value["kind"] == kind).count()
}

/// What `mapa free` says of a device.
fn free(machine: &Machine, device: &str) -> Value {
    let answer = machine.json(&["free"]);
    let devices = answer["devices"].as_array().unwrap();
    let found = devices.iter().find(|value| value["device"] == device);
    found.unwrap().clone()
}

#[test]
fn a_decision_is_made_on_the_links_of_this_moment_and_each_change_is_noted_once() {
    let machine = Machine::of("dgx-1v");
    assert_eq!(chosen(&machine), ["GPU2", "GPU3"]);
    set_links(&machine, false);
    assert_eq!(chosen(&machine), ["GPU0", "GPU4"]);
    assert_eq!(chosen(&machine), ["GPU0", "GPU4"]);
    let output = machine.mapa(&["run", "-n", "2", "--sensitive", "--", "true"]);
    assert!(output.status.success(), "{}", error(&output));
    assert_eq!(
        (noted(&machine, "degraded"), noted(&machine, "restored")),
        (TOUCHED, 0)
    );
    // All devices can be given nevertheless.
    let output = machine.mapa(&["run", "-n", "8", "--", "true"]);
    assert!(output.status.success(), "{}", error(&output));
    set_links(&machine, true);
    assert_eq!(chosen(&machine), ["GPU2", "GPU3"]);
    assert_eq!(chosen(&machine), ["GPU2", "GPU3"]);
    assert_eq!(
        (noted(&machine, "degraded"), noted(&machine, "restored")),
        (TOUCHED, TOUCHED)
    );
}

#[test]
fn links_that_are_down_are_shown_until_they_are_up() {
    let machine = Machine::of("dgx-1v");
    assert_eq!(free(&machine, "GPU2")["degraded"], Value::Null);
    set_links(&machine, false);
    let device = free(&machine, "GPU2");
    assert_eq!(device["degraded"], "0 of 6 direct links are up");
    assert_eq!(
        (&device["free"], &device["withheld"]),
        (&true.into(), &Value::Null)
    );
    let shown = text(&machine.mapa(&["ps"]));
    assert!(
        shown.contains("degraded: GPU2: 0 of 6 direct links are up"),
        "{shown}"
    );
    // Nobody can declare a link mended.
    let cleared = machine.mapa(&["uncordon", "GPU2", "--reason", "tested"]);
    assert_eq!(cleared.status.code(), Some(2), "{}", error(&cleared));
    let doctor = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-node"));
        let library = machine.path().join("driver/libnvidia-ml.so.1");
        command
            .arg("--nvml")
            .arg(library)
            .arg("--ledger")
            .arg(machine.ledger());
        command.env("XDG_CACHE_HOME", machine.path().join("cache"));
        text(&command.arg("doctor").output().unwrap())
    };
    let said = doctor();
    let line = "BROKEN   links of devices: GPU3: 0 of 6 direct links are up";
    assert!(said.contains(line), "{said}");
    set_links(&machine, true);
    assert_eq!(free(&machine, "GPU2")["degraded"], Value::Null);
    assert!(!text(&machine.mapa(&["ps"])).contains("degraded"));
    assert!(
        doctor().contains("ok       links of devices"),
        "{}",
        doctor()
    );
}

#[test]
fn a_job_that_waits_is_given_devices_by_the_links_at_its_turn() {
    let machine = Machine::of("dgx-1v");
    let mut holder = machine.holder(8);
    let script = "echo $MAPA_DEVICES";
    let words = [
        "run",
        "-n",
        "2",
        "--sensitive",
        "--wait",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut waiter = machine.command(&words);
    let waiter = { &mut waiter }.stdout(Stdio::piped()).spawn().unwrap();
    machine.until(|ps| ps["queue"].as_array().unwrap().len() == 1);
    set_links(&machine, false);
    machine.end(&mut holder);
    let output = waiter.wait_with_output().unwrap();
    assert_eq!(text(&output), "GPU0,GPU4", "{}", error(&output));
}

/// A pair with two links is GPU2 and GPU3, among others; none of four devices that has them all is there without.
#[test]
fn a_job_that_needs_links_which_are_down_waits_for_them() {
    let machine = Machine::of("dgx-1v");
    chosen(&machine);
    let need = [
        "-n",
        "2",
        "--must-include",
        "GPU2,GPU3",
        "--min-link",
        "NV2",
    ];
    set_links(&machine, false);
    let refused = machine.mapa(&[&["run"], &need[..], &["--", "true"]].concat());
    assert_eq!(refused.status.code(), Some(75), "{}", error(&refused));
    let why = "links that are down now";
    assert!(error(&refused).contains(why), "{}", error(&refused));
    for scheduler in [&[][..], &["--scheduler", "fifo"]] {
        let words = [&["run", "--wait"], scheduler, &need[..], &["--", "true"]].concat();
        let mut waiter = machine.command(&words);
        let waiter = { &mut waiter }.stderr(Stdio::piped()).spawn().unwrap();
        machine.until(|ps| ps["queue"].as_array().unwrap().len() == 1);
        set_links(&machine, true);
        let output = waiter.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", error(&output));
        set_links(&machine, false);
    }
    // What no links can help is refused for good.
    let never = machine.mapa(&["run", "-n", "9", "--wait", "--", "true"]);
    assert_eq!(never.status.code(), Some(69), "{}", error(&never));
}

/// Another user has a cache of their own, made while links were down.
#[test]
fn users_who_came_at_different_times_agree_on_what_is_down() {
    let machine = Machine::of("dgx-1v");
    chosen(&machine);
    set_links(&machine, false);
    chosen(&machine);
    let other = |machine: &Machine| {
        let mut command = machine.command(&["run", "-n", "2", "--dry-run"]);
        command.env("XDG_CACHE_HOME", machine.path().join("other"));
        assert!(command.output().unwrap().status.success());
    };
    (0..2).for_each(|_| {
        other(&machine);
        chosen(&machine);
    });
    assert_eq!(
        (noted(&machine, "degraded"), noted(&machine, "restored")),
        (TOUCHED, 0)
    );
    set_links(&machine, true);
    other(&machine);
    chosen(&machine);
    assert_eq!(noted(&machine, "restored"), TOUCHED);
}

#[test]
fn missing_lanes_are_noted_and_a_lower_generation_only_of_a_device_that_computes() {
    let machine = Machine::of("dgx-1v");
    let set = |change: fn(&mut fake_nvml::Counters)| machine.fake.set_counters(4, change).unwrap();
    let degraded = || free(&machine, "GPU4")["degraded"].clone();
    set(|counters| counters.pcie_generation = 1);
    assert_eq!(degraded(), Value::Null, "it is idle");
    set(|counters| counters.gpu_utilization = 90);
    let slow = "PCIe runs at generation 1 of 3 while it computes";
    assert_eq!(degraded(), slow);
    set(|counters| counters.gpu_utilization = 0);
    assert_eq!(degraded(), slow, "an idle device says nothing of it");
    set(|counters| (counters.gpu_utilization, counters.pcie_generation) = (90, 0));
    assert_eq!(degraded(), Value::Null);
    set(|counters| counters.pcie_lanes = 8);
    assert_eq!(degraded(), "PCIe has 8 of 16 lanes");
    set(|counters| counters.pcie_lanes = 0);
    assert_eq!(degraded(), Value::Null);
    assert_eq!(
        (noted(&machine, "degraded"), noted(&machine, "restored")),
        (2, 2)
    );
}

#[test]
fn a_monitor_notes_links_though_nobody_asks_for_devices() {
    let machine = Machine::of("dgx-1v");
    assert_eq!(chosen(&machine), ["GPU2", "GPU3"]);
    let said = machine.path().join("said");
    let mut monitor = machine.command(&["monitor"]);
    let mut monitor = { &mut monitor }
        .stdout(std::fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let until = |kind: &str| {
        let begun = Instant::now();
        while noted(&machine, kind) < TOUCHED {
            assert!(begun.elapsed() < Duration::from_secs(60), "{kind}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    set_links(&machine, false);
    until("degraded");
    set_links(&machine, true);
    until("restored");
    machine.end(&mut monitor);
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.contains("GPU2: 0 of 6 direct links are up"), "{said}");
}

/// A daemon on a machine whose links can be changed.
struct Daemon {
    child: Child,
    address: SocketAddr,
}

impl Daemon {
    fn start(machine: &Machine) -> Self {
        let unused = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = unused.local_addr().unwrap();
        drop(unused);
        let path = |name: &str| machine.path().join(name);
        let config = format!("[service]\nmetrics = \"{address}\"\n[queue]\npoll_ms = 200\n");
        std::fs::write(path("node.toml"), config).unwrap();
        let log = std::fs::File::create(path("daemon.log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_mapa-node"));
        command.arg("--nvml").arg(path("driver/libnvidia-ml.so.1"));
        command.arg("--ledger").arg(machine.ledger());
        command
            .args(["--scheduler", "fifo", "--config"])
            .arg(path("node.toml"));
        command.arg("--record").arg(path("record.jsonl"));
        command.env("XDG_CACHE_HOME", path("cache"));
        let child = { &mut command }.stderr(log).spawn().unwrap();
        let daemon = Self { child, address };
        daemon.until(machine, |_, log| log.contains("ready"));
        daemon
    }

    fn metrics(&self) -> String {
        let mut told = String::new();
        if let Ok(mut stream) = TcpStream::connect(self.address) {
            drop(stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n"));
            drop(stream.read_to_string(&mut told));
        }
        told
    }

    /// Waits until metrics and log are as wanted.
    fn until(&self, machine: &Machine, wanted: impl Fn(&str, &str) -> bool) {
        let begun = Instant::now();
        loop {
            let log = std::fs::read_to_string(machine.path().join("daemon.log")).unwrap();
            let metrics = self.metrics();
            if wanted(&metrics, &log) {
                return;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{log}\n{metrics}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The devices that a daemon gives to a job of two.
fn given(machine: &Machine) -> String {
    let script = "echo $MAPA_DEVICES";
    let words = [
        "run",
        "-n",
        "2",
        "--sensitive",
        "--wait",
        "--",
        "sh",
        "-c",
        script,
    ];
    let output = machine.mapa(&words);
    assert!(output.status.success(), "{}", error(&output));
    text(&output)
}

#[test]
fn a_daemon_decides_on_the_links_of_this_moment_and_counts_those_that_are_down() {
    let machine = Machine::of("dgx-1v");
    let daemon = Daemon::start(&machine);
    assert_eq!(given(&machine), "GPU2,GPU3");
    let mut holder = machine.hold(&["-n", "1", "--must-include", "GPU7"]);
    set_links(&machine, false);
    daemon.until(&machine, |metrics, _| {
        metrics.contains("\nmapa_links_down 20\n")
    });
    assert!(daemon.metrics().contains("\nmapa_degraded_devices 6\n"));
    assert_eq!(given(&machine), "GPU0,GPU4");
    let need = [
        "run",
        "-n",
        "2",
        "--must-include",
        "GPU2,GPU3",
        "--min-link",
        "NV2",
    ];
    let mut waiter = machine.command(&[&need[..], &["--wait", "--", "true"]].concat());
    let mut waiter = { &mut waiter }.stderr(Stdio::piped()).spawn().unwrap();
    machine.until(|ps| ps["queue"].as_array().unwrap().len() == 1);
    // Whoever ran before runs on, and is known to the scheduler that has begun since.
    daemon.until(&machine, |metrics, _| {
        metrics.contains("\nmapa_free_devices 7\n")
    });
    let lease = &machine.json(&["ps"])["leases"][0];
    assert_eq!(lease["fault"][0], "GPU7: 5 of 6 direct links are up");
    set_links(&machine, true);
    daemon.until(&machine, |metrics, _| {
        metrics.contains("\nmapa_links_down 0\n")
    });
    assert_eq!(
        waiter.wait().unwrap().code(),
        Some(0),
        "it waited for its links"
    );
    machine.end(&mut holder);
    assert_eq!(given(&machine), "GPU2,GPU3");
    let log = std::fs::read_to_string(machine.path().join("daemon.log")).unwrap();
    let lines = |what: &str| log.lines().filter(|line| line.contains(what)).count();
    // Links are changed one by one, so a poll may see some of them down.
    assert_eq!(
        lines("INFO restored"),
        lines("WARN degraded").min(TOUCHED),
        "{log}"
    );
    assert_eq!(lines("was=\"0 of 6 direct links are up\""), 2, "{log}");
    let mut replay = Command::new(env!("CARGO_BIN_EXE_mapa-node"));
    let replay = replay
        .arg("replay")
        .arg(machine.path().join("record.jsonl"))
        .output();
    assert!(text(&replay.unwrap()).contains("; 0 turns differ"));
}

/// The links of its neighbours go with it. The daemon must neither end nor wait for it.
#[test]
fn a_daemon_goes_on_when_a_device_is_lost_with_its_links() {
    let machine = Machine::of("dgx-1v");
    let daemon = Daemon::start(&machine);
    (0..6).for_each(|link| machine.fake.set_link(2, link, false).unwrap());
    machine.fake.lose(2).unwrap();
    daemon.until(&machine, |metrics, _| {
        metrics.contains("\nmapa_free_devices 7\n")
    });
    let devices = given(&machine);
    assert!(!devices.contains("GPU2"), "{devices}");
    machine.fake.reset(2).unwrap();
    (0..6).for_each(|link| machine.fake.set_link(2, link, true).unwrap());
    daemon.until(&machine, |metrics, _| {
        metrics.contains("\nmapa_free_devices 8\n") && metrics.contains("\nmapa_links_down 0\n")
    });
    assert_eq!(given(&machine), "GPU2,GPU3");
}
