//! The slow path: one ring over any links, as wide as can be.
//!
//! Where the direct links of a set form no ring, a collective goes through the host. That is slow and shared, and what it reaches
//! is hardly more than one ring; so here is one ring, each hop over direct links or over the host path, whichever is
//! wider, and it is as fast as its narrowest hop. What several of its hops share in the host is not counted: a ring that
//! takes devices in the order of the host tree enters and leaves every part of the tree once, so that each hop of the tree
//! carries it once in each direction, at full rate; rings that direct links pull out of that order may reach less.

use super::hamilton;
use super::network::Network;
use super::ring::Packed;

/// n x n: what one ring has on each hop.
fn hops(network: &Network) -> Vec<f64> {
    let n = network.len();
    let hop = |at: usize| if at / n == at % n { 0.0 } else { network.alone(at / n, at % n).max(network.host[at]) };
    (0..n * n).map(hop).collect()
}

/// The widest ring: exact up to sixteen devices; beyond, one that follows the widest links, and a bound.
pub(super) fn ring(network: &Network) -> Packed {
    let n = network.len();
    let width = hops(network);
    let (gbps, ring, at_most) = if n <= hamilton::MOST {
        let Some((gbps, ring)) = hamilton::widest(n, &width) else { return Packed::NONE };
        (gbps, ring, gbps)
    } else {
        let (ring, tree) = along_tree(n, &width);
        let gbps = hamilton::hops(&ring).map(|(a, b)| width[a * n + b]).fold(f64::INFINITY, f64::min);
        (gbps, hamilton::normal(ring), by_device(n, &width).min(tree).max(gbps))
    };
    Packed { gbps, at_most, rings: if gbps > 0.0 { vec![(ring, gbps)] } else { Vec::new() } }
}

/// What no such ring exceeds: every device has two hops in it. O(n²).
pub(super) fn at_most(network: &Network) -> f64 {
    by_device(network.len(), &hops(network))
}

fn by_device(n: usize, width: &[f64]) -> f64 {
    let second = |row: &[f64]| {
        let two =
            row.iter().fold(
                (0.0f64, 0.0f64),
                |(first, second), &gbps| {
                    if gbps > first { (gbps, first) } else { (first, second.max(gbps)) }
                },
            );
        if n == 2 { two.0 } else { two.1 }
    };
    width.chunks_exact(n).map(second).fold(f64::INFINITY, f64::min)
}

/// The devices in the order in which a walk along the widest spanning tree meets them, and the tree's narrowest hop, which no
/// ring exceeds. O(n²).
fn along_tree(n: usize, width: &[f64]) -> (Vec<usize>, f64) {
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut best: Vec<(f64, usize)> = (0..n).map(|v| (width[v], 0)).collect();
    let mut left: Vec<usize> = (1..n).collect();
    let mut narrowest = f64::INFINITY;
    while !left.is_empty() {
        // The lowest device of the widest.
        let at = (0..left.len()).rev().max_by(|&a, &b| best[left[a]].0.total_cmp(&best[left[b]].0)).unwrap_or(0);
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
