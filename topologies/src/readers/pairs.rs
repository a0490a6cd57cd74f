//! Builds a fabric from the links of each pair of devices.

use mapa_core::{Fabric, FabricNode, Link, LinkClass, NodeKind};

use super::infer;
use crate::error::Error;

/// The links of each pair of devices and cards.
pub(super) struct PairLinks<D, H> {
    /// The devices first, then the cards.
    pub(super) ends: Vec<FabricNode>,
    pub(super) devices: usize,
    /// The direct links between two devices a < b: their number, and the GB/s of one.
    pub(super) direct: D,
    /// The path through the host between two ends a < b.
    pub(super) host: H,
    /// The most direct links of a device of this vendor. Devices with more are attached to a link
    /// switch. `None` if no number implies a switch.
    pub(super) most_links: Option<u32>,
}

impl<D, H> PairLinks<D, H>
where
    D: Fn(usize, usize) -> Option<(u8, f64)>,
    H: Fn(usize, usize) -> Option<Link>,
{
    /// Builds the machine. If a row claims more direct links than a device can have, its group is
    /// attached to a link switch.
    ///
    /// # Complexity
    /// O(n^2) for n devices and cards; O(n^3) at worst if `most_links` is given.
    pub(super) fn fabric(self) -> Result<Fabric, Error> {
        let Self {
            ends,
            devices,
            direct,
            host,
            most_links,
        } = self;
        let links = |a: usize, b: usize| direct(a.min(b), a.max(b)).map(|(links, _)| links);
        let switches = most_links
            .map(|most| infer::switched_groups(devices, links, most))
            .unwrap_or_default();
        let mut fabric = Fabric::new();
        let ends = ends
            .into_iter()
            .map(|end| fabric.add(end))
            .collect::<Result<Vec<_>, _>>()?;
        let mut switch_of = vec![None; ends.len()];
        for (i, group) in switches.iter().enumerate() {
            let switch = fabric.add(FabricNode {
                name: format!("link-switch{i}"),
                kind: NodeKind::LinkSwitch,
            })?;
            for &device in &group.devices {
                switch_of[device] = Some(i);
                // All pairs of the group are alike, so any other member's will do.
                let other = group.devices.iter().find(|&&other| other != device);
                let each = other.and_then(|&other| direct(device.min(other), device.max(other)));
                let gbps = f64::from(group.links) * each.map_or(0.0, |(_, each)| each);
                fabric.link(ends[device], switch, LinkClass::Direct(group.links), gbps)?;
            }
        }
        for b in 0..ends.len() {
            for a in 0..b {
                let switched = switch_of[a].is_some() && switch_of[a] == switch_of[b];
                if b < devices
                    && !switched
                    && let Some((links, each)) = direct(a, b)
                {
                    fabric.link(
                        ends[a],
                        ends[b],
                        LinkClass::Direct(links),
                        f64::from(links) * each,
                    )?;
                }
                if let Some(Link { class, gbps }) = host(a, b) {
                    fabric.link(ends[a], ends[b], class, gbps)?;
                }
            }
        }
        Ok(fabric)
    }
}
