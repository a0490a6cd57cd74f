//! The communication time of a training step, computed from the bytes sent and the links that carry
//! them.
//!
//! A training step sends in phases, one for each [`Dimension`]: within tensor groups, between
//! pipeline stages, and so on. In a phase all edges send at once, and every edge of a ring waits
//! for the slowest. So a phase takes as long as its slowest edge: the bytes that the edge carries
//! per direction, divided by the bandwidth of the best link between its two devices. Phases follow
//! one another, so their times are added up. With [`StepTime::overlapping`], all phases run at once
//! on links of their own.
//!
//! In an all-to-all (of experts, and of sequences if they are shared that way) a device sends to
//! its whole group. Direct links of its own carry one edge each. But everything that it sends
//! through a link switch or over the host leaves by one port, edge after edge. Such a phase takes
//! as long as the slowest edge or the busiest port.
//!
//! Links are full duplex. A ring of two sends both ways over one link: two edges, one in each
//! direction, both at full speed. Behind a link switch each device of a ring sends to one neighbour
//! and receives from the other. So a port carries one edge's traffic per direction, and that edge
//! reaches the bandwidth of the pair.
//!
//! Not counted are:
//!
//! - that an inner stage of three or more sends activations *and* gradients through its one port at
//!   a switch, which takes up to twice the time counted;
//! - that edges may share a path through the host, or a server's network link;
//! - the bubble of a pipeline, and computation, behind which communication may hide;
//! - latency.
//!
//! For a pattern that is no training job, all edges form one phase: see [`edges_seconds`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Candidate, Direction, Objective, Rates, SetBounds, Subset};
use crate::matching::Few;
use crate::pattern::{Dimension, Parallelism, Pattern};
use crate::topology::{DeviceId, HardwareGraph};

/// Bytes in a GB.
const GB: f64 = 1e9;

/// A model of the communication time of one step of a job: the bytes sent in each phase, and the
/// rates of links.
///
/// # Examples
///
/// ```
/// use mapa_core::{DeviceId, Fabric, LinkClass, Parallelism, Rates, StepTime};
///
/// let mut fabric = Fabric::new();
/// let gpus = [0, 1, 2, 3].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
/// for (i, a) in gpus.iter().enumerate() {
///     for b in &gpus[..i] {
///         fabric.link(*a, *b, LinkClass::Direct(1), 25.0)?;
///     }
/// }
/// let job = "tp=2,pp=2".parse::<Parallelism>()?.with_bytes_of("tp=1e9,pp=5e8")?;
/// let model = StepTime::new(&job, Rates::NOMINAL);
/// // 1 GB and half of it over 25 GB/s.
/// assert_eq!(model.seconds(&fabric.lower()?, &[0, 1, 2, 3].map(DeviceId)), Some(0.04 + 0.02));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StepTime {
    pattern: Pattern,
    /// The phase of each edge of the pattern.
    phases: Vec<PhaseIndex>,
    /// By phase, bytes: the least over all ranks of what a rank sends to the neighbour to which it
    /// sends most, and of what it sends to the next.
    least: [[f64; 2]; Dimension::COUNT],
    /// The phases in which ports are shared.
    exchanges: Vec<Exchange>,
    rates: Rates,
    overlapping: bool,
}

/// A phase: the position of its dimension in [`Dimension::ALL`].
type PhaseIndex = u8;

/// Seconds by phase.
pub(crate) type PhaseTimes = [f64; Dimension::COUNT];

/// An all-to-all phase.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) phase: usize,
    /// The bytes of each edge.
    bytes: f64,
    /// By rank, the ranks to which it sends.
    pub(crate) peers: Vec<Vec<usize>>,
}

/// The way between two devices.
#[derive(Clone, Copy)]
pub(crate) struct PairWay {
    /// Bytes per second per direction.
    pub(crate) rate: f64,
    /// Whether the device's other shared ways use the same port.
    shared: bool,
}

