//! The machines of a fleet as they are: what is free, who runs where, and until when.

use std::collections::BTreeMap;

use mapa_core::{Allocator, DeviceSet, MachineId, Stamp};

use super::machines::{MachineKinds, MachineState, SetGoal};
use mapa_sched::Fleet;
use mapa_sched::JobId;
use mapa_sched::plan::Planner;

pub(super) type SetPlan = Planner<MachineKinds, SetGoal>;

/// The share of its expected time that a job is thought to have left when it is late.
const LATE: f64 = 0.03;
/// A job that is late by less than this is not late: the driver counts nanoseconds.
const ON_TIME_S: f64 = 1e-6;
/// How long a tenant is thought to stay of whom nothing is known: ten years.
pub(super) const UNKNOWN_S: f64 = 10.0 * 365.0 * 24.0 * 3600.0;

/// A job that runs.
#[derive(Clone, Debug)]
pub(super) struct RunningJob {
    id: JobId,
    /// The devices, as a mask or a number.
    set: u32,
    pub(super) started: f64,
    /// How long it was expected to run, seconds.
    pub(super) takes: f64,
    /// When it is expected to end.
    ends: f64,
}

#[derive(Clone, Debug)]
struct MachineLane {
    machine: MachineId,
    stamp: Option<Stamp>,
    kind: u16,
    present: u32,
    free: u32,
    /// The moment for which the plan has its state, seconds.
    at: f64,
    runs: Vec<RunningJob>,
}

/// The machines, and who runs there.
#[derive(Clone, Debug, Default)]
pub(super) struct LaneRuns {
    lanes: Vec<MachineLane>,
    /// The lanes of each job that runs.
    lanes_of: BTreeMap<JobId, Vec<usize>>,
}

impl LaneRuns {
    pub(super) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn machine(&self, lane: usize) -> MachineId {
        self.lanes[lane].machine
    }

    pub(super) fn kind(&self, lane: usize) -> u16 {
        self.lanes[lane].kind
    }

    /// The moment for which the plan knows a machine, seconds.
    pub(super) fn at(&self, lane: usize) -> f64 {
        self.lanes[lane].at
    }

    /// Device-seconds that running jobs have left, on one machine.
    pub(super) fn backlog(&self, plan: &SetPlan, lane: usize, now: f64) -> f64 {
        let own = &self.lanes[lane];
        let tables = plan.physics().has_tables(own.kind);
        let left = |run: &RunningJob| (run.ends - now).max(0.0) * f64::from(count(run.set, tables));
        own.runs.iter().map(left).sum()
    }

    /// Looks at the machines that have changed, and tells the plan. Returns their lanes.
    ///
    /// # Complexity
    /// O(m) for m machines, and O(d + r) for each that has changed, of d devices, r jobs that run.
    pub(super) fn refresh(&mut self, plan: &mut SetPlan, fleet: &Fleet) -> Vec<usize> {
        if self.lanes.len() != fleet.machines().len() {
            for machine in fleet.machines().iter().skip(self.lanes.len()) {
                let kind = plan.physics_mut().kind_of(machine.graph());
                self.lanes.push(MachineLane {
                    machine: machine.id(),
                    stamp: None,
                    kind,
                    present: 0,
                    free: 0,
                    at: f64::NEG_INFINITY,
                    runs: Vec::new(),
                });
                let none = std::iter::empty();
                let state = MachineState::new(plan.physics(), kind, (0, 0), none);
                plan.add_lane(state);
            }
        }
        let mut changed = Vec::new();
        for (lane, machine) in fleet.machines().iter().enumerate() {
            if self.lanes[lane].stamp != Some(machine.stamp()) {
                self.look(plan, lane, machine);
                changed.push(lane);
            }
        }
        changed
    }

    /// Looks at one machine.
    pub(super) fn look(&mut self, plan: &mut SetPlan, lane: usize, machine: &Allocator) {
        let own = &mut self.lanes[lane];
        own.stamp = Some(machine.stamp());
        let view = machine.view();
        let tables = plan.physics().has_tables(own.kind);
        let usable: DeviceSet = view
            .graph()
            .wholes()
            .iter()
            .filter(|&id| view.present().contains(id) && !view.is_cordoned(id))
            .collect();
        let free = view.free() & &usable;
        let number = |set: &DeviceSet| match tables {
            true => set.word(0) as u32,
            false => set.len() as u32,
        };
        (own.present, own.free) = (number(&usable), number(&free));
        own.at = f64::NEG_INFINITY;
        plan.touch(lane);
    }

