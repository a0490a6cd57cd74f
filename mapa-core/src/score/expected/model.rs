//! The model: ways of the data, shares of their parts, and the interval.

use std::sync::{Arc, LazyLock};

use super::bounds::{ExpectedBounds, IN_RACK_ABOVE, IN_SWITCH_FROM};
use super::efficiency::{Class, Efficiency, Part, Use};
use super::operation::Operation;
use super::ways::{Hop, Loads, Way, islands};
use crate::score::packing::{AllToAll, Rates, RingPacking, TreePacking, rounded};
use crate::score::{Direction, Objective, SetBounds, Subset};
use crate::topology::{DeviceId, DeviceSet, HardwareGraph, HostNetwork, PeerSource};

/// Direct links alone, at nominal bandwidth.
const DIRECT: Rates = Rates {
    direct: 1.0,
    host: 0.0,
    between_sockets: None,
};

/// How many times the fixed time of a short message the interval allows: at its low end, and at its
/// high end. The smallest all-reduces of nccl-tests take 10 to 30 us on one server; two published
/// ones of 128 MiB fit 0.1 and 0.3 ms.
const LONGEST: f64 = 3.0;
const SHORTEST: f64 = 0.1;

/// The bandwidth that an operation is expected to reach on some devices.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The expectation, GB/s, in the unit of the [`Operation`].
    pub gbps: f64,
    /// Nine of ten measurements are above this, GB/s.
    pub low_gbps: f64,
    /// Nine of ten measurements are below this, GB/s.
    pub high_gbps: f64,
    /// What the links could carry at nominal bandwidth, GB/s, however long the message.
    pub nominal_gbps: f64,
    /// Whether that is an upper bound: not where the share of the part that binds was measured above
    /// the nominal bandwidth.
    pub nominal_is_bound: bool,
    /// The slowest hop of the data's way.
    pub hop: Hop,
    /// The class of the estimate's error.
    pub class: Class,
    /// Whether all pairs of the devices reach each other's memory (`true`), none (`false`), or some
    /// (`None`).
    pub peer_access: Option<bool>,
    /// How the least certain of that is known.
    pub peer_source: PeerSource,
    /// Whether the speed of every link on the way is known rather than assumed.
    pub known: bool,
    /// Whether it is assumed, from the numbers of NUMA nodes, which devices share a socket.
    pub sockets_assumed: bool,
    /// The part that binds, and the traffic for which its share is measured.
    pub bound_by: (Part, Use),
    /// On how many machines that share was measured; 0 if it is taken from others.
    pub machines: u32,
}

/// The bandwidth that an operation on large messages is expected to reach: computed from links, times
/// what was measured for such links.
///
/// # Model
///
/// Over direct links: the [ring packing](RingPacking) of the set for collectives, the bandwidth of the
/// pair for copies, and for an all-reduce of six and more devices behind a link switch the reduction in
/// the switch. Over the host: flows in the [`HostNetwork`]. Peer access on: a flow takes its sender's
/// slot up, its receiver's slot down, the uplinks between them, and what joins their sockets. Peer
/// access off: a flow goes up into the host's memory and down again, and slots and uplinks share what
/// they carry between both directions; flows that all use one memory lose a little. Devices in several islands of direct links are crossed by as many
/// rings as the smallest island has devices. The faster of direct links and host counts.
///
/// # Examples
///
/// ```
/// use mapa_core::{DeviceSet, Expected, Fabric, LinkClass, Operation, PeerAccess, PeerSource};
///
/// // Two devices below one switch, two below another. Their memories are out of reach.
/// let mut fabric = Fabric::new();
/// let ids = [0, 1, 2, 3].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
/// for a in 0..4 {
///     for b in a + 1..4 {
///         let class = if a / 2 == b / 2 { LinkClass::Pix } else { LinkClass::Node };
///         fabric.link(ids[a], ids[b], class, 31.5)?;
///     }
/// }
/// fabric.set_peer_access_everywhere(PeerAccess { on: false, source: PeerSource::Told });
/// let graph = fabric.lower()?;
/// let expected = Expected::shipped(Operation::AllReduce);
/// let of = |devices: [u32; 2]| expected.of(&graph, &DeviceSet::from(devices)).unwrap();
/// let (near, far) = (of([0, 1]), of([0, 2]));
/// assert!(far.gbps > near.gbps, "a shared switch is crossed twice as often");
/// assert!(near.low_gbps < near.gbps && near.gbps < near.high_gbps && near.high_gbps < 31.5);
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    operation: Operation,
    efficiency: Arc<Efficiency>,
    bytes: Option<u64>,
    in_switch: bool,
    far: bool,
}

