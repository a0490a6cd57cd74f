//! Controllers as schedulers of a fleet: jobs are placed first in, first out, and those that are
//! promised a latency are guarded. What a controller decides is behind [`Controller`]; all that a
//! fleet is asked and told is here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use mapa_core::{DeviceId, DeviceSet, MachineId, Policy, PortId, Request, View, lowest_id};

use super::settings::{EnabledLevers, Settings};
use super::signals::{CounterSnapshot, NumaCounters, PlaceCounters};
use super::state::{ControllerAction, ControllerState, Relaunched, TenantSetup, TickInput};
use super::step::step;
use super::window::duration_ns;
use mapa_sched::Fifo;
use mapa_sched::Scheduler;
use mapa_sched::Time;
use mapa_sched::Turn;
use mapa_sched::{Event, JobLimit, Signals, Token};
use mapa_sched::{Job, JobId, Tenant};

/// A request that a tenant has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRequest {
    /// When it arrived.
    pub arrived: Time,
    /// The time from its arrival to the answer.
    pub took: Duration,
}

/// What guards one tenant, tick by tick: what differs between the paper's controller and others.
pub trait Controller: Debug {
    /// The state of one tenant's controller.
    type State: Debug;

    /// The name of the scheduler, before the policy's.
    const NAME: &'static str;

    /// What all controllers share.
    fn settings(&self) -> &Settings;

    /// The same controller for a tenant with this promise, ns.
    #[must_use]
    fn promising(&self, promise_ns: u64) -> Self;

    /// The state of a tenant that has just started at a place.
    fn begin(&self, config: TenantSetup) -> Self::State;

    /// Advances a tenant by one tick. `answered` are the requests behind the latencies of `input`.
    fn tick(
        &self,
        state: &mut Self::State,
        input: TickInput,
        answered: &[CompletedRequest],
    ) -> Vec<ControllerAction>;
}

/// The paper's controller.
#[derive(Clone, Debug)]
pub struct PaperController(Settings);

impl PaperController {
    /// The paper's controller by these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self(settings)
    }
}

impl Controller for PaperController {
    type State = ControllerState;

    const NAME: &'static str = "slo";

    fn settings(&self) -> &Settings {
        &self.0
    }

    fn promising(&self, promise_ns: u64) -> Self {
        Self(Settings {
            promise_ns,
            trigger_ns: promise_ns,
            ..self.0.clone()
        })
    }

    fn begin(&self, config: TenantSetup) -> ControllerState {
        ControllerState::new(config, &self.0)
    }

    fn tick(
        &self,
        state: &mut ControllerState,
        input: TickInput,
        _: &[CompletedRequest],
    ) -> Vec<ControllerAction> {
        step(&self.0, state, &input).orders
    }
}

/// [`GuardingScheduler`] by the paper's controller.
pub type SloScheduler = GuardingScheduler<PaperController>;

/// First in, first out; and for each job on one device that has a [promised latency](Job::slo), a
/// controller, told by [`Event::Latency`] and [`Event::Signals`].
///
/// A place is a PCIe port of the job's machine. A neighbour is a job on a device behind the same
/// port: one that demands PCIe traffic copies, another one trains. Throttles are
/// [`JobLimit`]s on the neighbours, moves are moves to a free device behind another port, and pins keep
/// the job off the cores that serve interrupts. Slices are not resized: a job asks for one size, and
/// layouts are the node's to change. Without fresh signals of a machine nothing is ordered there.
#[derive(Debug)]
pub struct GuardingScheduler<C: Controller> {
    name: String,
    inner: Fifo,
    controller: C,
    jobs: BTreeMap<JobId, Job>,
    guarded: BTreeMap<JobId, GuardedJob<C::State>>,
    signals: BTreeMap<MachineId, (u64, Signals)>,
    /// The tick for which a wake-up was ordered.
    waking: Option<u64>,
    is_due: bool,
}

