//! Copies that share the host, flow by flow: the slow oracle of the closed forms.

use mapa_core::sharing::{self, Flow};
use mapa_core::{DeviceId, Efficiency, HardwareGraph, HostNetwork, Part, Use};

/// What each of these copies reaches while all run at once: max-min fair shares of the host's parts at
/// nominal bandwidth, times the shares of one copy. A copy is from the first device to the second;
/// `None` stands for the host's memory.
///
/// # Complexity
///
/// As [`max_min`](sharing::max_min).
pub(super) fn copies_at_once(
    graph: &HardwareGraph,
    copies: &[(Option<DeviceId>, Option<DeviceId>)],
    efficiency: &Efficiency,
) -> Result<Vec<f64>, mapa_core::Error> {
    let host = HostNetwork::of(graph);
    let n = graph.wholes().len();
    let share = |part, using| efficiency.of(part, using, None).value;
    // Slots up and down, uplinks up and down, pools of slots and of uplinks, pairs of sockets.
    let uplinks = host.uplinks().len();
    let mut capacities = Vec::new();
    let ids = || (0..n as u32).map(DeviceId);
    let most = |gbps: f64| gbps.min(1e9);
    for _ in 0..2 {
        capacities.extend(ids().map(|id| most(host.slot_gbps(id) * share(Part::Slot, Use::Copy))));
    }
    for _ in 0..2 {
        let up = host.uplinks().iter();
        capacities.extend(up.map(|gbps| most(gbps * share(Part::Uplink, Use::Copy))));
    }
    capacities
        .extend(ids().map(|id| most(host.slot_gbps(id) * share(Part::StagedPool, Use::Copy))));
    let up = host.uplinks().iter();
    capacities.extend(up.map(|gbps| most(gbps * share(Part::UplinkPool, Use::Copy))));
    let [slot_up, slot_down, up, down, pool, uplink_pool] = [
        0,
        n,
        2 * n,
        2 * n + uplinks,
        2 * n + 2 * uplinks,
        3 * n + 2 * uplinks,
    ];
    let trunks = capacities.len();
    for _ in 0..2 {
        let trunk = host.trunks().iter();
        capacities.extend(trunk.map(|gbps| most(gbps * share(Part::SocketBus, Use::Copy))));
    }
    let sockets = capacities.len();
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    let mut flows = Vec::new();
    for &(from, to) in copies {
        let mut links: Vec<usize> = Vec::new();
        let mut cap = f64::INFINITY;
        let staged = from
            .zip(to)
            .is_some_and(|(a, b)| !graph.peer_access(a, b).on);
        let mut by_trunk = false;
        if let Some((a, b)) = from.zip(to) {
            for (at, id, other) in [(trunks, a, b), (trunks + host.trunks().len(), b, a)] {
                let own = host
                    .beyond(id)
                    .filter(|hop| host.beyond(other).all(|shared| shared != *hop));
                let before = links.len();
                links.extend(own.map(|hop| at + hop));
                by_trunk |= links.len() > before;
            }
        }
        if staged {
            for id in [from, to].into_iter().flatten() {
                links.push(pool + id.index());
                links.extend(host.above(id).map(|at| uplink_pool + at));
                cap = cap.min(host.slot_gbps(id) * share(Part::Staged, Use::Copy));
            }
        } else {
            let above = |id: Option<DeviceId>| {
                id.into_iter()
                    .flat_map(|id| host.above(id).collect::<Vec<_>>())
            };
            let common: Vec<usize> = above(from)
                .filter(|at| above(to).any(|other| other == *at))
                .collect();
            links.extend(from.map(|id| slot_up + id.index()));
            links.extend(to.map(|id| slot_down + id.index()));
            links.extend(
                above(from)
                    .filter(|at| !common.contains(at))
                    .map(|at| up + at),
            );
            links.extend(
                above(to)
                    .filter(|at| !common.contains(at))
                    .map(|at| down + at),
            );
            if let Some((a, b)) = from.zip(to)
                && host.socket(a) != host.socket(b)
                && !by_trunk
            {
                let pair = (host.socket(a), host.socket(b));
                let at = pairs
                    .iter()
                    .position(|candidate| *candidate == pair)
                    .unwrap_or_else(|| {
                        let gbps = host.slot_gbps(a).min(host.slot_gbps(b));
                        let own = share(Part::SocketLink, Use::Copy);
                        capacities.push(most(gbps * own));
                        pairs.push(pair);
                        pairs.len() - 1
                    });
                links.push(sockets + at);
            }
        }
        flows.push(Flow::new(links.into_iter().map(|at| at as u32), cap));
    }
    sharing::max_min(&capacities, &flows)
}
