//! The hops of a host tree that several devices share, where the tree tells more of them than classes.
//!
//! Classes of pairs (`PIX`, `PHB`, ..) tell which devices share a switch or a socket. They do not tell
//! how wide an uplink is, nor what lies above host bridges: three NUMA nodes, nodes in nodes, a narrow
//! link to one socket of several. A tree that is drawn tells both. A bridge's or node's hop counts only
//! if it has another speed than the slots below it: readers, and machine files by default, give the speed
//! of slots to hops of which they know nothing.

use std::collections::BTreeMap;
use std::hash::Hasher;

use smallvec::SmallVec;

use super::fabric::{Fabric, FabricWire, NodeId, NodeKind};

/// The shared hops of a host tree, each with its capacity, GB/s per direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HostHops {
    /// Above PCIe switches, and above host bridges whose hop has a speed of its own.
    pub(super) uplinks: Vec<f64>,
    /// Above NUMA nodes and higher parts, where the hop has a speed of its own.
    pub(super) trunks: Vec<f64>,
    /// By device, the uplinks above it, the lowest first.
    pub(super) above: Vec<SmallVec<[u32; 4]>>,
    /// By device, the trunks above it, the lowest first.
    pub(super) beyond: Vec<SmallVec<[u32; 4]>>,
    /// By device, its place in a walk through the tree that completes one part before the next.
    pub(super) order: Vec<u32>,
}

impl HostHops {
    /// The shared hops of a fabric. `None` where classes of pairs tell as much: no tree above some
    /// device, paths of pairs that were given and may contradict the tree, or at most two regular levels
    /// of switches and no shared hop with a speed of its own.
    ///
    /// O(n h log c) for n devices below a tree of height h and c components.
    pub(super) fn of(fabric: &Fabric) -> Option<Self> {
        let tree = HopTree::new(fabric);
        let chains: Vec<Vec<NodeId>> = (tree.devices.iter())
            .map(|&device| tree.chain(device).skip(1).collect())
            .collect();
        let root = *chains.first()?.last()?;
        if chains.iter().any(|chain| chain.last() != Some(&root)) || tree.has_given_paths() {
            return None;
        }
        let mut below: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        for (i, chain) in chains.iter().enumerate() {
            for &node in chain {
                below.entry(node).or_default().push(i);
            }
        }
        let slots = tree.devices.iter().map(|&device| tree.slot(device));
        let slots: Option<Vec<f64>> = slots.collect();
        let mut hops = Self {
            uplinks: Vec::new(),
            trunks: Vec::new(),
            above: vec![SmallVec::new(); chains.len()],
            beyond: vec![SmallVec::new(); chains.len()],
            order: tree.order(&chains, &below),
        };
        let has_own = hops.add_all(&tree, &chains, &below, &slots?);
        (has_own || !tree.is_regular(&chains, &below)).then_some(hops)
    }

