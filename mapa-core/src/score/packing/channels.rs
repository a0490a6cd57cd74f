//! Channels as a library searches them: rings of one speed, found depth first.
//!
//! NCCL does not solve a linear program. In outline (`src/graph/search.cc`), it takes a speed from
//! a short descending list and searches for as many rings as it can find, each of which takes that
//! speed from every link that it crosses. It goes down the list and keeps the rings with the
//! highest (number of rings) x (speed). Each search ends after a fixed number of steps.
//!
//! So [`Channels`] may fall short of the fractional packing ([`RingPacking`](super::RingPacking))
//! in three ways: it takes whole rings where halves would be needed, its speeds may not divide the
//! links, and its search may be cut off. It never exceeds the fractional packing.
//!
//! Two things are left out. Preferences between paths of equal bandwidth would choose other rings,
//! but no other speed. Networks are not modelled at all. Bandwidths of links are compared with
//! absolute speeds, so the rates must be those by which the library rates links (`mapa-topologies`
//! has them as data).

use super::network::CapacityNetwork;
use super::{Bandwidth, Rates, widest};
use crate::score::Objective;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};

/// The most hops of all channels together: they are the depth of the recursion.
const DEEPEST: usize = 4096;

/// The bandwidth of the channels that a search in the manner of NCCL's finds.
///
/// The bandwidth is not monotone: the number of steps is limited, so with one more link the search
/// may find less.
///
/// # Examples
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
    /// Speeds in GB/s for rings within a server of devices up to Ampere, 2020 (`speedArrayIntra`,
    /// NCCL 2.12 to 2.28).
    pub const SPEEDS: [f64; 13] = [
        40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0,
    ];
    /// Speeds in GB/s since Hopper, 2022.
    pub const SPEEDS_2022: [f64; 11] = [
        60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0,
    ];
    /// Speeds in GB/s since Blackwell, 2024.
    pub const SPEEDS_2024: [f64; 12] = [
        90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0,
    ];
}

impl<'s> Channels<'s> {
    /// The search at these rates and speeds. Speeds are in GB/s, in any order; those that are not
    /// finite numbers above 0 are ignored. There are at most 16 channels, and 2¹⁴ steps for each
    /// speed, as NCCL limits them.
    #[must_use]
    pub fn new(rates: Rates, speeds: &'s [f64]) -> Self {
        Self {
            rates,
            speeds,
            most: 16,
            nodes: 1 << 14,
        }
    }

    /// Sets the most channels. The search looks for at least one, and all channels together have no
    /// more than 4096 hops.
    #[must_use]
    pub fn at_most(self, channels: usize) -> Self {
        Self {
            most: channels,
            ..self
        }
    }

    /// Sets the number of steps for each speed. A step puts a device on a ring.
    #[must_use]
    pub fn node_limit(self, nodes: u64) -> Self {
        Self { nodes, ..self }
    }

    /// The bus bandwidth of an all-reduce on these channels among some devices; none for fewer than
    /// two. The channels are in `rings`.
    ///
    /// `at_most_gbps` bounds what the search could find with unlimited steps. It is computed from
    /// the capacity out of each device. It bounds this search alone. Better packings may exist,
    /// which [`RingPacking::of`](super::RingPacking::of) bounds. So [`Bandwidth::is_exact`] only
    /// says that more steps would find no more.
    ///
    /// If the host reaches more, the result is one channel over direct links and host. Its speed is
    /// the highest that all hops of the widest ring carry, or the bandwidth of the narrowest hop,
    /// if that is below all speeds.
    ///
    /// # Complexity
    ///
    /// O(s t n) at most, for s speeds, t steps and n devices.
    ///
    /// # Panics
    /// If the set holds an id that the machine does not have.
    #[must_use]
    pub fn of(&self, graph: &HardwareGraph, set: &DeviceSet) -> Option<Bandwidth> {
        let network = CapacityNetwork::new(graph, set, &self.rates);
        if network.len() < 2 {
            return None;
        }
        let mut speeds: Vec<f64> = self
            .speeds
            .iter()
            .copied()
            .filter(|s| s.is_finite() && *s > 0.0)
            .collect();
        speeds.sort_by(|a, b| b.total_cmp(a));
        let (mut best, mut at_most) = ((0.0, Vec::new()), 0.0f64);
        for &speed in &speeds {
            let (rings, bound) = ChannelSearch::new(&network, speed, self.most, self.nodes).run();
            at_most = at_most.max(speed * bound as f64);
            if speed * rings.len() as f64 > best.0 {
                best = (
                    speed * rings.len() as f64,
                    rings.into_iter().map(|ring| (ring, speed)).collect(),
                );
            }
        }
        // Over the host a channel has a speed of the list too, unless all of them are too high.
        let width = widest::ring(&network).gbps;
        let host = speeds
            .iter()
            .copied()
            .find(|speed| *speed <= width)
            .unwrap_or(width);
        let mut found = Bandwidth::or_host(best.0, at_most, host);
        if !found.over_host {
            for (ring, speed) in best.1 {
                let ring: Vec<DeviceId> = ring.into_iter().map(|at| network.devices[at]).collect();
                found.rings.push((ring, speed));
            }
        }
        Some(found)
    }
}

