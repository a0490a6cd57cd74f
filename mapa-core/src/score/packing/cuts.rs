//! What no packing of rings can exceed, by cuts: every ring leaves every group of devices at least once.

use super::network::Network;

/// The least cut that was looked at, GB/s: each device, and the groups of a minimum cut (Stoer and Wagner 1997) where that is
/// lower. O(n³) for n devices.
pub(super) fn at_most(network: &Network) -> f64 {
    by_degree(network).min(if network.len() > 3 { least_cut(network) } else { f64::INFINITY })
}

/// The same by single devices only: O(n²).
///
/// What leaves a device leaves over its links and ports. A ring of three or more reaches two *different* neighbours of it, so
/// half of all that its links carry both ways must be on others than the widest.
pub(super) fn by_degree(network: &Network) -> f64 {
    let n = network.len();
    let of = |a: usize| {
        let links = &network.direct[a * n..(a + 1) * n];
        let (all, widest) = links.iter().fold((0.0, 0.0f64), |(all, widest), gbps| (all + gbps, widest.max(*gbps)));
        let ports: f64 = network.ports.iter().map(|ports| ports[a].min(ports.iter().sum::<f64>() - ports[a])).sum();
        if n > 2 && ports == 0.0 { all.min(2.0 * (all - widest)) } else { all + ports }
    };
    (0..n).map(of).fold(f64::INFINITY, f64::min)
}

/// A minimum cut, devices and switches being vertices. A cut that has a switch alone on one side parts no devices and does not
/// count, so with switches it is some cut, not always the least.
fn least_cut(network: &Network) -> f64 {
    let n = network.len();
    let size = n + network.ports.len();
    let mut weight = vec![vec![0.0; size]; size];
    for a in 0..n {
        weight[a][..n].copy_from_slice(&network.direct[a * n..(a + 1) * n]);
        for (switch, ports) in network.ports.iter().enumerate() {
            (weight[a][n + switch], weight[n + switch][a]) = (ports[a], ports[a]);
        }
    }
    let mut has_device: Vec<bool> = (0..size).map(|v| v < n).collect();
    let mut left: Vec<usize> = (0..size).collect();
    let mut least = f64::INFINITY;
    while left.len() > 1 {
        // Each time the vertex that is joined best to those before it.
        let mut rest = left.clone();
        let mut joined: Vec<f64> = vec![0.0; size];
        let (mut last, mut before, mut cut) = (rest[0], rest[0], 0.0);
        while !rest.is_empty() {
            let at = (0..rest.len()).max_by(|&a, &b| joined[rest[a]].total_cmp(&joined[rest[b]])).unwrap_or(0);
            (before, last) = (last, rest.swap_remove(at));
            cut = joined[last];
            rest.iter().for_each(|&v| joined[v] += weight[last][v]);
        }
        let parted = has_device[last] && left.iter().any(|&v| v != last && has_device[v]);
        if parted {
            least = least.min(cut);
        }
        has_device[before] |= has_device[last];
        let moved = weight[last].clone();
        for (v, gbps) in moved.into_iter().enumerate() {
            weight[before][v] += gbps;
            weight[v][before] = weight[before][v];
        }
        left.retain(|&v| v != last);
    }
    least
}
