//! Machines as lanes of a plan: which set a job gets where, and how long it runs there.

use std::sync::Arc;

use mapa_core::{
    HardwareGraph, Objective, Patience, Pattern, Prefer, Request, Rules, SetChoices, SetScores,
    criteria::max,
};

use mapa_sched::plan::{Classes, Goal, LaneOpening, LaneTicket, Physics};

/// The most different patterns that are planned.
pub(super) const SHAPES: usize = 16;
/// Ways to choose a set.
const MODES: u8 = 4;
/// The fastest free set, whatever it is.
pub(super) const ANY: u8 = 0;
/// The fastest free set if it is nearly the best of the machine.
pub(super) const GOOD: u8 = 1;
/// The free set that leaves most links to others.
pub(super) const MODEST: u8 = 2;
/// The fastest free set if it is not far from the best of the machine.
pub(super) const FAIR: u8 = 3;
/// The bit of a gene that says that nobody behind this job starts before it does.
pub(super) const BAR: u8 = 4;
/// How much more of the way from full speed to the slowest links a set may lose than the best one
/// of the machine, by mode.
const MORE_LOSS: [f64; MODES as usize] = [f64::INFINITY, 0.1, f64::INFINITY, 0.34];
/// Ends that are so close are one moment, seconds.
const TOGETHER: f64 = 1e-8;

/// What a machine must know of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SetJob {
    /// The number of its pattern.
    pub(super) shape: u8,
    /// Its number of devices.
    pub(super) devices: u8,
    /// Seconds at full speed.
    pub(super) work: f64,
    /// By how much its run time grows over the slowest links, as a share of `work`.
    pub(super) gain: f64,
    /// Whether it chooses its set; otherwise it takes the one that leaves most links to others.
    pub(super) chooses: bool,
    /// Seconds on the best set of the machine.
    pub(super) ideal: f64,
    /// When it arrived, seconds.
    pub(super) since: f64,
}

impl SetJob {
    /// How long it runs on a set that loses this share of the way to the slowest links, seconds.
    pub(super) fn seconds(&self, loss: f64) -> f64 {
        self.work * (1.0 + self.gain * loss)
    }

    /// The mode that a gene means for it.
    pub(super) fn mode(&self, gene: u8) -> u8 {
        if self.chooses { gene % MODES } else { MODEST }
    }
}

/// A job that runs, in a simulation.
#[derive(Clone, Copy, Debug)]
struct SimulatedRun {
    ends: f64,
    /// The devices as a mask, or their number.
    set: u32,
    ticket: LaneTicket,
}

/// A machine at a moment of a simulation.
#[derive(Clone, Debug, Default)]
pub(super) struct MachineState {
    pub(super) kind: u16,
    /// The devices that may be used, and those that are free: masks, or numbers where the kind counts.
    pub(super) present: u32,
    pub(super) free: u32,
    /// The number of devices of jobs that run.
    held: u32,
    idle: u32,
    /// Seconds since the beginning of the simulation.
    at: f64,
    runs: Vec<SimulatedRun>,
}

impl MachineState {
    /// A machine with these devices in service and these of them free, and who runs there: the devices
    /// of each, and the seconds until its end, by ticket.
    pub(super) fn new(
        kinds: &MachineKinds,
        kind: u16,
        (present, free): (u32, u32),
        runs: impl Iterator<Item = (u32, f64)>,
    ) -> Self {
        let own = &kinds.kinds[usize::from(kind)];
        let mut state = Self {
            kind,
            present,
            free,
            idle: own.count(free),
            ..Self::default()
        };
        for (ticket, (set, ends)) in (0..).zip(runs) {
            // A device that was taken out of service is not free when its job ends.
            let set = match own.by {
                SetLookup::Tables { .. } => set & present,
                SetLookup::Counts { .. } => set,
            };
            state.held += own.count(set);
            state.runs.push(SimulatedRun { ends, set, ticket });
        }
        state
    }
}

/// The tables of a pattern on a machine.
#[derive(Clone, Debug)]
struct PatternSets {
    fastest: Arc<SetChoices>,
    modest: Arc<SetChoices>,
    /// What each set loses: 0 at full speed, 1 over the slowest links.
    losses: Box<[f64]>,
    /// The least of these.
    least: f64,
}

