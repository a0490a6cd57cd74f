//! The ways of a job's data, and what each part on the way would let pass.

use smallvec::SmallVec;

use super::efficiency::{Class, Efficiency, Part, Share, Use};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, HostNetwork};

/// The slowest kind of hop of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hop {
    /// Direct links.
    Direct,
    /// PCIe switches.
    Switch,
    /// Through root ports of one socket.
    Socket,
    /// Between sockets.
    BetweenSockets,
}

/// What an operation would reach if one part of its way carried its nominal bandwidth, and all
/// others any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// The part.
    pub part: Part,
    /// The traffic.
    pub using: Use,
    /// GB/s, of which a share is reached.
    pub gbps: f64,
    /// What the part could carry, GB/s: more than `gbps` where a rule that is set by hand takes a
    /// part of it.
    pub links_gbps: f64,
}

/// One way of the data: as fast as the least of its terms, each times the share of its part.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The terms.
    pub terms: SmallVec<[Term; 6]>,
    /// Its slowest hop.
    pub hop: Hop,
    /// The class of its error.
    pub class: Class,
}

impl Way {
    pub(super) fn new(hop: Hop, class: Class) -> Self {
        Self {
            terms: SmallVec::new(),
            hop,
            class,
        }
    }

    pub(super) fn term(&mut self, part: Part, using: Use, gbps: f64) {
        self.term_left(part, using, gbps, 1.0);
    }

    /// A term of which a rule that is set by hand leaves a part.
    pub(super) fn term_left(&mut self, part: Part, using: Use, links_gbps: f64, left: f64) {
        if links_gbps.is_finite() {
            self.terms.push(Term {
                part,
                using,
                gbps: links_gbps * left,
                links_gbps,
            });
        }
    }

    /// What the links of this way could carry at nominal bandwidth, GB/s; none without a term that
    /// has a nominal bandwidth.
    #[must_use]
    pub fn nominal_gbps(&self) -> Option<f64> {
        let values = self.terms.iter();
        let values = values.map(|term| term.part.nominal_share(term.using) * term.links_gbps);
        let least = values.reduce(f64::min)?;
        least.is_finite().then_some(least)
    }

    /// The bandwidth at these shares, the term that binds, and its share; none without a term.
    #[must_use]
    pub fn at(
        &self,
        efficiency: &Efficiency,
        generation: Option<&str>,
    ) -> Option<(f64, Term, Share)> {
        let values = self.terms.iter().map(|term| {
            let share = efficiency.of(term.part, term.using, generation);
            (share.value * term.gbps, *term, share)
        });
        values.min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// What a set of flows over the host loads, in numbers of flows.
pub(super) struct Loads<'a> {
    graph: &'a HardwareGraph,
    host: &'a HostNetwork,
    /// The devices, and for each: flows that leave it, flows that reach it, flows that are staged.
    devices: &'a [DeviceId],
    slots: Vec<[u32; 3]>,
    /// By uplink: up, down, staged.
    uplinks: SmallVec<[(usize, [u32; 3]); 8]>,
    /// By hop above NUMA nodes: up, down.
    trunks: SmallVec<[(usize, [u32; 2]); 4]>,
    /// GB/s of the narrowest path that is given for the pair of a flow.
    narrow: f64,
    /// By pair of sockets, from the first to the second.
    sockets: SmallVec<[((u32, u32), u32); 8]>,
    /// By memory of the host, named by the first device that uses it: ends of staged flows.
    memories: SmallVec<[(DeviceId, u32); 8]>,
    /// Whether a flow joins devices of different servers, which no host does.
    apart: bool,
    staged: bool,
    root_shared: bool,
    hop: Hop,
    flows: u32,
}

impl<'a> Loads<'a> {
    pub(super) fn new(
        graph: &'a HardwareGraph,
        host: &'a HostNetwork,
        devices: &'a [DeviceId],
    ) -> Self {
        Self {
            graph,
            host,
            devices,
            slots: vec![[0; 3]; devices.len()],
            uplinks: SmallVec::new(),
            trunks: SmallVec::new(),
            narrow: f64::INFINITY,
            sockets: SmallVec::new(),
            memories: SmallVec::new(),
            apart: false,
            staged: false,
            root_shared: false,
            hop: Hop::Switch,
            flows: 0,
        }
    }

