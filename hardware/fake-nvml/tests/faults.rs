//! Injected errors and lost devices reach the caller as the errors that they are.

use std::time::{Duration, Instant};

use fake_nvml::{Code, Fault};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use crate::common::Machine;
use crate::common::raw::Raw;

#[test]
fn every_call_on_a_lost_device_says_so_until_it_is_reset() {
    let machine = Machine::new("dgx-a100");
    let (nvml, fake) = (machine.nvml(), machine.fake());
    let [here, lost] = [0, 5].map(|index| nvml.device_by_index(index).unwrap());
    fake.lose(5).unwrap();
    assert!(matches!(lost.name(), Err(NvmlError::GpuLost)));
    assert!(matches!(
        lost.running_compute_processes(),
        Err(NvmlError::GpuLost)
    ));
    assert!(matches!(lost.mig_mode(), Err(NvmlError::GpuLost)));
    assert!(matches!(nvml.device_by_index(5), Err(NvmlError::GpuLost)));
    // As the first of two devices and as the second.
    assert!(matches!(
        nvml.topology_common_ancestor(&lost, &here),
        Err(NvmlError::GpuLost)
    ));
    assert!(matches!(
        nvml.topology_common_ancestor(&here, &lost),
        Err(NvmlError::GpuLost)
    ));
    assert_eq!(nvml.device_count().unwrap(), 8);
    assert!(here.name().is_ok());
    fake.reset(5).unwrap();
    assert!(lost.name().is_ok());
}

#[test]
fn a_fault_meets_its_call_on_its_device_as_often_as_it_says() {
    let machine = Machine::new("dgx-a100");
    let (nvml, fake) = (machine.nvml(), machine.fake());
    let [here, other] = [2, 3].map(|index| nvml.device_by_index(index).unwrap());
    fake.inject(
        Fault::new("nvmlDeviceGetName", Code::InsufficientPower)
            .on(2)
            .times(2),
    )
    .unwrap();
    assert!(here.uuid().is_ok());
    assert!(other.name().is_ok());
    assert!(matches!(here.name(), Err(NvmlError::InsufficientPower)));
    assert!(matches!(here.name(), Err(NvmlError::InsufficientPower)));
    assert!(here.name().is_ok());
    assert!(fake.state().unwrap().faults.is_empty());
    fake.inject(Fault::new("*", Code::ResetRequired).on(3))
        .unwrap();
    assert!(matches!(other.power_usage(), Err(NvmlError::ResetRequired)));
    assert!(here.power_usage().is_ok());
    fake.clear_faults().unwrap();
    assert!(other.power_usage().is_ok());
}

#[test]
fn every_code_reaches_the_caller() {
    let machine = Machine::new("l40s-x4");
    let (nvml, fake) = (machine.nvml(), machine.fake());
    let device = nvml.device_by_index(0).unwrap();
    for &code in Code::ALL {
        fake.inject(Fault::new("nvmlDeviceGetPowerUsage", code).times(1))
            .unwrap();
        let error = device.power_usage().unwrap_err();
        // The wrapper knows all but the latest by name.
        let known = !matches!(error, NvmlError::UnexpectedVariant(_));
        let latest = code.number() >= Code::InsufficientResources.number();
        assert!(known || latest, "{code:?}: {error:?}");
        assert!(device.power_usage().is_ok(), "{code:?}");
    }
}

#[test]
fn calls_may_take_long_and_initialisation_may_fail() {
    let machine = Machine::new("l40s-x4");
    let (nvml, fake) = (machine.nvml(), machine.fake());
    let device = nvml.device_by_index(0).unwrap();
    fake.inject(Fault::delay("nvmlDeviceGetName", 40).times(1))
        .unwrap();
    let start = Instant::now();
    assert!(device.name().is_ok());
    assert!(start.elapsed() >= Duration::from_millis(40));
    fake.inject(Fault::new("nvmlInit_v2", Code::LibRmVersionMismatch))
        .unwrap();
    let again = Nvml::builder()
        .lib_path(machine.library().as_os_str())
        .init();
    assert!(matches!(again, Err(NvmlError::LibRmVersionMismatch)));
    // Another user's handle lives on.
    assert!(device.name().is_ok());
}

#[test]
fn faults_of_what_is_not_there_are_refused() {
    let fake = Machine::new("l40s-x4").fake();
    let error = fake
        .inject(Fault::new("nvmlDeviceGetNam", Code::Unknown))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no call `nvmlDeviceGetNam`: expected `*` or one")
    );
    let error = fake
        .inject(Fault::new("*", Code::Unknown).on(4))
        .unwrap_err();
    assert_eq!(error.to_string(), "device 4: expected 0 to 3");
    let error = fake
        .inject(Fault::new("nvmlErrorString", Code::Unknown))
        .unwrap_err();
    assert!(error.to_string().contains("answers with a text"), "{error}");
    assert!(fake.set_link(0, 0, false).is_err());
}

/// The calls that take no pointer: null means nothing to them.
const WITHOUT_POINTERS: [&str; 5] = [
    "nvmlInit",
    "nvmlInit_v2",
    "nvmlInitWithFlags",
    "nvmlShutdown",
    "nvmlErrorString",
];

/// Whether the first argument of a call is a device, not a place for an answer.
fn is_of_a_device(call: &str) -> bool {
    let first = ["nvmlDeviceGetCount", "nvmlDeviceGetHandleBy"];
    call.starts_with("nvmlDevice") && !first.iter().any(|candidate| call.starts_with(candidate))
}

#[test]
fn no_call_follows_null_or_writes_to_it() {
    let machine = Machine::new("dgx-a100");
    machine.fake().set_mig(0, true).unwrap();
    machine.fake().create_instance(0, "3g.20gb", None).unwrap();
    let raw = Raw::new(machine.library());
    for call in fake_nvml::CALLS {
        if WITHOUT_POINTERS.contains(&call) {
            continue;
        }
        assert_ne!(raw.with_nulls(call, std::ptr::null_mut()), 0, "{call}");
        for device in [0, 1] {
            if is_of_a_device(call) {
                let code = raw.with_nulls(call, raw.device(device));
                assert_ne!(code, 0, "{call} of device {device}");
            }
        }
    }
}

#[test]
fn calls_without_a_handle_of_an_instance_or_a_set_meet_their_faults() {
    let machine = Machine::new("dgx-a100");
    let (raw, fake) = (Raw::new(machine.library()), machine.fake());
    let device = raw.device(1);
    let mut met = 0;
    for call in fake_nvml::CALLS {
        let first = if is_of_a_device(call) {
            device
        } else {
            std::ptr::null_mut()
        };
        // Others look at what they are handed before they look at the machine.
        let handed = [
            "Instance",
            "ByUUID",
            "ByPci",
            "MigDevice",
            "Wait",
            "ErrorString",
        ];
        let is_handed =
            !is_of_a_device(call) && handed.iter().any(|call_name| call.contains(call_name));
        if is_handed || call.ends_with("WithPlacement") {
            continue;
        }
        fake.inject(Fault::new(call, Code::InsufficientPower).times(1))
            .unwrap();
        let code = raw.with_nulls(call, first);
        assert_eq!(code, Code::InsufficientPower.number(), "{call}");
        met += 1;
    }
    assert!(met > 70, "{met}");
}
