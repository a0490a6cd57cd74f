//! What tables of pairs leave open: the host path beneath direct links, and which devices hang from a switch.

use mapa_core::LinkClass;

/// The most NVLinks that any device had whose output is known: 4 (P100), 6 (V100), 12 (A100), 18 (H100, B200).
pub(super) const MOST_NVLINKS: u32 = 18;

/// The host class of every pair of `n` devices and cards, `a * n + b` with a < b, where the first `devices` are devices.
///
/// Between devices with direct links most tools print only those. Distances in a tree are an ultrametric: if a third
/// device or card is joined to both by different classes, the pair is joined by the worse of the two; if by the same, the
/// pair is joined at least as well. What follows so may let more follow, so this is repeated until nothing does; NUMA
/// affinity bounds the rest. O(n³) a round.
pub(super) fn host_classes(
    n: usize,
    devices: usize,
    said: impl Fn(usize, usize) -> Option<LinkClass>,
    same_numa: impl Fn(usize, usize) -> bool,
) -> Vec<Option<LinkClass>> {
    let mut known = vec![None; n * n];
    for b in 0..n {
        for a in 0..b {
            known[a * n + b] = said(a, b).filter(|class| class.is_host());
        }
    }
    let mut open: Vec<(usize, usize)> = (0..devices).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    open.retain(|&(a, b)| known[a * n + b].is_none());
    loop {
        let found = open.iter().map(|&(a, b)| ((a, b), from_others(&known, n, a, b)));
        let (found, left): (Vec<_>, Vec<_>) = found.partition(|(_, class)| class.is_some());
        if found.is_empty() {
            break;
        }
        found.into_iter().for_each(|((a, b), class)| known[a * n + b] = class);
        open = left.into_iter().map(|(pair, _)| pair).collect();
    }
    for (a, b) in open {
        known[a * n + b] = Some(if same_numa(a, b) { LinkClass::Node } else { LinkClass::Sys });
    }
    known
}

fn from_others(known: &[Option<LinkClass>], n: usize, a: usize, b: usize) -> Option<LinkClass> {
    let class = |x: usize, y: usize| known[x.min(y) * n + x.max(y)];
    let others = || (0..n).filter(|&c| c != a && c != b).filter_map(|c| Some((class(a, c)?, class(b, c)?)));
    let exact = others().filter(|(x, y)| x != y).map(|(x, y)| x.min(y)).min();
    // Joined to something by "between sockets" says nothing of each other.
    exact.or_else(|| others().map(|(x, _)| x).filter(|&class| class > LinkClass::Sys).max())
}

/// Devices that hang from a link switch, with the links that each has to it.
pub(crate) struct Switched {
    pub(crate) devices: Vec<usize>,
    pub(crate) links: u8,
}

/// Through a switch every pair is printed with all the links of a port, so that rows add up to more than a device has:
/// groups of devices that are all joined by the same number of links, and by more in all than any device has.
pub(crate) fn switched_groups(
    devices: usize,
    links: impl Fn(usize, usize) -> Option<u8>,
    most_links: u32,
) -> Vec<Switched> {
    let mut groups: Vec<Switched> = Vec::new();
    for a in 0..devices {
        if groups.iter().any(|group| group.devices.contains(&a)) {
            continue;
        }
        let near: Vec<usize> = (0..devices).filter(|&b| b == a || links(a, b).is_some()).collect();
        let Some(each) = near.iter().find_map(|&b| links(a, b)) else { continue };
        let alike = near.iter().all(|&x| near.iter().all(|&y| x == y || links(x, y) == Some(each)));
        let in_all = u32::from(each) * (near.len() as u32 - 1);
        if alike && in_all > most_links.max(u32::from(each)) {
            groups.push(Switched { devices: near, links: each });
        }
    }
    groups
}
