//! Infers what tables of pairs do not state: the host path of pairs with direct links, and the
//! devices behind a link switch.

use mapa_core::LinkClass;

/// The most NVLinks of any device whose output is known. P100 has 4, V100 6, A100 12, H100 and B200 18.
pub(super) const MOST_NVLINKS: u32 = 18;

/// The host class of every pair of `n` devices and cards, `a * n + b` with a < b, where the first
/// `devices` are devices.
///
/// For devices with direct links most tools print only these. Distances in a tree are an
/// ultrametric. If the pair's paths to a third device or card have different classes, the pair has
/// the worse of the two. If they have the same class, the pair has at least this class. A new
/// result can lead to others, so rounds repeat until there is no new result. NUMA affinity decides
/// the remaining pairs.
///
/// # Complexity
/// O(n^3) for each round, with at most n^2 rounds, for n devices and cards.
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
    let mut open: Vec<(usize, usize)> = (0..devices)
        .flat_map(|b| (0..b).map(move |a| (a, b)))
        .collect();
    open.retain(|&(a, b)| known[a * n + b].is_none());
    loop {
        let found = open
            .iter()
            .map(|&(a, b)| ((a, b), from_others(&known, n, a, b)));
        let (found, left): (Vec<_>, Vec<_>) = found.partition(|(_, class)| class.is_some());
        if found.is_empty() {
            break;
        }
        found
            .into_iter()
            .for_each(|((a, b), class)| known[a * n + b] = class);
        open = left.into_iter().map(|(pair, _)| pair).collect();
    }
    for (a, b) in open {
        known[a * n + b] = Some(if same_numa(a, b) {
            LinkClass::Node
        } else {
            LinkClass::Sys
        });
    }
    known
}

fn from_others(known: &[Option<LinkClass>], n: usize, a: usize, b: usize) -> Option<LinkClass> {
    let class = |x: usize, y: usize| known[x.min(y) * n + x.max(y)];
    let others = || {
        (0..n)
            .filter(|&c| c != a && c != b)
            .filter_map(|c| Some((class(a, c)?, class(b, c)?)))
    };
    let exact = others()
        .filter(|(x, y)| x != y)
        .map(|(x, y)| x.min(y))
        .min();
    // Two devices that reach a third between sockets may still be on one socket: nothing follows.
    exact.or_else(|| {
        others()
            .map(|(x, _)| x)
            .filter(|&class| class > LinkClass::Sys)
            .max()
    })
}

/// Devices attached to a link switch, and the number of links of each.
pub(crate) struct SwitchedDevices {
    pub(crate) devices: Vec<usize>,
    pub(crate) links: u8,
}

/// Groups of devices behind a link switch. Tools print every such pair with all links of a port, so
/// the sum of a row exceeds the links of a device. A group is a set of devices in which every pair
/// has the same number of links, and the sum exceeds the links of any device.
///
/// # Complexity
/// O(n^3) for n devices.
pub(crate) fn switched_groups(
    devices: usize,
    links: impl Fn(usize, usize) -> Option<u8>,
    most_links: u32,
) -> Vec<SwitchedDevices> {
    let mut groups: Vec<SwitchedDevices> = Vec::new();
    for a in 0..devices {
        if groups.iter().any(|group| group.devices.contains(&a)) {
            continue;
        }
        let near: Vec<usize> = (0..devices)
            .filter(|&b| b == a || links(a, b).is_some())
            .collect();
        let Some(each) = near.iter().find_map(|&b| links(a, b)) else {
            continue;
        };
        let alike = near
            .iter()
            .all(|&x| near.iter().all(|&y| x == y || links(x, y) == Some(each)));
        // A device behind one switch is not behind another: its links would count twice.
        let is_apart = groups
            .iter()
            .all(|group| near.iter().all(|device| !group.devices.contains(device)));
        let in_all = u32::from(each) * (near.len() as u32 - 1);
        if alike && is_apart && in_all > most_links.max(u32::from(each)) {
            groups.push(SwitchedDevices {
                devices: near,
                links: each,
            });
        }
    }
    groups
}