    /// Tells the plan how a machine is at a moment.
    pub(super) fn bring(&mut self, plan: &mut SetPlan, lane: usize, now: f64) {
        let own = &mut self.lanes[lane];
        if own.at == now {
            return;
        }
        own.at = now;
        let left = |run: &RunningJob| {
            let left = run.ends - now;
            if left > -ON_TIME_S {
                left.max(1e-9)
            } else {
                LATE * run.takes.max(ON_TIME_S)
            }
        };
        let mut runs: Vec<(u32, f64)> = own.runs.iter().map(|run| (run.set, left(run))).collect();
        // Others may have tenants here.
        let known = runs.iter().fold(own.free, |all, (set, _)| all + set);
        let tables = plan.physics().has_tables(own.kind);
        let others = match tables {
            true => own.present & !known,
            false => own.present.saturating_sub(known),
        };
        if others != 0 {
            runs.push((others, UNKNOWN_S));
        }
        let weights = vec![0.0; runs.len()];
        let (present, free) = (own.present, own.free);
        let state = MachineState::new(plan.physics(), own.kind, (present, free), runs.into_iter());
        plan.set(lane, state, &weights);
    }

    /// A job has started on a set of a lane: it is expected to run so many seconds.
    pub(super) fn start(&mut self, job: JobId, lane: usize, set: u32, now: f64, takes: f64) {
        let own = &mut self.lanes[lane];
        own.runs.push(RunningJob {
            id: job,
            set,
            started: now,
            takes,
            ends: now + takes,
        });
        own.at = f64::NEG_INFINITY;
        self.lanes_of.entry(job).or_default().push(lane);
    }

    /// A job has ended, or is gone.
    pub(super) fn end(&mut self, job: JobId) -> Option<RunningJob> {
        let mut ended = None;
        for lane in self.lanes_of.remove(&job)? {
            let own = &mut self.lanes[lane];
            own.at = f64::NEG_INFINITY;
            if let Some(at) = own.runs.iter().position(|run| run.id == job) {
                ended = Some(own.runs.remove(at));
            }
        }
        ended
    }

    /// A share of a job's work is seen to be done: the rest is expected to go on as fast. Returns its
    /// lane.
    pub(super) fn observe(&mut self, job: JobId, share: f64, now: f64) -> Option<usize> {
        let lane = *self.lanes_of.get(&job)?.first()?;
        if !(LEAST_SEEN..=1.0).contains(&share) {
            return None;
        }
        let own = &mut self.lanes[lane];
        own.at = f64::NEG_INFINITY;
        let run = own.runs.iter_mut().find(|run| run.id == job)?;
        run.ends = now + (now - run.started) * (1.0 - share) / share;
        Some(lane)
    }

    /// The devices of a started job as the plan counts them: a mask or their number.
    pub(super) fn set_of(&self, plan: &SetPlan, lane: usize, devices: &DeviceSet) -> u32 {
        match plan.physics().has_tables(self.lanes[lane].kind) {
            true => devices.word(0) as u32,
            false => devices.len() as u32,
        }
    }

    /// The least that jobs of a shape lose on any machine; `None` if none can hold them.
    pub(super) fn least_loss(&self, plan: &SetPlan, shape: u8) -> Option<f64> {
        let kinds = self.lanes.iter().map(|lane| lane.kind);
        let losses = kinds.filter_map(|kind| plan.physics().least_loss(kind, shape));
        losses.reduce(f64::min)
    }

    /// The devices of a machine in service.
    pub(super) fn devices(&self, plan: &SetPlan, lane: usize) -> f64 {
        let own = &self.lanes[lane];
        f64::from(count(own.present, plan.physics().has_tables(own.kind)))
    }

    /// The lane of a machine.
    pub(super) fn lane_of_machine(&self, machine: MachineId) -> Option<usize> {
        self.lanes.iter().position(|lane| lane.machine == machine)
    }
}

/// The least share of a job's work that an observation must have seen done to be believed.
const LEAST_SEEN: f64 = 0.02;

/// The number of devices of a set: a mask where there are tables, else the number itself.
fn count(set: u32, tables: bool) -> u32 {
    if tables { set.count_ones() } else { set }
}
