//! How a library searches its channels: rings all of one speed, found depth first.
//!
//! NCCL does not solve a linear program. In outline (`src/graph/search.cc`), it takes a speed from a short descending list and
//! looks for as many rings as it can find, each of which takes that speed from every link that it crosses; it goes down the list
//! and keeps what has the highest (number of rings) x (speed); each search ends after so many steps. So [`Channels`] may fall
//! short of the fractional packing ([`RingPacking`](super::RingPacking)) in three ways: whole rings where halves would be needed,
//! speeds that do not divide the links, searches cut off. It never exceeds it.
//!
//! Left out are preferences between paths of equal bandwidth, which choose other rings but no other speed, and everything about
//! networks. Bandwidths of links are compared with absolute speeds, so the rates must be those by which the library rates links
//! (`mapa-topologies` has them as data).

use super::network::Network;
use super::{Bandwidth, Rates, widest};
use crate::score::Objective;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};

/// Hops of all channels together at most: the depth of the search.
const DEEPEST: usize = 4096;

/// The bandwidth of the channels that a search finds as NCCL's does, in outline.
///
/// Not monotone, as nothing that is cut off is: one more link may lead the search astray.
///
/// ```
/// use mapa_core::{Channels, Fabric, LinkClass, Rates};
///
/// // Four devices, all joined at 18 GB/s: two whole rings at 18, or six at 9, which fill all links.
/// let mut fabric = Fabric::new();
/// let ids = ["GPU0", "GPU1", "GPU2", "GPU3"].map(|name| fabric.add_device(name).unwrap());
/// for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
///     fabric.link(ids[a], ids[b], LinkClass::Direct(1), 18.0)?;
/// }
/// let graph = fabric.lower()?;
/// let found = Channels::new(Rates::NOMINAL, &Channels::SPEEDS).of(&graph, &graph.all()).unwrap();
/// assert_eq!((found.gbps, found.rings.len()), (54.0, 6));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Channels<'s> {
    rates: Rates,
    speeds: &'s [f64],
    most: usize,
    nodes: u64,
}

impl Channels<'static> {
    /// GB/s: the list for rings within a server of devices up to Ampere, 2020 (`speedArrayIntra`, NCCL 2.12 to 2.28).
    pub const SPEEDS: [f64; 13] = [40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0];
    /// The same since Hopper, 2022.
    pub const SPEEDS_2022: [f64; 11] = [60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0];
    /// The same since Blackwell, 2024.
    pub const SPEEDS_2024: [f64; 12] = [90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0];
}

impl<'s> Channels<'s> {
    /// The search at these rates and speeds, GB/s, in any order; what is not a finite number above 0 is passed over. At most
    /// 16 channels, and 2¹⁴ steps for each speed, as NCCL limits them.
    #[must_use]
    pub fn new(rates: Rates, speeds: &'s [f64]) -> Self {
        Self { rates, speeds, most: 16, nodes: 1 << 14 }
    }

    /// At most so many channels; at least one is looked for, and no more than 4096 hops in all of them together.
    #[must_use]
    pub fn at_most(self, channels: usize) -> Self {
        Self { most: channels, ..self }
    }

    /// So many steps for each speed; a step is a device put on a ring.
    #[must_use]
    pub fn node_limit(self, nodes: u64) -> Self {
        Self { nodes, ..self }
    }

    /// The bus bandwidth of an all-reduce on these channels among some devices; none for fewer than two. The channels are in
    /// `rings`. `at_most_gbps` is what unlimited steps could find at most, by the ways out of each device: it bounds this search
    /// alone, not packings, of which better ones may exist ([`RingPacking::of`](super::RingPacking::of) bounds these), and so
    /// [`Bandwidth::is_exact`] says only that more steps would find no more. Where the host reaches more, it is one channel over
    /// direct links and host: the highest speed that all hops of the widest ring have, or what its narrowest hop has, if that
    /// is below all speeds.
    ///
    /// O(speeds x steps x n) at most.
    ///
    /// # Panics
    /// If the set holds an id that the machine has not.
    #[must_use]
    pub fn of(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<Bandwidth> {
        let network = Network::new(graph, set, &self.rates);
        if network.len() < 2 {
            return None;
        }
        let mut speeds: Vec<f64> = self.speeds.iter().copied().filter(|s| s.is_finite() && *s > 0.0).collect();
        speeds.sort_by(|a, b| b.total_cmp(a));
        let (mut best, mut at_most) = ((0.0, Vec::new()), 0.0f64);
        for &speed in &speeds {
            let (rings, bound) = Search::new(&network, speed, self.most, self.nodes).run();
            at_most = at_most.max(speed * bound as f64);
            if speed * rings.len() as f64 > best.0 {
                best = (speed * rings.len() as f64, rings.into_iter().map(|ring| (ring, speed)).collect());
            }
        }
        let width = widest::ring(&network).gbps;
        let host = speeds.iter().copied().find(|speed| *speed <= width).unwrap_or(width);
        let mut found = Bandwidth::or_host(best.0, at_most, host);
        if !found.over_host {
            let named = |ring: Vec<usize>| ring.into_iter().map(|at| network.devices[at]).collect::<Vec<DeviceId>>();
            found.rings = best.1.into_iter().map(|(ring, speed)| (named(ring), speed)).collect();
        }
        Some(found)
    }
}

impl Channels<'static> {
    /// It as an objective, `channels_gbps`: 0 for one device.
    #[must_use]
    pub fn objective(&self) -> Objective<'static> {
        let model = *self;
        let gbps = move |graph: &HardwareGraph, set: &DeviceSet| model.of(graph, set).map_or(0.0, |found| found.gbps);
        Objective::chosen("channels_gbps", move |chosen| gbps(chosen.graph, chosen.devices))
    }
}

