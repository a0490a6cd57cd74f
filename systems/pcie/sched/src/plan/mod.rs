//! A plan per port: MAPA's own scheduler for MIG GPUs whose instances share PCIe.

mod bound;
mod lanes;
mod overdue;
mod port;
mod records;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::mig::Size;
use mapa_core::{
    Decision, Demand, DeviceId, MachineId, PCIE_GEN4_GBPS, Refusal, Request, Rules, Want,
};

use mapa_sched::Scheduler;
use mapa_sched::Turn;
use mapa_sched::plan::{Ageing, Draws, Moves, Physics, PlanEntry, WeightedFlow};
use mapa_sched::{Event, Token};
use mapa_sched::{Job, JobId, Tenant};
use mapa_sched::{Time, duration, seconds};

use crate::policies::pcie_aware;

use lanes::{Lanes, PortPlan, caps};
use port::{NO_CAP, PortJob, PortPhysics, PortState, SIZES};

pub use bound::{PcieBound, PciePorts, PcieWork, pcie_bound};
pub use port::PortModel;

/// Run time of a job that says none, before any job has ended, seconds.
const UNKNOWN_S: f64 = 60.0;
/// Moves at an event, and more for each waiting job, of 300. Three times as many gain .2 points of
/// mean completion and cost twice the time.
const MOVES: usize = 20;
const MOVES_A_JOB: usize = 3;
/// The kinds of moves.
const KINDS: Moves = Moves {
    lane: 1,
    place: 1,
    swap: 1,
    gene: 1,
    near: None,
    regenes: true,
};
/// The most places of a list at which a job is inserted on trial.
const PLACES: usize = 12;

/// A scheduler of MAPA's own for MIG GPUs whose instances share PCIe. It plans ahead, port by port,
/// where [`PcieAware`](crate::PcieAware) decides job by job.
///
/// Between events it keeps a plan: for each GPU an ordered list of waiting jobs, and for each
/// PCIe-bound job a cap: it starts when fewer bound jobs than that run on the GPU. A list is judged by
/// simulation of its GPU: whoever is first in the list of those that can start does start, jobs
/// slow each other down by the [model](Self::model), and the cost is the sum of the times until
/// all jobs there have ended. So a start is charged with the delay that it causes to the jobs
/// beside it, and a job waits where a port is about to become less busy.
///
/// - A new job goes where it adds the least cost, shortest job first.
/// - Then jobs are moved at random, and a move is kept unless it costs more: at most
///   [`moves`](Self::moves) at an event, 100 for each job of a burst of more than twenty.
/// - A job counts more the longer it waits ([`ageing`](Self::ageing)). Past a hard
///   [wait threshold](Self::wait_threshold), if there is one, no job that arrived later takes an
///   instance that it could use, and it takes any of its size or larger, whatever PCIe does.
/// - A job of a size that the layout of its GPU does not have lets nobody behind it start there. So
///   the GPU becomes idle, and is then repartitioned for the jobs of its list.
///
/// It knows the size of each job (of its one rank, [`Demand::slice`]), its traffic
/// ([`Demand::pcie_gbps`] times [`Job::pcie_alpha`]) and its run time at full speed; an unknown run
/// time counts as the mean of those that have ended. [`Event::Progress`] corrects what is left of a
/// job. Jobs of several ranks, and jobs that want anything but one instance of a size, are placed
/// by [`pcie_aware`] before planned ones, as soon as there is room.
///
/// # Complexity
/// An event costs O(m) for m machines to see what has changed, O(g) for g GPUs for each new job to
/// find the ten that it is tried on, and up to 840 simulations of a list of up to 12 jobs for each
/// new job, fewer as lists grow; a move costs one or two. Memory is O(g + n) for n jobs.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use mapa_system_pcie::PciePlan;
///
/// let quick = PciePlan::new().moves(0);
/// let fair = PciePlan::new().wait_threshold(Duration::from_secs(600));
/// # let _ = (quick, fair);
/// ```
pub struct PciePlan {
    plan: PortPlan,
    lanes: Lanes,
    moves: usize,
    wait_threshold: Duration,
    serial: u64,
    /// Jobs that wait in lists, and those that no list can have now.
    held: BTreeMap<JobId, WaitingPcieJob>,
    /// The jobs of `held`, by arrival.
    by_serial: BTreeMap<u64, JobId>,
    /// Jobs that have arrived since the scheduler acted last.
    arrived: Vec<WaitingPcieJob>,
    /// Jobs that only GPUs can have which are cordoned or used by others.
    homeless: Vec<JobId>,
    /// Jobs that are not planned, by arrival.
    others: Vec<WaitingPcieJob>,
    /// Lanes whose jobs may not start before an overdue job elsewhere has.
    blocked: Vec<usize>,
    /// The seconds at full speed of the jobs that have ended, and their number.
    ended: (f64, f64),
    asked: Option<Time>,
    /// Whether a job has arrived or left since the scheduler acted last. Then a search may find what it
    /// did not before.
    has_changed: bool,
}

