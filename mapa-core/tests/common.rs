//! Machines that several tests build.

use mapa_core::{Fabric, HardwareGraph, NodeId};

/// Adds `n` devices, `GPU0`, `GPU1`, ..., which nothing joins yet.
pub(crate) fn gpus(fabric: &mut Fabric, n: usize) -> Vec<NodeId> {
    (0..n)
        .map(|i| fabric.add_device(format!("GPU{i}")).unwrap())
        .collect()
}

/// A machine of `n` devices below one NUMA node: every pair is joined through the host.
pub(crate) fn complete(n: usize) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let root = fabric.add_numa("numa0", 0).unwrap();
    for gpu in gpus(&mut fabric, n) {
        fabric.attach(gpu, root, 12.0).unwrap();
    }
    fabric.lower().unwrap()
}