    /// Adds every shared hop that counts; whether one of them has a speed of its own.
    fn add_all(
        &mut self,
        tree: &HopTree<'_>,
        chains: &[Vec<NodeId>],
        below: &BTreeMap<NodeId, Vec<usize>>,
        slots: &[f64],
    ) -> bool {
        let widest = tree.devices.iter().filter_map(|&id| tree.hop(id));
        let widest = widest.fold(0.0, f64::max);
        let is_own = |hop: f64, slot: f64| slot > 0.0 && (hop / slot - 1.0).abs() > 0.01;
        let mut has_own = false;
        // Lower parts have fewer devices below them, so each device meets its hops from the lowest up.
        // Of parts with equally many, the deeper one is the lower.
        let height = |node: &NodeId, group: &[usize]| {
            let chain = &chains[group[0]];
            chain.iter().position(|above| above == node)
        };
        let mut parts: Vec<(&NodeId, &Vec<usize>)> = below.iter().collect();
        parts.sort_by_key(|(node, group)| (group.len(), height(node, group)));
        let mut of_group: BTreeMap<&[usize], usize> = BTreeMap::new();
        for (&node, group) in parts {
            let (Some(hop), true) = (tree.hop(node), group.len() < chains.len()) else {
                // What is above all devices is crossed by none of their flows.
                continue;
            };
            let kind = &tree.fabric.node(node).kind;
            if matches!(kind, NodeKind::Numa(_) | NodeKind::Machine) {
                if is_own(hop, widest) {
                    has_own = true;
                    let at = self.trunks.len() as u32;
                    self.trunks.push(hop);
                    group.iter().for_each(|&i| self.beyond[i].push(at));
                }
                continue;
            }
            // A switch or bridge with one device is a part of that device's own way.
            if group.len() < 2 {
                continue;
            }
            let slot = group.iter().map(|&i| slots[i]).fold(0.0, f64::max);
            let counted = (group.iter())
                .filter_map(|&i| tree.counted(tree.devices[i], slots[i]))
                .fold(0.0, f64::max);
            let own = is_own(hop, counted);
            // Many descriptions call a whole socket one host bridge: it is narrow only if they say so.
            if matches!(kind, NodeKind::HostBridge) && !own {
                continue;
            }
            has_own |= own;
            let gbps = if counted > 0.0 {
                slot * hop / counted
            } else {
                slot
            };
            match of_group.get(&group[..]) {
                // Parts with the same devices below them are one way: as wide as its narrowest hop.
                Some(&at) => self.uplinks[at] = self.uplinks[at].min(gbps),
                None => {
                    let at = self.uplinks.len();
                    of_group.insert(group, at);
                    self.uplinks.push(gbps);
                    group.iter().for_each(|&i| self.above[i].push(at as u32));
                }
            }
        }
        has_own
    }

    /// Whether two devices are below the same shared hops.
    pub(super) fn alike(&self, a: usize, b: usize) -> bool {
        self.above[a] == self.above[b] && self.beyond[a] == self.beyond[b]
    }

    /// Adds to a fingerprint what pairs do not show.
    pub(super) fn write(&self, hash: &mut impl Hasher) {
        for gbps in self.uplinks.iter().chain(&self.trunks) {
            hash.write(&gbps.to_bits().to_le_bytes());
        }
        for hops in self.above.iter().chain(&self.beyond) {
            hash.write(&[0xfe]);
            hops.iter().for_each(|hop| hash.write(&hop.to_le_bytes()));
        }
    }
}

/// The hops of a fabric's host tree.
pub(super) struct HopTree<'f> {
    fabric: &'f Fabric,
    ups: BTreeMap<NodeId, (NodeId, f64)>,
    /// The devices, by their ids.
    pub(super) devices: Vec<NodeId>,
    ways: BTreeMap<NodeId, f64>,
}

impl<'f> HopTree<'f> {
    pub(super) fn new(fabric: &'f Fabric) -> Self {
        let ups = fabric
            .wires()
            .filter_map(|(child, parent, wire)| match wire {
                FabricWire::Up { gbps } => Some((child, (parent, gbps))),
                FabricWire::Link(_) => None,
            });
        let is_device = |kind: &NodeKind| matches!(kind, NodeKind::Device(_));
        let devices = fabric.nodes().filter(|(_, node)| is_device(&node.kind));
        Self {
            fabric,
            ups: ups.collect(),
            devices: devices.map(|(id, _)| id).collect(),
            ways: fabric.own_ways(),
        }
    }

    /// A component and all above it, from the lowest up.
    fn chain(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let up = |id: &NodeId| self.ups.get(id).map(|&(parent, _)| parent);
        std::iter::successors(Some(node), up)
    }

    /// Whether host paths of pairs of devices are given beside the tree.
    fn has_given_paths(&self) -> bool {
        let is_device = |id: NodeId| matches!(self.fabric.node(id).kind, NodeKind::Device(_));
        self.fabric.wires().any(|(a, b, wire)| {
            matches!(wire, FabricWire::Link(link) if !link.class.is_direct())
                && is_device(a)
                && is_device(b)
        })
    }

