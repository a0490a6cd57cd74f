//! mig-parted's files: read, written, and put onto devices.

use mapa_live::levers::{LeverChange, MigDevice, MigPlace, MigState, PartedFile, SimulatedMachine};
use proptest::prelude::*;

const FILE: &str = r#"
version: v1
mig-configs:
  all-disabled:
    - devices: all
      mig-enabled: false
  all-enabled:
    - devices: all
      mig-enabled: true
      mig-devices: {}
  all-1g.5gb:
    - devices: all
      mig-enabled: true
      mig-devices:
        "1g.5gb": 7
  custom:
    - devices: [0]
      mig-enabled: false
    - devices: [1]
      mig-enabled: true
      mig-devices:
        "3g.20gb": 2
  by-kind:
    - device-filter: ["0x20B010DE", "0x20B110DE"]
      devices: all
      mig-enabled: true
      mig-devices:
        1g.5gb: 2
        2g.10gb: 1
        3g.20gb: 1
    - device-filter: "0x233010DE"
      devices: all
      mig-enabled: true
      mig-devices:
        1c.3g.20gb: 3
        1g.10gb+me: 1
"#;

fn devices() -> Vec<MigDevice> {
    [0x20B0_10DE, 0x20B0_10DE, 0x2330_10DE]
        .into_iter()
        .zip(0..)
        .map(|(pci, index)| MigDevice {
            index,
            uuid: format!("GPU-{index}"),
            pci_id: Some(pci),
        })
        .collect()
}

#[test]
fn the_usual_file_is_read_and_written_again() {
    let file = PartedFile::read(FILE).unwrap();
    assert_eq!(file.configs.len(), 5);
    let written = file.write().unwrap();
    assert_eq!(PartedFile::read(&written).unwrap(), file, "{written}");
    assert!(
        written.contains("version: v1") && written.contains("mig-configs:"),
        "{written}"
    );
}

#[test]
fn a_configuration_gives_each_device_its_layout() {
    let file = PartedFile::read(FILE).unwrap();
    let of = |name: &str| file.layouts(name, &devices()).unwrap();
    assert_eq!(of("all-disabled").len(), 3);
    assert!(of("all-enabled")["GPU-2"].enabled && of("all-enabled")["GPU-2"].instances.is_empty());
    assert_eq!(of("all-1g.5gb")["GPU-1"].instances.len(), 7);
    let custom = of("custom");
    assert!(!custom["GPU-0"].enabled && custom["GPU-1"].instances.len() == 2);
    assert!(!custom.contains_key("GPU-2"));
    let kinds = of("by-kind");
    assert_eq!(kinds["GPU-0"].instances.len(), 4);
    let parts = &kinds["GPU-2"].instances;
    let compute: Vec<&[u32]> = parts.iter().map(|part| part.compute.as_slice()).collect();
    assert_eq!(
        compute,
        [&[][..], &[1, 1, 1]],
        "three parts of one instance"
    );
    let error = file.layouts("half", &devices()).unwrap_err();
    assert!(
        error.to_string().contains("expected one of all-1g.5gb"),
        "{error}"
    );
    let error = file.layouts("custom", &devices()[..1]).unwrap_err();
    assert!(error.to_string().contains("device 1"), "{error}");
}

#[test]
fn what_is_wrong_is_named() {
    let with = |spec: &str| format!("version: v1\nmig-configs:\n  a:\n    - {spec}\n");
    for (text, named) in [
        ("version: v2\nmig-configs: {}\n".to_owned(), "expected v1"),
        ("version: v1\n".to_owned(), "mig-configs"),
        (
            with("devices: some\n      mig-enabled: true"),
            "expected `all`",
        ),
        (
            with("devices: all\n      mig-enabled: true\n      mig-devices: {big: 1}"),
            "1g.5gb",
        ),
        (
            with("devices: all\n      mig-enabled: true\n      mig-devices: {4c.3g.20gb: 1}"),
            "profile",
        ),
        (
            with("devices: all\n      mig-enabled: true\n      mig-devices: {1g.5gb: 65}"),
            "at most 64",
        ),
        (
            with("devices: all\n      mig-enabled: false\n      mig-devices: {1g.5gb: 1}"),
            "expected none",
        ),
        (
            with("devices: all\n      mig-enabled: true\n      device-filter: A100"),
            "PCI id",
        ),
        (
            with("devices: all\n      mig-enabled: true\n      colour: red"),
            "colour",
        ),
        ("a: &x [*x, *x]".to_owned(), "mig-parted file"),
        ("x".repeat((1 << 20) + 1), "expected at most"),
    ] {
        let error = PartedFile::read(&text).unwrap_err().to_string();
        assert!(error.contains(named), "{named}: {error}");
    }
}

#[test]
fn what_a_machine_has_is_written_and_makes_the_same_machine() {
    let twin = SimulatedMachine::new();
    twin.add_device("GPU-0", "a100-40gb").unwrap();
    let mut on = twin.state();
    on.mig.get_mut("GPU-0").unwrap().enabled = true;
    on.mig.get_mut("GPU-0").unwrap().pending = true;
    twin.set_state(on);
    let place = |start, size, profile: &str, compute: &[u32]| MigPlace {
        start,
        size,
        profile: profile.to_owned(),
        compute: compute.to_vec(),
    };
    let state = MigState {
        enabled: true,
        pending: true,
        instances: vec![
            place(0, 4, "3g.20gb", &[2, 1]),
            place(4, 2, "2g.10gb", &[2]),
            place(6, 1, "1g.5gb", &[1]),
        ],
    };
    let device = MigDevice {
        index: 0,
        uuid: "GPU-0".to_owned(),
        pci_id: None,
    };
    let file = PartedFile::of("now", &[(device.clone(), state.clone())]);
    let text = file.write().unwrap();
    let layouts = PartedFile::read(&text)
        .unwrap()
        .layouts("now", &[device])
        .unwrap();
    let mut hands = twin.hands();
    let pull = LeverChange::Layout {
        device: "GPU-0".to_owned(),
        layout: layouts["GPU-0"].clone(),
    };
    let plan = hands.plan(&pull).unwrap();
    hands.pull(&plan).unwrap();
    assert_eq!(twin.state().mig["GPU-0"], state, "{text}");
}

proptest! {
    #[test]
    fn any_text_is_a_file_or_rejected_and_a_file_is_written_and_read_again(
        text in "(version: v1\nmig-configs:\n)?(  [a-z]{1,3}:\n(    - devices: (all|\\[[0-9, ]{0,5}\\])\n      mig-enabled: (true|false|no)\n(      mig-devices: \\{\"?[1-7](c\\.3)?g\\.[0-9]{1,2}gb\"?: [0-9]{1,2}\\}\n)?)?){0,3}.{0,20}"
    ) {
        if let Ok(file) = PartedFile::read(&text) {
            let written = file.write().unwrap();
            prop_assert_eq!(PartedFile::read(&written).unwrap(), file, "{}", written);
        }
    }
}