/// How sets are found on a machine.
#[derive(Clone, Debug)]
enum SetLookup {
    /// By tables, by free set: up to sixteen whole devices.
    Tables {
        shapes: Vec<Option<PatternSets>>,
        /// Which patterns can start in which modes, one bit each, by free set.
        open: Vec<u64>,
    },
    /// By the number of free devices, as if all sets were as good as the best.
    Counts {
        /// The devices and the least loss of each pattern that fits.
        shapes: Vec<Option<(u32, f64)>>,
        /// Whether all pairs of devices are linked alike, so that all sets are.
        alike: bool,
    },
}

/// A kind of machine.
#[derive(Clone, Debug)]
pub(super) struct MachineKind {
    graph: Arc<HardwareGraph>,
    devices: u32,
    by: SetLookup,
}

impl MachineKind {
    fn count(&self, set: u32) -> u32 {
        match self.by {
            SetLookup::Tables { .. } => set.count_ones(),
            SetLookup::Counts { .. } => set,
        }
    }
}

/// The kinds of machines of a fleet, and the patterns of its jobs.
#[derive(Clone, Debug)]
pub(super) struct MachineKinds {
    pub(super) model: Objective<'static>,
    kinds: Vec<MachineKind>,
    shapes: Vec<Pattern>,
}

impl MachineKinds {
    pub(super) fn new(model: Objective<'static>) -> Self {
        Self {
            model,
            kinds: Vec::new(),
            shapes: Vec::new(),
        }
    }

    /// The number of a kind of machine.
    pub(super) fn kind_of(&mut self, graph: &Arc<HardwareGraph>) -> u16 {
        let print = graph.fingerprint();
        if let Some(at) = self
            .kinds
            .iter()
            .position(|kind| kind.graph.fingerprint() == print)
        {
            return at as u16;
        }
        let by = if SetScores::covers(graph) {
            SetLookup::Tables {
                shapes: Vec::new(),
                open: vec![0; 1 << graph.len()],
            }
        } else {
            SetLookup::Counts {
                shapes: Vec::new(),
                alike: are_alike(graph),
            }
        };
        self.kinds.push(MachineKind {
            graph: graph.clone(),
            devices: graph.wholes().len() as u32,
            by,
        });
        let at = self.kinds.len() - 1;
        for shape in 0..self.shapes.len() {
            self.prepare(at, shape);
        }
        at as u16
    }

    /// The number of a pattern; `None` if there are too many, or if it cannot be planned: no machine
    /// holds it, or a machine that is large enough has no table for it.
    pub(super) fn shape_of(&mut self, pattern: &Pattern) -> Option<u8> {
        if let Some(at) = self.shapes.iter().position(|shape| shape == pattern) {
            return Some(at as u8);
        }
        if self.shapes.len() == SHAPES {
            return None;
        }
        self.shapes.push(pattern.clone());
        for kind in 0..self.kinds.len() {
            self.prepare(kind, self.shapes.len() - 1);
        }
        let shape = self.shapes.len() as u8 - 1;
        let large = |kind: &MachineKind| kind.devices as usize >= pattern.len();
        let mut kinds = (0..)
            .zip(&self.kinds)
            .filter(|(_, kind)| large(kind))
            .peekable();
        let is_planned =
            kinds.peek().is_some() && kinds.all(|(kind, _)| self.least_loss(kind, shape).is_some());
        if !is_planned {
            // A pattern that is not planned takes the place of none that is.
            self.shapes.pop();
            for kind in &mut self.kinds {
                match &mut kind.by {
                    SetLookup::Tables { shapes, open } => {
                        shapes.pop();
                        let mask = !(0xf << (usize::from(shape) * usize::from(MODES)));
                        open.iter_mut().for_each(|number| *number &= mask);
                    }
                    SetLookup::Counts { shapes, .. } => drop(shapes.pop()),
                }
            }
        }
        is_planned.then_some(shape)
    }

    /// Whether a kind of machine is planned by counts though its sets differ, or offers some sets only,
    /// which the tables do not know: then nothing is known of how good a set will be.
    pub(super) fn is_vague(&self, kind: u16) -> bool {
        let kind = &self.kinds[usize::from(kind)];
        kind.graph.offered().is_some() || matches!(kind.by, SetLookup::Counts { alike: false, .. })
    }

