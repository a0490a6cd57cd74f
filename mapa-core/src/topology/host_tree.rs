//! The host tree of the devices: which of them share a switch, a bridge, a socket.
//!
//! Dumps give a class for each pair, and no tree. The tree is derived from the classes: for each
//! class, from the machine down, devices joined by a better class stay together (connected
//! components, that is, single linkage). So the result is a tree even if a dump contradicts itself.

use super::DeviceSet;
use crate::ids::{DeviceId, LinkClass};

/// A part of the host tree: devices that are closer to each other than to the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    devices: DeviceSet,
    within: LinkClass,
    parts: Vec<Region>,
}

const LEVELS: [LinkClass; 8] = [
    LinkClass::None,
    LinkClass::Network,
    LinkClass::Sys,
    LinkClass::Node,
    LinkClass::Phb,
    LinkClass::Pxb,
    LinkClass::Pix,
    LinkClass::Board,
];

impl Region {
    /// The tree of `n` devices. O(n²) calls of `class` for each of the eight levels.
    pub(super) fn new(n: usize, class: impl Fn(DeviceId, DeviceId) -> LinkClass) -> Self {
        Self::split(DeviceSet::first_n(n), &LEVELS, &class)
    }

    fn split(
        devices: DeviceSet,
        levels: &[LinkClass],
        class: &impl Fn(DeviceId, DeviceId) -> LinkClass,
    ) -> Self {
        // The first level that separates some of these devices decides; levels that keep all of
        // them together add no region.
        let apart = levels
            .iter()
            .enumerate()
            .map(|(i, &level)| (i, level, components(&devices, level, class)));
        let Some((i, within, parts)) = { apart }.find(|(_, _, parts)| parts.len() > 1) else {
            let within = levels.last().copied().unwrap_or(LinkClass::SameDevice);
            return Self {
                devices,
                within,
                parts: Vec::new(),
            };
        };
        // If this level separates every device from every other, they are equals: a leaf.
        let parts = if parts.len() == devices.len() {
            Vec::new()
        } else {
            parts
                .into_iter()
                .map(|part| Self::split(part, &levels[i + 1..], class))
                .collect()
        };
        Self {
            devices,
            within,
            parts,
        }
    }

    /// The largest groups of devices held together by `class` or better, by lowest id; each device
    /// is in one.
    pub(super) fn held_by(&self, class: LinkClass) -> Vec<DeviceSet> {
        if self.within >= class {
            return vec![self.devices.clone()];
        }
        if self.parts.is_empty() {
            return self
                .devices
                .iter()
                .map(|device| [device.0].into())
                .collect();
        }
        self.parts
            .iter()
            .flat_map(|part| part.held_by(class))
            .collect()
    }

    /// The devices of this region.
    #[must_use]
    pub fn devices(&self) -> &DeviceSet {
        &self.devices
    }

    /// The class that joins the parts of this region (or, without parts, its devices) to each
    /// other.
    #[must_use]
    pub fn within(&self) -> LinkClass {
        self.within
    }

    /// The smaller regions of which this one consists, by lowest id; none if its devices are
    /// equals.
    #[must_use]
    pub fn parts(&self) -> &[Region] {
        &self.parts
    }
}

/// The groups of `devices` held together by classes better than `level`, by lowest id.
fn components(
    devices: &DeviceSet,
    level: LinkClass,
    class: &impl Fn(DeviceId, DeviceId) -> LinkClass,
) -> Vec<DeviceSet> {
    // A depth-first search over pairs that are closer than `level`. `left` has the devices not yet
    // reached.
    let mut left = devices.clone();
    let mut groups = Vec::new();
    while let Some(seed) = left.first() {
        left.remove(seed);
        let mut group = DeviceSet::from([seed.0]);
        let mut frontier = vec![seed];
        while let Some(a) = frontier.pop() {
            let near: Vec<DeviceId> = left.iter().filter(|&b| class(a, b) > level).collect();
            for &b in &near {
                left.remove(b);
                group.insert(b);
            }
            frontier.extend(near);
        }
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(region: &Region) -> Vec<String> {
        if region.parts().is_empty() {
            return vec![region.devices().to_string()];
        }
        region.parts().iter().flat_map(leaves).collect()
    }

    #[test]
    fn sockets_then_switches() {
        // Two sockets; on the first, switches {0, 2} and {1, 3}; on the second all four are equals.
        let tree = Region::new(8, |a, b| match (a.0 / 4, b.0 / 4) {
            (0, 0) if a.0 % 2 == b.0 % 2 => LinkClass::Pix,
            (0, 0) => LinkClass::Phb,
            (1, 1) => LinkClass::Node,
            _ => LinkClass::Sys,
        });
        assert_eq!(tree.within(), LinkClass::Sys);
        assert_eq!(leaves(&tree), ["0,2", "1,3", "4,5,6,7"]);
        assert_eq!(tree.parts()[1].within(), LinkClass::Node);
    }

    #[test]
    fn a_machine_of_equals_is_one_leaf() {
        let tree = Region::new(4, |_, _| LinkClass::Phb);
        assert_eq!((tree.parts().len(), tree.within()), (0, LinkClass::Phb));
    }
}