/// A job with a promised latency.
#[derive(Debug)]
struct GuardedJob<S> {
    state: Option<S>,
    answered: Vec<CompletedRequest>,
    /// What became of the last order to move.
    relaunch: Option<Relaunched>,
    /// The neighbours that are throttled for it.
    throttled: BTreeSet<JobId>,
}

impl<S> Default for GuardedJob<S> {
    fn default() -> Self {
        Self {
            state: None,
            answered: Vec::new(),
            relaunch: None,
            throttled: BTreeSet::new(),
        }
    }
}

/// The name of the wake-ups.
const TICK: Token = Token(0x510);

/// The most answers of a tenant that are kept for one tick. Of more, the earlier ones are left out.
const ANSWERS: usize = 65_536;

impl SloScheduler {
    /// A scheduler that places every job by this policy and guards promises by these settings.
    #[must_use]
    pub fn new(policy: impl Policy + 'static, settings: Settings) -> Self {
        Self::guarding(policy, PaperController(settings.of_fleet()))
    }
}

impl Settings {
    /// The settings without levers that a scheduler of a fleet does not have: it resizes no slices,
    /// and admits whoever the policy places.
    #[must_use]
    pub(super) fn of_fleet(self) -> Self {
        let levers = EnabledLevers {
            enlarge: false,
            relax: false,
            admission: false,
            ..self.levers
        };
        Self { levers, ..self }
    }
}

impl<C: Controller> GuardingScheduler<C> {
    /// A scheduler that places every job by this policy and guards promises by this controller.
    #[must_use]
    pub(super) fn guarding(policy: impl Policy + 'static, controller: C) -> Self {
        Self {
            name: format!("{}, {}", C::NAME, policy.name()),
            inner: Fifo::new(policy),
            controller,
            jobs: BTreeMap::new(),
            guarded: BTreeMap::new(),
            signals: BTreeMap::new(),
            waking: None,
            is_due: false,
        }
    }

    fn tick(&self, now: Time) -> u64 {
        now.0 / self.tick_ns()
    }

    fn tick_ns(&self) -> u64 {
        u64::from(self.controller.settings().tick_ms.max(1)) * 1_000_000
    }

    /// One tick of one job's controller.
    fn guard(
        &mut self,
        job: JobId,
        tick: u64,
        all: &mut BTreeMap<MachineId, MachineTenants>,
        turn: &mut Turn<'_>,
    ) {
        let Some((machine, at)) = place_of(turn, job) else {
            return self.lose(job, turn);
        };
        let around = all
            .entry(machine)
            .or_insert_with(|| MachineTenants::of(turn, machine, &self.jobs));
        let Some(place) = around.place(port_of(turn, machine, at)) else {
            return self.lose(job, turn);
        };
        let snapshot = self.snapshot(turn, job, machine, around, tick);
        let ports: Vec<PortId> = around.places.iter().map(|place| place.port).collect();
        let Some(own) = self.guarded.get_mut(&job) else {
            return;
        };
        let slo = self.jobs.get(&job).and_then(|job| job.slo);
        let usual = self.controller.settings().promise_ns;
        let controller = self.controller.promising(slo.map_or(usual, duration_ns));
        let mut state = own
            .state
            .take()
            .unwrap_or_else(|| controller.begin(TenantSetup::at(place as u32)));
        let answered = std::mem::take(&mut own.answered);
        let input = TickInput {
            tick,
            latencies_ns: answered
                .iter()
                .map(|answered| duration_ns(answered.took))
                .collect(),
            snapshot,
            relaunch: own.relaunch.take(),
            ..TickInput::default()
        };
        let orders = controller.tick(&mut state, input, &answered);
        own.state = Some(state);
        for order in orders {
            if matches!(order, ControllerAction::Relaunch { .. }) {
                all.remove(&machine);
            }
            self.carry_out(job, machine, &ports, order, turn);
        }
    }

    /// Ends what the controller of a job has ordered: the job has no place, or one that is not known.
    fn lose(&mut self, job: JobId, turn: &mut Turn<'_>) {
        self.lift(job, turn);
        if let Some(own) = self.guarded.get_mut(&job) {
            own.state = None;
        }
    }