    /// A gene for a job of a lane that can start once the machine is idle: this one, or the fastest
    /// set whatever it is, if the sets that it asks for are out of service.
    pub(super) fn possible(&self, state: &MachineState, job: &SetJob, gene: u8) -> u8 {
        let idle = MachineState {
            kind: state.kind,
            free: state.present,
            ..MachineState::default()
        };
        let class = u32::from(self.class(job, gene & !BAR));
        if self.open(&idle).starts >> class & 1 == 1 {
            gene
        } else {
            gene & BAR | ANY
        }
    }

    /// Makes the tables of a pattern on a kind of machine.
    fn prepare(&mut self, kind: usize, shape: usize) {
        let (model, pattern) = (&self.model, &self.shapes[shape]);
        let MachineKind { graph, by, .. } = &mut self.kinds[kind];
        match by {
            SetLookup::Tables { shapes, open } => {
                let sets = PatternSets::of(graph, model, pattern);
                if let Some(sets) = &sets {
                    for (free, open) in (0..).zip(open.iter_mut()) {
                        *open |= sets.modes(free) << (shape * usize::from(MODES));
                    }
                }
                shapes.push(sets);
            }
            SetLookup::Counts { shapes, .. } => {
                let all = graph.all();
                let policy = Rules::new("the best set").prefer(max(model.clone()));
                let best = graph
                    .with_free(&all)
                    .decide(&policy, &Request::new(pattern.clone()));
                let loss = |gbps: f64| if pattern.len() < 2 { 0.0 } else { loss(gbps) };
                shapes.push(best.ok().map(|decision| {
                    let gbps = decision.best().score(model.name());
                    (pattern.len() as u32, loss(gbps.unwrap_or(f64::INFINITY)))
                }));
            }
        }
    }

    /// The least loss of a pattern on a kind of machine; `None` if it does not fit there.
    pub(super) fn least_loss(&self, kind: u16, shape: u8) -> Option<f64> {
        match &self.kinds[usize::from(kind)].by {
            SetLookup::Tables { shapes, .. } => Some(shapes[usize::from(shape)].as_ref()?.least),
            SetLookup::Counts { shapes, .. } => Some(shapes[usize::from(shape)]?.1),
        }
    }

    /// Whether the machine finds sets by tables.
    pub(super) fn has_tables(&self, kind: u16) -> bool {
        matches!(self.kinds[usize::from(kind)].by, SetLookup::Tables { .. })
    }

    /// The set that a job gets, and what it loses there. The set is a mask, or a number of devices.
    pub(super) fn set(&self, state: &MachineState, job: &SetJob, gene: u8) -> Option<(u32, f64)> {
        match &self.kinds[usize::from(state.kind)].by {
            SetLookup::Tables { shapes, .. } => {
                let sets = shapes[usize::from(job.shape)].as_ref()?;
                let choices = match job.mode(gene) {
                    MODEST => &sets.modest,
                    _ => &sets.fastest,
                };
                let set = choices.at(state.free)?;
                Some((set, sets.losses[set as usize]))
            }
            SetLookup::Counts { shapes, .. } => {
                let own = shapes[usize::from(job.shape)]?;
                (state.free >= own.0).then_some(own)
            }
        }
    }

    /// What a set of a pattern loses on a kind of machine.
    pub(super) fn loss(&self, kind: u16, shape: u8, set: u32) -> Option<f64> {
        match &self.kinds[usize::from(kind)].by {
            SetLookup::Tables { shapes, .. } => {
                let sets = shapes[usize::from(shape)].as_ref()?;
                sets.losses.get(set as usize).copied()
            }
            SetLookup::Counts { shapes, .. } => Some(shapes[usize::from(shape)]?.1),
        }
    }
}