    fn uplink(&mut self, at: usize, kind: usize, flows: u32) {
        match self.uplinks.iter_mut().find(|(node, _)| *node == at) {
            Some((_, loads)) => loads[kind] += flows,
            None => {
                let mut loads = [0; 3];
                loads[kind] = flows;
                self.uplinks.push((at, loads));
            }
        }
    }

    /// Adds a flow over the hops above NUMA nodes on the way from one device to another; whether there
    /// are any.
    fn trunks(&mut self, from: DeviceId, to: DeviceId) -> bool {
        let host = self.host;
        let mut crosses = false;
        for (kind, id, other) in [(0, from, to), (1, to, from)] {
            // What is above both is not on the way.
            let own = |at: &usize| host.beyond(other).all(|shared| shared != *at);
            for at in host.beyond(id).filter(own) {
                crosses = true;
                match self.trunks.iter_mut().find(|(trunk, _)| *trunk == at) {
                    Some((_, flows)) => flows[kind] += 1,
                    None => {
                        let mut flows = [0; 2];
                        flows[kind] = 1;
                        self.trunks.push((at, flows));
                    }
                }
            }
        }
        crosses
    }

    /// Whether no flow was added.
    pub(super) fn is_empty(&self) -> bool {
        self.flows == 0
    }

    /// Adds one flow from one device to another, both by their position.
    pub(super) fn flow(&mut self, from: usize, to: usize) {
        let (a, b) = (self.devices[from], self.devices[to]);
        self.flows += 1;
        self.apart |= !self.graph.pair(a, b).host.class.is_host();
        let (near, far) = (self.host.socket(a), self.host.socket(b));
        let share = self.host.share_a_switch(a, b);
        self.hop = self.hop.max(match () {
            () if near != far => Hop::BetweenSockets,
            () if share => Hop::Switch,
            () => Hop::Socket,
        });
        let host = self.host;
        if let Some(gbps) = host.narrow_path_gbps(self.graph, a, b) {
            self.narrow = self.narrow.min(gbps);
        }
        // Staged data crosses to the other device's memory too, once.
        let by_trunk = self.trunks(a, b);
        if self.graph.peer_access(a, b).on {
            self.slots[from][0] += 1;
            self.slots[to][1] += 1;
            for at in host
                .above(a)
                .filter(|&at| host.above(b).all(|other| other != at))
            {
                self.uplink(at, 0, 1);
            }
            for at in host
                .above(b)
                .filter(|&at| host.above(a).all(|other| other != at))
            {
                self.uplink(at, 1, 1);
            }
            if near != far && !by_trunk {
                let pair = (near, far);
                match self
                    .sockets
                    .iter_mut()
                    .find(|(candidate, _)| *candidate == pair)
                {
                    Some((_, flows)) => *flows += 1,
                    None => self.sockets.push((pair, 1)),
                }
            }
            return;
        }
        // Up into the memory and down again, also below one switch.
        self.staged = true;
        self.root_shared |= !share && host.share_a_root(a, b);
        self.slots[from][2] += 1;
        self.slots[to][2] += 1;
        for id in [a, b] {
            for at in host.above(id) {
                self.uplink(at, 2, 1);
            }
            let mut memories = self.memories.iter_mut();
            match memories.find(|(device, _)| host.share_memory(*device, id)) {
                Some((_, ends)) => *ends += 1,
                None => self.memories.push((id, 1)),
            }
        }
    }

