//! What is stated and known of a fabric's links beside its wires.

use std::collections::BTreeMap;

use petgraph::visit::EdgeRef;

use super::device_set::DeviceSet;
use super::fabric::{Fabric, FabricWire, MOST_GBPS, NodeId, NodeKind};
use super::facts::{HostRates, LinksUp, PeerAccess};
use super::hardware::HardwareGraph;
use crate::error::{Error, ErrorKind};
use crate::ids::{DeviceId, LinkClass};

impl Fabric {
    /// States whether two devices reach each other's memory. Of two statements the more certain one
    /// counts, and of equally certain ones, that they do not.
    ///
    /// # Errors
    /// A component that is no device of this fabric; a device and itself.
    pub fn set_peer_access(
        &mut self,
        a: NodeId,
        b: NodeId,
        access: PeerAccess,
    ) -> Result<(), Error> {
        let pair = (self.position(a)?, self.position(b)?);
        if a == b {
            return Err(ErrorKind::SelfLink(self.name(a.0).to_owned()).into());
        }
        let pair = (pair.0.min(pair.1), pair.0.max(pair.1));
        let known = self.facts.peers.entry(pair).or_insert(access);
        if (access.source, !access.on) > (known.source, !known.on) {
            *known = access;
        }
        Ok(())
    }

    /// States for all pairs whether they reach each other's memory, whatever was stated before.
    pub fn set_peer_access_everywhere(&mut self, access: PeerAccess) {
        self.facts.peers.clear();
        self.facts.peer = access;
    }

