//! How long a step's communication takes, from what is sent and the links it is sent over.
//!
//! A training step sends in phases, one for each [`Dimension`]: within tensor groups, between pipeline stages, and so on. In a phase
//! all edges send at once, and every edge of a ring waits for the slowest, so the phase takes as long as its slowest edge: what
//! the edge carries per direction, over the bandwidth of the best link between its two devices. Phases follow one another, so
//! their times are added up; [`StepTime::overlapping`] has them all at once on links of their own.
//!
//! In an all-to-all (of experts, and of sequences if they are shared so) a device sends to its whole group. Direct links of its own
//! carry an edge each; but what it sends through a link switch or over the host leaves by one port, an edge after another: such
//! a phase takes as long as the slowest edge or the busiest port.
//!
//! Links are full duplex. A ring of two sends both ways over one link: two edges, one in each direction, at full speed both.
//! Behind a link switch the devices of a ring each send to one neighbour and receive from the other, so that a port carries one
//! edge's traffic per direction and the bandwidth of a pair is what it reaches; each device is in one tensor and one
//! data ring, say. What is not counted: an inner stage of three or more sends activations *and* gradients through its one port
//! there, up to twice the time counted; edges that share a path through the host, or a server's network link; the bubble of a
//! pipeline and computation, behind which communication may hide; latency. A pattern's own edges have one phase:
//! [`edges_seconds`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Candidate, Direction, Foresight, Objective, Rates, Subset};
use crate::matching::Few;
use crate::pattern::{Dimension, Parallelism, Pattern};
use crate::topology::{DeviceId, HardwareGraph};

/// Bytes in a GB.
const GB: f64 = 1e9;

/// The communication time of one step of a job: what is sent in which phase, and how fast links are.
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
/// let job: Parallelism = "tp=2,pp=2".parse()?;
/// let model = StepTime::new(&job, Rates::NOMINAL);
/// // 1 GB over 25 GB/s in either dimension.
/// assert_eq!(model.seconds(&fabric.lower()?, &[0, 1, 2, 3].map(DeviceId)), Some(0.04 + 0.04));
/// # Ok::<(), mapa_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StepTime {
    pattern: Pattern,
    /// Of each edge of the pattern.
    phases: Vec<Phase>,
    /// By phase, the least that any rank sends to that of its neighbours to which it sends most, and to the next: bytes.
    least: [[f64; 2]; Dimension::COUNT],
    /// The phases in which ports are shared.
    exchanges: Vec<Exchange>,
    rates: Rates,
    overlapping: bool,
}

/// A phase: the position of its dimension in [`Dimension::ALL`].
type Phase = u8;

/// Seconds by phase.
pub(crate) type Times = [f64; Dimension::COUNT];

/// An all-to-all phase.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) phase: usize,
    /// Of each edge.
    bytes: f64,
    /// By rank, to whom it sends.
    pub(crate) peers: Vec<Vec<usize>>,
}

/// How two devices are joined.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    /// Bytes per second and direction.
    pub(crate) rate: f64,
    /// Whether other ways of the same device share its port.
    shared: bool,
}

impl Exchange {
    /// What a rank's port takes for those peers that have a way, seconds. Added up from the least, so that more or slower ways never
    /// take less, and the same ways always as long.
    pub(crate) fn port(&self, rank: usize, way: impl Fn(usize) -> Option<Way>) -> f64 {
        let ways = self.peers.get(rank).into_iter().flatten().filter_map(|&peer| way(peer));
        let mut seconds: Few<f64> = ways.filter(|way| way.shared).map(|way| self.bytes / way.rate).collect();
        seconds.sort_unstable_by(f64::total_cmp);
        seconds.iter().sum()
    }

