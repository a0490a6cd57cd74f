//! How scattered the free devices are, and how many are in use, over time.
//!
//! The value of free devices is the bandwidth of the links among them. Eight free GPUs of which no
//! two share a direct link can start the same jobs as eight neighbours, but run them slower. So
//! fragmentation is measured in bandwidth. The best ring of k free devices may have a lower
//! bandwidth than the best ring of k devices of the idle machine. Fragmentation is the share that
//! it loses, as a mean over ring sizes k. It does not depend on how many devices are free;
//! utilisation does.

use std::collections::BTreeMap;

use mapa_core::{
    DeviceId, DeviceSet, HardwareGraph, MachineId, Pattern, Policy, Request, Unit, View, greedy,
};
use mapa_sched::{Fleet, FleetState, Time};

use crate::table::{Column, Table};

/// Computes the fragmentation of free sets: the mean of 1 − B(free, k) / B(idle, k) over all k from
/// 2 to the largest for which the free set and the idle machine hold a ring. B is the highest
/// aggregated bandwidth (Eq. 1) of a ring of k. At 0 the free devices are as good as any devices of
/// the machine. `None` if no ring fits: fewer than two devices are free.
///
/// Only whole devices count. Results are cached by free set.
///
/// # Complexity
/// A new free set costs one decision of the policy `greedy` for each k. A known one costs a
/// look-up.
pub struct Fragmentation {
    greedy: Box<dyn Policy>,
    /// The largest ring that counts.
    largest: usize,
    /// The requests for rings of 2, 3, .. devices, as far as any machine has held them.
    rings: Vec<Request>,
    known: BTreeMap<(u64, DeviceSet), Option<f64>>,
    idle: BTreeMap<u64, Vec<Option<f64>>>,
    /// The sums over all servers, and the state of the fleet to which they belong: an event changes one
    /// server or two of many.
    seen: Option<(FleetState, Sums)>,
}

/// The devices of a server, or of several together.
#[derive(Clone, Copy, Debug, Default)]
struct ServerShare {
    /// The number of whole devices.
    devices: usize,
    in_use: f64,
    /// The sum of the fragmentation of the machines that have one, and their number.
    fragmentation: (f64, usize),
}

/// The shares of all servers, and their sums, in a binary tree: a server that changes costs a sum for
/// each level. The sums are the same however the servers came to their present states, which running
/// totals of floats are not.
#[derive(Clone, Debug)]
struct Sums {
    /// The root at 1, the children of `i` at `2 i` and `2 i + 1`, the servers from `places` on.
    nodes: Vec<ServerShare>,
    places: usize,
}

impl std::ops::Add for ServerShare {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let ((sum, count), (more, others)) = (self.fragmentation, other.fragmentation);
        Self {
            devices: self.devices + other.devices,
            in_use: self.in_use + other.in_use,
            fragmentation: (sum + more, count + others),
        }
    }
}

impl Sums {
    fn of(servers: impl ExactSizeIterator<Item = ServerShare>) -> Self {
        let places = servers.len().next_power_of_two();
        let mut nodes = vec![ServerShare::default(); places];
        nodes.extend(servers);
        nodes.resize(2 * places, ServerShare::default());
        for at in (1..places).rev() {
            nodes[at] = nodes[2 * at] + nodes[2 * at + 1];
        }
        Self { nodes, places }
    }

    fn set(&mut self, server: usize, share: ServerShare) {
        let mut at = self.places + server;
        self.nodes[at] = share;
        while at > 1 {
            at /= 2;
            self.nodes[at] = self.nodes[2 * at] + self.nodes[2 * at + 1];
        }
    }

    fn total(&self) -> ServerShare {
        self.nodes[1]
    }
}

impl Default for Fragmentation {
    /// Rings of up to five devices, the sizes of the paper's jobs.
    fn default() -> Self {
        Self::new(5)
    }
}

impl Fragmentation {
    /// Fragmentation by rings of up to `largest` devices.
    #[must_use]
    pub fn new(largest: usize) -> Self {
        Self {
            greedy: Box::new(greedy()),
            largest,
            rings: Vec::new(),
            known: BTreeMap::new(),
            idle: BTreeMap::new(),
            seen: None,
        }
    }

