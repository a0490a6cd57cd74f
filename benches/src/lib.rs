//! This package holds benchmarks only: see the folder `benches`. This file has the target graphs
//! that several of them search.

use mapa_core::{Fabric, HardwareGraph, LinkClass};

/// A machine of `n` devices whose direct links are these edges, of 25 GB/s each.
///
/// # Panics
/// If an edge names no device or is given twice.
#[must_use]
pub fn joined(n: usize, edges: &[(usize, usize)]) -> HardwareGraph {
    let mut fabric = Fabric::new();
    let nodes: Vec<_> = (0..n)
        .map(|i| fabric.add_device(format!("GPU{i}")).expect("a new name"))
        .collect();
    for &(a, b) in edges {
        fabric
            .link(nodes[a], nodes[b], LinkClass::Direct(1), 25.0)
            .expect("a new pair");
    }
    fabric.lower().expect("a machine")
}

/// A machine of `n` devices with a link between every two.
#[must_use]
pub fn complete(n: usize) -> HardwareGraph {
    joined(n, &complete_edges(n))
}

/// The edges of [`complete`].
#[must_use]
pub fn complete_edges(n: usize) -> Vec<(usize, usize)> {
    (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect()
}

/// A torus of `n` x `n` devices: each is linked to the next one in both dimensions, with
/// wrap-around.
#[must_use]
pub fn torus(n: usize) -> HardwareGraph {
    joined(n * n, &torus_edges(n))
}

/// The edges of [`torus`].
#[must_use]
pub fn torus_edges(n: usize) -> Vec<(usize, usize)> {
    let at = |x: usize, y: usize| (x % n) * n + y % n;
    (0..n * n)
        .flat_map(|i| [(i, at(i / n + 1, i % n)), (i, at(i / n, i % n + 1))])
        .collect()
}

/// A random machine of `n` devices: each two are linked with probability 0.1, by a generator with a
/// fixed seed.
#[must_use]
pub fn gnp(n: usize) -> HardwareGraph {
    joined(n, &gnp_edges(n))
}

/// The edges of [`gnp`].
#[must_use]
pub fn gnp_edges(n: usize) -> Vec<(usize, usize)> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut edges = Vec::new();
    for b in 0..n {
        for a in 0..b {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state.is_multiple_of(10) {
                edges.push((a, b));
            }
        }
    }
    edges
}