    /// What rules that are set by hand leave of staged flows: for a root that both ends of a flow
    /// share, and for memory that most ends use. Ends that two memories share alike lose nothing.
    pub(super) fn left(&self, efficiency: &Efficiency) -> f64 {
        let root = if self.root_shared {
            efficiency.shared_root
        } else {
            1.0
        };
        let ends = self.memories.iter().map(|(_, ends)| *ends);
        let (most, all) = (ends.clone().max().unwrap_or(0), ends.sum::<u32>().max(1));
        let crowded = (2.0 * f64::from(most) / f64::from(all) - 1.0).max(0.0);
        root * (1.0 - (1.0 - efficiency.shared_memory) * crowded)
    }

    /// The way of these flows, if each carries a `part` of what the operation reaches; none if they
    /// leave the server.
    pub(super) fn way(
        self,
        using: Use,
        part: f64,
        class: Class,
        efficiency: &Efficiency,
    ) -> Option<Way> {
        if self.apart {
            return None;
        }
        let mut way = Way::new(self.hop, if self.staged { Class::Staged } else { class });
        let slot = |i: usize| self.host.slot_gbps(self.devices[i]);
        let least = self.devices.iter().map(|&id| self.host.slot_gbps(id));
        let least = least.fold(f64::INFINITY, f64::min);
        let left = self.left(efficiency);
        let (mut straight, mut pooled) = (f64::INFINITY, f64::INFINITY);
        for (i, &[up, down, staged]) in self.slots.iter().enumerate() {
            if up.max(down) > 0 {
                straight = straight.min(slot(i) / f64::from(up.max(down)));
            }
            if staged > 0 {
                // Flows that are not staged take of the same slot.
                pooled = pooled.min(slot(i) / f64::from(staged + up + down));
            }
        }
        way.term(Part::Slot, using, straight.min(self.narrow) / part);
        if self.staged {
            way.term_left(Part::StagedPool, using, pooled / part, left);
            way.term_left(Part::Staged, Use::Copy, least / part, left);
        }
        self.shared(&mut way, using, part, left);
        // Where no hop between sockets has a speed of its own, it goes by that of slots.
        if let Some(most) = self.sockets.iter().map(|(_, flows)| *flows).max() {
            way.term(Part::SocketLink, using, least / f64::from(most) / part);
        }
        Some(way)
    }

    /// The terms of hops that several devices share and that have capacities of their own.
    pub(super) fn shared(&self, way: &mut Way, using: Use, part: f64, left: f64) {
        let (mut straight, mut pooled) = (f64::INFINITY, f64::INFINITY);
        let of = |list: &[f64], at: usize| list.get(at).copied().unwrap_or(f64::INFINITY);
        for &(at, [up, down, staged]) in &self.uplinks {
            let gbps = of(self.host.uplinks(), at);
            if up.max(down) > 0 {
                straight = straight.min(gbps / f64::from(up.max(down)));
            }
            if staged > 0 {
                pooled = pooled.min(gbps / f64::from(staged + up + down));
            }
        }
        way.term(Part::Uplink, using, straight / part);
        way.term_left(Part::UplinkPool, using, pooled / part, left);
        let trunks = self.trunks.iter();
        let trunks =
            trunks.map(|&(at, [up, down])| of(self.host.trunks(), at) / f64::from(up.max(down)));
        way.term(
            Part::SocketBus,
            using,
            trunks.fold(f64::INFINITY, f64::min) / part,
        );
    }
}

/// The islands of a set: devices that direct links join, also over others of the set.
pub(super) fn islands(graph: &HardwareGraph, set: &DeviceSet) -> Vec<DeviceSet> {
    let joined =
        |a: DeviceId, b: DeviceId| graph.pair(a, b).direct.exists() && graph.peer_access(a, b).on;
    let mut left = set.clone();
    let mut islands = Vec::new();
    while let Some(seed) = left.first() {
        left.remove(seed);
        let mut island = DeviceSet::from([seed.0]);
        let mut open = vec![seed];
        while let Some(at) = open.pop() {
            let near: Vec<DeviceId> = left.iter().filter(|&other| joined(at, other)).collect();
            for &id in &near {
                left.remove(id);
                island.insert(id);
            }
            open.extend(near);
        }
        islands.push(island);
    }
    islands
}