    /// What a device with these ways takes at least for as many of them as a rank has peers: the slowest edge or the port, if its
    /// fastest ways are taken.
    fn floor(&self, ways: impl Iterator<Item = Way>) -> f64 {
        let peers = self.peers.iter().map(Vec::len).min().unwrap_or(0);
        let mut seconds: Few<(f64, bool)> = ways.map(|way| (self.bytes / way.rate, way.shared)).collect();
        seconds.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let slowest = peers.checked_sub(1).and_then(|last| seconds.get(last)).map_or(0.0, |(own, _)| *own);
        let of_port = peers.saturating_sub(seconds.iter().filter(|(_, shared)| !shared).count());
        let port: f64 = seconds.iter().filter(|(_, shared)| *shared).take(of_port).map(|(own, _)| *own).sum();
        slowest.max(port)
    }
}

impl StepTime {
    /// Of a training job; `rates` say what part of a link's nominal bandwidth is reached.
    #[must_use]
    pub fn new(job: &Parallelism, rates: Rates) -> Self {
        let phase = |dimension: Dimension| job.edges(dimension).into_iter().map(move |_| dimension as Phase);
        let new = Self::with(job.pattern(), Dimension::ALL.into_iter().flat_map(phase).collect(), rates);
        let exchanges = Dimension::ALL.into_iter().filter(|&own| job.is_all_to_all(own) && !job.edges(own).is_empty());
        let exchange = |dimension: Dimension| Exchange {
            phase: dimension as usize,
            bytes: job.traffic(dimension),
            peers: new.peers(dimension as usize),
        };
        let exchanges = exchanges.map(exchange).collect();
        Self { exchanges, ..new }
    }

    /// Of any pattern, all edges of which send at once: traffic in bytes.
    pub(crate) fn of_edges(pattern: &Pattern, rates: Rates) -> Self {
        Self::with(pattern.clone(), vec![0; pattern.edges().len()], rates)
    }

    fn with(pattern: Pattern, phases: Vec<Phase>, rates: Rates) -> Self {
        let least = std::array::from_fn(|phase| least_sent(&pattern, &phases, phase as Phase));
        Self { pattern, phases, least, exchanges: Vec::new(), rates, overlapping: false }
    }

    /// By rank, to whom it sends in a phase.
    fn peers(&self, phase: usize) -> Vec<Vec<usize>> {
        let mut peers = vec![Vec::new(); self.pattern.len()];
        for (_, a, b, _) in self.edges().filter(|edge| edge.0 == phase) {
            peers[a].push(b);
            peers[b].push(a);
        }
        peers
    }

    /// The same with all phases at once, each as if it were alone: the longest counts, not the sum.
    #[must_use]
    pub fn overlapping(self) -> Self {
        Self { overlapping: true, ..self }
    }

    /// Seconds of communication in one step with these devices in rank order; infinite if an edge lies where no link is. None
    /// if it is not one device of the machine for each rank. O(E) for E edges.
    #[must_use]
    pub fn seconds(&self, graph: &HardwareGraph, placement: &[DeviceId]) -> Option<f64> {
        self.by_dimension(graph, placement).map(|times| self.total(times))
    }

    /// The same by dimension, as in [`Dimension::ALL`].
    #[must_use]
    pub fn by_dimension(&self, graph: &HardwareGraph, placement: &[DeviceId]) -> Option<[f64; Dimension::COUNT]> {
        let fits = placement.len() == self.pattern.len() && placement.iter().all(|id| id.index() < graph.len());
        fits.then(|| self.times([0.0; Dimension::COUNT], |a, b| self.way(graph, placement[a], placement[b])))
    }

    /// The same by phase, and at least so much, if ranks are joined like this.
    pub(crate) fn times(&self, mut times: Times, way: impl Fn(usize, usize) -> Way) -> Times {
        for (phase, a, b, bytes) in self.edges() {
            times[phase] = times[phase].max(bytes / way(a, b).rate);
        }
        for exchange in &self.exchanges {
            for rank in 0..self.pattern.len() {
                times[exchange.phase] = times[exchange.phase].max(exchange.port(rank, |peer| Some(way(rank, peer))));
            }
        }
        times
    }

