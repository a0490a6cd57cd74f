//! mig-parted's files: read, and what they say of devices.

use mapa_topologies::mig_parted::{PartedDevice, PartedFile};
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

fn devices() -> Vec<PartedDevice> {
    [0x20B0_10DE, 0x20B0_10DE, 0x2330_10DE]
        .into_iter()
        .zip(0..)
        .map(|(pci, index)| PartedDevice {
            index,
            pci_id: Some(pci),
        })
        .collect()
}

#[test]
fn the_usual_file_is_read() {
    let file = PartedFile::read(FILE).unwrap();
    assert_eq!(file.configs.len(), 5);
}

#[test]
fn a_configuration_gives_each_device_its_layout() {
    let file = PartedFile::read(FILE).unwrap();
    let of = |name: &str| file.layouts(name, &devices()).unwrap();
    assert_eq!(of("all-disabled").len(), 3);
    assert!(of("all-enabled")[&2].enabled && of("all-enabled")[&2].instances.is_empty());
    assert_eq!(of("all-1g.5gb")[&1].instances.len(), 7);
    let custom = of("custom");
    assert!(!custom[&0].enabled && custom[&1].instances.len() == 2);
    assert!(!custom.contains_key(&2));
    let kinds = of("by-kind");
    assert_eq!(kinds[&0].instances.len(), 4);
    let parts = &kinds[&2].instances;
    let compute: Vec<&[u32]> = parts.iter().map(|part| part.compute.as_slice()).collect();
    assert_eq!(
        compute,
        [&[][..], &[1, 1, 1]],
        "three parts of one instance"
    );
    let error = file.layouts("half", &devices()).unwrap_err();
    insta::assert_snapshot!(
        error.to_string(),
        @"configuration half: expected one of all-1g.5gb, all-disabled, all-enabled, by-kind, custom"
    );
    let error = file.layouts("custom", &devices()[..1]).unwrap_err();
    insta::assert_snapshot!(
        error.to_string(),
        @"device 1: this machine has no such device with MIG"
    );
}

#[test]
fn what_is_wrong_is_named() {
    let with = |spec: &str| format!("version: v1\nmig-configs:\n  a:\n    - {spec}\n");
    let said = [
        "version: v2\nmig-configs: {}\n".to_owned(),
        "version: v1\n".to_owned(),
        with("devices: some\n      mig-enabled: true"),
        with("devices: all\n      mig-enabled: true\n      mig-devices: {big: 1}"),
        with("devices: all\n      mig-enabled: true\n      mig-devices: {4c.3g.20gb: 1}"),
        with("devices: all\n      mig-enabled: true\n      mig-devices: {1g.5gb: 65}"),
        with("devices: all\n      mig-enabled: false\n      mig-devices: {1g.5gb: 1}"),
        with("devices: all\n      mig-enabled: true\n      device-filter: A100"),
        with("devices: all\n      mig-enabled: true\n      colour: red"),
        "a: &x [*x, *x]".to_owned(),
        "x".repeat((1 << 20) + 1),
    ]
    .map(|text| PartedFile::read(&text).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    version v2: expected v1
    error: line 1 column 1: missing field `mig-configs`
    a: devices `some`: expected `all` or a list of numbers
    a: `big`: expected a profile such as 1g.5gb or 1c.3g.20gb
    a: `4c.3g.20gb`: expected a profile such as 1g.5gb or 1c.3g.20gb
    a: 1g.5gb: 65: expected at most 64
    a: mig-enabled: false with mig-devices: expected none
    a: device-filter `A100`: expected a PCI id, 0x20B010DE
    error: line 6 column 7: unknown field `colour`, expected one of device-filter, devices, mig-enabled, mig-devices
    error: line 1 column 1: unknown field `a`, expected one of version, mig-configs
    1048577 bytes: expected at most 1048576
    ");
}

proptest! {
    #[test]
    fn any_text_is_a_file_or_rejected(
        text in "(version: v1\nmig-configs:\n)?(  [a-z]{1,3}:\n(    - devices: (all|\\[[0-9, ]{0,5}\\])\n      mig-enabled: (true|false|no)\n(      mig-devices: \\{\"?[1-7](c\\.3)?g\\.[0-9]{1,2}gb\"?: [0-9]{1,2}\\}\n)?)?){0,3}.{0,20}"
    ) {
        if let Ok(file) = PartedFile::read(&text) {
            for name in file.configs.keys() {
                let layouts = file.layouts(name, &devices());
                prop_assert!(layouts.is_err() || layouts.unwrap().len() <= 3);
            }
        }
    }
}