/// A job that waits.
#[derive(Clone, Debug)]
struct WaitingPcieJob {
    job: Arc<Job>,
    serial: u64,
    size: u8,
}

/// Where a waiting job is in the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedPlace {
    /// The machine.
    pub machine: MachineId,
    /// The GPU.
    pub whole: DeviceId,
    /// Its place in the GPU's list, from 0.
    pub place: usize,
    /// It starts when fewer PCIe-bound jobs than this run on the GPU; `None` for a job that does not
    /// mind.
    pub below: Option<u32>,
    /// When it is expected to start, and to end; `None` if that depends on what is unknown.
    pub expected: Option<(Time, Time)>,
}

impl PciePlan {
    /// The most moves at an event, by default.
    pub const MOVES: usize = 300;
    /// How long a job waits before it counts more.
    pub const PATIENCE: Duration = Duration::from_secs(300);
    /// How long a job waits then until it counts once more.
    pub const PACE: Duration = Duration::from_secs(100);

    /// The scheduler over ports of PCIe 4.0 x16 ([`PCIE_GEN4_GBPS`]), by Eq. 2, with up to 300 moves an
    /// event, ageing from 300 s on, and repartitions that are expected to take 2 s.
    #[must_use]
    pub fn new() -> Self {
        let ageing = Ageing {
            patience: Self::PATIENCE.as_secs_f64(),
            pace: Self::PACE.as_secs_f64(),
        };
        let port = PortPhysics::new(PCIE_GEN4_GBPS, PortModel::EqualShare, Some(2.0));
        Self {
            plan: PortPlan::new(port, WeightedFlow, 0),
            lanes: Lanes::new(ageing),
            moves: Self::MOVES,
            wait_threshold: Duration::MAX,
            serial: 0,
            held: BTreeMap::new(),
            by_serial: BTreeMap::new(),
            arrived: Vec::new(),
            homeless: Vec::new(),
            others: Vec::new(),
            blocked: Vec::new(),
            ended: (0.0, 0.0),
            asked: None,
            has_changed: false,
        }
    }

    /// The PCIe bandwidth that the instances of a GPU share, GB/s. Default: [`PCIE_GEN4_GBPS`].
    #[must_use]
    pub fn max_gbps(mut self, gbps: f64) -> Self {
        self.plan.physics_mut().gbps = gbps;
        self
    }

    /// How jobs are thought to share a port. Default: [`PortModel::EqualShare`], which loses little
    /// where ports share max-min fairly; the other way round it loses more.
    #[must_use]
    pub fn model(mut self, model: PortModel) -> Self {
        self.plan.physics_mut().model = model;
        self
    }

    /// The most moves that are tried at an event, but for bursts: this many when 94 jobs wait, and
    /// fewer the fewer wait. With 0, jobs are inserted and stay where they are. Default: 300.
    #[must_use]
    pub fn moves(self, moves: usize) -> Self {
        Self { moves, ..self }
    }

