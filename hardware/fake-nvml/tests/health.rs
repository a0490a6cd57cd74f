//! What `mapa-live` tells of the health of devices over the library.

use std::time::{Duration, Instant};

use fake_nvml::{Code, Fault};
use mapa_live::{Health, Live, Watch, is_of_program, watch};

use crate::common::Machine;

fn live(machine: &Machine) -> Live {
    let mut live = Live::default();
    live.nvml = machine.library().to_owned();
    live
}

/// The next change: the device and what happened.
fn next(watch: &Watch) -> (u32, Health) {
    let change = watch.next(Duration::from_secs(20)).unwrap().unwrap();
    (change.index, change.what)
}

#[test]
fn errors_losses_and_returns_are_told_in_order() {
    let machine = Machine::new("dgx-a100");
    let fake = machine.fake();
    fake.lose(6).unwrap();
    let watched = watch(&live(&machine)).unwrap();
    let first = watched.next(Duration::from_secs(20)).unwrap().unwrap();
    assert_eq!(
        (first.index, first.what, first.uuid),
        (6, Health::Lost, None)
    );
    fake.raise_xid(2, 31).unwrap();
    let change = watched.next(Duration::from_secs(20)).unwrap().unwrap();
    assert_eq!((change.index, change.what), (2, Health::Xid(Some(31))));
    assert_eq!(change.uuid.as_deref(), fake.uuid(2));
    assert_eq!(change.pci.as_deref(), Some("0000:12:00.0"));
    fake.lose(2).unwrap();
    assert_eq!(next(&watched), (2, Health::Lost));
    fake.reset(6).unwrap();
    let change = watched.next(Duration::from_secs(20)).unwrap().unwrap();
    assert_eq!((change.index, change.what), (6, Health::Back));
    assert_eq!(change.uuid.as_deref(), fake.uuid(6));
    // A device that came back is registered anew.
    fake.reset(2).unwrap();
    assert_eq!(next(&watched), (2, Health::Back));
    fake.raise_xid(6, 48).unwrap();
    assert_eq!(next(&watched), (6, Health::Xid(Some(48))));
    assert_eq!(watched.next(Duration::from_millis(1)).unwrap(), None);
    assert!(is_of_program(31) && !is_of_program(79));
}

#[test]
fn devices_without_events_and_errors_that_pass_are_no_losses() {
    let machine = Machine::new("dgx-1v");
    let fake = machine.fake();
    let unsupported = Fault::new("nvmlDeviceGetSupportedEventTypes", Code::NotSupported);
    fake.inject(unsupported.on(0)).unwrap();
    fake.inject(Fault::new("nvmlDeviceRegisterEvents", Code::Unknown).on(1))
        .unwrap();
    fake.inject(Fault::new("nvmlDeviceGetUUID", Code::Unknown).on(3))
        .unwrap();
    let watched = watch(&live(&machine)).unwrap();
    fake.raise_xid(0, 79).unwrap();
    fake.raise_xid(1, 79).unwrap();
    fake.raise_xid(2, 79).unwrap();
    assert_eq!(next(&watched), (2, Health::Xid(Some(79))));
    fake.lose(0).unwrap();
    assert_eq!(next(&watched), (0, Health::Lost));
}

#[test]
fn a_library_that_is_not_there_or_hangs_is_told() {
    let machine = Machine::new("dgx-1v");
    let mut live = live(&machine);
    machine
        .fake()
        .inject(Fault::delay("nvmlInit_v2", 4000))
        .unwrap();
    live.time_limit = Duration::from_millis(100);
    let start = Instant::now();
    let error = watch(&live).unwrap_err();
    assert!(error.is_unavailable() && start.elapsed() < Duration::from_secs(3));
    assert_eq!(error.to_string(), "nvml: no answer within 100ms");
    live.nvml = machine.path().join("none.so");
    live.time_limit = Duration::from_secs(20);
    let error = watch(&live).unwrap_err().to_string();
    assert!(error.starts_with("nvml: cannot be loaded: "), "{error}");
}