/// Rings at one speed. What a link or a port can carry is counted in channels, whole ones.
struct Search {
    n: usize,
    /// From, to: how many more channels the links of the two take.
    direct: Vec<u32>,
    /// By switch, by device: how many more leave, and enter, by its port.
    ports: Vec<[Vec<u32>; 2]>,
    steps: u64,
    /// No more channels than these can be had.
    bound: usize,
    path: Vec<usize>,
    channels: Vec<Vec<usize>>,
    best: Vec<Vec<usize>>,
}

/// By what a hop is made: its own links, or a switch.
#[derive(Clone, Copy)]
enum Way {
    Links,
    Switch(usize),
}

impl Search {
    fn new(network: &Network, speed: f64, most: usize, steps: u64) -> Self {
        let n = network.len();
        // A link of 18 GB/s carries two channels of 9, whatever the last digits of its rate say.
        let whole = |gbps: &f64| (gbps / speed + 1e-9).floor().min(f64::from(u16::MAX)) as u32;
        let direct: Vec<u32> = network.direct.iter().map(whole).collect();
        let ports: Vec<Vec<u32>> = network.ports.iter().map(|switch| switch.iter().map(whole).collect()).collect();
        let ways_out = |a: usize| {
            let links: u32 = direct[a * n..(a + 1) * n].iter().sum();
            links + ports.iter().map(|switch| switch[a]).sum::<u32>()
        };
        let bound = (0..n).map(ways_out).min().map_or(0, |ways| most.clamp(1, (DEEPEST / n).max(1)).min(ways as usize));
        let ports = ports.into_iter().map(|port| [port.clone(), port]).collect();
        Self { n, direct, ports, steps, bound, path: vec![0], channels: Vec::new(), best: Vec::new() }
    }

    /// The most channels found, and how many there can be at most: as many, if the search came to its end.
    fn run(mut self) -> (Vec<Vec<usize>>, usize) {
        if self.bound > 0 && self.steps > 0 {
            self.extend();
        }
        let at_most = if self.steps > 0 { self.best.len() } else { self.bound };
        (self.best, at_most)
    }

    fn is_over(&self) -> bool {
        self.steps == 0 || self.best.len() == self.bound
    }

    /// Puts a device on the ring that is being made, or closes it and begins the next.
    fn extend(&mut self) {
        self.steps -= 1;
        let last = self.path[self.path.len() - 1];
        if self.path.len() == self.n {
            let Some(way) = self.way(last, 0) else { return };
            self.take(last, 0, way);
            self.close();
            self.give_back(last, 0, way);
            return;
        }
        for next in self.candidates(last) {
            if self.is_over() {
                return;
            }
            if let Some(way) = self.way(last, next) {
                self.take(last, next, way);
                self.path.push(next);
                self.extend();
                self.path.pop();
                self.give_back(last, next, way);
            }
        }
    }

    /// A ring is complete: kept, if there were never as many; then the next is looked for.
    fn close(&mut self) {
        let ring = std::mem::replace(&mut self.path, vec![0]);
        self.channels.push(ring);
        if self.channels.len() > self.best.len() {
            self.best = self.channels.clone();
        }
        if !self.is_over() {
            self.extend();
        }
        if let Some(ring) = self.channels.pop() {
            self.path = ring;
        }
    }

    /// Where to go on: as the channel before did, then over the widest hop that is left, then to the lowest id.
    fn candidates(&self, last: usize) -> Vec<usize> {
        let before = self.channels.last().and_then(|ring| ring.get(ring.iter().position(|&at| at == last)? + 1));
        let mut list: Vec<usize> = (0..self.n).filter(|at| !self.path.contains(at)).collect();
        list.sort_by_key(|&to| (Some(&to) != before, std::cmp::Reverse(self.left(last, to)), to));
        list
    }

    /// How many more channels can go from one to another.
    fn left(&self, from: usize, to: usize) -> u32 {
        let switched = self.ports.iter().map(|[leave, enter]| leave[from].min(enter[to]));
        self.direct[from * self.n + to] + switched.sum::<u32>()
    }

    fn way(&self, from: usize, to: usize) -> Option<Way> {
        if self.direct[from * self.n + to] > 0 {
            return Some(Way::Links);
        }
        let free = |[leave, enter]: &[Vec<u32>; 2]| leave[from] > 0 && enter[to] > 0;
        self.ports.iter().position(free).map(Way::Switch)
    }

    fn take(&mut self, from: usize, to: usize, way: Way) {
        match way {
            Way::Links => self.direct[from * self.n + to] -= 1,
            Way::Switch(switch) => {
                self.ports[switch][0][from] -= 1;
                self.ports[switch][1][to] -= 1;
            }
        }
    }

    fn give_back(&mut self, from: usize, to: usize, way: Way) {
        match way {
            Way::Links => self.direct[from * self.n + to] += 1,
            Way::Switch(switch) => {
                self.ports[switch][0][from] += 1;
                self.ports[switch][1][to] += 1;
            }
        }
    }
}
