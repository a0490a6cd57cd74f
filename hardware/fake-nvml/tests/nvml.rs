//! What `nvml-wrapper` is told: identities, memory, CPUs, counters, processes.

use nvml_wrapper::enum_wrappers::device::{Brand, PcieUtilCounter, TemperatureSensor};
use nvml_wrapper::enums::device::{DeviceArchitecture, SampleValue, UsedGpuMemory};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;

use fake_nvml::{Process, ProcessKind};

use crate::common::Machine;

#[test]
fn a_device_says_who_it_is() {
    let machine = Machine::new("dgx-a100");
    let nvml = machine.nvml();
    assert_eq!(nvml.device_count().unwrap(), 8);
    assert_eq!(nvml.sys_driver_version().unwrap(), "580.00.00");
    assert_eq!(nvml.sys_nvml_version().unwrap(), "13.580.00.00");
    assert_eq!(nvml.sys_cuda_driver_version().unwrap(), 13_000);
    let device = nvml.device_by_index(3).unwrap();
    assert_eq!(device.name().unwrap(), "NVIDIA A100-SXM4-40GB");
    assert_eq!(device.index().unwrap(), 3);
    assert_eq!(device.minor_number().unwrap(), 3);
    assert_eq!(device.brand().unwrap(), Brand::Nvidia);
    assert_eq!(device.architecture().unwrap(), DeviceArchitecture::Ampere);
    let capability = device.cuda_compute_capability().unwrap();
    assert_eq!((capability.major, capability.minor), (8, 0));
    let uuid = device.uuid().unwrap();
    assert_eq!(Some(uuid.as_str()), machine.fake().uuid(3));
    let same = nvml.device_by_uuid(uuid.as_str()).unwrap();
    assert_eq!(same.index().unwrap(), 3);
    let pci = device.pci_info().unwrap();
    assert_eq!(pci.bus_id, "00000000:13:00.0");
    let same = nvml.device_by_pci_bus_id(pci.bus_id.as_str()).unwrap();
    assert_eq!(same.index().unwrap(), 3);
    assert_eq!(
        (
            device.max_pcie_link_gen().unwrap(),
            device.max_pcie_link_width().unwrap()
        ),
        (4, 16)
    );
    // NUMA node 1 is the first of four, 1 3 5 7.
    assert_eq!(device.cpu_affinity(2).unwrap(), [0xffff, 0]);
    assert_eq!(device.memory_affinity(1, 0).unwrap(), [1 << 1]);
    assert_eq!(
        nvml.device_by_index(0).unwrap().cpu_affinity(1).unwrap(),
        [0xffff << 16]
    );
    assert!(matches!(
        nvml.device_by_index(8),
        Err(NvmlError::InvalidArg)
    ));
    assert!(matches!(
        nvml.device_by_uuid("GPU-none"),
        Err(NvmlError::NotFound)
    ));
}

#[test]
fn processes_are_listed_with_their_memory() {
    let machine = Machine::new("dgx-a100");
    let (nvml, fake) = (machine.nvml(), machine.fake());
    let device = nvml.device_by_index(2).unwrap();
    assert!(device.running_compute_processes().unwrap().is_empty());
    let mut process = Process::new(4242);
    process.memory_bytes = 3 << 30;
    fake.start_process(2, process).unwrap();
    let mut process = Process::new(4243);
    process.kind = ProcessKind::Graphics;
    fake.start_process(2, process).unwrap();
    let listed = device.running_compute_processes().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].pid, 4242);
    assert_eq!(listed[0].used_gpu_memory, UsedGpuMemory::Used(3 << 30));
    assert_eq!(listed[0].gpu_instance_id, None);
    assert_eq!(device.running_graphics_processes().unwrap()[0].pid, 4243);
    let memory = device.memory_info().unwrap();
    assert_eq!(
        (memory.total, memory.used, memory.free),
        (40 << 30, 3 << 30, 37 << 30)
    );
    assert!(fake.stop_process(2, 4242).unwrap());
    assert!(!fake.stop_process(2, 4242).unwrap());
    assert!(device.running_compute_processes().unwrap().is_empty());
    let other = nvml.device_by_index(1).unwrap();
    assert!(other.running_graphics_processes().unwrap().is_empty());
}

#[test]
fn a_running_process_is_listed_until_it_is_killed() {
    let machine = Machine::new("dgx-a100");
    let (nvml, fake) = (machine.nvml(), machine.fake());
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    fake.start_process(0, Process::running(child.id()).unwrap())
        .unwrap();
    let device = nvml.device_by_index(0).unwrap();
    assert_eq!(
        device.running_compute_processes().unwrap()[0].pid,
        child.id()
    );
    assert!(fake.set_mig(0, true).is_err(), "the device is in use");
    child.kill().unwrap();
    // A zombie holds nothing.
    let start = std::time::Instant::now();
    while !device.running_compute_processes().unwrap().is_empty() {
        assert!(start.elapsed().as_secs() < 10, "it is still listed");
    }
    child.wait().unwrap();
    fake.set_mig(0, true).unwrap();
    let error = Process::running(child.id()).unwrap_err().to_string();
    assert!(
        error.ends_with("does not run: expected the number of one that does"),
        "{error}"
    );
}

