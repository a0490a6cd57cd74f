//! How far devices are from each other in the host, and how far those that stay free are.

use std::sync::LazyLock;

use super::{Objective, PairsOf, Subset};
use crate::topology::{HostNetwork, LinkClass, Pair};

/// The distance of two devices in the host: 0 on one device, 1 on one board, then one more for each
/// level that their path climbs, as `nvidia-smi topo -m` names the levels: `PIX` 2, `PXB` 3, `PHB`
/// 4, `NODE` 5, `SYS` 6, another server 7. A pair without a path counts as 8.
fn distance(class: LinkClass) -> f64 {
    match class {
        LinkClass::SameDevice | LinkClass::Direct(_) => 0.0,
        LinkClass::Board => 1.0,
        LinkClass::Pix => 2.0,
        LinkClass::Pxb => 3.0,
        LinkClass::Phb => 4.0,
        LinkClass::Node => 5.0,
        LinkClass::Sys => 6.0,
        LinkClass::Network => 7.0,
        LinkClass::None => 8.0,
    }
}

/// The sum over all pairs. O(k²) for k devices.
fn sum(Subset { graph, devices }: Subset<'_>) -> f64 {
    let pairs = devices.iter().flat_map(|a| {
        let lower = devices.iter().take_while(move |b| *b < a);
        lower.map(move |b| graph.pair(a, b))
    });
    pairs.fold(0.0, |sum, pair| sum + of_pair(pair))
}

/// The distance of a pair.
fn of_pair(pair: Pair) -> f64 {
    // Two instances of one device have no path through the host.
    distance(match pair.best().class {
        LinkClass::SameDevice => LinkClass::SameDevice,
        _ => pair.host.class,
    })
}

/// How far the chosen devices are from each other in the host: the sum over all pairs of the number
/// of levels that their path through the host climbs, from 1 for two devices on one board to 7 for
/// two servers (`PIX` 2, `PXB` 3, `PHB` 4, `NODE` 5, `SYS` 6). The lower the closer.
///
/// # Complexity
/// O(k²) for k devices.
#[must_use]
pub fn host_distance() -> Objective<'static> {
    static DISTANCE: LazyLock<Objective<'static>> = LazyLock::new(|| {
        Objective::chosen("host_distance", sum)
            .blind_to_ids()
            .sum_of_pairs(PairsOf::Chosen, |graph, a, b| of_pair(graph.pair(a, b)))
    });
    DISTANCE.clone()
}

/// [`host_distance`] of the whole devices that stay free. Of placements on equally many devices, the one
/// that leaves the lowest sum breaks up the fewest close groups.
///
/// # Complexity
/// O(m²) for m devices that stay free.
#[must_use]
pub fn host_distance_left() -> Objective<'static> {
    static LEFT: LazyLock<Objective<'static>> = LazyLock::new(|| {
        let of_wholes = |rest: Subset<'_>| {
            let devices = &(rest.devices & &rest.graph.wholes());
            sum(Subset { devices, ..rest })
        };
        Objective::rest("host_distance_left", of_wholes)
            .blind_to_ids()
            .sum_of_pairs(PairsOf::Left, |graph, a, b| of_pair(graph.pair(a, b)))
    });
    LEFT.clone()
}
/// How much of the host devices share that do not reach each other's memory: the number of pairs below
/// one switch, a million times; plus the number of other pairs on one root, a thousand times; plus the
/// number of other pairs that use one memory. Pairs that do not share go first to memory over ways of
/// their own. The lower the better: data that is staged in the host's memory passes every shared part
/// twice.
///
/// # Complexity
/// O(k²) for k devices.
#[must_use]
pub fn host_sharing() -> Objective<'static> {
    static SHARING: LazyLock<Objective<'static>> = LazyLock::new(|| {
        let of = |Subset { graph, devices }: Subset<'_>| {
            let host = HostNetwork::of(graph);
            let pairs = devices.iter().flat_map(|a| {
                let lower = devices.iter().take_while(move |b| *b < a);
                lower.map(move |b| (a, b))
            });
            let staged = pairs.filter(|&(a, b)| !graph.peer_access(a, b).on);
            staged.fold(0.0, |sum, (a, b)| {
                sum + match () {
                    () if host.share_a_switch(a, b) => 1e6,
                    () if host.share_a_root(a, b) => 1e3,
                    () if host.share_memory(a, b) => 1.0,
                    () => 0.0,
                }
            })
        };
        Objective::chosen("host_sharing", of).blind_to_ids()
    });
    SHARING.clone()
}