impl Exchange {
    /// The time that a rank's port is in use for those peers that have a way, seconds.
    ///
    /// Times are added in ascending order. So the sum does not depend on the order of peers, and in
    /// spite of rounding more ways, or slower ones, never take less time.
    pub(crate) fn port(&self, rank: usize, way: impl Fn(usize) -> Option<PairWay>) -> f64 {
        let ways = self
            .peers
            .get(rank)
            .into_iter()
            .flatten()
            .filter_map(|&peer| way(peer));
        let mut seconds: Few<f64> = ways
            .filter(|way| way.shared)
            .map(|way| self.bytes / way.rate)
            .collect();
        seconds.sort_unstable_by(f64::total_cmp);
        seconds.iter().sum()
    }

    /// A lower bound of the time of a device with these ways, of which it uses as many as a rank
    /// has peers: the slowest edge or the port, if the fastest ways are taken.
    fn floor(&self, ways: impl Iterator<Item = PairWay>) -> f64 {
        let peers = self.peers.iter().map(Vec::len).min().unwrap_or(0);
        let mut seconds: Few<(f64, bool)> = ways
            .map(|way| (self.bytes / way.rate, way.shared))
            .collect();
        seconds.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        // At least `peers` ways are used, so at best the slowest of them is the peers-th fastest.
        let slowest = peers
            .checked_sub(1)
            .and_then(|last| seconds.get(last))
            .map_or(0.0, |(value, _)| *value);
        // Ways that are not shared spare the port: at best all of them are used.
        let of_port = peers.saturating_sub(seconds.iter().filter(|(_, shared)| !shared).count());
        let port: f64 = seconds
            .iter()
            .filter(|(_, shared)| *shared)
            .take(of_port)
            .map(|(value, _)| *value)
            .sum();
        slowest.max(port)
    }
}

impl StepTime {
    /// The model of a training job. `rates` give the part of a link's nominal bandwidth that is
    /// reached.
    ///
    /// # Complexity
    ///
    /// O(r log r + e d) for r ranks and e edges, with at most d neighbours of a rank in a phase.
    #[must_use]
    pub fn new(job: &Parallelism, rates: Rates) -> Self {
        // The pattern has its edges in this order too.
        let mut phases: Vec<PhaseIndex> = Vec::new();
        for dimension in Dimension::ALL {
            phases.extend(job.edges(dimension).iter().map(|_| dimension as PhaseIndex));
        }
        let mut new = Self::with(job.pattern(), phases, rates);
        for dimension in Dimension::ALL {
            if job.is_all_to_all(dimension) && !job.edges(dimension).is_empty() {
                new.exchanges.push(Exchange {
                    phase: dimension as usize,
                    bytes: job.traffic(dimension),
                    peers: new.peers(dimension as usize),
                });
            }
        }
        new
    }

    /// The model of any pattern, all edges of which send at once. Traffic is in bytes.
    pub(crate) fn of_edges(pattern: &Pattern, rates: Rates) -> Self {
        Self::with(pattern.clone(), vec![0; pattern.edges().len()], rates)
    }

    /// The model of a pattern whose edges are of these phases, none of them an all-to-all.
    fn with(pattern: Pattern, phases: Vec<PhaseIndex>, rates: Rates) -> Self {
        let least = std::array::from_fn(|phase| least_sent(&pattern, &phases, phase as PhaseIndex));
        Self {
            pattern,
            phases,
            least,
            exchanges: Vec::new(),
            rates,
            overlapping: false,
        }
    }

    /// By rank, the ranks to which it sends in a phase.
    fn peers(&self, phase: usize) -> Vec<Vec<usize>> {
        let mut peers = vec![Vec::new(); self.pattern.len()];
        for (_, a, b, _) in self.edges().filter(|edge| edge.0 == phase) {
            peers[a].push(b);
            peers[b].push(a);
        }
        peers
    }

    /// The model with all phases at once, each as if it ran alone. The longest phase then counts,
    /// not the sum.
    #[must_use]
    pub fn overlapping(self) -> Self {
        Self {
            overlapping: true,
            ..self
        }
    }

    /// The seconds of communication in one step, with these devices in rank order. Infinite if an
    /// edge lies where there is no link. None unless the placement has exactly one device of the
    /// machine for each rank.
    ///
    /// # Complexity
    ///
    /// O(e) for e edges; with an all-to-all O(e log e).
    #[must_use]
    pub fn seconds(&self, graph: &HardwareGraph, placement: &[DeviceId]) -> Option<f64> {
        self.by_dimension(graph, placement)
            .map(|times| self.total(times))
    }

