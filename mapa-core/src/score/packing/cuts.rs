//! Upper bounds of packings of rings, by cuts: every ring leaves every group of devices at least
//! once, so the capacity out of the group bounds all rings together.

use super::network::CapacityNetwork;

/// The least of the cuts examined, GB/s: around each device, and the minimum cut (Stoer and Wagner
/// 1997). O(n³) for n devices.
pub(super) fn at_most(network: &CapacityNetwork) -> f64 {
    by_degree(network).min(if network.len() > 3 {
        least_cut(network)
    } else {
        f64::INFINITY
    })
}

/// The least bound by the cut around a single device, GB/s. O(n²) for n devices.
///
/// All that leaves a device leaves over its links and ports. A ring of three or more devices visits
/// two *different* neighbours of a device. So at least half of the traffic of its links is on
/// others than the widest one, and the total is at most twice what the others carry.
pub(super) fn by_degree(network: &CapacityNetwork) -> f64 {
    (0..network.len())
        .map(|device| around(network, device))
        .fold(f64::INFINITY, f64::min)
}

/// The bound by the cut around one device, GB/s.
fn around(network: &CapacityNetwork, a: usize) -> f64 {
    let n = network.len();
    let links = &network.direct[a * n..(a + 1) * n];
    let (all, widest) = links.iter().fold((0.0, 0.0f64), |(all, widest), gbps| {
        (all + gbps, widest.max(*gbps))
    });
    let ports: f64 = network
        .ports
        .iter()
        .map(|ports| ports[a].min(ports.iter().sum::<f64>() - ports[a]))
        .sum();
    if n > 2 && ports == 0.0 {
        all.min(2.0 * (all - widest))
    } else {
        all + ports
    }
}

/// A minimum cut of the graph whose vertices are devices and switches. A cut with a switch alone on
/// one side separates no devices and does not count. So with switches the result is the value of
/// some cut, not always of the least.
fn least_cut(network: &CapacityNetwork) -> f64 {
    let n = network.len();
    let size = n + network.ports.len();
    // size x size. One block and not rows of their own: bounds are made for every set of a machine.
    let mut weight = vec![0.0; size * size];
    for a in 0..n {
        weight[a * size..][..n].copy_from_slice(&network.direct[a * n..(a + 1) * n]);
        for (switch, ports) in network.ports.iter().enumerate() {
            let port = ports[a];
            (
                weight[a * size + n + switch],
                weight[(n + switch) * size + a],
            ) = (port, port);
        }
    }
    let mut has_device: Vec<bool> = (0..size).map(|v| v < n).collect();
    let mut left: Vec<usize> = (0..size).collect();
    let mut least = f64::INFINITY;
    let (mut rest, mut joined) = (Vec::with_capacity(size), vec![0.0f64; size]);
    while left.len() > 1 {
        // A maximum adjacency order: each time the vertex that is joined best to those before it.
        // The cut around the last vertex is a minimum cut between the last two, so these two can be
        // merged.
        rest.clone_from(&left);
        joined.fill(0.0);
        let (mut last, mut before, mut cut) = (rest[0], rest[0], 0.0);
        while !rest.is_empty() {
            let at = (0..rest.len())
                .max_by(|&a, &b| joined[rest[a]].total_cmp(&joined[rest[b]]))
                .unwrap_or(0);
            (before, last) = (last, rest.swap_remove(at));
            cut = joined[last];
            rest.iter()
                .for_each(|&v| joined[v] += weight[last * size + v]);
        }
        let parted = has_device[last] && left.iter().any(|&v| v != last && has_device[v]);
        if parted {
            least = least.min(cut);
        }
        has_device[before] |= has_device[last];
        for v in 0..size {
            let both = weight[before * size + v] + weight[last * size + v];
            (weight[before * size + v], weight[v * size + before]) = (both, both);
        }
        left.retain(|&v| v != last);
    }
    least
}
