//! Leases on MIG instances, by a library that speaks as NVIDIA's does.

use fake_nvml::Process;
use nvml_uuids::uuids;

use super::common::{Machine, error, text};

/// What the library says: the UUIDs of a device's MIG devices.
mod nvml_uuids {
    use nvml_wrapper::Nvml;

    pub(super) fn uuids(machine: &super::Machine, device: u32) -> Vec<String> {
        let library = machine.path().join("driver/libnvidia-ml.so.1");
        let nvml = Nvml::builder()
            .lib_path(library.as_os_str())
            .init()
            .unwrap();
        let device = nvml.device_by_index(device).unwrap();
        (0..7)
            .filter_map(|slot| device.mig_device_by_index(slot).ok())
            .map(|device| device.uuid().unwrap())
            .collect()
    }
}

/// A machine whose first GPU has these instances.
fn machine(profiles: &[&str]) -> (Machine, Vec<u32>) {
    let machine = Machine::of("dgx-a100");
    machine.fake.set_mig(0, true).unwrap();
    let made = profiles
        .iter()
        .map(|profile| machine.fake.create_instance(0, profile, None).unwrap().0);
    let made = made.collect();
    (machine, made)
}

const SHOW: [&str; 4] = ["--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"];

#[test]
fn jobs_get_instances_by_their_uuids_and_never_share_one() {
    let (machine, _) = machine(&["3g.20gb", "1g.5gb", "1g.5gb"]);
    let all = uuids(&machine, 0);
    assert_eq!(all.len(), 3);
    let small = ["-n", "1", "--slice", "1g.5gb"];
    let mut first = machine.hold(&small);
    let mut second = machine.hold(&small);
    let held = std::fs::read_to_string(machine.path().join("held")).unwrap();
    let mut held: Vec<&str> = held.lines().collect();
    assert!(
        held.iter()
            .all(|candidate| all[1..].iter().any(|other| other == candidate)),
        "{held:?} {all:?}"
    );
    held.sort_unstable();
    held.dedup();
    assert_eq!(held.len(), 2, "two jobs on one instance");
    let third = machine.mapa(&[&["run"], &small[..], &SHOW].concat());
    assert_eq!(third.status.code(), Some(75), "{}", error(&third));
    // The larger one is free, and so are the whole devices.
    let large = machine.mapa(&[&["run", "-n", "1", "--slice", "3g.20gb"], &SHOW[..]].concat());
    assert_eq!(text(&large), all[0], "{}", error(&large));
    let wholes = machine.json(&["run", "-n", "7", "--dry-run"]);
    assert!(!wholes["names"].to_string().contains("GPU0"), "{wholes}");
    let both = machine.mapa(&["run", "-n", "8", "--", "true"]);
    assert_ne!(
        both.status.code(),
        Some(0),
        "a device in MIG mode is no whole device"
    );
    for holder in [&mut first, &mut second] {
        machine.end(holder);
    }
    let pair = machine.mapa(&[&["run", "-n", "2", "--slice", "1g.5gb"], &SHOW[..]].concat());
    assert_eq!(text(&pair).split(',').count(), 2, "{}", error(&pair));
}

#[test]
fn a_kill_leaves_the_lease_on_its_instance_until_the_command_ends() {
    let (machine, _) = machine(&["2g.10gb", "2g.10gb"]);
    let mut holder = machine.hold(&["-n", "1", "--slice", "2g.10gb"]);
    holder.kill().unwrap();
    holder.wait().unwrap();
    let ps = machine.json(&["ps"]);
    assert_eq!(ps["leases"][0]["adopted"], true, "{ps}");
    let two = machine.mapa(&["run", "-n", "2", "--slice", "2g.10gb", "--", "true"]);
    assert_eq!(two.status.code(), Some(75), "{}", error(&two));
    let lease = ps["leases"][0]["lease"].to_string();
    assert!(machine.mapa(&["release", &lease]).status.success());
    let two = machine.mapa(&["run", "-n", "2", "--slice", "2g.10gb", "--", "true"]);
    assert_eq!(two.status.code(), Some(0), "{}", error(&two));
}