impl Expected {
    /// The model for an operation, with these shares.
    #[must_use]
    pub fn new(operation: Operation, efficiency: Arc<Efficiency>) -> Self {
        Self {
            operation,
            efficiency,
            bytes: None,
            in_switch: true,
            far: false,
        }
    }

    /// The model with the shares that MAPA ships.
    #[must_use]
    pub fn shipped(operation: Operation) -> Self {
        Self::new(operation, Efficiency::shipped())
    }

    /// What the links could carry at nominal bandwidth: direct links and the host as a network in one
    /// model. Nothing in it is fitted.
    #[must_use]
    pub fn nominal(operation: Operation) -> Self {
        Self::new(operation, Efficiency::nominal())
    }

    /// For messages of this size, in bytes. Without a size, messages are large: 1 GiB or more.
    #[must_use]
    pub fn message_bytes(self, bytes: Option<u64>) -> Self {
        Self { bytes, ..self }
    }

    /// Whether link switches may reduce (NVLS), where they can.
    #[must_use]
    pub fn in_switch(self, in_switch: bool) -> Self {
        Self { in_switch, ..self }
    }

    /// For copies between devices and the host: whether the memory is that of the other socket.
    #[must_use]
    pub fn far(self, far: bool) -> Self {
        Self { far, ..self }
    }

    /// The operation.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The shares.
    #[must_use]
    pub fn efficiency(&self) -> &Arc<Efficiency> {
        &self.efficiency
    }

