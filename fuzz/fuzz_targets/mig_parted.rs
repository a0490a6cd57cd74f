//! Any text is a file of mig-parted or rejected, and a file is read back as it was written. Its layouts can be planned
//! on a simulated device, or are refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mapa_live::levers::{LeverChange, MigDevice, MigLayout, PartedFile, SimulatedMachine};

fuzz_target!(|text: &str| {
    let Ok(file) = PartedFile::read(text) else {
        return;
    };
    let written = file.write().expect("it was read");
    assert_eq!(PartedFile::read(&written).expect("it was written"), file);
    let twin = SimulatedMachine::new();
    twin.add_device("GPU-0", "a100-40gb")
        .expect("it is in the tables");
    let mut hands = twin.hands();
    let on = LeverChange::Layout {
        device: "GPU-0".to_owned(),
        layout: MigLayout {
            enabled: true,
            instances: Vec::new(),
        },
    };
    let on = hands.plan(&on).expect("MIG is off");
    hands.pull(&on).expect("nothing is in the way");
    let device = MigDevice {
        index: 0,
        uuid: "GPU-0".to_owned(),
        pci_id: Some(0x20B0_10DE),
    };
    for name in file.configs.keys().take(8) {
        let Ok(layouts) = file.layouts(name, std::slice::from_ref(&device)) else {
            continue;
        };
        for (device, layout) in layouts {
            let before = twin.state();
            if let Ok(plan) = hands.plan(&LeverChange::Layout { device, layout }) {
                hands.pull(&plan).expect("it was planned");
                hands.undo(&plan).expect("nothing is in use");
            }
            assert_eq!(twin.state(), before);
        }
    }
});
