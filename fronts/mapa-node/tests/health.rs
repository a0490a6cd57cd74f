//! Devices that are not sound, by a library that speaks as NVIDIA's does: they are not given, the reason is
//! told, and whoever is there stays.

use std::process::{Child, Stdio};

use super::common::{Machine, error};

/// The devices that are free, by `mapa free`, and why another is not.
fn free(machine: &Machine, device: &str) -> (i64, String) {
    let answer = machine.json(&["free"]);
    let devices = answer["devices"].as_array().unwrap();
    let own = devices.iter().find(|value| value["device"] == device);
    let why = own.map_or(String::new(), |value| value["withheld"].to_string());
    (answer["free"].as_i64().unwrap(), why)
}

/// The number of decisions of this kind in the audit.
fn noted(machine: &Machine, kind: &str) -> usize {
    let log = machine.json(&["log", "-n", "1000"]);
    let all = log["decisions"].as_array().unwrap();
    all.iter().filter(|value| value["kind"] == kind).count()
}

#[test]
fn a_lost_device_is_not_given_though_the_machine_was_discovered_before() {
    let machine = Machine::of("dgx-1v");
    assert_eq!(free(&machine, "GPU5").0, 8);
    machine.fake.lose(5).unwrap();
    // The machine comes from the cache, which has eight devices.
    let (count, why) = free(&machine, "GPU5");
    assert_eq!(count, 7);
    assert!(why.contains("unhealthy: lost"), "{why}");
    let refused = machine.mapa(&["run", "-n", "8", "--", "true"]);
    assert_eq!(refused.status.code(), Some(75));
    let said = error(&refused);
    assert!(said.contains("GPU5 (unhealthy: lost"), "{said}");
    let placed = machine.json(&["run", "-n", "7", "--dry-run"]);
    assert!(!placed["names"].to_string().contains("GPU5"), "{placed}");
    assert_eq!(noted(&machine, "unhealthy"), 1, "it is noted once");
    // Schedulers are told too: the job waits, and is given the device when it is back.
    let mut waiter = machine.command(&[
        "run",
        "-n",
        "8",
        "--wait",
        "--scheduler",
        "fifo",
        "--",
        "true",
    ]);
    let waiter = waiter.stderr(Stdio::piped()).spawn().unwrap();
    machine.until(|ps| ps["queue"].as_array().unwrap().len() == 1);
    machine.fake.reset(5).unwrap();
    let output = waiter.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    assert_eq!(
        (free(&machine, "GPU5").0, noted(&machine, "healthy")),
        (8, 1)
    );
}

#[test]
fn a_lease_on_a_device_that_is_lost_stays_and_is_shown() {
    for found_anew in [false, true] {
        let machine = Machine::of("dgx-1v");
        let mut holder = machine.hold(&["-n", "1", "--must-include", "GPU3"]);
        machine.fake.lose(3).unwrap();
        let anew: &[&str] = if found_anew { &["--refresh"] } else { &[] };
        let ps = machine.json(&[anew, &["ps"]].concat());
        let lease = &ps["leases"][0];
        assert!(lease["fault"].to_string().contains("lost"), "{ps}");
        assert_eq!(ps["health"].as_array().unwrap().len(), 1, "{ps}");
        let shown = machine.mapa(&[anew, &["ps"]].concat());
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(
            shown.contains("runs; ") && shown.contains("unhealthy: "),
            "{shown}"
        );
        let answer = machine.json(&[anew, &["free"]].concat());
        assert_eq!(answer["free"], 7, "{answer}");
        machine.end(&mut holder);
        let answer = machine.json(&[anew, &["free"]].concat());
        assert_eq!(answer["free"], 7, "{answer}");
    }
}

#[test]
fn an_xid_while_a_command_runs_closes_the_device_until_somebody_says_it_is_sound() {
    let machine = Machine::of("dgx-1v");
    let mut holder = machine.hold(&["-n", "1", "--must-include", "GPU2"]);
    // The command's own mistake is nothing that others must fear.
    await_watch(&machine, 2);
    machine.fake.raise_xid(2, 31).unwrap();
    machine.fake.raise_xid(2, 48).unwrap();
    let ps = machine.until(|ps| ps["leases"][0]["fault"].to_string().contains("Xid 48"));
    assert!(!ps.to_string().contains("Xid 31"), "{ps}");
    machine.end(&mut holder);
    let (count, why) = free(&machine, "GPU2");
    assert!(count < 8 && why.contains("Xid 48"), "{count} {why}");
    let cleared = machine.mapa(&["uncordon", "GPU2", "--reason", "tested"]);
    assert!(cleared.status.success(), "{}", error(&cleared));
    assert_eq!(
        free(&machine, "GPU2"),
        (7, "null".to_owned()),
        "GPU7 had the probe"
    );
}

/// Raises Xids on GPU7 until one is noted: from then on whoever watches does.
fn await_watch(machine: &Machine, _: u32) {
    for _ in 0..400 {
        machine.fake.raise_xid(7, 63).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(25));
        if machine.json(&["ps"])["health"]
            .to_string()
            .contains("Xid 63")
        {
            return;
        }
    }
    panic!("nobody watches");
}

#[test]
fn somebody_may_watch_alone_and_ends_by_a_signal() {
    let machine = Machine::of("dgx-1v");
    let watch = machine.command(&["monitor"]);
    let mut watch: Child = { watch }.stdout(Stdio::piped()).spawn().unwrap();
    await_watch(&machine, 0);
    machine.fake.lose(1).unwrap();
    machine.until(|ps| ps["health"].to_string().contains("lost"));
    machine.fake.reset(1).unwrap();
    machine.until(|ps| !ps["health"].to_string().contains("lost"));
    let pid = watch.id().to_string();
    let done = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(done.unwrap().success());
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    // A machine that is only described has nobody who tells.
    let described = machine.mapa(&["--machine", "dgx-1v", "monitor"]);
    assert_eq!(described.status.code(), Some(2), "{}", error(&described));
}

#[test]
fn a_reset_that_a_driver_asks_for_closes_the_device_until_it_is_done() {
    let machine = Machine::of("dgx-1v");
    machine
        .fake
        .set_counters(4, |counters| counters.recovery_action = 1)
        .unwrap();
    let (count, why) = free(&machine, "GPU4");
    assert!(
        count == 7 && why.contains("asks for a reset"),
        "{count} {why}"
    );
    machine
        .fake
        .set_counters(4, |counters| counters.recovery_action = 0)
        .unwrap();
    assert_eq!(free(&machine, "GPU4"), (8, "null".to_owned()));
}

#[test]
fn what_was_wrong_before_a_reboot_does_not_count_after_it() {
    use mapa_node::{Durability, FaultKind, Ledger};
    let machine = Machine::of("dgx-1v");
    let mut ledger = Ledger::open(machine.ledger()).unwrap();
    let found = ledger
        .change(Durability::Boot, |books| {
            books.record_fault("tester", "earlier", "GPU-1", FaultKind::Xid, "Xid 79")?;
            Ok((books.faults("earlier")?.len(), books.faults("now")?.len()))
        })
        .unwrap();
    assert_eq!(found, (1, 0));
}