    /// The seconds of [`StepTime::seconds`] by dimension, in the order of [`Dimension::ALL`].
    #[must_use]
    pub fn by_dimension(
        &self,
        graph: &HardwareGraph,
        placement: &[DeviceId],
    ) -> Option<[f64; Dimension::COUNT]> {
        let fits = placement.len() == self.pattern.len()
            && placement.iter().all(|id| id.index() < graph.len());
        fits.then(|| {
            self.times([0.0; Dimension::COUNT], |a, b| {
                self.way(graph, placement[a], placement[b])
            })
        })
    }

    /// The seconds by phase if `way` gives how two ranks are joined; no phase is below its entry in
    /// `times`.
    pub(crate) fn times(
        &self,
        mut times: PhaseTimes,
        way: impl Fn(usize, usize) -> PairWay,
    ) -> PhaseTimes {
        for (phase, a, b, bytes) in self.edges() {
            times[phase] = times[phase].max(bytes / way(a, b).rate);
        }
        for exchange in &self.exchanges {
            for rank in 0..self.pattern.len() {
                times[exchange.phase] =
                    times[exchange.phase].max(exchange.port(rank, |peer| Some(way(rank, peer))));
            }
        }
        times
    }

    /// The model as an objective to be minimised: `step_seconds`, or `step_seconds_overlapping`.
    /// Its value is a number for the job's own [pattern](Parallelism::pattern) only. Sets on which
    /// even the best links are too slow are skipped.
    #[must_use]
    pub fn objective(&self) -> Objective<'static> {
        self.named(if self.overlapping {
            "step_seconds_overlapping"
        } else {
            "step_seconds"
        })
    }

    fn named(&self, name: &'static str) -> Objective<'static> {
        let [model, bound, within, apart] = [0; 4].map(|_| self.clone());
        let seconds = move |candidate: &Candidate<'_>| {
            let seconds = model.seconds(candidate.view.graph(), candidate.placement);
            seconds
                .filter(|_| model.is_of(candidate.pattern))
                .unwrap_or(f64::NAN)
        };
        let objective = Objective::placement(name, seconds)
            .bounded(move |subset| bound.at_least(subset))
            .foreseen(SetBounds {
                within: Arc::new(move |subset, _| within.at_least(subset)),
                apart: Some(Arc::new(move |subset| apart.at_least_apart(subset))),
                by_degree: None,
            })
            .bounds_of(Direction::Lowest)
            .blind_to_ids();
        if self.is_symmetric() {
            objective.symmetric()
        } else {
            objective
        }
    }

    pub(crate) fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Whether `pattern` is the one whose time is modelled.
    pub(crate) fn is_of(&self, pattern: &Pattern) -> bool {
        pattern.len() == self.pattern.len() && pattern.edges() == self.pattern.edges()
    }

    /// Whether no automorphism of the pattern changes the time.
    ///
    /// An automorphism maps pairs of ranks to pairs with equal edges. If pairs with equal edges
    /// have them in the same phases, every phase is mapped to itself. Otherwise phases may be
    /// mixed: a tensor ring of four and a pipeline of two, for example, make a cube, whose
    /// automorphisms map tensor edges to pipeline edges. If only the slowest edge of all counts,
    /// phases do not matter.
    fn is_symmetric(&self) -> bool {
        if self.overlapping && self.exchanges.is_empty() {
            return true;
        }
        let mut bundles: BTreeMap<(usize, usize), Vec<(u64, usize)>> = BTreeMap::new();
        for (phase, a, b, bytes) in self.edges() {
            bundles
                .entry((a, b))
                .or_default()
                .push((bytes.to_bits(), phase));
        }
        // By the traffic of a pair, its traffic with phases: one for all pairs of equal traffic?
        let mut known: BTreeMap<Vec<u64>, Vec<(u64, usize)>> = BTreeMap::new();
        bundles.into_values().all(|mut bundle| {
            bundle.sort_unstable();
            let colour = bundle.iter().map(|(bytes, _)| *bytes).collect();
            *known.entry(colour).or_insert_with(|| bundle.clone()) == bundle
        })
    }

    /// A lower bound of the time of all placements within these devices, seconds.
    ///
    /// In a phase every device in use sends to some neighbour, at best over its best link. If all
    /// ranks have two neighbours, it sends to a second one, at best over its next best link. In an
    /// all-to-all it sends to a whole group. As many devices are in use as there are ranks.
    ///
    /// # Complexity
    ///
    /// O(n²) for n devices; with an all-to-all O(n² log n).
    pub(crate) fn at_least(&self, subset: Subset<'_>) -> f64 {
        self.total(self.floors(subset))
    }

    /// The lower bound of [`StepTime::at_least`] by phase.
    pub(crate) fn floors(&self, subset: Subset<'_>) -> PhaseTimes {
        let ranks = self.pattern.len();
        let none = [0.0; Dimension::COUNT];
        let Some(spare) = subset
            .devices
            .len()
            .checked_sub(ranks)
            .filter(|_| ranks > 0)
        else {
            return none;
        };
        // The least time of each device, by phase, if it is in use.
        let floors: Few<PhaseTimes> = subset
            .devices
            .iter()
            .map(|a| {
                let ways = || {
                    subset
                        .devices
                        .iter()
                        .filter(|&b| b != a)
                        .map(|b| self.way(subset.graph, a, b))
                };
                let mut best = [0.0f64; 2];
                for PairWay { rate, .. } in ways() {
                    best = [best[0].max(rate), best[1].max(rate.min(best[0]))];
                }
                let seconds = |sent: f64, rate: f64| if sent > 0.0 { sent / rate } else { 0.0 };
                let mut floors = self
                    .least
                    .map(|least| seconds(least[0], best[0]).max(seconds(least[1], best[1])));
                for exchange in &self.exchanges {
                    floors[exchange.phase] = floors[exchange.phase].max(exchange.floor(ways()));
                }
                floors
            })
            .collect();
        std::array::from_fn(|phase| {
            let mut of_phase: Few<f64> = floors.iter().map(|floors| floors[phase]).collect();
            of_phase.sort_unstable_by(|a, b| b.total_cmp(a));
            // The slowest `spare` devices need not be in use; the next slowest must be.
            of_phase[spare]
        })
    }

    /// A lower bound of the time of all placements on sets of these devices that direct links do not
    /// connect, where edges connect all ranks: some edge then joins two devices without a direct link,
    /// at best the fastest such pair. It is not known which edge, so the one that costs the least counts.
    ///
    /// # Complexity
    ///
    /// As [`StepTime::at_least`].
    fn at_least_apart(&self, subset: Subset<'_>) -> f64 {
        let Subset { graph, devices } = subset;
        let floors = self.floors(subset);
        if !self.pattern.is_connected() {
            return self.total(floors);
        }
        let mut fastest = 0.0f64;
        for b in devices.iter() {
            for a in devices.iter().take_while(|a| *a < b) {
                if !graph.pair(b, a).direct.exists() {
                    fastest = fastest.max(self.way(graph, b, a).rate);
                }
            }
        }
        let mut fewest = [f64::INFINITY; Dimension::COUNT];
        for (phase, .., bytes) in self.edges() {
            fewest[phase] = fewest[phase].min(bytes);
        }
        let across = |(phase, bytes): (usize, f64)| {
            let mut times = floors;
            if bytes > 0.0 {
                times[phase] = times[phase].max(bytes / fastest);
            }
            self.total(times)
        };
        let sent = fewest.into_iter().enumerate();
        sent.filter(|(_, bytes)| bytes.is_finite())
            .map(across)
            .fold(f64::INFINITY, f64::min)
    }

    /// The time of a step whose phases take these times.
    pub(crate) fn total(&self, times: PhaseTimes) -> f64 {
        if self.overlapping {
            times.into_iter().fold(0.0, f64::max)
        } else {
            times.into_iter().sum()
        }
    }

    /// The phase, the ranks and the bytes of each edge.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (usize, usize, usize, f64)> {
        let edges = self.pattern.edges().iter().zip(&self.phases);
        edges.map(|(edge, &phase)| {
            (
                usize::from(phase),
                usize::from(edge.a),
                usize::from(edge.b),
                edge.traffic,
            )
        })
    }

    /// The all-to-all phases.
    pub(crate) fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// The way between two devices. A way through a link switch or over the host shares the port of
    /// either device.
    pub(crate) fn way(&self, graph: &HardwareGraph, a: DeviceId, b: DeviceId) -> PairWay {
        let link = graph.link_of_ranks(a, b);
        let has_port = |id: DeviceId| graph.device(id).switch_port.is_some();
        PairWay {
            rate: self.rates.of(link) * GB,
            shared: !link.class.is_direct() || has_port(a) && has_port(b),
        }
    }
}