    /// As an objective, to be minimised: `step_seconds`, or `step_seconds_overlapping`. It is a number for the job's own
    /// [pattern](Parallelism::pattern) only. Sets on which even the best links are too slow are passed over.
    #[must_use]
    pub fn objective(&self) -> Objective<'static> {
        self.named(if self.overlapping { "step_seconds_overlapping" } else { "step_seconds" })
    }

    fn named(&self, name: &'static str) -> Objective<'static> {
        let (model, bound, within) = (self.clone(), self.clone(), self.clone());
        let seconds = move |candidate: &Candidate<'_>| {
            let seconds = model.seconds(candidate.view.graph(), candidate.placement);
            seconds.filter(|_| model.is_of(candidate.pattern)).unwrap_or(f64::NAN)
        };
        let objective = Objective::placement(name, seconds)
            .bounded(move |subset| bound.at_least(subset))
            .foreseen(Foresight { within: Arc::new(move |subset, _| within.at_least(subset)), apart: None })
            .bounds_of(Direction::Lowest)
            .blind_to_ids();
        if self.is_symmetric() { objective.symmetric() } else { objective }
    }

    pub(crate) fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Whether it is the pattern whose time this is.
    pub(crate) fn is_of(&self, pattern: &Pattern) -> bool {
        pattern.len() == self.pattern.len() && pattern.edges() == self.pattern.edges()
    }

    /// Whether an automorphism of the pattern changes no time. It maps pairs of ranks to pairs with equal edges. If pairs with equal
    /// edges have them in the same phases, every phase is mapped to itself. If they do not, a tensor ring of four and a chain of
    /// two, say, make a cube, whose automorphisms mix them. Where only the slowest edge of all counts, phases do not matter.
    fn is_symmetric(&self) -> bool {
        let mut bundles: BTreeMap<(usize, usize), Vec<(u64, usize)>> = BTreeMap::new();
        for (phase, a, b, bytes) in self.edges() {
            bundles.entry((a, b)).or_default().push((bytes.to_bits(), phase));
        }
        let mut known: BTreeMap<Vec<u64>, Vec<(u64, usize)>> = BTreeMap::new();
        let mut is_known = |mut bundle: Vec<(u64, usize)>| {
            bundle.sort_unstable();
            let colour = bundle.iter().map(|(bytes, _)| *bytes).collect();
            *known.entry(colour).or_insert_with(|| bundle.clone()) == bundle
        };
        self.overlapping && self.exchanges.is_empty() || bundles.into_values().all(&mut is_known)
    }

    /// A time that no placement within these devices goes below, seconds. In a phase every device that is used sends
    /// something to some neighbour, over its best link at best, and to a second neighbour, if all ranks have two, over its next
    /// best; in an all-to-all to a whole group; as many devices are used as there are ranks. O(n²) for n devices, with an
    /// all-to-all O(n² log n).
    pub(crate) fn at_least(&self, subset: Subset<'_>) -> f64 {
        self.total(self.floors(subset))
    }

    /// The same by phase.
    pub(crate) fn floors(&self, subset: Subset<'_>) -> Times {
        let ranks = self.pattern.len();
        let none = [0.0; Dimension::COUNT];
        let Some(spare) = subset.devices.len().checked_sub(ranks).filter(|_| ranks > 0) else { return none };
        let floor = |a: DeviceId| {
            let ways = || subset.devices.iter().filter(|&b| b != a).map(|b| self.way(subset.graph, a, b));
            let mut best = [0.0f64; 2];
            for Way { rate, .. } in ways() {
                best = [best[0].max(rate), best[1].max(rate.min(best[0]))];
            }
            let seconds = |sent: f64, rate: f64| if sent > 0.0 { sent / rate } else { 0.0 };
            let mut floors = self.least.map(|least| seconds(least[0], best[0]).max(seconds(least[1], best[1])));
            for exchange in &self.exchanges {
                floors[exchange.phase] = floors[exchange.phase].max(exchange.floor(ways()));
            }
            floors
        };
        let floors: Few<Times> = subset.devices.iter().map(floor).collect();
        std::array::from_fn(|phase| {
            let mut of_phase: Few<f64> = floors.iter().map(|floors| floors[phase]).collect();
            of_phase.sort_unstable_by(|a, b| b.total_cmp(a));
            of_phase[spare]
        })
    }

    /// What phases of these times come to.
    pub(crate) fn total(&self, times: Times) -> f64 {
        if self.overlapping { times.into_iter().fold(0.0, f64::max) } else { times.into_iter().sum() }
    }

    /// The phase, the ranks and the bytes of each edge.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (usize, usize, usize, f64)> {
        let edges = self.pattern.edges().iter().zip(&self.phases);
        edges.map(|(edge, &phase)| (usize::from(phase), usize::from(edge.a), usize::from(edge.b), edge.traffic))
    }

    /// The all-to-all phases.
    pub(crate) fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// How two devices are joined. A way through a link switch or over the host shares the port of either.
    pub(crate) fn way(&self, graph: &HardwareGraph, a: DeviceId, b: DeviceId) -> Way {
        let link = graph.link_of_ranks(a, b);
        let switched = || [a, b].iter().all(|&id| graph.device(id).switch_port.is_some());
        Way { rate: self.rates.of(link) * GB, shared: !link.class.is_direct() || switched() }
    }
}