impl PatternSets {
    fn of(graph: &HardwareGraph, model: &Objective<'static>, pattern: &Pattern) -> Option<Self> {
        let scores = SetScores::of(graph, model, pattern)?;
        let mut losses = vec![f64::NAN; 1 << graph.len()].into_boxed_slice();
        let mut least = f64::INFINITY;
        for (set, gbps) in scores.iter() {
            let Some(gbps) = gbps else { continue };
            let own = if pattern.len() < 2 { 0.0 } else { loss(gbps) };
            losses[set as usize] = own;
            least = least.min(own);
        }
        let choices = |prefer| SetChoices::of(graph, model, pattern, prefer);
        least.is_finite().then_some(())?;
        Some(Self {
            fastest: choices(Prefer::Fastest)?,
            modest: choices(Prefer::MostLeft)?,
            losses,
            least,
        })
    }

    /// The modes in which the pattern can start where these devices are free, one bit each.
    fn modes(&self, free: u32) -> u64 {
        let Some(set) = self.fastest.at(free) else {
            return 0;
        };
        let more = self.losses[set as usize] - self.least;
        let may = |mode: &u8| more <= MORE_LOSS[usize::from(*mode)] + 1e-12;
        (0..MODES).filter(may).fold(0, |all, mode| all | 1 << mode)
    }
}

/// Whether all pairs of devices have direct links of one class and bandwidth.
fn are_alike(graph: &HardwareGraph) -> bool {
    let wholes = graph.wholes();
    let ids = || wholes.iter();
    let mut links = ids()
        .flat_map(|a| ids().filter(move |&b| a < b).map(move |b| graph.link(a, b)))
        .map(|link| (link.class, link.gbps));
    let Some(first) = links.next() else {
        return true;
    };
    first.0.is_direct() && links.all(|link| link == first)
}

/// The share of the way from full speed to the slowest links that a bandwidth loses.
fn loss(gbps: f64) -> f64 {
    let doubling = Patience {
        slowdown: 2.0,
        ..Patience::default()
    };
    doubling.slowdown_at(gbps) - 1.0
}

impl Physics for MachineKinds {
    type Job = SetJob;
    type State = MachineState;

    fn holds(&self, state: &MachineState, job: &SetJob) -> bool {
        let idle = MachineState {
            kind: state.kind,
            free: state.present,
            ..MachineState::default()
        };
        self.set(&idle, job, ANY).is_some()
    }

    fn class(&self, job: &SetJob, gene: u8) -> u8 {
        let bar = (gene & BAR) / BAR;
        job.shape * MODES + job.mode(gene) + bar * SHAPES as u8 * MODES
    }

    fn open(&self, state: &MachineState) -> LaneOpening {
        const HALF: u32 = SHAPES as u32 * MODES as u32;
        let open = match &self.kinds[usize::from(state.kind)].by {
            SetLookup::Tables { open, .. } => open.get(state.free as usize).copied().unwrap_or(0),
            SetLookup::Counts { shapes, .. } => (0..)
                .zip(shapes)
                .filter(|(_, row)| row.is_some_and(|pair| pair.0 <= state.free))
                .fold(0, |all, (shape, _): (u32, _)| {
                    all | 0xf << (shape * u32::from(MODES))
                }),
        };
        let open = Classes::from(open);
        LaneOpening {
            starts: open | open << HALF,
            bars: Classes::MAX << HALF,
        }
    }

    fn start(&self, state: &mut MachineState, job: &SetJob, gene: u8, ticket: LaneTicket) {
        let Some((set, loss)) = self.set(state, job, gene) else {
            return;
        };
        // No borrow crosses: the set is part of what is free.
        state.free -= set;
        let count = u32::from(job.devices);
        state.held += count;
        state.idle = state.idle.saturating_sub(count);
        state.runs.push(SimulatedRun {
            ends: state.at + job.seconds(loss),
            set,
            ticket,
        });
    }

    fn next(&self, state: &mut MachineState, ended: &mut Vec<LaneTicket>) -> Option<f64> {
        let ends = state.runs.iter().map(|run| run.ends);
        let first = ends.fold(f64::INFINITY, f64::min);
        if first == f64::INFINITY {
            return None;
        }
        let passed = (first - state.at).max(0.0);
        state.at += passed;
        let kind = &self.kinds[usize::from(state.kind)];
        let (free, held, idle) = (&mut state.free, &mut state.held, &mut state.idle);
        state.runs.retain(|run| {
            if run.ends > first + TOGETHER {
                return true;
            }
            ended.push(run.ticket);
            *free += run.set;
            let count = kind.count(run.set);
            *held -= count;
            *idle += count;
            false
        });
        Some(passed)
    }
}