#[test]
fn counters_show_what_was_set() {
    let machine = Machine::new("dgx-1v");
    let (nvml, fake) = (machine.nvml(), machine.fake());
    let device = nvml.device_by_index(5).unwrap();
    assert!(matches!(
        device.enforced_power_limit(),
        Err(NvmlError::NotSupported)
    ));
    let set = fake.set_counters(5, |counters| {
        (counters.gpu_utilization, counters.memory_utilization) = (87, 41);
        (counters.pcie_tx_kbps, counters.pcie_rx_kbps) = (1_000, 2_000);
        (counters.pcie_replays, counters.temperature_c) = (7, 66);
        (counters.power_mw, counters.power_limit_mw) = (250_000, 300_000);
        counters.energy_mj = 1 << 40;
    });
    set.unwrap();
    let rates = device.utilization_rates().unwrap();
    assert_eq!((rates.gpu, rates.memory), (87, 41));
    assert_eq!(
        device.pcie_throughput(PcieUtilCounter::Send).unwrap(),
        1_000
    );
    assert_eq!(
        device.pcie_throughput(PcieUtilCounter::Receive).unwrap(),
        2_000
    );
    assert_eq!(device.pcie_replay_counter().unwrap(), 7);
    assert_eq!(device.temperature(TemperatureSensor::Gpu).unwrap(), 66);
    assert_eq!(device.power_usage().unwrap(), 250_000);
    assert_eq!(device.enforced_power_limit().unwrap(), 300_000);
    assert_eq!(device.total_energy_consumption().unwrap(), 1 << 40);
}

#[test]
fn fields_tell_of_links_one_by_one() {
    let machine = Machine::new("dgx-1v");
    machine.fake().set_link(0, 3, false).unwrap();
    let nvml = machine.nvml();
    let device = nvml.device_by_index(0).unwrap();
    // Link count, common speed, links to switches, energy, and one that nobody knows.
    let ids = [91, 90, 147, 83, 9999].map(FieldId);
    let values: Vec<Option<SampleValue>> = device
        .field_values_for(&ids)
        .unwrap()
        .into_iter()
        .map(|sample| sample.ok().and_then(|sample| sample.value.ok()))
        .collect();
    assert_eq!(
        values,
        [
            Some(SampleValue::U32(6)),
            Some(SampleValue::U32(25_781)),
            Some(SampleValue::U32(0)),
            Some(SampleValue::U64(0)),
            None
        ]
    );
    let link = |number| device.link_wrapper_for(number);
    assert!(link(0).is_active().unwrap() && !link(3).is_active().unwrap());
    let remote = link(5).remote_pci_info().unwrap().bus_id;
    let other = nvml.device_by_pci_bus_id(remote).unwrap();
    assert_eq!(other.index().unwrap(), 4);
    // Past the last link: clients take anything else for a failure.
    assert!(matches!(
        link(6).remote_pci_info(),
        Err(NvmlError::NotSupported)
    ));
    assert!(matches!(link(6).is_active(), Err(NvmlError::NotSupported)));
    assert!(matches!(link(18).is_active(), Err(NvmlError::InvalidArg)));
    assert!(matches!(
        link(18).remote_pci_info(),
        Err(NvmlError::NotSupported)
    ));
}

#[test]
fn without_privilege_nothing_may_be_changed() {
    let machine = Machine::with("dgx-a100", |config| {
        config.privileged = Some(fake_nvml::Switch::No);
    });
    let nvml = machine.nvml();
    let mut device = nvml.device_by_index(0).unwrap();
    assert!(matches!(
        device.set_mig_mode(true),
        Err(NvmlError::NoPermission)
    ));
    assert_eq!(device.mig_mode().unwrap().current, 0);
    let _ = &mut device;
}

/// Prints what calls cost: `cargo test --release -p fake-nvml --test all cost -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn what_calls_cost() {
    for shared in [true, false] {
        let machine = Machine::with("dgx-a100", |config| {
            if !shared {
                config.state = None;
            }
        });
        let start = std::time::Instant::now();
        let nvml = machine.nvml();
        println!("state file {shared}: init {:?}", start.elapsed());
        let device = nvml.device_by_index(0).unwrap();
        let fake = machine.fake();
        // From here on there is a file to read.
        fake.set_mig(7, true).unwrap();
        fake.create_instance(7, "1g.5gb", None).unwrap();
        let mut times: Vec<_> = (0..2001)
            .map(|_| {
                let start = std::time::Instant::now();
                device.name().unwrap();
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!(
            "a call: median {:?}, of 2,001 the longest {:?}",
            times[1000], times[2000]
        );
        let mut times: Vec<_> = (0..501)
            .map(|round| {
                let start = std::time::Instant::now();
                fake.set_counters(0, |counters| counters.power_mw = round)
                    .unwrap();
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!(
            "a change: median {:?}, of 501 the longest {:?}",
            times[250], times[500]
        );
    }
}
