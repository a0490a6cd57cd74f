//! `mapa` on a machine that it discovers, through a library that speaks as NVIDIA's does.

use std::process::Command;

use fake_nvml::Process;
use mapa_node::{DeviceKey, Durability, Ledger, MARK, Processes};

use super::common::{Machine, asker, error, text};

#[test]
fn a_command_gets_uuids_and_devices_of_foreign_processes_are_left_alone() {
    let machine = Machine::of("dgx-a100");
    let script = "echo $CUDA_VISIBLE_DEVICES $MAPA_DEVICES";
    let output = machine.mapa(&["run", "-n", "2", "--", "sh", "-c", script]);
    let uuids = [0, 1].map(|index| machine.fake.uuid(index).unwrap());
    assert_eq!(
        text(&output),
        format!("{},{} GPU0,GPU1", uuids[0], uuids[1]),
        "{}",
        error(&output)
    );

    // This test is a stranger on GPU1: mapa did not start it.
    let own = std::process::id();
    machine
        .fake
        .start_process(1, Process::running(own).unwrap())
        .unwrap();
    let output = machine.mapa(&["run", "-n", "2", "--", "sh", "-c", script]);
    assert!(!text(&output).contains("GPU1"), "{}", text(&output));
    let all = machine.mapa(&["run", "-n", "8", "--", "true"]);
    assert_eq!(all.status.code(), Some(75));
    let said = error(&all);
    assert!(
        said.contains(&format!("process {own}")) && said.contains("mapa did not start it"),
        "{said}"
    );
    assert_eq!(
        machine
            .mapa(&["run", "-n", "8", "--no-driver-check", "--", "true"])
            .status
            .code(),
        Some(0)
    );
}

/// A process that has the number of one that has ended is none of that one's lease.
#[test]
fn a_number_that_a_stranger_has_by_now_makes_it_nobody_of_a_lease() {
    let machine = Machine::of("dgx-a100");
    assert!(
        machine
            .mapa(&["run", "-n", "1", "--", "true"])
            .status
            .success()
    );
    let own = std::process::id();
    let running = Process::running(own).unwrap();
    machine.fake.start_process(1, running).unwrap();
    let mut holder = Command::new("sleep").arg("600").spawn().unwrap();
    let processes = Processes::new().unwrap();
    let mut asker = asker(&processes);
    asker.process = processes.identity(holder.id() as i32).unwrap();
    let mut child = processes.own().unwrap();
    child.id.start -= 1;
    let mut ledger = Ledger::open(machine.ledger()).unwrap();
    let given = ledger.change(Durability::Boot, |books| {
        let device = DeviceKey::whole(machine.fake.uuid(0).unwrap());
        let lease = books.grant(&asker, &[device], None, None, "test")?;
        books.set_command_process(lease, &child, None)
    });
    given.unwrap();
    let seven = machine.mapa(&["run", "-n", "7", "--", "true"]);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(seven.status.code(), Some(75));
    let said = error(&seven);
    assert!(said.contains("mapa did not start it"), "{said}");
}

/// A job that computes on a device of nobody: the device is nobody else's to get, and everybody is told.
#[test]
fn a_process_of_a_lease_on_another_device_is_a_stranger_there() {
    let machine = Machine::of("dgx-a100");
    let script = "echo >>$LOCKS/held; exec sleep 600";
    let said = std::fs::File::create(machine.path().join("said")).unwrap();
    let job = machine.command(&["run", "-n", "1", "--", "sh", "-c", script]);
    let mut job = { job }.stderr(said).spawn().unwrap();
    machine.until(|_| machine.path().join("held").exists());
    let lease = machine.json(&["ps"])["leases"][0].clone();
    let pid = u32::try_from(lease["command_pid"].as_u64().unwrap()).unwrap();
    let held = lease["devices"][0].as_str().unwrap().to_owned();
    let running = Process::running(pid).unwrap();
    let index: u32 = held.trim_start_matches("GPU").parse().unwrap();
    machine.fake.start_process(index, running.clone()).unwrap();
    assert_eq!(
        machine.json(&["free"])["free"],
        7,
        "on its own device it is no stranger"
    );
    let other = (index + 1) % 8;
    machine.fake.start_process(other, running).unwrap();
    let free = machine.json(&["free"]);
    assert_eq!(free["free"], 6, "{free}");
    let row = &free["devices"][other as usize];
    let why = row["withheld"].as_str().unwrap();
    assert!(
        why.contains(&format!("process {pid} ")) && why.contains("lease 1"),
        "{why}"
    );
    let seven = machine.mapa(&["run", "-n", "7", "--", "true"]);
    assert_eq!(seven.status.code(), Some(75), "{}", error(&seven));
    // The owner is told within seconds, whoever has noted it first.
    machine.until(|_| {
        let said = std::fs::read_to_string(machine.path().join("said"));
        said.unwrap().contains("others do not get this device")
    });
    let log = machine.json(&["log", "-n", "100"]);
    let strays = log["decisions"].as_array().unwrap().iter();
    let strays: Vec<_> = strays.filter(|row| row["kind"] == "stray").collect();
    assert_eq!(strays.len(), 1, "told once: {log}");
    machine.end(&mut job);
    let said = std::fs::read_to_string(machine.path().join("said")).unwrap();
    assert_eq!(
        said.matches("others do not get this device").count(),
        1,
        "{said}"
    );
}

