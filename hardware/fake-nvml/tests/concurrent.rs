//! Several processes at once on one state file.
//!
//! The workers are this test program itself: it runs one test, which does nothing unless it is told
//! by the environment to be a worker.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use fake_nvml::{Fault, Process};

use crate::common::Machine;
use crate::common::raw::{INSUFFICIENT_RESOURCES, Raw};
use fake_nvml::Code;

const WORKER: &str = "FAKE_NVML_TEST_WORKER";

/// Starts a worker that does this with the library of a machine.
fn worker(machine: &Machine, what: &str, number: u32) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "concurrent::a_worker", "--nocapture"]);
    let order = format!("{what} {number} {}", machine.library().display());
    command
        .env(WORKER, order)
        .stdout(std::process::Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn a_worker() {
    let Ok(order) = std::env::var(WORKER) else {
        return;
    };
    let mut words = order.splitn(3, ' ');
    let what = words.next().unwrap();
    let number: u32 = words.next().unwrap().parse().unwrap();
    let library = PathBuf::from(words.next().unwrap());
    match what {
        "instances" => instances(&Raw::new(&library), number),
        "spin" => loop {
            instances(&Raw::new(&library), number);
        },
        "faults" => faults(&library),
        other => panic!("{other}"),
    }
}

/// Creates and destroys instances on the first device, beside others who do.
fn instances(raw: &Raw, seed: u32) {
    let device = raw.device(0);
    let profiles = [19, 14, 9, 5, 20, 15];
    let mut values = Vec::new();
    let mut draw = u64::from(seed) + 1;
    for _ in 0..120 {
        draw = draw
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let choice = (draw >> 33) as usize;
        if choice.is_multiple_of(3) && !values.is_empty() {
            let (instance, compute) = values.swap_remove(choice / 3 % values.len());
            raw.destroy_compute(compute).unwrap();
            raw.destroy(instance).unwrap();
            continue;
        }
        let profile = profiles[choice / 3 % profiles.len()];
        match raw.create(device, profile, None) {
            Ok(instance) => {
                let compute = raw.create_compute(instance, 0, None).unwrap();
                assert_eq!(raw.info(instance).unwrap().profileId, profile);
                values.push((instance, compute));
            }
            Err(code) => assert_eq!(code, INSUFFICIENT_RESOURCES),
        }
    }
    for (instance, compute) in values {
        raw.destroy_compute(compute).unwrap();
        raw.destroy(instance).unwrap();
    }
}

/// Counts how often a call fails until it does no longer.
fn faults(library: &std::path::Path) {
    let raw = Raw::new(library);
    let device = raw.device(0);
    let failures = (0..400)
        .filter(|_| raw.name_of(device, 96).is_err())
        .count();
    std::fs::write(
        format!("{}.{}", library.display(), std::process::id()),
        failures.to_string(),
    )
    .unwrap();
}

#[test]
fn instances_of_several_processes_are_never_in_each_others_way() {
    let machine = Machine::new("dgx-a100");
    let fake = machine.fake();
    fake.set_mig(0, true).unwrap();
    let mut workers: Vec<Child> = (0..4)
        .map(|number| worker(&machine, "instances", number))
        .collect();
    // Each state that is seen meanwhile is checked as it is read: its layout is legal.
    let mut seen = BTreeSet::new();
    while workers
        .iter_mut()
        .any(|worker| worker.try_wait().unwrap().is_none())
    {
        let instances = &fake.state().unwrap().devices[0].mig.instances;
        seen.insert(instances.iter().map(|instance| instance.serial).max());
        std::thread::sleep(Duration::from_micros(300));
    }
    for mut worker in workers {
        assert!(worker.wait().unwrap().success());
    }
    let state = fake.state().unwrap();
    let mig = &state.devices[0].mig;
    assert!(mig.instances.is_empty());
    assert!(seen.len() > 1, "states between were seen: {seen:?}");
    // Each instance had a serial number, with a compute instance each.
    assert!(mig.last_serial > 4 * 20, "{}", mig.last_serial);
}

#[test]
fn a_fault_that_is_counted_is_counted_over_all_processes() {
    let machine = Machine::new("dgx-a100");
    let fake = machine.fake();
    fake.inject(Fault::new("nvmlDeviceGetName", Code::Unknown).times(100))
        .unwrap();
    let workers: Vec<Child> = (0..3)
        .map(|number| worker(&machine, "faults", number))
        .collect();
    let mut sum = 0;
    for mut worker in workers {
        let counted = format!("{}.{}", machine.library().display(), worker.id());
        assert!(worker.wait().unwrap().success());
        sum += std::fs::read_to_string(counted)
            .unwrap()
            .parse::<u32>()
            .unwrap();
    }
    assert_eq!(sum, 100);
}

#[test]
fn a_process_that_is_killed_at_any_point_leaves_a_state_that_can_be_read() {
    let machine = Machine::new("dgx-a100");
    let fake = machine.fake();
    fake.set_mig(0, true).unwrap();
    fake.start_process(7, Process::new(1)).unwrap();
    for round in 0..30 {
        let before = fake.state().unwrap().devices[0].mig.last_serial;
        let mut worker = worker(&machine, "spin", round);
        // It takes some milliseconds to start. Then it is killed at another point in each round.
        while fake.state().unwrap().devices[0].mig.last_serial == before {
            assert!(worker.try_wait().unwrap().is_none(), "it ended");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(u64::from(round) * 397));
        worker.kill().unwrap();
        worker.wait().unwrap();
        let state = fake.state().unwrap();
        assert_eq!(state.devices[7].processes.len(), 1);
        // Whoever comes next gets the lock, and the room.
        fake.reset(0).unwrap();
        fake.create_instance(0, "7g.40gb", None).unwrap();
        fake.reset(0).unwrap();
    }
}

#[test]
fn threads_of_one_process_share_a_handle() {
    let machine = Machine::new("dgx-a100");
    machine.fake().set_mig(0, true).unwrap();
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let machine = &machine;
            scope.spawn(move || instances(&Raw::new(machine.library()), seed));
        }
    });
    assert!(
        machine.fake().state().unwrap().devices[0]
            .mig
            .instances
            .is_empty()
    );
}