impl Channels<'static> {
    /// [`Channels::of`] as an objective, `channels_gbps`: 0 for one device.
    #[must_use]
    pub fn objective(&self) -> Objective<'static> {
        let model = *self;
        Objective::chosen("channels_gbps", move |chosen| {
            let found = model.of(chosen.graph, chosen.devices);
            found.map_or(0.0, |found| found.gbps)
        })
    }
}

/// The search for rings at one speed. The capacity of a link or a port is a whole number of
/// channels.
struct ChannelSearch {
    n: usize,
    /// By source and destination: how many more channels the links between the two can take.
    direct: Vec<u32>,
    /// By switch: how many more channels can leave each device by its port, and how many can enter.
    ports: Vec<[Vec<u32>; 2]>,
    steps: u64,
    /// No more channels than these are possible.
    bound: usize,
    path: Vec<usize>,
    channels: Vec<Vec<usize>>,
    best: Vec<Vec<usize>>,
}

/// What a hop goes over: the pair's own links, or a switch.
#[derive(Clone, Copy)]
enum HopMedium {
    Links,
    Switch(usize),
}

impl ChannelSearch {
    fn new(network: &CapacityNetwork, speed: f64, most: usize, steps: u64) -> Self {
        let n = network.len();
        // The small addition makes a link of 18 GB/s carry two channels of 9 in spite of rounding.
        let whole = |gbps: &f64| (gbps / speed + 1e-9).floor().min(f64::from(u16::MAX)) as u32;
        let direct: Vec<u32> = network.direct.iter().map(whole).collect();
        let ports: Vec<Vec<u32>> = network
            .ports
            .iter()
            .map(|switch| switch.iter().map(whole).collect())
            .collect();
        // Every ring leaves every device once.
        let bound = (0..n)
            .map(|a| {
                let links: u32 = direct[a * n..(a + 1) * n].iter().sum();
                links + ports.iter().map(|switch| switch[a]).sum::<u32>()
            })
            .min()
            .map_or(0, |ways| {
                most.clamp(1, (DEEPEST / n).max(1)).min(ways as usize)
            });
        let ports = ports.into_iter().map(|port| [port.clone(), port]).collect();
        Self {
            n,
            direct,
            ports,
            steps,
            bound,
            path: vec![0],
            channels: Vec::new(),
            best: Vec::new(),
        }
    }

    /// The channels of the best solution found, and an upper bound of their number. If the search
    /// came to its end, the two agree.
    fn run(mut self) -> (Vec<Vec<usize>>, usize) {
        if self.bound > 0 && self.steps > 0 {
            self.extend();
        }
        // Steps are left, so the search saw everything or reached its bound: nothing better exists.
        let at_most = if self.steps > 0 {
            self.best.len()
        } else {
            self.bound
        };
        (self.best, at_most)
    }

    /// Whether the steps have run out, or the bound is reached.
    fn is_over(&self) -> bool {
        self.steps == 0 || self.best.len() == self.bound
    }

    /// Puts the next device on the ring in progress, or closes the ring and begins another. Each
    /// choice is undone before the next is tried.
    fn extend(&mut self) {
        self.steps -= 1;
        let last = self.path[self.path.len() - 1];
        // The ring has every device: it closes at device 0, where all rings start.
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

    /// Completes a ring: the rings are kept if there were never as many. Then the next ring is
    /// sought.
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

    /// The next devices to try, best first: the one that the previous channel went to, as repeating
    /// a ring that worked is likely to work; then by the most channels left on the hop; then by id.
    fn candidates(&self, last: usize) -> Vec<usize> {
        let before = self
            .channels
            .last()
            .and_then(|ring| ring.get(ring.iter().position(|&at| at == last)? + 1));
        let mut list: Vec<usize> = (0..self.n).filter(|at| !self.path.contains(at)).collect();
        list.sort_by_key(|&to| {
            (
                Some(&to) != before,
                std::cmp::Reverse(self.left(last, to)),
                to,
            )
        });
        list
    }

    /// How many more channels can go from one device to another.
    fn left(&self, from: usize, to: usize) -> u32 {
        let switched = self
            .ports
            .iter()
            .map(|[leave, enter]| leave[from].min(enter[to]));
        self.direct[from * self.n + to] + switched.sum::<u32>()
    }

    /// What the next channel from one device to another goes over; none if nothing is left.
    fn way(&self, from: usize, to: usize) -> Option<HopMedium> {
        if self.direct[from * self.n + to] > 0 {
            return Some(HopMedium::Links);
        }
        self.ports
            .iter()
            .position(|[leave, enter]| leave[from] > 0 && enter[to] > 0)
            .map(HopMedium::Switch)
    }

    /// Takes one channel of a way.
    fn take(&mut self, from: usize, to: usize, way: HopMedium) {
        match way {
            HopMedium::Links => self.direct[from * self.n + to] -= 1,
            HopMedium::Switch(switch) => {
                self.ports[switch][0][from] -= 1;
                self.ports[switch][1][to] -= 1;
            }
        }
    }

    /// Gives one channel of a way back.
    fn give_back(&mut self, from: usize, to: usize, way: HopMedium) {
        match way {
            HopMedium::Links => self.direct[from * self.n + to] += 1,
            HopMedium::Switch(switch) => {
                self.ports[switch][0][from] += 1;
                self.ports[switch][1][to] += 1;
            }
        }
    }
}