/// The mark of a lease in the variables of a process that the lease has not started.
#[test]
fn a_copied_mark_makes_nobody_one_of_a_lease() {
    let machine = Machine::of("dgx-a100");
    let mut job = machine.hold(&["-n", "1"]);
    let lease = machine.json(&["ps"])["leases"][0].clone();
    let mark = Ledger::open(machine.ledger()).unwrap().mark(1);
    let mut stranger = Command::new("sleep")
        .arg("600")
        .env(MARK, mark)
        .spawn()
        .unwrap();
    let held = lease["devices"][0].as_str().unwrap().to_owned();
    let index: u32 = held.trim_start_matches("GPU").parse().unwrap();
    let running = Process::running(stranger.id()).unwrap();
    machine.fake.start_process(index, running).unwrap();
    let free = machine.json(&["free"]);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    let why = free["devices"][index as usize]["withheld"].as_str();
    assert!(
        why.is_some_and(|why| why.contains("mapa did not start it")),
        "{free}"
    );
    machine.end(&mut job);
}

#[test]
fn a_device_that_is_lost_is_not_given_and_the_ledger_stays_that_of_the_machine() {
    let machine = Machine::of("dgx-a100");
    assert!(machine.mapa(&["cordon", "GPU2"]).status.success());
    machine.fake.lose(5).unwrap();
    let output = machine.mapa(&["run", "-n", "6", "--", "sh", "-c", "echo $MAPA_DEVICES"]);
    assert_eq!(
        text(&output),
        "GPU0,GPU1,GPU3,GPU4,GPU6,GPU7",
        "{}",
        error(&output)
    );
}

#[test]
fn a_process_that_has_ended_is_no_stranger() {
    let machine = Machine::of("dgx-1v");
    // Where this test runs in a container, nobody can say that a number is nobody's.
    let in_container = !std::fs::read_link("/proc/self/ns/pid")
        .unwrap()
        .to_string_lossy()
        .contains("4026531836");
    if in_container {
        eprintln!("skipped: this PID namespace is not the machine's");
        return;
    }
    machine
        .fake
        .start_process(0, Process::new(1 << 22))
        .unwrap();
    let output = machine.mapa(&["run", "-n", "8", "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
}

#[test]
fn a_driver_that_does_not_answer_once_does_not_end_a_wait() {
    let machine = Machine::of("dgx-1v");
    let mut holder = machine.holder(8);
    let mut waiter = machine.command(&["run", "-n", "1", "--wait", "--", "true"]);
    let said = machine.path().join("said");
    let mut waiter = waiter
        .stderr(std::fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    machine.until(|ps| ps["queue"].as_array().unwrap().len() == 1);
    let fault = fake_nvml::Fault::new("nvmlDeviceGetCount_v2", fake_nvml::Code::Unknown);
    machine.fake.inject(fault).unwrap();
    let said = || std::fs::read_to_string(&said).unwrap();
    let begun = std::time::Instant::now();
    while !said().contains("asked again") {
        assert!(begun.elapsed().as_secs() < 60, "{}", said());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    machine.fake.clear_faults().unwrap();
    machine.end(&mut holder);
    let status = waiter.wait().unwrap();
    assert_eq!(status.code(), Some(0), "{}", said());
    // Whoever has not begun to wait is told at once.
    let fault = fake_nvml::Fault::new("nvmlDeviceGetCount_v2", fake_nvml::Code::Unknown);
    machine.fake.inject(fault).unwrap();
    let output = machine.mapa(&["run", "-n", "1", "--wait", "--", "true"]);
    assert_eq!(output.status.code(), Some(125), "{}", error(&output));
}
