//! The GPUs of a fleet as lanes of a plan, kept up to date machine by machine.

use std::ops::Range;

use mapa_core::mig::{Layout, Model};
use mapa_core::{Allocator, DeviceId, MachineId, Stamp, View};

use super::port::{InstanceCounts, NO_CAP, PortJob, PortPhysics, PortRun, PortState};
use super::records::{LaneJob, LaneRecords};
use mapa_sched::Fleet;
use mapa_sched::JobId;
use mapa_sched::plan::{Ageing, Physics, Planner, WeightedFlow};

pub(super) type PortPlan = Planner<PortPhysics, WeightedFlow>;

/// The share of its expected time that a repartition is thought to have left when it is late.
const LEAST_LEFT: f64 = 0.03;

/// A GPU, and what was last seen of it.
#[derive(Clone, Debug)]
pub(super) struct GpuLane {
    pub(super) machine: MachineId,
    pub(super) whole: DeviceId,
    /// All but what runs there.
    seen: PortState,
    /// Since when it is being repartitioned, seconds.
    changing_since: Option<f64>,
    /// The moment for which the plan has its state, seconds.
    pub(super) at: f64,
}

/// The GPUs, and what runs on them.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    machines: Vec<(Option<Stamp>, Range<usize>)>,
    all: Vec<GpuLane>,
    pub(super) records: LaneRecords,
    pub(super) ageing: Ageing,
}