    /// Whether classes tell every shared switch: two levels at most, no switch above a bridge or node,
    /// and none with several devices of its own beside those of a lower one.
    fn is_regular(&self, chains: &[Vec<NodeId>], below: &BTreeMap<NodeId, Vec<usize>>) -> bool {
        let is_switch = |id: &NodeId| matches!(self.fabric.node(*id).kind, NodeKind::PcieSwitch);
        let count = |node: &NodeId| below.get(node).map_or(0, Vec::len);
        let mut direct: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut deepest = 0;
        for chain in chains {
            let mut sizes: Vec<usize> =
                chain.iter().filter(|id| is_switch(id)).map(count).collect();
            // Chains of switches with the same devices count once.
            sizes.dedup();
            deepest = deepest.max(sizes.iter().filter(|size| **size > 1).count());
            if let Some(&lowest) = chain.iter().find(|id| is_switch(id)) {
                *direct.entry(lowest).or_default() += 1;
            }
        }
        let is_lifted = |chain: &Vec<NodeId>| {
            let above = chain.iter().skip_while(|id| is_switch(id));
            { above }.any(is_switch)
        };
        let mixed = |(node, own): (&NodeId, &usize)| *own > 1 && *own < count(node);
        deepest <= 2 && !chains.iter().any(is_lifted) && !direct.iter().any(mixed)
    }

    /// The speed of a device's slot: that which is known, else that of its own way.
    fn slot(&self, device: NodeId) -> Option<f64> {
        self.fabric.slot_gbps(device).or_else(|| self.way(device))
    }

    /// The bandwidth of a device's own way into the host.
    pub(super) fn way(&self, device: NodeId) -> Option<f64> {
        self.ways.get(&device).copied()
    }

    /// The hop that a slot is counted by: that of the device if it has the slot's speed, else its own
    /// way.
    fn counted(&self, device: NodeId, slot: f64) -> Option<f64> {
        let hop = self.hop(device);
        hop.filter(|hop| (slot / hop - 1.0).abs() < 0.01)
            .or(self.way(device))
    }

    /// The bandwidth of the hop above a component.
    fn hop(&self, node: NodeId) -> Option<f64> {
        self.ups.get(&node).map(|&(_, gbps)| gbps)
    }

    /// The bandwidth above the lowest switch that holds all these devices, whose slots have these
    /// speeds: as wide as the widest slot, times what the tree says of the hop beside those of the
    /// devices.
    pub(super) fn uplink(&self, group: &[usize], slots: impl Fn(usize) -> f64) -> f64 {
        let slot = group.iter().map(|&i| slots(i)).fold(0.0, f64::max);
        let hop = group
            .iter()
            .filter_map(|&i| self.counted(self.devices[i], slots(i)))
            .fold(0.0, f64::max);
        let chain = |i: usize| self.chain(self.devices[i]).skip(1);
        let is_switch = |id: &NodeId| matches!(self.fabric.node(*id).kind, NodeKind::PcieSwitch);
        let common = chain(group[0])
            .filter(is_switch)
            .find(|above| group.iter().all(|&i| chain(i).any(|id| id == *above)));
        match common.and_then(|switch| self.hop(switch)) {
            Some(own) if hop > 0.0 => slot * own / hop,
            _ => slot,
        }
    }

    /// What holds a device's NUMA node. Nodes that different parts hold are not of one socket.
    pub(super) fn package(&self, device: usize) -> Option<NodeId> {
        let is_numa = |id: &NodeId| matches!(self.fabric.node(*id).kind, NodeKind::Numa(_));
        let numa = self.chain(*self.devices.get(device)?).find(is_numa)?;
        self.ups.get(&numa).map(|&(parent, _)| parent)
    }

    /// By device, its place in a walk through the tree, depth first: NUMA nodes by number, which keeps
    /// the nodes of a socket together, and other parts by their lowest device.
    fn order(&self, chains: &[Vec<NodeId>], below: &BTreeMap<NodeId, Vec<usize>>) -> Vec<u32> {
        let key = |node: &NodeId| match self.fabric.node(*node).kind {
            NodeKind::Numa(number) => (number, 0),
            _ => (u32::MAX, below.get(node).map_or(0, |group| group[0])),
        };
        let path = |i: usize| -> Vec<(u32, usize)> {
            let down = chains[i].iter().rev().map(key);
            down.chain([(u32::MAX, i)]).collect()
        };
        let mut devices: Vec<(Vec<(u32, usize)>, usize)> =
            (0..chains.len()).map(|i| (path(i), i)).collect();
        devices.sort();
        let mut order = vec![0; chains.len()];
        for (place, (_, i)) in (0u32..).zip(devices) {
            order[i] = place;
        }
        order
    }
}