    /// The seed of the moves. Default: 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        *self.plan.draws() = Draws::new(seed);
        self
    }

    /// A job that has waited `patience` counts once more with every further `pace`. With
    /// [`Duration::MAX`] jobs do not age. Default: 300 s and 100 s.
    #[must_use]
    pub fn ageing(mut self, patience: Duration, pace: Duration) -> Self {
        let patience = if patience == Duration::MAX {
            f64::INFINITY
        } else {
            patience.as_secs_f64()
        };
        let pace = pace.as_secs_f64().max(1e-3);
        self.lanes.ageing = Ageing { patience, pace };
        self
    }

    /// How long a job waits before no later one may take an instance that it could use. Default:
    /// [`Duration::MAX`], for ever.
    #[must_use]
    pub fn wait_threshold(self, wait_threshold: Duration) -> Self {
        Self {
            wait_threshold,
            ..self
        }
    }

    /// How long a repartition is expected to take, or `None` to leave all layouts as they are.
    /// Default: 2 s.
    #[must_use]
    pub fn repartition(mut self, takes: Option<Duration>) -> Self {
        self.plan.physics_mut().repartition = takes.map(|takes| takes.as_secs_f64());
        self
    }

    /// The jobs that wait, in order of arrival; those that are not planned last.
    pub fn waiting(&self) -> impl Iterator<Item = &Job> {
        let planned = self.by_serial.values().filter_map(|id| self.held.get(id));
        let all = planned.chain(&self.arrived).chain(&self.others);
        all.map(|held| &*held.job)
    }

    /// Where a waiting job is in the plan of the last event. `None` for a job that runs, is unknown,
    /// or is not planned.
    #[must_use]
    pub fn explain(&self, job: JobId) -> Option<PlannedPlace> {
        let lane = self.plan.lane_of(job)?;
        let list = self.plan.list(lane);
        let place = list.iter().position(|entry| entry.id == job)?;
        let entry = &list[place];
        let expected = self.plan.expected(lane).get(place).copied().flatten();
        let own = self.lanes.get(lane);
        let after = |seconds: f64| Time::ZERO + duration(own.at + seconds);
        Some(PlannedPlace {
            machine: own.machine,
            whole: own.whole,
            place,
            below: (entry.job.wants > 0.0 && entry.gene < NO_CAP).then(|| u32::from(entry.gene)),
            expected: expected.map(|span| (after(span.starts), after(span.ends))),
        })
    }

    /// Sees what has changed, and takes jobs off lanes that cannot run them any more.
    fn look(&mut self, now: f64, turn: &Turn<'_>) {
        let fleet = turn.fleet();
        if !self.lanes.are_of(fleet) {
            let entries = self.plan.clear();
            self.homeless.extend(entries.iter().map(|entry| entry.id));
            self.lanes.make(&mut self.plan, fleet);
        }
        for lane in self.lanes.refresh(&mut self.plan, fleet, now) {
            self.plan.touch(lane);
            self.lanes.bring(&mut self.plan, lane, now);
            let (physics, state) = (self.plan.physics(), self.plan.state(lane));
            let list = self.plan.list(lane).iter();
            let stays = |job: &PortJob| physics.holds(state, job);
            let gone: Vec<JobId> = list
                .filter(|entry| !stays(&entry.job))
                .map(|entry| entry.id)
                .collect();
            for id in gone {
                self.plan.remove(id);
                self.homeless.push(id);
            }
        }
        for lane in std::mem::take(&mut self.blocked) {
            if lane < self.lanes.len() {
                self.plan.touch(lane);
            }
        }
    }

    /// Sorts new jobs into those that are planned and others, and rejects those that can never run.
    fn sort(&mut self, turn: &mut Turn<'_>) {
        for mut held in std::mem::take(&mut self.arrived) {
            let planned = size_of(&held.job)
                .and_then(|size| self.plan.physics_mut().number_of(size))
                .filter(|&size| self.could_run(size));
            if let Some(size) = planned {
                held.size = size;
                self.homeless.push(held.job.id);
                self.by_serial.insert(held.serial, held.job.id);
                self.held.insert(held.job.id, held);
                continue;
            }
            match turn.decide(self.policy_of(&held.job), &held.job.request) {
                Err(why @ Refusal::Infeasible(_)) => turn.reject(held.job.id, why),
                _ => self.others.push(held),
            }
        }
    }

    /// Whether some GPU has, or can have, an instance of a size, cordons and tenants aside.
    fn could_run(&self, size: u8) -> bool {
        let job = PortJob {
            size,
            wants: 0.0,
            work: 1.0,
            since: 0.0,
        };
        (0..self.lanes.len()).any(|lane| {
            let state = PortState {
                is_cordoned: false,
                foreign: 0,
                ..self.plan.state(lane).clone()
            };
            self.plan.physics().holds(&state, &job)
        })
    }

    fn policy_of(&self, job: &Job) -> Rules<'static> {
        pcie_aware(job.pcie_alpha, self.plan.physics().gbps)
    }

    /// What lanes must know of a job.
    fn port_job(&self, held: &WaitingPcieJob) -> PortJob {
        let job = &held.job;
        let size = self.plan.physics().sizes().get(usize::from(held.size));
        let mean = if self.ended.1 > 0.0 {
            self.ended.0 / self.ended.1
        } else {
            UNKNOWN_S
        };
        let work = job.run_time.on(size.copied());
        PortJob {
            size: held.size,
            wants: wants(job),
            work: work.map_or(mean, |work| work.as_secs_f64()),
            since: seconds(job.arrived),
        }
    }

    /// Puts the jobs that no list has into lists, the shortest first. Returns how many.
    fn insert(&mut self, now: f64) -> usize {
        let homeless = std::mem::take(&mut self.homeless);
        let mut new: Vec<(PortJob, JobId, u64)> = homeless
            .iter()
            .filter_map(|id| {
                let held = self.held.get(id)?;
                Some((self.port_job(held), *id, held.serial))
            })
            .collect();
        new.sort_by(|a, b| a.0.work.total_cmp(&b.0.work).then(a.2.cmp(&b.2)));
        let mut count = 0;
        for (job, id, _) in new {
            let lanes = self.lanes.candidates(&mut self.plan, &job);
            for &lane in &lanes {
                self.lanes.bring(&mut self.plan, lane, now);
            }
            let weight = self.lanes.ageing.weight(now - job.since);
            let entry = PlanEntry {
                id,
                job,
                gene: 0,
                weight,
            };
            if self.plan.insert(entry, &lanes, PLACES, caps) {
                count += 1;
            } else {
                self.homeless.push(id);
            }
        }
        count
    }

    /// Improves the plan by random moves.
    fn improve(&mut self, new: usize, now: f64) {
        let lanes = self.lanes.len();
        if !std::mem::take(&mut self.has_changed) || self.moves == 0 || lanes == 0 {
            return;
        }
        let most = Self::MOVES;
        let share = (MOVES + MOVES_A_JOB * self.plan.len()).min(most);
        let mut moves = self.moves.saturating_mul(share) / most;
        if new > 20 {
            moves = moves.max(self.moves * new / 3);
        }
        let Self {
            plan, lanes: own, ..
        } = self;
        plan.search(
            (moves, &KINDS),
            |plan, lane| own.bring(plan, lane, now),
            |draws, _| draws.below(lanes),
            |draws, job, _| match job.wants > 0.0 {
                true => 1 + draws.below(usize::from(NO_CAP)) as u8,
                false => 0,
            },
        );
    }

    /// Starts jobs that are not planned, in order of arrival.
    fn start_others(&mut self, turn: &mut Turn<'_>) {
        let others = std::mem::take(&mut self.others);
        for held in others {
            let decision = turn.decide(self.policy_of(&held.job), &held.job.request);
            let placed =
                decision.and_then(|decision| turn.place(Tenant::Job(held.job.id), decision));
            if placed.is_err() {
                self.others.push(held);
            }
        }
    }

    /// Starts what the plan starts now, and repartitions GPUs as it says.
    fn start_planned(&mut self, now: Time, closed: &[u64; SIZES], turn: &mut Turn<'_>) {
        for lane in self.plan.take_changed() {
            self.lanes.bring(&mut self.plan, lane, seconds(now));
            if self.plan.list(lane).is_empty() {
                continue;
            }
            let at_once = self.plan.at_once(lane);
            let ids: Vec<JobId> = at_once
                .starts
                .iter()
                .map(|&place| self.plan.list(lane)[place].id)
                .collect();
            for id in ids {
                let Some(held) = self.held.get(&id).cloned() else {
                    continue;
                };
                if closed[usize::from(held.size)] < held.serial {
                    self.blocked.push(lane);
                } else {
                    self.start(&held, lane, held.size, now, turn);
                }
            }
            if at_once.remakes {
                self.remake(lane, now, turn);
            }
        }
        // A start changes its machine, and with it what is seen of the lanes there.
        for lane in self.plan.take_changed() {
            self.lanes.bring(&mut self.plan, lane, seconds(now));
        }
    }

    fn remake(&mut self, lane: usize, now: Time, turn: &mut Turn<'_>) {
        let (physics, state) = (self.plan.physics(), self.plan.state(lane));
        let mut waiting = self.plan.list(lane).iter().map(|entry| &entry.job);
        let Some(layout) = physics.best_layout(state, &mut waiting).cloned() else {
            return;
        };
        let own = self.lanes.get(lane);
        let (machine, whole) = (own.machine, own.whole);
        if turn.repartition(machine, whole, layout).is_ok() {
            self.look_at(machine, now, turn);
        }
    }

    /// Looks at a machine after an order to it.
    fn look_at(&mut self, machine: MachineId, now: Time, turn: &Turn<'_>) {
        if let Ok(machine) = turn.fleet().machine(machine) {
            let mut changed = Vec::new();
            self.lanes
                .look(&mut self.plan, machine, seconds(now), &mut changed);
        }
    }

    /// Starts a job on an instance of a GPU. Returns whether it did.
    fn start(
        &mut self,
        held: &WaitingPcieJob,
        lane: usize,
        size: u8,
        now: Time,
        turn: &mut Turn<'_>,
    ) -> bool {
        let Some(decision) = self.decide(held, lane, size, turn) else {
            return false;
        };
        let id = held.job.id;
        if turn.place(Tenant::Job(id), decision).is_err() {
            return false;
        }
        let mut job = self.port_job(held);
        let own = self.plan.physics().sizes().get(usize::from(size)).copied();
        if let Some(work) = held.job.run_time.on(own) {
            job.work = work.as_secs_f64();
        }
        job.size = size;
        self.plan.remove(id);
        self.forget(id);
        self.lanes.settle(&self.plan, lane, seconds(now));
        self.lanes.start(lane, (id, job), seconds(now));
        self.look_at(self.lanes.get(lane).machine, now, turn);
        self.lanes.bring(&mut self.plan, lane, seconds(now));
        true
    }

    fn decide(
        &self,
        held: &WaitingPcieJob,
        lane: usize,
        size: u8,
        turn: &Turn<'_>,
    ) -> Option<Decision> {
        let own = self.lanes.get(lane);
        let whole = own.whole;
        let view = turn.view(own.machine).ok()?;
        let policy =
            Rules::new("pcie-plan").require("the planned GPU", move |seat| seat.whole() == whole);
        let request = &held.job.request;
        if size == held.size {
            return view.decide(policy, request).ok();
        }
        // An overdue job may get a larger instance than it requested.
        let demand = request.pattern.demands().first()?;
        let size = self.plan.physics().sizes().get(usize::from(size))?;
        let larger = Demand {
            want: Want::Slice(*size),
            ..*demand
        };
        let request = Request {
            pattern: request.pattern.with_demand(0, larger),
            ..request.clone()
        };
        view.decide(policy, &request).ok()
    }

    /// Removes a job from what waits.
    fn forget(&mut self, id: JobId) {
        if let Some(held) = self.held.remove(&id) {
            self.by_serial.remove(&held.serial);
        }
    }

    /// Orders a wake-up for the moment at which the next job passes the wait threshold.
    fn wake(&mut self, now: Time, turn: &mut Turn<'_>) {
        if self.wait_threshold == Duration::MAX {
            return;
        }
        let held = self.held.values();
        let next = held
            .map(|held| held.job.arrived + self.wait_threshold)
            .filter(|at| *at > now && at.0 < u64::MAX)
            .min();
        if let Some(at) = next.filter(|at| self.asked != Some(*at)) {
            self.asked = Some(at);
            turn.wake(at, Token(at.0));
        }
    }
}