    /// The estimate for a set of devices. A copy goes from the lowest device to the next.
    ///
    /// `None` where there is nothing to send, or no way: fewer than two devices (one for copies
    /// between memory and devices), instances, devices of several servers.
    ///
    /// # Complexity
    ///
    /// Over the host O(k²) for k devices. Over direct links as [`RingPacking::of`],
    /// [`TreePacking::of`] and [`AllToAll::of`].
    ///
    /// # Panics
    /// If a device of the set is not one of the graph's, as [`HardwareGraph::pair`].
    #[must_use]
    pub fn of(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<Estimate> {
        let devices: Vec<DeviceId> = set.iter().collect();
        self.along(graph, &devices)
    }

    /// [`of`](Self::of) for devices in an order: copies go from the first device to the second, from
    /// the third to the fourth, and so on, all at once.
    ///
    /// # Panics
    /// As [`of`](Self::of).
    #[must_use]
    pub fn along(&self, graph: &HardwareGraph, devices: &[DeviceId]) -> Option<Estimate> {
        let generation = graph.link_generation();
        let ways = self.ways(graph, devices);
        let values = ways.iter();
        let values = values.filter_map(|way| Some((way, way.at(&self.efficiency, generation)?)));
        // Of equal ways the first: direct links.
        let best = values.reduce(|a, b| if b.1.0 > a.1.0 { b } else { a });
        let (way, (gbps, term, share)) = best?;
        let nominal = ways.iter().filter_map(Way::nominal_gbps);
        let nominal_gbps = nominal.reduce(f64::max).unwrap_or(f64::INFINITY);
        let nominal_is_bound = share.value <= term.part.nominal_share(term.using);
        let (low, high) = self.efficiency.interval(way.class, share.machines);
        let mut high = gbps * high;
        if nominal_is_bound {
            // No link carries more than its rate.
            high = high.min(nominal_gbps);
        }
        let n = devices.len();
        let host = HostNetwork::of(graph);
        let known = match way.hop {
            Hop::Direct => generation.is_some(),
            _ => devices.iter().all(|&id| host.is_known(id)),
        };
        let (peer_access, peer_source) = self.peers(graph, devices);
        let assumed = |&(a, b): &(usize, usize)| host.sockets_are_assumed(devices[a], devices[b]);
        let sockets_assumed = way.hop >= Hop::Socket
            && !self.operation.is_of_host()
            && self.operation.pairs(n).iter().any(assumed);
        Some(Estimate {
            sockets_assumed,
            gbps: gbps * self.slower(gbps, n, 1.0),
            low_gbps: gbps * low * self.slower(gbps, n, LONGEST),
            high_gbps: high * self.slower(high, n, SHORTEST),
            nominal_gbps,
            nominal_is_bound,
            hop: way.hop,
            class: way.class,
            peer_access,
            peer_source,
            known,
            bound_by: (term.part, term.using),
            machines: share.machines,
        })
    }

    /// Whether devices reach each other's memory, and how the least certain of that is known. A copy
    /// between a device and the host's memory needs no peer access: the state is that of the device
    /// and all others.
    fn peers(&self, graph: &HardwareGraph, devices: &[DeviceId]) -> (Option<bool>, PeerSource) {
        let wholes = graph.wholes();
        let pairs: Vec<(DeviceId, DeviceId)> = if self.operation.is_of_host() {
            let others =
                |&a: &DeviceId| wholes.iter().filter(move |&b| b != a).map(move |b| (a, b));
            devices.iter().flat_map(others).collect()
        } else {
            let pairs = self.operation.pairs(devices.len()).into_iter();
            pairs.map(|(a, b)| (devices[a], devices[b])).collect()
        };
        let of = |&(a, b): &(DeviceId, DeviceId)| graph.peer_access(a, b);
        let on = pairs.iter().filter(|&pair| of(pair).on).count();
        let state = match on {
            on if on == pairs.len() => Some(true),
            0 => Some(false),
            _ => None,
        };
        let source = pairs.iter().map(|pair| of(pair).source).min();
        (state, source.unwrap_or_default())
    }

    /// The part of the bandwidth that is left for messages of this size, if the fixed time is so many
    /// times as long.
    fn slower(&self, gbps: f64, n: usize, times: f64) -> f64 {
        let Some(bytes) = self.bytes.filter(|bytes| *bytes > 0) else {
            return 1.0;
        };
        let bytes = bytes as f64 * self.operation.bytes_on_bus(n);
        1.0 / (1.0 + times * gbps * 1e9 * self.operation.fixed_seconds() / bytes)
    }

    /// What a bandwidth that was measured on `n` devices for messages of this model's size would be
    /// for large ones. `None` if the fixed time alone is longer.
    #[must_use]
    pub fn of_large_messages(&self, gbps: f64, n: usize) -> Option<f64> {
        let Some(bytes) = self.bytes.filter(|bytes| *bytes > 0) else {
            return Some(gbps);
        };
        let bytes = bytes as f64 * self.operation.bytes_on_bus(n);
        let left = 1.0 - gbps * 1e9 * self.operation.fixed_seconds() / bytes;
        (left > 0.0).then(|| gbps / left)
    }

    /// The ways that the data could take, direct links first. Each is as fast as the least of its
    /// terms; the fastest way counts.
    ///
    /// # Panics
    /// As [`of`](Self::of).
    #[must_use]
    pub fn ways(&self, graph: &HardwareGraph, devices: &[DeviceId]) -> Vec<Way> {
        let wholes = graph.wholes();
        let set: DeviceSet = devices.iter().copied().collect();
        let one_server = || {
            devices.iter().enumerate().all(|(i, &a)| {
                let host = |b: DeviceId| graph.pair(a, b).host.class.is_host();
                let joined = |&b: &DeviceId| host(b) || graph.pair(a, b).direct.exists();
                devices[..i].iter().all(joined)
            })
        };
        let few = usize::from(!self.operation.is_of_host()) + 1;
        if set.len() != devices.len()
            || devices.len() < few
            || !set.is_subset(&wholes)
            || !one_server()
        {
            return Vec::new();
        }
        match self.operation {
            Operation::Copy | Operation::CopyBothWays => self.copies(graph, devices),
            Operation::HostToDevice | Operation::DeviceToHost => self.of_memory(graph, devices),
            Operation::SendRecv => self.neighbours(graph, devices),
            Operation::AllToAll => self.exchange(graph, &set),
            _ => self.rings(graph, &set),
        }
    }

    /// Copies from each first device to each second.
    fn copies(&self, graph: &HardwareGraph, devices: &[DeviceId]) -> Vec<Way> {
        let pairs = self.operation.pairs(devices.len());
        let both = self.operation == Operation::CopyBothWays;
        let using = if both { Use::BothWays } else { Use::Copy };
        let ways = if both { 2.0 } else { 1.0 };
        let count = ways * pairs.len() as f64;
        let links: Option<Vec<(f64, f64, bool)>> = pairs
            .iter()
            .map(|&(a, b)| self.links(graph, devices[a], devices[b]))
            .collect();
        if let Some(links) = links {
            let generation = graph.link_generation();
            let exponent = generation.map_or(1.0, |name| self.efficiency.exponent(name));
            let class = if exponent == 1.0 {
                Class::DirectCopy
            } else {
                Class::Uneven
            };
            let mut way = Way::new(Hop::Direct, class);
            let engines = self
                .efficiency
                .own(Part::Direct, Use::Engines, generation)
                .is_some()
                && both;
            for (one, links, hops) in links {
                // Copy engines carry what the links do, up to a limit of their own. Copies by kernels
                // grow with a power of the number of links.
                let left = if engines {
                    1.0
                } else {
                    links.powf(exponent - 1.0)
                };
                let using = if hops && !engines {
                    Use::TwoHops
                } else {
                    using
                };
                way.term_left(Part::Direct, using, one * links * count, left);
                if engines {
                    way.term(Part::Direct, Use::Engines, one * count);
                }
            }
            // Libraries copy over direct links where there are any.
            return vec![way];
        }
        let host = HostNetwork::of(graph);
        let mut loads = Loads::new(graph, &host, devices);
        for (a, b) in pairs {
            loads.flow(a, b);
            if both {
                loads.flow(b, a);
            }
        }
        let way = loads.way(using, 1.0 / count, Class::OneSocket, &self.efficiency);
        way.map(Way::across).into_iter().collect()
    }

    /// The direct links between two devices: GB/s of one, their number, and whether the path has two
    /// hops, where the generation copies over two.
    fn links(&self, graph: &HardwareGraph, a: DeviceId, b: DeviceId) -> Option<(f64, f64, bool)> {
        if !graph.peer_access(a, b).on {
            return None;
        }
        let own = |a, b| {
            let link = graph.pair(a, b).direct;
            match link.class {
                crate::ids::LinkClass::Direct(n) => Some((link.gbps / f64::from(n), f64::from(n))),
                _ => None,
            }
        };
        if let Some((one, links)) = own(a, b) {
            return Some((one, links, false));
        }
        self.efficiency
            .own(Part::Direct, Use::TwoHops, graph.link_generation())?;
        let over = |c: DeviceId| {
            let ((one, x), (_, y)) = (own(a, c)?, own(c, b)?);
            Some((one, x.min(y), true))
        };
        let paths = graph.wholes();
        let paths = paths.iter().filter(|&c| c != a && c != b).filter_map(over);
        paths.reduce(|best, path| if path.1 > best.1 { path } else { best })
    }

    /// Copies between the memory and each device.
    fn of_memory(&self, graph: &HardwareGraph, devices: &[DeviceId]) -> Vec<Way> {
        let host = HostNetwork::of(graph);
        let count = devices.len() as f64;
        let least = devices
            .iter()
            .map(|&id| host.slot_gbps(id))
            .fold(f64::INFINITY, f64::min);
        let hop = if self.far {
            Hop::BetweenSockets
        } else {
            Hop::Socket
        };
        let mut way = Way::new(hop, Class::HostCopy);
        way.term(Part::Slot, Use::Host, least * count);
        for (at, gbps) in host.uplinks().iter().enumerate() {
            let below = devices
                .iter()
                .filter(|&&id| host.above(id).any(|above| above == at))
                .count();
            if below > 1 {
                way.term(Part::Uplink, Use::Host, gbps / below as f64 * count);
            }
        }
        // A root is narrow where several switches hang below it. It is not on machines that call a
        // whole socket one root.
        for &id in devices {
            let (root, busy) = host.root(id);
            let below = devices
                .iter()
                .filter(|&&other| host.root(other).0 == root)
                .count();
            if busy && below > 1 {
                way.term(Part::Root, Use::Host, least / below as f64 * count);
            }
        }
        if self.far {
            way.term(Part::SocketLink, Use::Host, least);
        }
        way.terms.dedup();
        vec![way]
    }

    /// Each device sends to the next.
    fn neighbours(&self, graph: &HardwareGraph, devices: &[DeviceId]) -> Vec<Way> {
        let n = devices.len();
        let hops = || (0..n).map(|i| (i, (i + 1) % n));
        let link = |(a, b): (usize, usize)| {
            let link = graph.pair(devices[a], devices[b]).direct;
            (link.exists() && graph.peer_access(devices[a], devices[b]).on).then_some(link.gbps)
        };
        let links: Option<Vec<f64>> = hops().map(link).collect();
        let mut found = Vec::new();
        if let Some(links) = links {
            let mut way = Way::new(Hop::Direct, Class::DirectCollective);
            let least = links.into_iter().fold(f64::INFINITY, f64::min);
            way.term(Part::Direct, Use::Pair, least);
            found.push(way);
        }
        let host = HostNetwork::of(graph);
        let mut loads = Loads::new(graph, &host, devices);
        hops().for_each(|(a, b)| loads.flow(a, b));
        found.extend(loads.way(Use::Ring, 1.0, Class::HostRing, &self.efficiency));
        found
    }

    /// Whether all pairs with direct links reach each other's memory, and there is such a pair.
    fn links_are_open(graph: &HardwareGraph, set: &DeviceSet) -> bool {
        let mut links = graph
            .links_within(set)
            .filter(|(a, b, _)| graph.pair(*a, *b).direct.exists())
            .peekable();
        links.peek().is_some() && links.all(|(a, b, _)| graph.peer_access(a, b).on)
    }

    /// What a packing over direct links alone carries, nominal GB/s; 0 if they form none.
    fn packed(&self, graph: &HardwareGraph, set: &DeviceSet) -> f64 {
        let found = match self.operation {
            Operation::TreeReduce => TreePacking::new(DIRECT).of(graph, set),
            Operation::AllToAll => AllToAll::new(DIRECT).of(graph, set),
            _ => RingPacking::new(DIRECT).of(graph, set),
        };
        found.map_or(0.0, |found| found.gbps)
    }

    /// Rings, or trees: over direct links, or over the host.
    fn rings(&self, graph: &HardwareGraph, set: &DeviceSet) -> Vec<Way> {
        let mut found = Vec::new();
        let n = set.len();
        let using = if n == 2 { Use::Pair } else { Use::Ring };
        let islands = islands(graph, set);
        if Self::links_are_open(graph, set) {
            let mut way = Way::new(Hop::Direct, Class::DirectCollective);
            match self.reduced_in_switch(graph, set) {
                Some((using, gbps)) => way.term(Part::Direct, using, gbps),
                None => {
                    let packed = self.packed(graph, set);
                    if packed > 0.0 {
                        way.term(Part::Direct, using, packed);
                    }
                }
            }
            // Within one island, a ring over the host has the same packing as one of its terms, so
            // it is no faster.
            let alone = islands.len() == 1 && !way.terms.is_empty();
            found.push(way);
            if alone {
                return found;
            }
        }
        if !HostNetwork::of(graph).all_linked() {
            found.extend(self.ring_over_host(graph, set, islands));
        }
        found
    }

    /// What a reduction in the link switches could carry, GB/s of bus bandwidth, where a library
    /// reduces there.
    fn reduced_in_switch(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<(Use, f64)> {
        let n = set.len();
        if !self.in_switch || self.operation != Operation::AllReduce || n < IN_SWITCH_FROM {
            return None;
        }
        let port = |id| graph.device(id).switch_port.map(|port| port.gbps);
        let ports: Option<Vec<f64>> = set.iter().map(port).collect();
        let least = ports?.into_iter().fold(f64::INFINITY, f64::min);
        let using = if n > IN_RACK_ABOVE {
            Use::InRack
        } else {
            Use::InSwitch
        };
        self.efficiency
            .own(Part::Direct, using, graph.link_generation())?;
        Some((using, least * Operation::AllReduce.bytes_on_bus(n)))
    }

    /// Rings that cross the host, and use direct links within islands.
    fn ring_over_host(
        &self,
        graph: &HardwareGraph,
        set: &DeviceSet,
        mut islands: Vec<DeviceSet>,
    ) -> Option<Way> {
        let host = HostNetwork::of(graph);
        let smallest = islands.iter().map(DeviceSet::len).min().unwrap_or(0);
        let ordered = host.in_order(set);
        let place = |island: &DeviceSet| ordered.iter().position(|&id| island.contains(id));
        islands.sort_by_key(place);
        // The devices of an island follow each other, so a ring crosses the host once for each island.
        let devices: Vec<DeviceId> = islands
            .iter()
            .flat_map(|island| ordered.iter().copied().filter(|&id| island.contains(id)))
            .collect();
        let n = devices.len();
        let inside: Vec<bool> = (0..n)
            .map(|i| {
                let (a, b) = (devices[i], devices[(i + 1) % n]);
                graph.pair(a, b).direct.exists() && graph.peer_access(a, b).on
            })
            .collect();
        let mut loads = Loads::new(graph, &host, &devices);
        for (i, _) in inside.iter().enumerate().filter(|(_, inside)| !**inside) {
            loads.flow(i, (i + 1) % n);
        }
        let rings = if islands.len() > 1 {
            smallest.max(1) as f64
        } else {
            1.0
        };
        let is_plain = islands.len() == n;
        let class = if is_plain {
            Class::HostRing
        } else {
            Class::Islands
        };
        let mut way = loads.way(Use::Ring, 1.0 / rings, class, &self.efficiency)?;
        if rings > 1.0 {
            // Each ring crosses by slots of its own. What all of them reach together was measured,
            // between sockets too.
            way.terms.retain(|term| term.part != Part::SocketLink);
            if host.is_drawn() {
                // Hops whose capacity is told carry the flows of all rings together.
                way.terms.retain(|term| {
                    !matches!(term.part, Part::Uplink | Part::UplinkPool | Part::SocketBus)
                });
                let loads = Self::of_all_rings(graph, &host, &devices, &islands, smallest);
                let left = loads.left(&self.efficiency);
                loads.shared(&mut way, Use::Ring, 1.0 / rings, left);
            }
            let least = devices
                .iter()
                .map(|&id| host.slot_gbps(id))
                .fold(f64::INFINITY, f64::min);
            way.term(Part::Crossing, Use::Ring, least);
        }
        for island in islands.iter().filter(|island| island.len() > 1) {
            let packed = self.packed(graph, island);
            let using = if island.len() == 2 {
                Use::Pair
            } else {
                Use::Ring
            };
            if packed > 0.0 {
                way.term(Part::Direct, using, packed);
            }
        }
        Some(way)
    }

    /// What rings load that cross from island to island, each from and to devices of its own. `devices`
    /// are those of the islands, one island after the other.
    fn of_all_rings<'a>(
        graph: &'a HardwareGraph,
        host: &'a HostNetwork,
        devices: &'a [DeviceId],
        islands: &[DeviceSet],
        rings: usize,
    ) -> Loads<'a> {
        let mut loads = Loads::new(graph, host, devices);
        let mut starts = vec![0];
        for island in islands {
            starts.push(starts[starts.len() - 1] + island.len());
        }
        let count = islands.len();
        for ring in 0..rings {
            for at in 0..count {
                let (own, next) = (islands[at].len(), islands[(at + 1) % count].len());
                // Each ring enters an island at the next device, and leaves it at the one before that.
                let last = starts[at] + (ring + own - 1) % own;
                let first = starts[(at + 1) % count] + ring % next;
                loads.flow(last, first);
            }
        }
        loads
    }

