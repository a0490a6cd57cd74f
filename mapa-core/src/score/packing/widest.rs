//! The slow path: one ring over any links, as wide as possible.
//!
//! Where the direct links of a set form no ring, a collective goes through the host. The host is
//! slow and shared, and a collective reaches hardly more than one ring there. So one ring is
//! modelled: each hop goes over direct links or over the host path, whichever is wider, and the
//! ring is as fast as its narrowest hop.
//!
//! The model does not count that several hops of the ring may share a hop of the host. A ring that
//! takes devices in the order of the host tree enters and leaves every part of the tree once, so
//! each hop of the tree carries it once in each direction, at full rate. Rings that direct links
//! pull out of that order may reach less.

use super::bandwidth::Packed;
use super::hamilton;
use super::network::CapacityNetwork;

/// The bandwidth of a single ring on each hop, n x n.
fn hops(network: &CapacityNetwork) -> Vec<f64> {
    let n = network.len();
    (0..n * n)
        .map(|at| match (at / n, at % n) {
            (a, b) if a == b => 0.0,
            (a, b) => network.best(a, b),
        })
        .collect()
}

/// The widest ring. Up to sixteen devices it is exact; for more, a ring that follows the widest
/// links, and a bound.
pub(super) fn ring(network: &CapacityNetwork) -> Packed {
    let n = network.len();
    let width = hops(network);
    let (gbps, ring, at_most) = if n <= hamilton::MOST {
        let Some((gbps, ring)) = hamilton::widest(n, &width) else {
            return Packed::NONE;
        };
        (gbps, ring, gbps)
    } else {
        let (ring, tree) = along_tree(n, &width);
        let gbps = hamilton::hops(&ring)
            .map(|(a, b)| width[a * n + b])
            .fold(f64::INFINITY, f64::min);
        (
            gbps,
            hamilton::normal(ring),
            by_device(n, &width).min(tree).max(gbps),
        )
    };
    Packed {
        gbps,
        at_most,
        rings: if gbps > 0.0 {
            vec![(ring, gbps)]
        } else {
            Vec::new()
        },
    }
}

/// An upper bound of such rings: each device has two hops in a ring, so its second widest hop
/// bounds it. O(n²).
pub(super) fn at_most(network: &CapacityNetwork) -> f64 {
    by_device(network.len(), &hops(network))
}

/// The least over all devices of the second widest hop; with two devices, of the widest.
fn by_device(n: usize, width: &[f64]) -> f64 {
    let second = |row: &[f64]| {
        let two = row.iter().fold((0.0f64, 0.0f64), |(first, second), &gbps| {
            if gbps > first {
                (gbps, first)
            } else {
                (first, second.max(gbps))
            }
        });
        if n == 2 { two.0 } else { two.1 }
    };
    width
        .chunks_exact(n)
        .map(second)
        .fold(f64::INFINITY, f64::min)
}

/// The devices in the order of a depth-first walk along the widest spanning tree, and the narrowest
/// hop of that tree. No ring exceeds it: a ring without one hop is a spanning tree, and this one is
/// the widest. O(n²).
fn along_tree(n: usize, width: &[f64]) -> (Vec<usize>, f64) {
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut best: Vec<(f64, usize)> = (0..n).map(|v| (width[v], 0)).collect();
    let mut left: Vec<usize> = (1..n).collect();
    let mut narrowest = f64::INFINITY;
    while !left.is_empty() {
        // Prim's algorithm; of equally wide hops the one to the lowest device.
        let at = (0..left.len())
            .rev()
            .max_by(|&a, &b| best[left[a]].0.total_cmp(&best[left[b]].0))
            .unwrap_or(0);
        let v = left.remove(at);
        let (gbps, from) = best[v];
        narrowest = narrowest.min(gbps);
        near[from].push(v);
        for &u in &left {
            if width[v * n + u] > best[u].0 {
                best[u] = (width[v * n + u], v);
            }
        }
    }
    let (mut order, mut open) = (Vec::with_capacity(n), vec![0]);
    while let Some(v) = open.pop() {
        order.push(v);
        open.extend(near[v].iter().rev());
    }
    (order, narrowest)
}