    /// The statements about single pairs of devices, by the positions of the devices, the lower
    /// first.
    pub fn peer_access(&self) -> impl Iterator<Item = ((DeviceId, DeviceId), PeerAccess)> + '_ {
        let pairs = self.facts.peers.iter();
        pairs.map(|(&(a, b), &access)| ((DeviceId(a), DeviceId(b)), access))
    }

    /// The statement about all other pairs.
    #[must_use]
    pub fn peer_access_elsewhere(&self) -> PeerAccess {
        self.facts.peer
    }

    /// States the only sets of devices that may be given to a job, as the partitions that NVIDIA's
    /// Fabric Manager offers on machines with NVSwitch: devices by their positions. `None`: any set
    /// may be given.
    ///
    /// # Errors
    /// A set without devices, one with a device that the fabric does not have, or no set at all.
    pub fn set_offered(&mut self, sets: Option<Vec<DeviceSet>>) -> Result<(), Error> {
        let Some(mut sets) = sets else {
            self.facts.offered = None;
            return Ok(());
        };
        let devices = self.device_count();
        let bad = |what: String| Error::from(ErrorKind::BadOffer(what));
        if sets.is_empty() {
            return Err(bad("no set of devices at all".to_owned()));
        }
        for set in &sets {
            match set.last() {
                None => return Err(bad("a set without devices".to_owned())),
                Some(last) if last.index() >= devices => {
                    return Err(bad(format!("a set with device {last} of {devices}")));
                }
                Some(_) => {}
            }
        }
        sets.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.iter().cmp(b.iter())));
        sets.dedup();
        self.facts.offered = Some(sets.into());
        Ok(())
    }

    /// The only sets of devices that may be given, by size and then by ids; `None` for any.
    #[must_use]
    pub fn offered(&self) -> Option<&[DeviceSet]> {
        self.facts.offered.as_deref()
    }

    /// States the nominal bandwidth of a device's way into the host, GB/s per direction: of its
    /// PCIe slot, mostly.
    ///
    /// # Errors
    /// A component that is no device of this fabric; a bandwidth that is not a positive number.
    pub fn set_slot_gbps(&mut self, device: NodeId, gbps: f64) -> Result<(), Error> {
        let at = self.position(device)?;
        if !(gbps > 0.0 && gbps <= MOST_GBPS) {
            let place = format!("the slot of {}", self.name(device.0));
            return Err(ErrorKind::BadBandwidth { place, gbps }.into());
        }
        self.facts.slots.insert(at, gbps);
        Ok(())
    }

    /// The nominal bandwidth of a device's way into the host, GB/s per direction, where it is known.
    #[must_use]
    pub fn slot_gbps(&self, device: NodeId) -> Option<f64> {
        let at = self.position(device).ok()?;
        self.facts.slots.get(&at).copied()
    }

    /// By device, the bandwidth of its own way into the host, GB/s per direction: the least of the hops
    /// above it, up to the first component that other devices use too, or to its NUMA node. Devices
    /// without a hop are left out.
    ///
    /// # Complexity
    /// O(n d) for n components at most d hops below the machine.
    #[must_use]
    pub fn own_ways(&self) -> BTreeMap<NodeId, f64> {
        let ups: BTreeMap<NodeId, (NodeId, f64)> = self
            .wires()
            .filter_map(|(child, parent, wire)| match wire {
                FabricWire::Up { gbps } => Some((child, (parent, gbps))),
                FabricWire::Link(_) => None,
            })
            .collect();
        let up = |id: &NodeId| ups.get(id).map(|&(parent, _)| parent);
        let devices: Vec<NodeId> = (self.nodes())
            .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
            .map(|(id, _)| id)
            .collect();
        let mut below: BTreeMap<NodeId, u32> = BTreeMap::new();
        for device in &devices {
            for above in std::iter::successors(up(device), up) {
                *below.entry(above).or_default() += 1;
            }
        }
        let is_own = |id: &NodeId| {
            let kind = &self.node(*id).kind;
            below.get(id) == Some(&1) && !matches!(kind, NodeKind::Numa(_) | NodeKind::Machine)
        };
        let way = |device: &NodeId| {
            let above = std::iter::successors(up(device), up).take_while(is_own);
            let hops = std::iter::once(*device).chain(above);
            let hops = hops.filter_map(|id| ups.get(&id).map(|&(_, gbps)| gbps));
            Some((*device, hops.reduce(f64::min)?))
        };
        devices.iter().filter_map(way).collect()
    }

    /// States the cores near a device, in any form: devices with equal texts are in one socket.
    ///
    /// # Errors
    /// A component that is no device of this fabric.
    pub fn set_cores(&mut self, device: NodeId, cores: impl Into<String>) -> Result<(), Error> {
        let at = self.position(device)?;
        self.facts.cores.insert(at, cores.into());
        Ok(())
    }

    /// The cores near a device, where they are known.
    #[must_use]
    pub fn cores(&self, device: NodeId) -> Option<&str> {
        let at = self.position(device).ok()?;
        self.facts.cores.get(&at).map(String::as_str)
    }

    /// States the generation of the direct links: `NVLink 4`.
    pub fn set_link_generation(&mut self, generation: Option<&str>) {
        self.facts.generation = generation.map(Into::into);
    }

    /// States that the rate of the direct links was assumed, GB/s per direction of each; `None` if the description has it.
    pub fn assume_link_gbps(&mut self, gbps: Option<f64>) {
        self.facts.assumed_link_gbps = gbps;
    }

    /// The assumed rate of each direct link, GB/s per direction; `None` if the description has the rate.
    #[must_use]
    pub fn assumed_link_gbps(&self) -> Option<f64> {
        self.facts.assumed_link_gbps
    }

    /// States how many direct links of a device are up, of all that it has. Wires stay as they are: they are of the links
    /// that are up.
    ///
    /// # Errors
    /// A component that is no device of this fabric.
    pub fn set_links_up(&mut self, device: NodeId, links: LinksUp) -> Result<(), Error> {
        let at = self.position(device)?;
        self.facts.links_up.insert(at, links);
        Ok(())
    }

    /// The devices with direct links that are down, by their positions.
    pub fn links_up(&self) -> impl Iterator<Item = (DeviceId, LinksUp)> + '_ {
        let devices = self.facts.links_up.iter();
        devices.map(|(&at, &links)| (DeviceId(at), links))
    }

    /// This fabric as if all direct links of its devices were up. Each link counts as much more as the end of it that lacks
    /// more: which links are down is not known, so on a board whose devices have several neighbours this is a guess.
    #[must_use]
    pub fn with_all_links(&self) -> Self {
        let mut whole = self.clone();
        for (id, links) in std::mem::take(&mut whole.facts.links_up) {
            let share = f64::from(links.all) / f64::from(links.up.max(1));
            let end = self.devices[id as usize];
            let wires: Vec<_> = self.graph.edges(end).map(|wire| wire.id()).collect();
            for wire in wires {
                let (FabricWire::Link(was), FabricWire::Link(link)) =
                    (self.graph[wire], &mut whole.graph[wire])
                else {
                    continue;
                };
                if let LinkClass::Direct(count) = was.class
                    && was.gbps * share > link.gbps
                {
                    link.gbps = was.gbps * share;
                    // The cast saturates.
                    link.class = LinkClass::Direct((f64::from(count) * share).round() as u8);
                }
            }
        }
        whole
    }

    /// States whether the machine is a virtual one.
    pub fn set_virtual(&mut self, is_virtual: bool) {
        self.facts.is_virtual = is_virtual;
    }

    /// Whether the machine is known to be a virtual one.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.facts.is_virtual
    }

    /// States how the bandwidth of paths through the host is known.
    pub fn set_host_rates(&mut self, known: HostRates) {
        self.facts.host_rates = known;
    }

    /// How the bandwidth of paths through the host is known.
    #[must_use]
    pub fn host_rates(&self) -> HostRates {
        self.facts.host_rates
    }

    /// The position of a device among the devices.
    fn position(&self, device: NodeId) -> Result<u32, Error> {
        let is_device = |id: &NodeId| {
            let node = self.graph.node_weight(id.0);
            node.is_some_and(|node| matches!(node.kind, NodeKind::Device(_)))
        };
        let at = self.devices.binary_search(&device.0).ok();
        let at = at.filter(|_| is_device(&device));
        at.map(|at| at as u32)
            .ok_or_else(|| ErrorKind::ForeignNode.into())
    }
}