#[test]
fn an_instance_that_is_destroyed_meanwhile_is_reported_and_not_given() {
    let (machine, numbers) = machine(&["3g.20gb", "3g.20gb"]);
    let mut holder = machine.hold(&["-n", "1", "--slice", "3g.20gb"]);
    let held = std::fs::read_to_string(machine.path().join("held")).unwrap();
    let at = uuids(&machine, 0)
        .iter()
        .position(|uuid| uuid == held.trim())
        .unwrap();
    machine.fake.destroy_instance(0, numbers[at]).unwrap();
    let ps = machine.json(&["ps"]);
    assert!(
        ps["leases"][0]["fault"].to_string().contains("is gone"),
        "{ps}"
    );
    // The other one is still to be had, also by those whom a scheduler orders.
    for words in [&[][..], &["--wait", "--scheduler", "fifo"]] {
        let other = ["run", "-n", "1", "--slice", "3g.20gb"];
        let other = machine.mapa(&[&other[..], words, &SHOW].concat());
        assert_eq!(
            text(&other),
            uuids(&machine, 0)[0],
            "{words:?}: {}",
            error(&other)
        );
    }
    let two = machine.mapa(&["run", "-n", "2", "--slice", "3g.20gb", "--", "true"]);
    assert_ne!(two.status.code(), Some(0));
    machine.end(&mut holder);
    assert_eq!(machine.json(&["ps"])["leases"].as_array().unwrap().len(), 0);
}

#[test]
fn a_stranger_on_an_instance_closes_that_instance_alone() {
    let (machine, numbers) = machine(&["3g.20gb", "3g.20gb"]);
    let own = std::process::id();
    let mut stranger = Process::running(own).unwrap();
    stranger.instance = Some((numbers[0], 0));
    machine.fake.start_process(0, stranger).unwrap();
    for words in [&[][..], &["--wait", "--scheduler", "fifo"]] {
        let other = ["run", "-n", "1", "--slice", "3g.20gb"];
        let other = machine.mapa(&[&other[..], words, &SHOW].concat());
        assert_eq!(
            text(&other),
            uuids(&machine, 0)[1],
            "{words:?}: {}",
            error(&other)
        );
    }
    let two = machine.mapa(&["run", "-n", "2", "--slice", "3g.20gb", "--", "true"]);
    assert_eq!(two.status.code(), Some(75), "{}", error(&two));
    assert!(
        error(&two).contains(&format!("process {own}")),
        "{}",
        error(&two)
    );
    let free = machine.json(&["free"]);
    assert_eq!(free["free"], 8, "one instance and seven devices: {free}");
}

#[test]
fn a_device_in_mig_mode_without_instances_is_not_given() {
    let (machine, _) = machine(&[]);
    let free = machine.json(&["free"]);
    assert_eq!(free["free"], 7, "{free}");
    assert!(free.to_string().contains("has no instances"), "{free}");
}

#[test]
fn a_user_who_cannot_see_where_instances_lie_gets_them_all_the_same() {
    let (machine, _) = machine(&["1g.5gb", "3g.20gb", "1g.5gb"]);
    let fault = fake_nvml::Fault::new(
        "nvmlDeviceGetGpuInstanceById",
        fake_nvml::Code::NoPermission,
    );
    machine.fake.inject(fault).unwrap();
    let mut holder = machine.hold(&["-n", "1", "--slice", "1g.5gb"]);
    machine.fake.clear_faults().unwrap();
    // Somebody who is told gets the other one.
    let other = machine.mapa(&[&["run", "-n", "1", "--slice", "1g.5gb"], &SHOW[..]].concat());
    let held = std::fs::read_to_string(machine.path().join("held")).unwrap();
    assert_ne!(text(&other), held.trim());
    assert!(
        uuids(&machine, 0).contains(&text(&other)),
        "{}",
        error(&other)
    );
    machine.end(&mut holder);
}
