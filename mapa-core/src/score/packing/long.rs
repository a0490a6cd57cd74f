//! The cycles with which packings start, chosen greedily: one after another, each as wide as the
//! ones before leave room for.

use super::hamilton::{self, hops};
use super::network::CapacityNetwork;

/// The steps of a search for one cycle through more devices than a table holds.
const STEPS: usize = 20_000;

/// The most cycles taken.
const CYCLES: usize = 64;

/// Cycles of direct links and switches that fit together, with their weights. Half of a weight goes
/// one way round, half the other way.
///
/// A switch with a port of every device carries any cycle. Of the links between pairs, the widest
/// cycle is taken as long as there is one; beyond sixteen devices, one that a bounded search finds.
pub(super) fn greedy(network: &CapacityNetwork) -> Vec<(Vec<usize>, f64)> {
    let n = network.len();
    let mut packed = Vec::new();
    for ports in &network.ports {
        let least = ports.iter().copied().fold(f64::INFINITY, f64::min);
        if least > 0.0 {
            // A cycle enters and leaves each device once, so the narrowest port bounds it.
            packed.push(((0..n).collect(), least));
        }
    }
    let mut left: Vec<f64> = network.direct.iter().map(|gbps| 2.0 * gbps).collect();
    while packed.len() < CYCLES {
        let found = if n <= hamilton::MOST {
            hamilton::widest(n, &left)
        } else {
            some(n, &left).or_else(|| turned(n, &left))
        };
        let Some((gbps, cycle)) = found else { break };
        for (a, b) in hops(&cycle) {
            for at in [a * n + b, b * n + a] {
                // Rounding must not leave a sliver of a link that is full.
                left[at] = if left[at] - gbps <= 1e-12 * gbps {
                    0.0
                } else {
                    left[at] - gbps
                };
            }
        }
        packed.push((cycle, gbps));
    }
    packed
}

/// A cycle of hops above 0, and its narrowest hop, by depth-first search with a limit on steps. The
/// next device is the one with the fewest unused neighbours, which is the hardest to visit later
/// (Warnsdorff's rule).
fn some(n: usize, width: &[f64]) -> Option<(f64, Vec<usize>)> {
    let near: Vec<Vec<usize>> = (0..n)
        .map(|a| (0..n).filter(|&b| width[a * n + b] > 0.0).collect())
        .collect();
    if near.iter().any(|near| near.len() < 2) {
        return None;
    }
    let mut used = vec![false; n];
    let mut path = vec![0];
    used[0] = true;
    let choices = |used: &[bool], v: usize| {
        let mut next: Vec<usize> = unused(&near[v], used).collect();
        // The best last: choices are popped.
        next.sort_by_key(|&v| std::cmp::Reverse((unused(&near[v], used).count(), v)));
        next
    };
    let mut open = vec![choices(&used, 0)];
    for _ in 0..STEPS {
        let last = *path.last()?;
        if path.len() == n && width[last * n] > 0.0 {
            let gbps = hops(&path)
                .map(|(a, b)| width[a * n + b])
                .fold(f64::INFINITY, f64::min);
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

/// The neighbours that are not used yet.
fn unused<'a>(near: &'a [usize], used: &'a [bool]) -> impl Iterator<Item = usize> + 'a {
    near.iter().copied().filter(|&v| !used[v])
}

/// A cycle of hops above 0, and its narrowest hop, by rotations (Pósa 1976). A path that cannot be
/// extended has an end that is joined to an inner device of the path. Reversing the path behind
/// that device gives a path through the same devices with another end. Tried from each device in
/// turn, with a limit on steps.
fn turned(n: usize, width: &[f64]) -> Option<(f64, Vec<usize>)> {
    let joined = |a: usize, b: usize| a != b && width[a * n + b] > 0.0;
    for first in 0..n {
        let mut path = vec![first];
        let mut turns = vec![0usize; n];
        for _ in 0..STEPS / n {
            let last = *path.last()?;
            if path.len() == n && joined(last, path[0]) {
                let gbps = hops(&path)
                    .map(|(a, b)| width[a * n + b])
                    .fold(f64::INFINITY, f64::min);
                return Some((gbps, hamilton::normal(path)));
            }
            // The free neighbour of lowest degree is the hardest to visit later.
            let next = (0..n)
                .filter(|&v| joined(last, v) && !path.contains(&v))
                .min_by_key(|&v| ((0..n).filter(|&u| joined(v, u)).count(), v));
            if let Some(next) = next {
                path.push(next);
                continue;
            }
            // The new end is the device behind a neighbour of the old end. Of those, take the one
            // that was an end least often, so that the search does not go round in circles.
            let inner = (0..path.len().saturating_sub(2)).filter(|&at| joined(last, path[at]));
            let Some(at) = inner.min_by_key(|&at| (turns[path[at + 1]], at)) else {
                break;
            };
            path[at + 1..].reverse();
            turns[path[path.len() - 1]] += 1;
        }
    }
    None
}