    /// Every device sends to every other.
    fn exchange(&self, graph: &HardwareGraph, set: &DeviceSet) -> Vec<Way> {
        let mut found = Vec::new();
        if Self::links_are_open(graph, set) {
            let mut way = Way::new(Hop::Direct, Class::DirectCollective);
            let packed = self.packed(graph, set);
            if packed > 0.0 {
                way.term(Part::Direct, Use::Exchange, packed);
            }
            found.push(way);
        }
        let host = HostNetwork::of(graph);
        if host.all_linked() {
            return found;
        }
        let devices = host.in_order(set);
        let n = devices.len();
        let others = 1.0 / (n as f64 - 1.0);
        let mut loads = Loads::new(graph, &host, &devices);
        for b in 0..n {
            for a in 0..b {
                let link = graph.pair(devices[a], devices[b]).direct;
                if !link.exists() || !graph.peer_access(devices[a], devices[b]).on {
                    loads.flow(a, b);
                    loads.flow(b, a);
                }
            }
        }
        if loads.is_empty() {
            return found;
        }
        let way = loads.way(Use::Exchange, others, Class::HostExchange, &self.efficiency);
        if let Some(mut way) = way {
            // Within islands, pairs send over direct links.
            for island in islands(graph, set).iter().filter(|island| island.len() > 1) {
                let packed = self.packed(graph, island);
                if packed > 0.0 {
                    let of_pair = packed / (island.len() as f64 - 1.0);
                    way.term(Part::Direct, Use::Exchange, of_pair / others);
                }
            }
            found.push(way);
        }
        found
    }