/// The least over all ranks of what a rank sends in this phase to the neighbour to which it sends
/// most, and of what it sends to the next.
fn least_sent(pattern: &Pattern, phases: &[PhaseIndex], phase: PhaseIndex) -> [f64; 2] {
    let mut sent: Vec<Vec<(u16, f64)>> = vec![
        Vec::new();
        if pattern.edges().is_empty() {
            0
        } else {
            pattern.len()
        }
    ];
    for (edge, _) in pattern
        .edges()
        .iter()
        .zip(phases)
        .filter(|(_, number)| **number == phase)
    {
        for (rank, other) in [(edge.a, edge.b), (edge.b, edge.a)] {
            let sent = &mut sent[usize::from(rank)];
            // Two edges between a pair are its two directions: the larger decides.
            match sent.iter_mut().find(|(known, _)| *known == other) {
                Some((_, most)) => *most = most.max(edge.traffic),
                None => sent.push((other, edge.traffic)),
            }
        }
    }
    let mut least = [f64::INFINITY; 2];
    for sent in &mut sent {
        sent.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (i, least) in least.iter_mut().enumerate() {
            *least = least.min(sent.get(i).map_or(0.0, |(_, bytes)| *bytes));
        }
    }
    if sent.is_empty() { [0.0; 2] } else { least }
}

