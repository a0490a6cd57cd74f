//! Xids reach those who wait for them.

use std::time::{Duration, Instant};

use fake_nvml::{Code, Fault};
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;

use crate::common::Machine;

fn xid(error: Option<XidError>) -> u64 {
    match error {
        Some(XidError::Value(number)) => number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_xid_is_told_once_to_those_who_registered_before() {
    let machine = Machine::new("dgx-1v");
    let (nvml, fake) = (machine.nvml(), machine.fake());
    fake.raise_xid(4, 31).unwrap();
    let set = nvml.create_event_set().unwrap();
    let device = nvml.device_by_index(4).unwrap();
    let set = device
        .register_events(EventTypes::CRITICAL_XID_ERROR, set)
        .unwrap();
    let start = Instant::now();
    assert!(
        matches!(set.wait(30), Err(NvmlError::Timeout)),
        "it happened before"
    );
    assert!(start.elapsed() >= Duration::from_millis(30));
    fake.raise_xid(3, 79).unwrap();
    fake.raise_xid(4, 79).unwrap();
    fake.raise_xid(4, 48).unwrap();
    let event = set.wait(1000).unwrap();
    assert_eq!(
        (event.device.index().unwrap(), xid(event.event_data)),
        (4, 79)
    );
    let event = set.wait(1000).unwrap();
    assert_eq!(xid(event.event_data), 48);
    assert!(matches!(set.wait(1), Err(NvmlError::Timeout)));
}

#[test]
fn a_waiting_client_is_told_of_what_another_process_raises() {
    let machine = Machine::new("dgx-1v");
    let nvml = machine.nvml();
    let set = nvml.create_event_set().unwrap();
    let device = nvml.device_by_index(0).unwrap();
    let set = device
        .register_events(EventTypes::CRITICAL_XID_ERROR, set)
        .unwrap();
    let mut raise = std::process::Command::new(env!("CARGO_BIN_EXE_fake-nvml"));
    raise
        .arg("--dir")
        .arg(machine.path())
        .args(["xid", "0", "74"]);
    let mut raise = raise.spawn().unwrap();
    let event = set.wait(20_000).unwrap();
    assert!(raise.wait().unwrap().success());
    assert_eq!(xid(event.event_data), 74);
}

#[test]
fn a_device_that_is_lost_ends_the_wait_after_its_last_event() {
    let machine = Machine::new("dgx-1v");
    let (nvml, fake) = (machine.nvml(), machine.fake());
    let set = nvml.create_event_set().unwrap();
    let device = nvml.device_by_index(1).unwrap();
    let set = device
        .register_events(EventTypes::CRITICAL_XID_ERROR, set)
        .unwrap();
    fake.raise_xid(1, 79).unwrap();
    fake.lose(1).unwrap();
    assert_eq!(xid(set.wait(1000).unwrap().event_data), 79);
    assert!(matches!(set.wait(1000), Err(NvmlError::GpuLost)));
    fake.reset(1).unwrap();
    assert!(matches!(set.wait(1), Err(NvmlError::Timeout)));
    fake.inject(Fault::new("nvmlEventSetWait_v2", Code::Unknown).times(1))
        .unwrap();
    assert!(matches!(set.wait(1), Err(NvmlError::Unknown)));
    assert!(matches!(set.wait(1), Err(NvmlError::Timeout)));
}