    /// The name of the objective.
    fn name(&self) -> &'static str {
        let nominal = self.efficiency == Efficiency::nominal();
        match (nominal, self.operation) {
            (false, _) => "expected_gbps",
            (true, Operation::TreeReduce) => "tree_packing_network_gbps",
            (true, Operation::AllToAll) => "all_to_all_network_gbps",
            (true, _) => "ring_packing_network_gbps",
        }
    }

    /// The model as an objective, `expected_gbps`: 0 where there is no estimate. With nominal shares
    /// its name is that of the packing: `ring_packing_network_gbps`, `tree_packing_network_gbps`,
    /// `all_to_all_network_gbps`. A model of copies is one of whole placements, from the first rank to
    /// the second; others look at sets.
    #[must_use]
    pub fn objective(&self) -> Objective<'static> {
        let this = self.clone();
        let name = self.name();
        if !self.operation.is_collective() {
            return Objective::placement(name, move |candidate| {
                let found = this.value(candidate.view.graph(), candidate.placement);
                found.unwrap_or(0.0)
            });
        }
        let value = {
            let this = this.clone();
            move |subset: Subset<'_>| {
                let devices: Vec<DeviceId> = subset.devices.iter().collect();
                this.value(subset.graph, &devices).unwrap_or(0.0)
            }
        };
        let inner = match self.operation {
            Operation::TreeReduce => TreePacking::new(DIRECT).objective(),
            Operation::AllToAll => AllToAll::new(DIRECT).objective(),
            _ => RingPacking::new(DIRECT).objective(),
        };
        let bounds = Arc::new(ExpectedBounds {
            inner,
            operation: this.operation,
            efficiency: this.efficiency,
            in_switch: this.in_switch,
        });
        let [on_set, within, apart, by_degree] = [0; 4].map(|_| Arc::clone(&bounds));
        Objective::chosen(name, value)
            .blind_to_ids()
            .bounded(move |subset| on_set.on_set(subset))
            .foreseen(SetBounds {
                within: Arc::new(move |part, k| within.within(part, k)),
                apart: Some(Arc::new(move |part| apart.host(part))),
                by_degree: Some(Arc::new(move |part, k| by_degree.by_degree(part, k))),
            })
            .bounds_of(Direction::Highest)
    }

    /// The expectation alone, rounded to seven digits as packings are.
    fn value(&self, graph: &HardwareGraph, devices: &[DeviceId]) -> Option<f64> {
        let generation = graph.link_generation();
        let ways = self.ways(graph, devices);
        let values = ways
            .iter()
            .filter_map(|way| way.at(&self.efficiency, generation));
        let best = values.map(|(gbps, ..)| gbps).reduce(f64::max)?;
        Some(rounded(best * self.slower(best, devices.len(), 1.0)))
    }
}

