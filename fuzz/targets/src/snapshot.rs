//! Any text is a snapshot or refused; a state that was restored holds together, and is saved as
//! what it was restored from.

use std::sync::{Arc, LazyLock};

use mapa_core::{Allocator, HardwareGraph, MachineId, Snapshot, lowest_id};

use crate::input::text;

/// Two A30 that can be partitioned, and one GPU that cannot.
static GRAPH: LazyLock<Arc<HardwareGraph>> = LazyLock::new(|| {
    let text = r#"
        format = "mapa-machine"
        version = 1
        name = "fuzz"
        nodes = [{ name = "cpu0", kind = "numa", number = 0 }]
        devices = [
            { name = "GPU0", up = "cpu0", mig = "a30", memory_bytes = 25769803776 },
            { name = "GPU1", up = "cpu0", mig = "a30", memory_bytes = 25769803776 },
            { name = "GPU2", up = "cpu0" },
        ]
    "#;
    let machine = mapa_topologies::Machine::from_toml(text).expect("it is well-formed");
    Arc::new(machine.graph().expect("it is well-formed"))
});

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    // The machine's own number is too long to be guessed.
    let text = text.replace("MACHINE", &GRAPH.fingerprint().to_string());
    let Ok(snapshot) = serde_json::from_str::<Snapshot>(&text) else {
        return;
    };
    let Ok(mut allocator) = Allocator::restore(MachineId(0), GRAPH.clone(), snapshot) else {
        return;
    };
    let again = Allocator::restore(MachineId(0), GRAPH.clone(), allocator.snapshot())
        .expect("it was just saved");
    assert_eq!(again, allocator);
    let view = allocator.view();
    for id in GRAPH.all().iter() {
        let usage = view.usage(id);
        assert!(usage.exclusive == 0 || usage.tenants == 1);
        assert!(usage.tenants == 0 || view.present().contains(id));
        assert!(
            usage.memory_bytes == 0 || Some(usage.memory_bytes) <= GRAPH.device(id).memory_bytes
        );
    }
    let pattern = allocator.leases().next().map(|lease| lease.pattern.clone());
    if let Some(pattern) = pattern {
        let _ = allocator.allocate(lowest_id(), &mapa_core::Request::new(pattern));
    }
    let leases: Vec<_> = allocator.leases().map(|lease| lease.id).collect();
    for lease in leases {
        allocator.release(lease).expect("it is held");
    }
    assert_eq!(allocator.view().free(), allocator.view().present());
}