    /// What is known of the ports of a machine: bookings, and the last signals.
    fn snapshot(
        &self,
        turn: &Turn<'_>,
        job: JobId,
        machine: MachineId,
        around: &mut MachineTenants,
        tick: u64,
    ) -> Option<CounterSnapshot> {
        let (told, signals) = self.signals.get(&machine)?;
        let request = &self.jobs.get(&job)?.request;
        let view = turn.view(machine).ok()?;
        let room = around.room_for(request, &view);
        let place = |(port, has_room): (&PortTenants, &bool)| {
            let others = port.jobs.iter().filter(|(other, _)| **other != job);
            let others: Vec<NeighbourKind> = others.map(|(_, does)| *does).collect();
            let heavy = others
                .iter()
                .filter(|neighbour| **neighbour == NeighbourKind::Copies)
                .count();
            PlaceCounters {
                heavy: Some(heavy as u32),
                training: Some(others.contains(&NeighbourKind::Trains)),
                numa: port.numa,
                largest: has_room.then_some(0),
                pcie_mb_s: signals.pcie_mb_s.get(&port.port).copied(),
                ..PlaceCounters::default()
            }
        };
        let places = around.places.iter().zip(&around.room[room].1).map(place);
        let numa = around.nodes.iter().map(|node| NumaCounters {
            block_io_mb_s: signals.block_io_mb_s.get(node).copied(),
            interrupts_per_s: signals.interrupts.get(node).copied(),
            nic_mb_s: None,
        });
        Some(CounterSnapshot {
            age_ticks: u32::try_from(tick.saturating_sub(*told)).unwrap_or(u32::MAX),
            places: places.collect(),
            numa: numa.collect(),
        })
    }

    fn carry_out(
        &mut self,
        job: JobId,
        machine: MachineId,
        ports: &[PortId],
        order: ControllerAction,
        turn: &mut Turn<'_>,
    ) {
        match order {
            ControllerAction::Throttle {
                io_mb_s,
                mps_percent,
                ..
            } => {
                let Some((_, at)) = place_of(turn, job) else {
                    return;
                };
                let Some(port) = port_of(turn, machine, at) else {
                    return;
                };
                let around = MachineTenants::of(turn, machine, &self.jobs);
                let beside = around.places.into_iter().find(|place| place.port == port);
                for (other, does) in beside.map(|port| port.jobs).unwrap_or_default() {
                    if other == job {
                        continue;
                    }
                    match does {
                        NeighbourKind::Copies => {
                            turn.throttle(other, JobLimit::PcieMbPerS(Some(io_mb_s)));
                            turn.throttle(other, JobLimit::BlockIoMbPerS(Some(io_mb_s)));
                        }
                        NeighbourKind::Trains => {
                            let percent = u8::try_from(mps_percent).unwrap_or(100);
                            turn.throttle(other, JobLimit::MpsPercent(Some(percent)));
                        }
                        NeighbourKind::Serves => continue,
                    }
                    if let Some(own) = self.guarded.get_mut(&job) {
                        own.throttled.insert(other);
                    }
                }
            }
            ControllerAction::Lift => self.lift(job, turn),
            ControllerAction::Relaunch { to, .. } => {
                let done = self.relocate(job, machine, ports.get(to.place as usize).copied(), turn);
                if done {
                    turn.throttle(job, JobLimit::AvoidInterruptCores(to.pinned));
                }
                if let Some(own) = self.guarded.get_mut(&job) {
                    let became = if done {
                        Relaunched::Done
                    } else {
                        Relaunched::Failed
                    };
                    own.relaunch = Some(became);
                }
            }
            // A move is booked at once or not at all, so there is nothing to restore.
            ControllerAction::Restore { .. }
            | ControllerAction::Admit { .. }
            | ControllerAction::Reject { .. } => (),
        }
    }

