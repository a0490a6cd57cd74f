//! How scattered what is free is, and how much is in use, over time.
//!
//! Devices that are free are worth what the links among them carry: eight free GPUs that pairwise share no direct link start the
//! same jobs as eight neighbours, and run them slower. So fragmentation is told in bandwidth. A ring of k on the free set loses a share of
//! what a ring of k has on the idle machine; the mean of that over the sizes that jobs have is the machine's fragmentation. The number
//! of free devices itself is no part of it: utilisation tells that.

use std::collections::BTreeMap;

use mapa_core::{DeviceId, DeviceSet, HardwareGraph, Pattern, Policy, Request, Unit, View, greedy};
use mapa_sched::{Fleet, Time};

use crate::table::{Column, Table};

/// The fragmentation of free sets: over all k from 2 to the largest that the free set and the idle machine can hold a ring of, the
/// mean of 1 − B(free, k) / B(idle, k), where B is the highest aggregated bandwidth (Eq. 1) of a ring of k. 0: what is free is as good as
/// any devices of the machine. None, if no ring fits: fewer than two devices are free.
///
/// Only whole devices count. Each set is worked out once, by the policy `greedy`; O(machines x largest) decisions for a set that is
/// new.
pub struct Fragmentation {
    greedy: Box<dyn Policy>,
    /// Rings of 2, 3, ..
    rings: Vec<Request>,
    known: BTreeMap<(u64, DeviceSet), Option<f64>>,
    idle: BTreeMap<u64, Vec<Option<f64>>>,
}

impl Default for Fragmentation {
    /// Rings of up to five devices, the sizes of the paper's jobs.
    fn default() -> Self {
        Self::new(5)
    }
}

impl Fragmentation {
    /// By rings of up to so many devices.
    #[must_use]
    pub fn new(largest: usize) -> Self {
        let rings = (2..=largest).map(|k| Request::new(Pattern::ring(k))).collect();
        Self { greedy: Box::new(greedy()), rings, known: BTreeMap::new(), idle: BTreeMap::new() }
    }

    /// That of these free devices of a machine.
    #[must_use]
    pub fn of(&mut self, graph: &HardwareGraph, free: &DeviceSet) -> Option<f64> {
        let wholes = graph.wholes();
        let here = (graph.fingerprint(), free & &wholes);
        if let Some(&known) = self.known.get(&here) {
            return known;
        }
        let best = |ring: &Request, free: &DeviceSet| {
            (ring.pattern.len() <= free.len()).then(|| best(&*self.greedy, ring, graph, free)).flatten()
        };
        let idle =
            self.idle.entry(here.0).or_insert_with(|| self.rings.iter().map(|ring| best(ring, &wholes)).collect());
        let lost = |(ring, idle): (&Request, &Option<f64>)| {
            let idle = idle.filter(|&idle| idle > 0.0)?;
            Some(1.0 - best(ring, &here.1)? / idle)
        };
        let losses: Vec<f64> = self.rings.iter().zip(&*idle).filter_map(lost).collect();
        let mean = (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64);
        self.known.insert(here, mean);
        mean
    }

    /// The mean over the machines of a fleet for which there is a number.
    #[must_use]
    pub fn of_fleet(&mut self, fleet: &Fleet) -> Option<f64> {
        let machines: Vec<f64> = fleet.views().filter_map(|view| self.of(view.graph(), view.free())).collect();
        (!machines.is_empty()).then(|| machines.iter().sum::<f64>() / machines.len() as f64)
    }
}

/// The highest aggregated bandwidth of a ring on these devices, GB/s.
fn best(greedy: &dyn Policy, ring: &Request, graph: &HardwareGraph, free: &DeviceSet) -> Option<f64> {
    greedy.decide(ring, &graph.with_free(free)).ok()?.best().score("aggregate_gbps")
}

/// The share of a whole device that a vertex is, by compute slices; nothing of one that belongs to the host.
pub(super) fn share_of_device(graph: &HardwareGraph, id: DeviceId) -> f64 {
    let device = graph.device(id);
    match device.unit {
        Unit::Whole => 1.0,
        Unit::Slice(_) => {
            let slices = |id: DeviceId| graph.device(id).size.map(|size| f64::from(size.compute));
            slices(id).zip(slices(device.parent)).map_or(0.0, |(own, all)| own / all)
        }
        _ => 0.0,
    }
}

/// What was the case from one moment on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// From when.
    pub at: Time,
    /// The share of the devices that have a tenant; instances count for their share of their device's compute slices.
    pub utilisation: f64,
    /// [`Fragmentation::of_fleet`].
    pub fragmentation: Option<f64>,
}

/// Utilisation and fragmentation over time, as [`Simulation::observe`](crate::Simulation::observe) shows the fleet.
///
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
    /// Takes down what is the case. At one moment the last word counts, as it is that which lasts.
    pub fn observe(&mut self, now: Time, fleet: &Fleet, fragmentation: &mut Fragmentation) {
        let held = |view: View<'_>| {
            let in_use = view.present() - view.free();
            in_use.iter().map(|id| share_of_device(view.graph(), id)).sum::<f64>()
        };
        let devices: usize = fleet.views().map(|view| view.graph().wholes().len()).sum();
        // A sum of nothing is -0.
        let utilisation = (fleet.views().map(held).sum::<f64>() + 0.0) / devices as f64;
        let point = Point { at: now, utilisation, fragmentation: fragmentation.of_fleet(fleet) };
        self.points.pop_if(|last| last.at == now);
        self.points.push(point);
    }

    /// The series, each point until the next.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The mean of the fragmentation over the time in which there is one: NaN-free, none if there never is.
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
        self.points.iter().filter_map(|point| point.fragmentation).max_by(f64::total_cmp)
    }

    /// A row a point: `time_s`, `utilisation`, `fragmentation`.
    #[must_use]
    pub fn table(&self) -> Table {
        let numbers = |of: &dyn Fn(&Point) -> Option<f64>| Column::Numbers(self.points.iter().map(of).collect());
        Table::of([
            ("time_s", numbers(&|point| Some((point.at - Time::ZERO).as_secs_f64()))),
            ("utilisation", numbers(&|point| Some(point.utilisation))),
            ("fragmentation", numbers(&|point| point.fragmentation)),
        ])
    }

    fn mean(&self, of: impl Fn(&Point) -> Option<f64>) -> Option<f64> {
        let spans = self.points.windows(2).filter_map(|pair| {
            let lasts = (pair[1].at - pair[0].at).as_secs_f64();
            of(&pair[0]).map(|value| (lasts, value * lasts))
        });
        let (time, sum) = spans.fold((0.0, 0.0), |(time, sum), (lasts, part)| (time + lasts, sum + part));
        (time > 0.0).then(|| sum / time)
    }
}