impl Lanes {
    pub(super) fn new(ageing: Ageing) -> Self {
        Self {
            machines: Vec::new(),
            all: Vec::new(),
            records: LaneRecords::default(),
            ageing,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, lane: usize) -> &GpuLane {
        &self.all[lane]
    }

    /// What was last seen of a GPU, but for what runs there.
    pub(super) fn seen(&self, lane: usize) -> &PortState {
        &self.all[lane].seen
    }

    /// Whether this fleet has the machines for which there are lanes.
    pub(super) fn are_of(&self, fleet: &Fleet) -> bool {
        self.machines.len() == fleet.machines().len()
    }

    /// Makes lanes for the GPUs of a fleet that have, or can have, instances. What ran on earlier
    /// lanes is forgotten: its GPUs have unknown tenants then.
    pub(super) fn make(&mut self, plan: &mut PortPlan, fleet: &Fleet) {
        self.records = LaneRecords::default();
        self.machines.clear();
        self.all.clear();
        for machine in fleet.machines() {
            let from = self.all.len();
            for whole in machine.graph().wholes().iter() {
                let graph = machine.graph();
                let parts = graph.vertices(whole).iter().any(|id| id != whole);
                if graph.model(whole).is_none() && !parts {
                    continue;
                }
                self.all.push(GpuLane {
                    machine: machine.id(),
                    whole,
                    seen: PortState::default(),
                    changing_since: None,
                    at: 0.0,
                });
                plan.add_lane(PortState::default());
            }
            self.machines.push((None, from..self.all.len()));
        }
        self.records.resize(self.all.len());
    }

    /// Looks at the machines that have changed. Returns the lanes that have.
    ///
    /// # Complexity
    /// O(m) for m machines, and O(v) for each that has changed, of v devices and instances.
    pub(super) fn refresh(&mut self, plan: &mut PortPlan, fleet: &Fleet, now: f64) -> Vec<usize> {
        let mut changed = Vec::new();
        for machine in fleet.machines() {
            // A stamp names one state of one machine: if it is the same, nothing has changed.
            if self.machines[machine.id().0 as usize].0 != Some(machine.stamp()) {
                self.look(plan, machine, now, &mut changed);
            }
        }
        changed
    }

    /// Looks at one machine.
    pub(super) fn look(
        &mut self,
        plan: &mut PortPlan,
        machine: &Allocator,
        now: f64,
        changed: &mut Vec<usize>,
    ) {
        let Some((stamp, lanes)) = self.machines.get_mut(machine.id().0 as usize) else {
            return;
        };
        *stamp = Some(machine.stamp());
        for lane in lanes.clone() {
            let seen = self.see(plan.physics_mut(), &machine.view(), lane);
            if seen == self.all[lane].seen {
                continue;
            }
            // Until now what ran there ran as before.
            self.settle(plan, lane, now);
            let own = &mut self.all[lane];
            let is_changing = seen.changing > 0.0;
            own.changing_since = own
                .changing_since
                .filter(|_| is_changing)
                .or(is_changing.then_some(now));
            own.seen = seen;
            own.at = f64::NEG_INFINITY;
            changed.push(lane);
        }
    }

    /// What a machine says of a GPU.
    fn see(&self, port: &mut PortPhysics, view: &View<'_>, lane: usize) -> PortState {
        let graph = view.graph();
        let whole = self.all[lane].whole;
        let usage = view.usage_of_whole(whole);
        let coming = view.changing_to(whole);
        let mut seen = PortState {
            bound: usage.pcie_tenants,
            foreign: usage
                .tenants
                .saturating_sub(self.records.on(lane).len() as u32),
            is_cordoned: view.is_cordoned(whole),
            model: graph.model(whole).map(|model| port.model_of(model)),
            ..PortState::default()
        };
        if let (Some(layout), Some(model)) = (coming, graph.model(whole)) {
            seen.changing = 1.0;
            seen.has = counts(port, model, layout);
            seen.free = seen.has;
            return seen;
        }
        let parts = graph.vertices(whole) & view.present();
        for id in parts.iter().filter(|&id| id != whole) {
            let size = graph.device(id).size.and_then(|size| port.number_of(size));
            if let Some(size) = size.map(usize::from) {
                seen.has[size] += 1;
                seen.free[size] += u8::from(view.free().contains(id));
            }
        }
        seen
    }

    /// Brings the account of what runs on a lane up to a moment.
    pub(super) fn settle(&mut self, plan: &PortPlan, lane: usize, now: f64) {
        let level = plan.physics().level(plan.state(lane));
        self.records.settle(lane, now, level);
    }

    /// Tells the plan how a lane is at a moment, and how much its waiting jobs count by now.
    pub(super) fn bring(&mut self, plan: &mut PortPlan, lane: usize, now: f64) {
        if self.all[lane].at == now {
            return;
        }
        self.settle(plan, lane, now);
        let own = &mut self.all[lane];
        own.at = now;
        let mut state = own.seen.clone();
        if let (Some(since), Some(takes)) = (own.changing_since, plan.physics().repartition) {
            state.changing = (since + takes - now).max(LEAST_LEFT * takes);
        }
        let there = self.records.on(lane);
        let runs = (0..).zip(there);
        let runs = runs.map(|(ticket, record)| PortRun::new(ticket, &record.job, record.left()));
        state.runs.extend(runs);
        let weights: Vec<f64> = there.iter().map(|record| record.weight).collect();
        plan.set(lane, state, &weights);
        let ageing = self.ageing;
        plan.weigh(lane, |entry| ageing.weight(now - entry.job.since));
    }

    /// A job has started on a lane that the plan knows as it was before.
    pub(super) fn start(&mut self, lane: usize, record: (JobId, PortJob), now: f64) {
        let weight = self.ageing.weight(now - record.1.since);
        self.records.start(lane, record.0, record.1, weight);
        self.all[lane].at = f64::NEG_INFINITY;
    }

    /// A share of a job's work is seen to be done.
    pub(super) fn observe(&mut self, plan: &mut PortPlan, job: JobId, share: f64, now: f64) {
        if let Some(lane) = self.records.lane_of(job) {
            self.settle(plan, lane, now);
            self.records.observe(job, share);
            self.all[lane].at = f64::NEG_INFINITY;
            plan.touch(lane);
        }
    }

    /// A job has ended. Returns its record.
    pub(super) fn end(&mut self, plan: &PortPlan, job: JobId, now: f64) -> Option<LaneJob> {
        let lane = self.records.lane_of(job)?;
        self.settle(plan, lane, now);
        self.all[lane].at = f64::NEG_INFINITY;
        self.records.end(job)
    }

    /// The lanes on which a job can run, at most ten of them if there are many: by what their ports
    /// carry, and those with jobs like it.
    pub(super) fn candidates(&self, plan: &mut PortPlan, job: &PortJob) -> Vec<usize> {
        let holds = |lane: &usize| plan.physics().holds(&self.all[*lane].seen, job);
        let all: Vec<usize> = (0..self.all.len()).filter(holds).collect();
        if all.len() <= ALL {
            return all;
        }
        let mut loads: Vec<(LaneLoad, usize)> = all
            .iter()
            .map(|&lane| (self.load(plan, lane, job), lane))
            .collect();
        let by = |key: fn(&LaneLoad) -> f64| {
            move |a: &(LaneLoad, usize), b: &(LaneLoad, usize)| {
                key(&a.0).total_cmp(&key(&b.0)).then(a.1.cmp(&b.1))
            }
        };
        loads.select_nth_unstable_by(LEAST - 1, by(|load| load.key));
        loads[..LEAST].sort_unstable_by(by(|load| load.key));
        let mut chosen: Vec<usize> = loads[..LEAST].iter().map(|pair| pair.1).collect();
        if job.wants > 0.0 {
            let rest = &mut loads[LEAST..];
            let count = LIKE.min(rest.len());
            if count > 0 {
                rest.select_nth_unstable_by(count - 1, by(|load| load.unlike));
                rest[..count].sort_unstable_by(by(|load| load.unlike));
            }
            chosen.extend(rest[..count].iter().map(|pair| pair.1));
        } else {
            for _ in 0..RANDOM {
                let drawn = all[plan.draws().below(all.len())];
                if !chosen.contains(&drawn) {
                    chosen.push(drawn);
                }
            }
        }
        chosen
    }

    /// How much a lane has to do already.
    fn load(&self, plan: &PortPlan, lane: usize, job: &PortJob) -> LaneLoad {
        let (mut wants, mut work, mut copies) = (0.0, 0.0, 0.0);
        let (mut bound, mut taken) = (0.0, 0_u32);
        let mut add = |port_job: &PortJob, left: f64| {
            wants += port_job.wants;
            work += left;
            copies += left * port_job.wants;
            bound += f64::from(u8::from(port_job.wants > 0.0));
        };
        self.records
            .on(lane)
            .iter()
            .for_each(|record| add(&record.job, record.left()));
        for entry in plan.list(lane) {
            add(&entry.job, entry.job.work);
            taken += u32::from(entry.job.size == job.size);
        }
        let seen = &self.all[lane].seen;
        let instances: u32 = seen.has.iter().map(|&count| u32::from(count)).sum();
        let free = u32::from(seen.free[usize::from(job.size)]);
        let drained = (work / f64::from(instances.max(1))).max(copies / plan.physics().gbps);
        // With room, the port decides, or for jobs that copy little the instances.
        let key = if free > taken && job.wants > 0.0 {
            wants / plan.physics().gbps
        } else if free > taken {
            1.0 - f64::from(free - taken) / f64::from(instances.max(1))
        } else {
            BUSY + drained
        };
        let mean = if bound > 0.0 {
            wants / bound
        } else {
            f64::INFINITY
        };
        let unlike = (mean - job.wants).abs() + drained * 1e-6;
        LaneLoad { key, unlike }
    }
}

/// Up to this many lanes, all are candidates.
const ALL: usize = 8;
/// Of more, those with the least load,
const LEAST: usize = 6;
/// those whose bound jobs want about as much,
const LIKE: usize = 4;
/// and for jobs that are not bound some at random.
const RANDOM: usize = 2;
/// More than the load of any lane with room.
const BUSY: f64 = 1e9;

/// How busy a lane is.
#[derive(Clone, Copy, Debug)]
struct LaneLoad {
    key: f64,
    /// How unlike the job its bound jobs are, GB/s.
    unlike: f64,
}

/// How many instances of each size a layout has.
fn counts(port: &mut PortPhysics, model: &Model, layout: &Layout) -> InstanceCounts {
    let mut counts = InstanceCounts::default();
    for instance in layout.instances() {
        if let Some(size) = port.number_of(model.profile(instance.profile).size) {
            counts[usize::from(size)] += 1;
        }
    }
    counts
}

/// The caps to try for a job at the end of a list of this length. In a long list, that at which the
/// port is just full.
pub(super) fn caps(port: &PortPhysics, job: &PortJob, len: usize) -> Vec<u8> {
    if job.wants <= 0.0 {
        return vec![0];
    }
    if len > ALL {
        let full = (port.gbps / job.wants + 0.45).round();
        return vec![full.clamp(1.0, f64::from(NO_CAP)) as u8];
    }
    (1..=NO_CAP).collect()
}