    /// The fragmentation of this free set of a machine; `None` if no ring fits.
    #[must_use]
    pub fn of(&mut self, graph: &HardwareGraph, free: &DeviceSet) -> Option<f64> {
        let wholes = graph.wholes();
        let here = (graph.fingerprint(), free & &wholes);
        if let Some(&known) = self.known.get(&here) {
            return known;
        }
        for k in self.rings.len() + 2..=self.largest.min(wholes.len()) {
            self.rings.push(Request::new(Pattern::ring(k)));
        }
        let best = |ring: &Request, free: &DeviceSet| {
            (ring.pattern.len() <= free.len())
                .then(|| best(&*self.greedy, ring, graph, free))
                .flatten()
        };
        let idle = self
            .idle
            .entry(here.0)
            .or_insert_with(|| self.rings.iter().map(|ring| best(ring, &wholes)).collect());
        let mut losses = Vec::new();
        for (ring, idle) in self.rings.iter().zip(&*idle) {
            // A machine without bandwidth cannot lose any.
            if let Some(idle) = idle.filter(|&idle| idle > 0.0)
                && let Some(free) = best(ring, &here.1)
            {
                losses.push(1.0 - free / idle);
            }
        }
        let mean = (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64);
        self.known.insert(here, mean);
        mean
    }

    /// The mean fragmentation of the machines of a fleet, without those that have none.
    ///
    /// # Complexity
    /// As [`Fragmentation::of`] for each machine that has changed since the last call, and O(log m) for m
    /// machines; O(1) if none has.
    #[must_use]
    pub fn of_fleet(&mut self, fleet: &Fleet) -> Option<f64> {
        let (sum, count) = self.look_at(fleet).fragmentation;
        (count > 0).then(|| sum / count as f64)
    }

    /// Adds up the machines; looks only at those that have changed.
    fn look_at(&mut self, fleet: &Fleet) -> ServerShare {
        let changed = |(then, sums): (FleetState, Sums)| {
            let changed: Vec<MachineId> = fleet.changed_since(then)?.collect();
            Some((changed, sums))
        };
        let sums = match self.seen.take().and_then(changed) {
            Some((changed, mut sums)) => {
                for machine in changed {
                    if let Ok(server) = fleet.machine(machine) {
                        sums.set(machine.0 as usize, self.share(server.view()));
                    }
                }
                sums
            }
            None => {
                let servers = fleet.machines().iter();
                Sums::of(servers.map(|server| self.share(server.view())))
            }
        };
        let total = sums.total();
        self.seen = Some((fleet.state(), sums));
        total
    }

    fn share(&mut self, view: View<'_>) -> ServerShare {
        let fragmentation = self.of(view.graph(), view.free());
        ServerShare {
            devices: view.graph().wholes().len(),
            in_use: in_use(view),
            fragmentation: fragmentation.map_or((0.0, 0), |share| (share, 1)),
        }
    }
}

/// The highest aggregated bandwidth of a ring on these devices, GB/s.
fn best(
    greedy: &dyn Policy,
    ring: &Request,
    graph: &HardwareGraph,
    free: &DeviceSet,
) -> Option<f64> {
    greedy
        .decide(ring, &graph.with_free(free))
        .ok()?
        .best()
        .score("aggregate_gbps")
}

/// The share of a whole device that a vertex stands for, by compute slices: 1 for a whole device, 0
/// for a vertex of the host.
pub(super) fn share_of_device(graph: &HardwareGraph, id: DeviceId) -> f64 {
    let device = graph.device(id);
    match device.unit {
        Unit::Whole => 1.0,
        Unit::Slice(_) => {
            let slices = |id: DeviceId| graph.device(id).size.map(|size| f64::from(size.compute));
            slices(id)
                .zip(slices(device.parent))
                .map_or(0.0, |(value, all)| value / all)
        }
        _ => 0.0,
    }
}

/// The number of devices of a machine that are in use. An instance counts as its share of its
/// device.
fn in_use(view: View<'_>) -> f64 {
    let devices = view.present() - view.free();
    let shares = devices.iter().map(|id| share_of_device(view.graph(), id));
    shares.sum()
}

/// The utilisation and the fragmentation of a fleet from one moment on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The moment.
    pub at: Time,
    /// The share of the devices that have a tenant; instances count for their share of their
    /// device's compute slices.
    pub utilisation: f64,
    /// [`Fragmentation::of_fleet`].
    pub fragmentation: Option<f64>,
}