/// [`StepTime`] of a training job as an objective to be minimised: the seconds of communication in
/// one step, phase after phase.
#[must_use]
pub fn step_seconds(job: &Parallelism, rates: Rates) -> Objective<'static> {
    StepTime::new(job, rates).objective()
}

/// The time of the slowest edge of a pattern if all edges send at once, as an objective to be
/// minimised: its traffic in bytes, divided by the bandwidth of the best link between its devices,
/// in seconds.
///
/// Traffic in another unit changes the unit of the result. Two edges over one pair of devices count
/// as its two directions, which share nothing. The value is a number for this pattern only.
#[must_use]
pub fn edges_seconds(pattern: &Pattern, rates: Rates) -> Objective<'static> {
    StepTime::of_edges(pattern, rates).named("edges_seconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_that_could_be_mixed_up_break_the_symmetry() {
        let check = |text: &str, bytes: &str, symmetric: bool| {
            let job = text
                .parse::<Parallelism>()
                .unwrap()
                .with_bytes_of(bytes)
                .unwrap();
            let model = StepTime::new(&job, Rates::NOMINAL);
            assert_eq!(model.is_symmetric(), symmetric, "{text} {bytes}");
            let exchanges = !model.exchanges.is_empty();
            assert!(exchanges || model.overlapping().is_symmetric());
        };
        check("tp=8", "tp=1e9", true);
        check("tp=4,pp=2", "tp=1e9", true);
        // A ring of four that sends 3/2 of 1 GB along each edge, and stages that send as much: a
        // cube.
        check("tp=4,pp=2", "tp=1e9,pp=1.5e9", false);
        check("tp=2,dp=2", "tp=1e9,dp=1e9", false);
        check("tp=2,dp=2", "tp=2e9,dp=1e9", true);
        // A ring of two has two edges, a chain of two one.
        check("tp=2,pp=2", "tp=1e9", true);
        check("tp=4,dp=4,pp=2", "tp=2e9,pp=1e9,dp=1e9", true);
        // Gradients go round sequence groups too: ranks 0 and 1 have edges of both.
        check("sp=2,dp=2", "sp=1e9,dp=2e9", true);
        check("sp=2,dp=2", "sp=3e9,dp=2e9", true);
        check("pp=2,ulysses=2", "pp=1e9,sp=2e9,dp=0", false);
        check("pp=2,ulysses=2", "pp=1e9,sp=4e9,dp=0", true);
    }
}