/// What a schedule costs: a weighted sum of completion times, the last end, and machine time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SetGoal {
    /// The factor of the completion times, 0 or 1.
    pub(super) completions: f64,
    /// The cost of a second until the last end.
    pub(super) last: f64,
    /// How much that grows with every second. On several machines a sum of last ends would be no
    /// makespan: a sum that grows faster than they do keeps them even.
    pub(super) climb: f64,
    /// The cost of a second of all devices, in use, or idle while jobs wait.
    pub(super) machine: f64,
    /// The devices of all machines.
    pub(super) devices: f64,
}

impl Goal<MachineState> for SetGoal {
    fn rate(&self, weight: f64, waits: bool, state: &MachineState) -> f64 {
        let used = state.held + if waits { state.idle } else { 0 };
        let machine = self.machine * f64::from(used) / self.devices.max(1.0);
        self.completions * weight + self.last + self.climb * state.at + machine
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use mapa_core::testing::machines;
    use mapa_core::{DeviceId, ring_packing_gbps};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use mapa_sched::JobId;
    use mapa_sched::plan::{PlanEntry, Planner};

    const FLOW: SetGoal = SetGoal {
        completions: 1.0,
        last: 0.0,
        climb: 0.0,
        machine: 0.0,
        devices: 1.0,
    };

    /// The direct bandwidth between the devices of a set, GB/s.
    fn direct(graph: &HardwareGraph, set: u32) -> f64 {
        let ids: Vec<u32> = (0..32).filter(|at| set >> at & 1 == 1).collect();
        let mut sum = 0.0;
        for (at, &a) in ids.iter().enumerate() {
            for &b in &ids[..at] {
                let link = graph.link(DeviceId(a), DeviceId(b));
                sum += if link.class.is_direct() {
                    link.gbps
                } else {
                    0.0
                };
            }
        }
        sum
    }

    /// The set of a job and what it loses there, by a visit to all sets.
    fn visited(machines: &MachineKinds, job: &SetJob, gene: u8, free: u32) -> Option<(u32, f64)> {
        let graph = &machines.kinds[0].graph;
        let scores = SetScores::of(
            graph,
            &machines.model,
            &machines.shapes[usize::from(job.shape)],
        )?;
        let lost = |gbps: f64| {
            if job.devices < 2 {
                0.0
            } else {
                loss(gbps.clamp(10.0, 50.0))
            }
        };
        let all: Vec<(u32, f64)> = scores
            .iter()
            .filter_map(|(set, gbps)| Some((set, lost(gbps?))))
            .collect();
        let least = all.iter().map(|pair| pair.1).fold(f64::INFINITY, f64::min);
        let mode = job.mode(gene);
        let order = |a: &(u32, f64), b: &(u32, f64)| -> Ordering {
            let left = |pair: &(u32, f64)| direct(graph, free & !pair.0);
            let by_left = left(b).total_cmp(&left(a));
            let by_loss = a.1.total_cmp(&b.1);
            let by = if mode == MODEST {
                by_left.then(by_loss)
            } else {
                by_loss.then(by_left)
            };
            by.then(a.0.cmp(&b.0))
        };
        let best = all
            .iter()
            .filter(|pair| pair.0 & !free == 0)
            .min_by(|a, b| order(a, b))
            .copied()?;
        (best.1 - least <= MORE_LOSS[usize::from(mode)] + 1e-9).then_some(best)
    }

    /// When each job of a list ends, slowly: at each moment the list is scanned from its beginning.
    fn slow(machines: &MachineKinds, list: &[(SetJob, u8)]) -> Vec<Option<f64>> {
        let mut free = (1_u32 << machines.kinds[0].graph.len()) - 1;
        let mut ends = vec![None; list.len()];
        let mut runs: Vec<(f64, u32)> = Vec::new();
        let mut now = 0.0;
        loop {
            let mut at = 0;
            while at < list.len() {
                let (job, gene) = &list[at];
                if ends[at].is_some() {
                    at += 1;
                } else if let Some((set, loss)) = visited(machines, job, *gene, free) {
                    free &= !set;
                    ends[at] = Some(now + job.seconds(loss));
                    runs.push((now + job.seconds(loss), set));
                    at = 0;
                } else if gene & BAR != 0 {
                    break;
                } else {
                    at += 1;
                }
            }
            let Some(first) = runs.iter().map(|run| run.0).min_by(f64::total_cmp) else {
                return ends;
            };
            now = first;
            runs.retain(|run| {
                let stays = run.0 > first + TOGETHER;
                free |= if stays { 0 } else { run.1 };
                stays
            });
        }
    }

    /// A search simulates no more than its moves, each once: starts and ends of every job.
    #[test]
    fn a_search_keeps_its_budget() {
        let mut machines = MachineKinds::new(ring_packing_gbps());
        let mut fabric = mapa_core::Fabric::new();
        let root = fabric.add_numa("cpu0", 0).unwrap();
        for device in 0..6 {
            let device = fabric.add_device(format!("GPU{device}")).unwrap();
            fabric.attach(device, root, 12.0).unwrap();
        }
        let graph = Arc::new(fabric.lower().unwrap());
        let kind = machines.kind_of(&graph);
        let shapes: Vec<u8> = (1..=3)
            .map(|size| machines.shape_of(&Pattern::ring(size)).unwrap())
            .collect();
        let state = MachineState::new(&machines, kind, (63, 63), std::iter::empty());
        let mut plan = Planner::new(machines, FLOW, 0);
        plan.add_lane(state);
        for id in 0..40_u64 {
            let size = id as usize % 3;
            let job = SetJob {
                shape: shapes[size],
                devices: size as u8 + 1,
                work: 5.0 + id as f64,
                gain: 0.6,
                chooses: size > 0,
                ideal: 5.0 + id as f64,
                since: 0.0,
            };
            let entry = PlanEntry {
                id: JobId(id),
                job,
                gene: ANY,
                weight: 1.0,
            };
            plan.put(0, usize::MAX, entry);
        }
        let moves = 1000 / 40;
        plan.search(
            (moves, &super::super::lists::MOVES),
            |_, _| {},
            |_, _| 0,
            |draws, _, _| draws.below(4) as u8,
        );
        let most = (moves as u64 + 1) * (2 * 40 + 1);
        assert!(plan.steps() > 0 && plan.steps() <= most, "{}", plan.steps());
    }

    proptest! {
        #[test]
        fn a_list_ends_when_a_slow_simulation_says(
            graph in machines(1..=6), packing in any::<bool>(),
            rows in vec((1usize..=4, 1.0..90.0, prop_oneof![Just(0.1), Just(0.6), Just(2.0)], any::<bool>(), 0u8..8), 0..24),
        ) {
            let mut machines = MachineKinds::new(if packing { ring_packing_gbps() } else { mapa_core::effective_gbps() });
            let graph = Arc::new(graph);
            let kind = machines.kind_of(&graph);
            let mut list: Vec<(SetJob, u8)> = Vec::new();
            for (devices, work, gain, chooses, gene) in rows {
                let Some(shape) = machines.shape_of(&Pattern::ring(devices)) else { continue };
                let chooses = chooses && devices > 1;
                let gene = if chooses && gene % 4 == MODEST { gene ^ MODEST } else { gene };
                let gain = if devices > 1 { gain } else { 0.0 };
                let job = SetJob { shape, devices: devices as u8, work, gain, chooses, ideal: work, since: 0.0 };
                if machines.least_loss(kind, shape).is_some() {
                    list.push((job, gene));
                }
            }
            let all = (1_u32 << graph.len()) - 1;
            let slow = slow(&machines, &list);
            let state = MachineState::new(&machines, kind, (all, all), std::iter::empty());
            let mut plan = Planner::new(machines, FLOW, 0);
            plan.add_lane(state);
            for (id, &(job, gene)) in (0..).zip(&list) {
                plan.put(0, usize::MAX, PlanEntry { id: JobId(id), job, gene, weight: 1.0 });
            }
            for (fast, slow) in plan.expected(0).iter().zip(&slow) {
                prop_assert_eq!(fast.is_some(), slow.is_some());
                if let (Some(fast), Some(slow)) = (fast, slow) {
                    prop_assert!((fast.ends - slow).abs() <= 1e-6 * slow, "{} {}", fast.ends, slow);
                }
            }
        }
    }
}