    /// Moves a job to a free device behind a port.
    fn relocate(
        &self,
        job: JobId,
        machine: MachineId,
        port: Option<PortId>,
        turn: &mut Turn<'_>,
    ) -> bool {
        let (Some(port), Some(own)) = (port, self.jobs.get(&job)) else {
            return false;
        };
        let there = own.request.clone().only(behind(turn, machine, port));
        let decision = match turn.view(machine) {
            Ok(view) => lowest_id().decide(&there, &view),
            Err(_) => return false,
        };
        decision.is_ok_and(|decision| turn.relocate(Tenant::Job(job), decision).is_ok())
    }

    /// Lifts the throttles for a job, but for those that another job needs.
    fn lift(&mut self, job: JobId, turn: &mut Turn<'_>) {
        let Some(own) = self.guarded.get_mut(&job) else {
            return;
        };
        let throttled = std::mem::take(&mut own.throttled);
        for other in throttled {
            let is_needed = self
                .guarded
                .values()
                .any(|guarded| guarded.throttled.contains(&other));
            if is_needed || !self.jobs.contains_key(&other) {
                continue;
            }
            for guard in [
                JobLimit::PcieMbPerS(None),
                JobLimit::BlockIoMbPerS(None),
                JobLimit::MpsPercent(None),
            ] {
                turn.throttle(other, guard);
            }
        }
    }
}

/// What a job does beside another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NeighbourKind {
    /// It is promised a latency itself, and is never throttled.
    Serves,
    Copies,
    Trains,
}

impl NeighbourKind {
    fn of(job: &Job) -> Self {
        let copies = job
            .request
            .pattern
            .demands()
            .iter()
            .any(|demand| demand.pcie_mb_s > 0);
        match (job.slo.is_some(), copies) {
            (true, _) => Self::Serves,
            (false, true) => Self::Copies,
            (false, false) => Self::Trains,
        }
    }
}

/// A port of a machine, and who is there.
#[derive(Debug)]
struct PortTenants {
    port: PortId,
    devices: DeviceSet,
    /// Its NUMA node, as an index into [`MachineTenants::nodes`].
    numa: Option<u32>,
    /// The jobs with devices here, and what they do.
    jobs: BTreeMap<JobId, NeighbourKind>,
}

/// What all jobs of a machine have around them in one tick, until one of them moves.
#[derive(Debug)]
struct MachineTenants {
    /// By port.
    places: Vec<PortTenants>,
    /// The NUMA nodes of the ports.
    nodes: Vec<u32>,
    /// Requests that were asked for, each with whether there is room behind each port. Many jobs ask for the same.
    room: Vec<(Request, Vec<bool>)>,
}

impl MachineTenants {
    /// O(devices + tenants).
    fn of(turn: &Turn<'_>, machine: MachineId, jobs: &BTreeMap<JobId, Job>) -> Self {
        let mut own = Self {
            places: Vec::new(),
            nodes: Vec::new(),
            room: Vec::new(),
        };
        let Ok(view) = turn.view(machine) else {
            return own;
        };
        let graph = view.graph();
        let mut behind: BTreeMap<PortId, Vec<DeviceId>> = BTreeMap::new();
        for (id, device) in (0..).map(DeviceId).zip(graph.devices()) {
            if let Some(port) = device.port {
                behind.entry(port).or_default().push(id);
            }
        }
        for (port, ids) in behind {
            let node = ids.iter().find_map(|id| graph.device(*id).numa);
            let numa = node.map(|node| {
                let known = own.nodes.iter().position(|other| *other == node);
                known.unwrap_or_else(|| {
                    own.nodes.push(node);
                    own.nodes.len() - 1
                }) as u32
            });
            own.places.push(PortTenants {
                port,
                devices: ids.into_iter().collect(),
                numa,
                jobs: BTreeMap::new(),
            });
        }
        for (tenant, on, _) in turn.fleet().tenants().filter(|tenant| tenant.1 == machine) {
            let Some(job) = jobs.get(&tenant.job()) else {
                continue;
            };
            let leases = turn.fleet().leases_of(tenant).filter(|row| row.0 == on);
            for (_, lease) in leases {
                for id in lease.placement.set().iter() {
                    if let Some(at) = own.place(graph.device(id).port) {
                        own.places[at].jobs.insert(job.id, NeighbourKind::of(job));
                    }
                }
            }
        }
        own
    }