/// The least that any rank sends in this phase to that of its neighbours to which it sends most, and to the next.
fn least_sent(pattern: &Pattern, phases: &[Phase], phase: Phase) -> [f64; 2] {
    let mut sent: Vec<Vec<(u16, f64)>> = vec![Vec::new(); if pattern.edges().is_empty() { 0 } else { pattern.len() }];
    for (edge, _) in pattern.edges().iter().zip(phases).filter(|(_, own)| **own == phase) {
        for (rank, other) in [(edge.a, edge.b), (edge.b, edge.a)] {
            let sent = &mut sent[usize::from(rank)];
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

/// [`StepTime`] of a training job as an objective, to be minimised: seconds of communication in one step, a phase after
/// another.
#[must_use]
pub fn step_seconds(job: &Parallelism, rates: Rates) -> Objective<'static> {
    StepTime::new(job, rates).objective()
}

/// How long the slowest edge of a pattern takes, if all send at once: its traffic, in bytes, over what the best link between
/// its devices carries, in seconds; to be minimised. Traffic in another unit changes the unit. Edges over one pair of
/// devices share nothing: two are the two directions. It is a number for this pattern only.
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
            let job = text.parse::<Parallelism>().unwrap().with_bytes_of(bytes).unwrap();
            let model = StepTime::new(&job, Rates::NOMINAL);
            assert_eq!(model.is_symmetric(), symmetric, "{text} {bytes}");
            let exchanges = !model.exchanges.is_empty();
            assert!(exchanges || model.overlapping().is_symmetric());
        };
        check("tp=8", "tp=1e9", true);
        check("tp=4,pp=2", "tp=1e9", true);
        // A ring of four that sends 3/2 of 1 GB along each edge, and stages that send as much: a cube.
        check("tp=4,pp=2", "tp=1e9,pp=1.5e9", false);
        check("tp=2,dp=2", "tp=1e9", false);
        check("tp=2,dp=2", "tp=2e9", true);
        // A ring of two has two edges, a chain of two one.
        check("tp=2,pp=2", "tp=1e9", true);
        check("tp=4,dp=4,pp=2", "tp=2e9", true);
        // Gradients go round sequence groups too: ranks 0 and 1 have edges of both.
        check("sp=2,dp=2", "sp=1e9,dp=2e9", true);
        check("sp=2,dp=2", "sp=3e9,dp=2e9", true);
        check("pp=2,ulysses=2", "pp=1e9,sp=2e9,dp=0", false);
        check("pp=2,ulysses=2", "pp=1e9,sp=4e9,dp=0", true);
    }
}