impl Way {
    /// Copies between sockets err in a way of their own.
    fn across(mut self) -> Self {
        if self.hop == Hop::BetweenSockets && self.class == Class::OneSocket {
            self.class = Class::AcrossSockets;
        }
        self
    }
}

/// [`Expected`] with the shares that are shipped, as an objective, for jobs of each kind of pattern.
pub(crate) fn expected_gbps(operation: Operation) -> Objective<'static> {
    static OBJECTIVES: LazyLock<[Objective<'static>; 3]> =
        LazyLock::new(|| SHAPES.map(|operation| Expected::shipped(operation).objective()));
    OBJECTIVES[at(operation)].clone()
}

/// [`Expected::nominal`] as an objective, for jobs of each kind of pattern.
pub(crate) fn network_gbps(operation: Operation) -> Objective<'static> {
    static OBJECTIVES: LazyLock<[Objective<'static>; 3]> =
        LazyLock::new(|| SHAPES.map(|operation| Expected::nominal(operation).objective()));
    OBJECTIVES[at(operation)].clone()
}

const SHAPES: [Operation; 3] = [
    Operation::AllReduce,
    Operation::TreeReduce,
    Operation::AllToAll,
];

fn at(operation: Operation) -> usize {
    let own = SHAPES.iter().position(|candidate| *candidate == operation);
    own.unwrap_or(0)
}