/// The bandwidth that a job uses if nothing slows it down, GB/s.
fn wants(job: &Job) -> f64 {
    let demands = job.request.pattern.demands().iter();
    let mb_s = demands.map(|demand| demand.pcie_mb_s).max().unwrap_or(0);
    job.pcie_alpha * f64::from(mb_s) / 1000.0
}

/// The size of the one instance that a job requests, if it requests that and nothing else.
fn size_of(job: &Job) -> Option<Size> {
    let request = &job.request;
    let [demand] = request.pattern.demands() else {
        return None;
    };
    let plain = Request {
        sensitivity: request.sensitivity,
        ..Request::new(request.pattern.clone())
    };
    let is_plain =
        plain == *request && !demand.is_shared() && demand.memory_bytes == 0 && demand.nics == 0;
    match demand.want {
        Want::Slice(size) if is_plain => Some(size),
        _ => None,
    }
}

impl Default for PciePlan {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PciePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PciePlan")
            .field("moves", &self.moves)
            .field("wait_threshold", &self.wait_threshold)
            .field("planned", &self.held.len())
            .field("others", &self.others.len())
            .finish_non_exhaustive()
    }
}

impl Scheduler for PciePlan {
    fn name(&self) -> &str {
        "pcie-plan"
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrived(job) => {
                let serial = self.serial;
                self.serial += 1;
                self.has_changed = true;
                self.arrived.push(WaitingPcieJob {
                    job: Arc::new(job),
                    serial,
                    size: 0,
                });
            }
            Event::Progress { job, share } => {
                self.lanes.observe(&mut self.plan, job, share, seconds(now));
            }
            event => {
                if let Some(job) = event.leaves() {
                    self.has_changed = true;
                    self.plan.remove(job);
                    self.forget(job);
                    self.arrived.retain(|held| held.job.id != job);
                    self.others.retain(|held| held.job.id != job);
                    if let Some(record) = self.lanes.end(&self.plan, job, seconds(now)) {
                        self.ended.0 += record.job.work;
                        self.ended.1 += 1.0;
                    }
                }
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let at = seconds(now);
        self.look(at, turn);
        self.sort(turn);
        let new = self.insert(at);
        self.improve(new, at);
        let closed = self.start_overdue(now, turn);
        self.start_others(turn);
        self.start_planned(now, &closed, turn);
        self.wake(now, turn);
    }
}