impl HardwareGraph {
    /// The only sets of whole devices that may be given to a job, by size and then by ids; `None` for
    /// any: see [`Fabric::set_offered`].
    #[must_use]
    pub fn offered(&self) -> Option<&[DeviceSet]> {
        self.fabric().facts.offered.as_deref()
    }

    /// Whether these devices may be given to one job together: their whole devices are a set that
    /// the machine offers. Instances may be given if they are of one device.
    ///
    /// # Panics
    /// If an id is not of this machine.
    #[must_use]
    pub fn offers(&self, placement: &[DeviceId]) -> bool {
        let Some(offered) = self.offered() else {
            return true;
        };
        let wholes: DeviceSet = placement.iter().map(|&id| self.device(id).parent).collect();
        let whole = |&id: &DeviceId| self.device(id).parent == id;
        (wholes.len() == 1 || placement.iter().all(whole)) && offered.contains(&wholes)
    }

    /// Whether two devices reach each other's memory; an instance does what its device does.
    ///
    /// # Panics
    /// As [`HardwareGraph::device`].
    #[must_use]
    pub fn peer_access(&self, a: DeviceId, b: DeviceId) -> PeerAccess {
        let whole = |id| self.device(id).parent.0;
        self.fabric().facts.peer(whole(a), whole(b))
    }

    /// The assumed rate of each direct link, GB/s per direction; `None` if the description has the rate.
    #[must_use]
    pub fn assumed_link_gbps(&self) -> Option<f64> {
        self.fabric().assumed_link_gbps()
    }

    /// How the bandwidth of paths through the host is known.
    #[must_use]
    pub fn host_rates(&self) -> HostRates {
        self.fabric().host_rates()
    }

    /// The generation of the direct links, where it is known: `NVLink 4`.
    #[must_use]
    pub fn link_generation(&self) -> Option<&str> {
        self.fabric().facts.generation.as_deref()
    }
}
