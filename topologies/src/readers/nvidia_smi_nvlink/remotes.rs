//! Finds whether the addresses at the other ends of links belong to devices or to switches.
//!
//! `nvidia-smi nvlink -R` prints the address at the other end of each link, but not the devices'
//! own addresses. `nvidia-smi` numbers devices in the order of their addresses. So if the addresses
//! belong to devices and all are known, the k-th smallest address is the k-th device's.
//!
//! This can be checked: no device may have a link to itself, and two devices must have the same
//! number of links in both directions. Addresses to which all devices have links fail the check:
//! they belong to switches.

use std::collections::{BTreeMap, BTreeSet};

/// The links of devices, by the kind of their other ends.
#[derive(Debug, PartialEq)]
pub(super) enum RemoteEnds {
    /// The devices' own addresses, and the number of links between devices a < b.
    Devices {
        addresses: BTreeMap<usize, String>,
        links: BTreeMap<(usize, usize), usize>,
    },
    /// The other ends are switches: the number of links of each device to them.
    Switches(BTreeMap<usize, usize>),
    /// The other ends cannot be derived.
    Open,
}

/// Finds the kind of the other ends, from the device and remote address of every link. Devices must
/// be in the order of the vendor's numbers.
///
/// # Complexity
/// O(n log n) for n links.
pub(super) fn ends(remotes: &[(usize, &str)]) -> RemoteEnds {
    let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for &remote in remotes {
        *counts.entry(remote).or_default() += 1;
    }
    let devices: BTreeSet<usize> = remotes.iter().map(|&(device, _)| device).collect();
    devices_alone(&devices, &counts)
        .or_else(|| switches(&devices, &counts))
        .unwrap_or(RemoteEnds::Open)
}

fn devices_alone(
    devices: &BTreeSet<usize>,
    counts: &BTreeMap<(usize, &str), usize>,
) -> Option<RemoteEnds> {
    // PCI domains have four or more hexadecimal digits, so a longer address is a larger one.
    let addresses: BTreeSet<(usize, &str)> = counts
        .keys()
        .map(|&(_, address)| (address.len(), address))
        .collect();
    if addresses.len() != devices.len() || devices.is_empty() {
        return None;
    }
    let device_of: BTreeMap<&str, usize> = addresses
        .iter()
        .map(|&(_, address)| address)
        .zip(devices.iter().copied())
        .collect();
    let mut links = BTreeMap::new();
    for (&(from, address), &count) in counts {
        let to = *device_of.get(address)?;
        if from == to {
            return None;
        }
        links.insert((from, to), count);
    }
    if !links
        .iter()
        .all(|(&(from, to), count)| links.get(&(to, from)) == Some(count))
    {
        return None;
    }
    links.retain(|(from, to), _| from < to);
    let addresses = device_of
        .into_iter()
        .map(|(address, device)| (device, address.to_owned()))
        .collect();
    Some(RemoteEnds::Devices { addresses, links })
}

fn switches(
    devices: &BTreeSet<usize>,
    counts: &BTreeMap<(usize, &str), usize>,
) -> Option<RemoteEnds> {
    let mut sharers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut links: BTreeMap<usize, usize> = BTreeMap::new();
    for (&(device, address), &count) in counts {
        *sharers.entry(address).or_default() += 1;
        *links.entry(device).or_default() += count;
    }
    // A single device shows nothing. Two devices of a larger mesh share some addresses, but not
    // all: each also has a link to the other.
    let shared = devices.len() > 1 && sharers.values().all(|&sharers| sharers == devices.len());
    shared.then_some(RemoteEnds::Switches(links))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(remotes: &[(usize, &str)]) -> RemoteEnds {
        ends(remotes)
    }

    #[test]
    fn addresses_in_order_are_the_devices() {
        let RemoteEnds::Devices { addresses, links } =
            of(&[(0, "b"), (0, "b"), (1, "a"), (1, "a"), (1, "c"), (2, "b")])
        else {
            panic!("devices");
        };
        assert_eq!(addresses.values().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(
            links.into_iter().collect::<Vec<_>>(),
            [((0, 1), 2), ((1, 2), 1)]
        );
        // Device 1 has no links, and so no address.
        let RemoteEnds::Devices { addresses, .. } = of(&[(0, "b"), (2, "a")]) else {
            panic!("devices")
        };
        assert_eq!(
            addresses.into_iter().collect::<Vec<_>>(),
            [(0, "a".to_owned()), (2, "b".to_owned())]
        );
    }

    #[test]
    fn longer_domains_are_greater() {
        let RemoteEnds::Devices { addresses, .. } =
            of(&[(0, "10000:01:00.0"), (1, "2000:01:00.0")])
        else {
            panic!("devices");
        };
        assert_eq!(addresses[&0], "2000:01:00.0");
    }

    #[test]
    fn what_all_devices_share_is_a_switch() {
        let links = |ends| match ends {
            RemoteEnds::Switches(links) => links.into_iter().collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            links(of(&[(0, "s"), (0, "t"), (1, "s"), (1, "t")])),
            [(0, 2), (1, 2)]
        );
        // As many as the devices: but no device has links to itself.
        assert_eq!(
            links(of(&[(0, "s"), (1, "s"), (1, "t"), (0, "t"), (0, "t")])),
            [(0, 3), (1, 2)]
        );
    }

    #[test]
    fn what_does_not_fit_is_left_open() {
        assert_eq!(
            of(&[(0, "a"), (0, "b")]),
            RemoteEnds::Open,
            "one device alone"
        );
        assert_eq!(
            of(&[(0, "b"), (0, "b"), (1, "a")]),
            RemoteEnds::Open,
            "more links one way than the other"
        );
        assert_eq!(
            of(&[(0, "b"), (0, "c"), (1, "a"), (1, "c"), (2, "b"), (2, "z")]),
            RemoteEnds::Open
        );
        assert_eq!(
            of(&[(0, "b"), (0, "c"), (1, "a"), (1, "c")]),
            RemoteEnds::Open,
            "two out of a mesh of three"
        );
        assert_eq!(
            of(&[(0, "s"), (1, "s"), (2, "t"), (3, "t")]),
            RemoteEnds::Open,
            "what joins the switches is not told"
        );
        assert_eq!(of(&[]), RemoteEnds::Open);
    }
}