/// Utilisation and fragmentation over time, as [`Simulation::observe`](crate::Simulation::observe)
/// passes the fleet.
///
/// # Examples
/// ```
/// use mapa_core::{Fabric, LinkClass, lowest_id};
/// use mapa_sched::{Fifo, Fleet};
/// use mapa_sim::{Fixed, Fragmentation, Generator, OverTime, Simulation};
///
/// let mut fabric = Fabric::new();
/// let gpus: Vec<_> = (0..6).map(|i| fabric.add_device(format!("GPU{i}"))).collect::<Result<_, _>>()?;
/// for (i, &a) in gpus.iter().enumerate() {
///     for &b in &gpus[..i] {
///         fabric.link(a, b, LinkClass::Direct(1), 25.0)?;
///     }
/// }
/// let workload = Generator::mapa().generate(1)?;
/// let mut fragmentation = Fragmentation::default();
/// let mut over_time = OverTime::default();
/// let simulation = Simulation::new(&workload, Fleet::new([std::sync::Arc::new(fabric.lower()?)]))
///     .observe(|now, fleet| over_time.observe(now, fleet, &mut fragmentation));
/// simulation.run(&mut Fifo::new(lowest_id()), &Fixed)?;
/// assert_eq!(over_time.mean_fragmentation(), Some(0.0)); // every pair is joined alike
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverTime {
    points: Vec<Point>,
}

impl OverTime {
    /// Adds a point. Of several points at one moment the last replaces the others: it is the state
    /// that lasts.
    pub fn observe(&mut self, now: Time, fleet: &Fleet, fragmentation: &mut Fragmentation) {
        let ServerShare {
            devices, in_use, ..
        } = fragmentation.look_at(fleet);
        let point = Point {
            at: now,
            // The sum of no floats is -0, which would be written with its sign.
            utilisation: (in_use + 0.0) / devices as f64,
            fragmentation: fragmentation.of_fleet(fleet),
        };
        self.points.pop_if(|last| last.at == now);
        self.points.push(point);
    }

    /// The series. Each point holds until the next.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The mean fragmentation over the time in which there is one; `None` if there never is. Never
    /// NaN.
    #[must_use]
    pub fn mean_fragmentation(&self) -> Option<f64> {
        self.mean(|point| point.fragmentation)
    }

    /// The mean of the utilisation over the time from the first point to the last.
    #[must_use]
    pub fn mean_utilisation(&self) -> Option<f64> {
        self.mean(|point| Some(point.utilisation))
    }

    /// The highest fragmentation of any point.
    #[must_use]
    pub fn max_fragmentation(&self) -> Option<f64> {
        self.points
            .iter()
            .filter_map(|point| point.fragmentation)
            .max_by(f64::total_cmp)
    }

    /// A table with a row for each point: `time_s`, `utilisation`, `fragmentation`.
    #[must_use]
    pub fn table(&self) -> Table {
        table(&self.points)
    }

    /// The rows of [`table`](Self::table) as small tables, one after another. Each is made when it is asked for, so that
    /// no more than one has to be held.
    pub fn tables(&self) -> impl Iterator<Item = Table> + '_ {
        self.points.chunks(PIECE).map(table)
    }

    fn mean(&self, of: impl Fn(&Point) -> Option<f64>) -> Option<f64> {
        let spans = self.points.windows(2).filter_map(|pair| {
            let lasts = (pair[1].at - pair[0].at).as_secs_f64();
            of(&pair[0]).map(|value| (lasts, value * lasts))
        });
        let (time, sum) = spans.fold((0.0, 0.0), |(time, sum), (lasts, part)| {
            (time + lasts, sum + part)
        });
        (time > 0.0).then(|| sum / time)
    }
}

/// How many rows are made at once where a table is made in pieces.
const PIECE: usize = 256;

fn table(points: &[Point]) -> Table {
    let numbers =
        |of: &dyn Fn(&Point) -> Option<f64>| Column::Numbers(points.iter().map(of).collect());
    Table::of([
        (
            "time_s",
            numbers(&|point| Some((point.at - Time::ZERO).as_secs_f64())),
        ),
        ("utilisation", numbers(&|point| Some(point.utilisation))),
        ("fragmentation", numbers(&|point| point.fragmentation)),
    ])
}
