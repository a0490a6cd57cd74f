//! Cycles that packings start from: one after another, each as wide as what the ones before leave.

use super::hamilton::{self, hops};
use super::network::Network;

/// Steps of a search for one cycle through more devices than a table holds.
const STEPS: usize = 20_000;

/// Cycles that are taken at most.
const CYCLES: usize = 64;

/// Cycles of direct links and switches that fit together, with their weights: half of it one way round, half the other.
///
/// A switch that all have a port of carries any cycle. Of the links between pairs, the widest cycle is taken as long as there
/// is one; beyond sixteen devices, one that a bounded search finds.
pub(super) fn greedy(network: &Network) -> Vec<(Vec<usize>, f64)> {
    let n = network.len();
    let mut packed = Vec::new();
    for ports in &network.ports {
        let least = ports.iter().copied().fold(f64::INFINITY, f64::min);
        if least > 0.0 {
            // It enters and leaves each device once.
            packed.push(((0..n).collect(), least));
        }
    }
    let mut left: Vec<f64> = network.direct.iter().map(|gbps| 2.0 * gbps).collect();
    while packed.len() < CYCLES {
        let found =
            if n <= hamilton::MOST { hamilton::widest(n, &left) } else { some(n, &left).or_else(|| turned(n, &left)) };
        let Some((gbps, cycle)) = found else { break };
        for (a, b) in hops(&cycle) {
            for at in [a * n + b, b * n + a] {
                // What is left of a difference of equals is nothing.
                left[at] = if left[at] - gbps <= 1e-12 * gbps { 0.0 } else { left[at] - gbps };
            }
        }
        packed.push((cycle, gbps));
    }
    packed
}

/// A cycle of hops above 0, and its narrowest hop: by going on to whom the fewest ways lead, and back where there is none, for
/// a while.
fn some(n: usize, width: &[f64]) -> Option<(f64, Vec<usize>)> {
    let near: Vec<Vec<usize>> = (0..n).map(|a| (0..n).filter(|&b| width[a * n + b] > 0.0).collect()).collect();
    if near.iter().any(|near| near.len() < 2) {
        return None;
    }
    let mut used = vec![false; n];
    let mut path = vec![0];
    used[0] = true;
    let ways = |used: &[bool], v: usize| near[v].iter().filter(|&&u| !used[u]).count();
    let choices = |used: &[bool], v: usize| {
        let mut next: Vec<usize> = near[v].iter().copied().filter(|&u| !used[u]).collect();
        // The best last: they are popped.
        next.sort_by_key(|&v| std::cmp::Reverse((ways(used, v), v)));
        next
    };
    let mut open = vec![choices(&used, 0)];
    for _ in 0..STEPS {
        let last = *path.last()?;
        if path.len() == n && width[last * n] > 0.0 {
            let gbps = hops(&path).map(|(a, b)| width[a * n + b]).fold(f64::INFINITY, f64::min);
            return Some((gbps, hamilton::normal(path)));
        }
        match open.last_mut()?.pop() {
            Some(next) => {
                used[next] = true;
                path.push(next);
                open.push(choices(&used, next));
            }
            None => {
                used[path.pop()?] = false;
                open.pop();
            }
        }
    }
    None
}

/// The same by rotations (Pósa 1976): a path that cannot go on from its end is turned there, so that it ends elsewhere. From
/// each device in turn, for a while.
fn turned(n: usize, width: &[f64]) -> Option<(f64, Vec<usize>)> {
    let joined = |a: usize, b: usize| a != b && width[a * n + b] > 0.0;
    let degree = |v: usize| (0..n).filter(|&u| joined(v, u)).count();
    for first in 0..n {
        let mut path = vec![first];
        let mut turns = vec![0usize; n];
        for _ in 0..STEPS / n {
            let last = *path.last()?;
            if path.len() == n && joined(last, path[0]) {
                let gbps = hops(&path).map(|(a, b)| width[a * n + b]).fold(f64::INFINITY, f64::min);
                return Some((gbps, hamilton::normal(path)));
            }
            let next = (0..n).filter(|&v| joined(last, v) && !path.contains(&v)).min_by_key(|&v| (degree(v), v));
            if let Some(next) = next {
                path.push(next);
                continue;
            }
            // The new end is what follows a neighbour of the old one: of those, the one that was an end least often.
            let inner = (0..path.len().saturating_sub(2)).filter(|&at| joined(last, path[at]));
            let Some(at) = inner.min_by_key(|&at| (turns[path[at + 1]], at)) else { break };
            path[at + 1..].reverse();
            turns[path[path.len() - 1]] += 1;
        }
    }
    None
}