    /// The place of a port.
    fn place(&self, port: Option<PortId>) -> Option<usize> {
        self.places
            .binary_search_by_key(&port?, |place| place.port)
            .ok()
    }

    /// Where in [`room`](Self::room) it stands behind which ports there is room for a request.
    fn room_for(&mut self, request: &Request, view: &View<'_>) -> usize {
        if let Some(known) = self
            .room
            .iter()
            .position(|(candidate, _)| candidate == request)
        {
            return known;
        }
        let has_room = |port: &PortTenants| {
            let there = request.clone().only(port.devices.clone());
            lowest_id().decide(&there, view).is_ok()
        };
        let room = self.places.iter().map(has_room).collect();
        self.room.push((request.clone(), room));
        self.room.len() - 1
    }
}

/// The machine and the device of a job on a single device.
fn place_of(turn: &Turn<'_>, job: JobId) -> Option<(MachineId, DeviceId)> {
    let (machine, lease) = turn.fleet().lease_of(Tenant::Job(job))?;
    let set = lease.placement.set();
    let first = set.iter().next()?;
    (set.len() == 1).then_some((machine, first))
}

fn port_of(turn: &Turn<'_>, machine: MachineId, id: DeviceId) -> Option<PortId> {
    turn.view(machine).ok()?.graph().device(id).port
}

/// The devices behind a port.
fn behind(turn: &Turn<'_>, machine: MachineId, port: PortId) -> DeviceSet {
    let Ok(view) = turn.view(machine) else {
        return DeviceSet::new();
    };
    let devices = view.graph().devices().iter().enumerate();
    devices
        .filter(|(_, device)| device.port == Some(port))
        .map(|(at, _)| DeviceId(at as _))
        .collect()
}

impl<C: Controller> Scheduler for GuardingScheduler<C> {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match &event {
            Event::Arrived(job) | Event::Adopted { job, .. } => {
                if job.slo.is_some() {
                    self.guarded.insert(job.id, GuardedJob::default());
                }
                self.jobs.insert(job.id, job.clone());
            }
            Event::Latency(own) => {
                if let Some(guarded) = self.guarded.get_mut(&own.tenant.job()) {
                    if guarded.answered.len() >= ANSWERS {
                        guarded.answered.drain(..ANSWERS / 2);
                    }
                    let arrived = Time(now.0.saturating_sub(duration_ns(own.took)));
                    let took = own.took;
                    guarded.answered.push(CompletedRequest { arrived, took });
                }
            }
            Event::Signals(own) => {
                let tick = self.tick(now);
                self.signals.insert(own.machine, (tick, own.clone()));
            }
            Event::Woken(token) if *token == TICK => {
                self.is_due = true;
                self.waking = None;
                return;
            }
            _ => (),
        }
        if let Some(job) = event.leaves() {
            // Throttles for a job that leaves are lifted in the same instant.
            if let Some(own) = self.guarded.get_mut(&job)
                && own.throttled.is_empty()
            {
                self.guarded.remove(&job);
            }
            self.jobs.remove(&job);
        }
        self.inner.on_event(now, event);
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.inner.act(now, turn);
        let gone: Vec<JobId> = self
            .guarded
            .keys()
            .filter(|key| !self.jobs.contains_key(key))
            .copied()
            .collect();
        for job in gone {
            self.lift(job, turn);
            self.guarded.remove(&job);
        }
        if self.guarded.is_empty() {
            return;
        }
        let tick = self.tick(now);
        if std::mem::take(&mut self.is_due) {
            let jobs: Vec<JobId> = self.guarded.keys().copied().collect();
            let mut all = BTreeMap::new();
            for job in jobs {
                self.guard(job, tick, &mut all, turn);
            }
        }
        if self.waking.is_none() {
            let next = tick.saturating_add(1);
            self.waking = Some(next);
            turn.wake(Time(next.saturating_mul(self.tick_ns())), TICK);
        }
    }
}
