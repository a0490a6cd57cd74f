//! The manager: two queues, workers, and tasks.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use mapa_core::{Decision, Policy, Reason, Refusal};

use crate::balance::{ClassLoad, Mean, isolated_instances};
use crate::bindings::{Barred, Bindings, Blocked, PlacingPass, SharingProcess, TaskChoice};
use crate::instances::{InstanceRef, ServingInstance};
use crate::provision::{WantedInstance, repartition};
use crate::settings::{CaseSettings, ClassDivision, ContextMemory, Growers};
use mapa_sched::Fleet;
use mapa_sched::Order;
use mapa_sched::Queue;
use mapa_sched::Scheduler;
use mapa_sched::Time;
use mapa_sched::Turn;
use mapa_sched::{Action, Event};
use mapa_sched::{Job, JobId, Tenant};

/// CASE: jobs that need no isolation share instances, and isolated jobs have one each.
///
/// Source: Porter, Chen and Pande, *Compiler-Assisted Scheduling for Multi-Instance GPUs*, GPGPU 2022,
/// Algorithms 1 and 2, corrected ([what is printed](crate::PrintedAlgorithm)).
///
/// **Classes.** A job is isolated if it says so ([`Job::isolated`]) or if its one rank demands a
/// device of its own. Its footprint is the memory that it demands. Any other job of one rank is
/// launched without a device, and its request declares the largest amount of memory that it holds
/// at once. All other jobs, such as those over several devices, are placed by a policy by
/// arrival, passing over what does not fit.
///
/// **An instant.**
/// 1. Isolated jobs start in order. A job takes an instance of the smallest memory that holds its
///    footprint, if no task runs there.
/// 2. Other jobs are launched while there are workers left. An instance adds 4 workers for each of
///    its compute slices, but never more than it admits MPS clients.
/// 3. Blocked tasks are placed, oldest first: on the instance with the fewest warps in use of those
///    without an isolated job and with enough free memory ([`case`](crate::case)).
///
/// **What the paper does not say.** Of instances with equal warps, a task that names none goes where
/// the fewest processes are, then to the most free memory; any other to the first. A process sees one instance, fixed by its first task
/// ([`ProcessBinding`](crate::ProcessBinding)). Contexts take memory. A second task that begins while the first
/// holds memory is growth; only one process on an instance may grow ([`Growers`]). Whatever fits no
/// empty instance is rejected. So is a process that asks for more than its instance has.
///
/// # Complexity
/// An instant costs O(m) for m machines, O(w + i) for w isolated jobs that wait and i instances, and
/// O(i + c) for each blocked task, of c clients on an instance; O(c) for tasks of bound processes.
///
/// # Examples
/// ```
/// use mapa_core::lowest_id;
/// use mapa_sched::Scheduler;
/// use mapa_system_case::{Case, CaseSettings};
///
/// let case = Case::new(CaseSettings::CORRECTED, lowest_id());
/// assert_eq!(case.name(), "case, lowest-id");
/// ```
pub struct Case {
    name: String,
    pub(super) books: Bindings,
    /// Jobs that have arrived since the manager acted last.
    arrived: Vec<Job>,
    isolated: Vec<Job>,
    others: Vec<Job>,
    /// Isolated jobs that run, with their start.
    running: BTreeMap<JobId, Time>,
    blocked: Vec<Blocked>,
    /// The instance that is drained for an isolated job, if any.
    drained: Option<(JobId, InstanceRef)>,
    seconds: Mean,
    byte_seconds: Mean,
    by_policy: Queue,
}

impl Case {
    /// A manager with these settings. Jobs that it is not for are placed by the policy.
    #[must_use]
    pub fn new(settings: CaseSettings, policy: impl Policy + 'static) -> Self {
        Self {
            name: format!("case, {}", policy.name()),
            books: Bindings::new(settings),
            arrived: Vec::new(),
            isolated: Vec::new(),
            others: Vec::new(),
            running: BTreeMap::new(),
            blocked: Vec::new(),
            drained: None,
            seconds: Mean::default(),
            byte_seconds: Mean::default(),
            by_policy: Queue::new(policy, Order::Arrival).first_fit(),
        }
    }

    /// The manager with this name in place of `case`; that of the policy stays.
    pub(crate) fn named(self, name: &str) -> Self {
        let policy = self.name.rsplit(", ").next().unwrap_or_default();
        Self {
            name: format!("{name}, {policy}"),
            ..self
        }
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &CaseSettings {
        &self.books.settings
    }

    /// The jobs that wait: isolated ones, then others, then those of the policy.
    pub fn waiting(&self) -> impl Iterator<Item = &Job> {
        let own = self.isolated.iter().chain(&self.others);
        own.chain(self.by_policy.waiting())
    }

    /// The number of tasks that wait for memory.
    #[must_use]
    pub fn blocked(&self) -> usize {
        self.blocked.len()
    }

    /// The live processes that were launched here.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.books.workers()
    }

    /// The memory that contexts take on each instance, bytes: the machine, the device, the bytes.
    /// Leases do not count it. O(instances).
    pub fn context_bytes(
        &self,
    ) -> impl Iterator<Item = (mapa_core::MachineId, mapa_core::DeviceId, u64)> + '_ {
        let context = self.books.settings.context;
        let list = self.books.instances.list().iter();
        list.map(move |instance| {
            let bytes = instance.contexts(context, instance.clients.len());
            (instance.seat.machine, instance.seat.id, bytes)
        })
    }

    /// The instance to which a process is bound.
    #[must_use]
    pub fn bound(&self, job: JobId) -> Option<(mapa_core::MachineId, mapa_core::DeviceId)> {
        let seat = self.books.processes.get(&job)?.bound?;
        Some((seat.machine, seat.id))
    }

    /// Why a task of a process would be rejected if it asked now, and its process with it: what fits
    /// nowhere ever, or not on the instance where the process is. `None` for one that would be placed
    /// or wait. A driver that asks first can refuse the task alone, as `cudaMalloc` does.
    ///
    /// # Complexity
    /// That of one blocked task in an instant.
    #[must_use]
    pub fn refuses(
        &self,
        fleet: &mapa_sched::Fleet,
        job: JobId,
        task: mapa_sched::TaskId,
        request: &mapa_core::Request,
    ) -> Option<String> {
        match self.answer(fleet, job, task, request) {
            TaskChoice::Never(why) => Some(why.into_owned()),
            TaskChoice::At(_) | TaskChoice::Wait => None,
        }
    }

    /// Whether a task of a process would be placed if it asked now, behind those that wait. What is
    /// decided at the same instant may yet be before it.
    ///
    /// # Complexity
    /// O(b) for b blocked tasks, and that of one blocked task.
    #[must_use]
    pub fn places(
        &self,
        fleet: &mapa_sched::Fleet,
        job: JobId,
        task: mapa_sched::TaskId,
        request: &mapa_core::Request,
    ) -> bool {
        matches!(self.answer(fleet, job, task, request), TaskChoice::At(_))
    }

    /// Where a task would go if it asked now.
    fn answer(
        &self,
        fleet: &mapa_sched::Fleet,
        job: JobId,
        task: mapa_sched::TaskId,
        request: &mapa_core::Request,
    ) -> TaskChoice {
        let request = request.clone();
        let blocked = Blocked { job, task, request };
        let mut barred = Barred {
            before: self.waits_for(job),
            ..Barred::default()
        };
        // Who asks for more while others wait to grow there is judged behind them.
        for task in &self.blocked {
            let process = self.books.processes.get(&task.job);
            barred
                .growth
                .extend(process.iter().flat_map(|process| process.seats()));
        }
        self.books.seat_for(fleet, &blocked, &barred)
    }

    /// The bytes and the number of the tasks for which a process waits. O(blocked tasks).
    fn waits_for(&self, job: JobId) -> (u64, usize) {
        let own = self.blocked.iter().filter(|task| task.job == job);
        own.filter_map(Blocked::demand)
            .fold((0, 0), |(bytes, tasks): (u64, usize), demand| {
                (bytes.saturating_add(demand.memory_bytes), tasks + 1)
            })
    }

    /// Takes a process that runs already under another job, and so takes no worker. Returns why not:
    /// what it declares fits no empty instance.
    ///
    /// # Complexity
    /// O(i) for i instances.
    pub fn join(&mut self, fleet: &Fleet, job: &Job) -> Option<String> {
        let why = self.too_large(job, fleet);
        if why.is_none() {
            let bytes = job.request.pattern.demands().first();
            let peak = bytes.map_or(0, |demand| demand.memory_bytes);
            let process = SharingProcess::joined(peak, job.grows);
            self.books.launch(job.id, process);
        }
        why
    }

    /// The workers that no job has or waits for.
    ///
    /// # Complexity
    /// O(i) for i instances.
    #[must_use]
    pub fn workers_left(&self) -> usize {
        let taken = self.books.workers() + self.running.len() + self.others.len();
        self.books.most_workers().saturating_sub(taken)
    }

    /// Forgets a job that has left.
    fn forget(&mut self, job: JobId, now: Option<Time>) {
        self.arrived.retain(|arrived| arrived.id != job);
        self.isolated.retain(|isolated| isolated.id != job);
        self.others.retain(|waiting| waiting.id != job);
        self.blocked.retain(|task| task.job != job);
        let started = self.running.remove(&job);
        let process = self.books.leave(job);
        // Only jobs that have ended well are a measure of those to come.
        let Some(now) = now else { return };
        if let Some(started) = started {
            let took = Duration::from_nanos(now.0.saturating_sub(started.0));
            self.seconds.see(took.as_secs_f64());
        }
        if let Some(process) = process.filter(|process| process.is_worker) {
            self.byte_seconds.see(process.byte_seconds);
        }
    }

    /// Rejects a job, and takes back what its tasks hold.
    fn kill(&mut self, job: JobId, why: Cow<'static, str>, turn: &mut Turn<'_>) {
        let process = self.books.processes.get(&job);
        let tasks = process.into_iter().flat_map(SharingProcess::tasks);
        for task in tasks.collect::<Vec<_>>() {
            // The order that placed the task may have failed by now; then nothing is held.
            let _ = turn.suspend(Tenant::Task(job, task));
        }
        self.forget(job, None);
        turn.reject(job, Refusal::Infeasible(Reason::Rule(why)));
    }

    /// Sorts new jobs into the queues, or rejects what fits no empty instance.
    fn sort(&mut self, now: Time, turn: &mut Turn<'_>) {
        for job in std::mem::take(&mut self.arrived) {
            if !is_own(&job) {
                self.by_policy.on_event(now, Event::Arrived(job));
                continue;
            }
            if let Some(why) = self.too_large(&job, turn.fleet()) {
                turn.reject(job.id, Refusal::Infeasible(Reason::Rule(why.into())));
                continue;
            }
            let job = alone(job);
            let settings = &self.books.settings;
            let (queue, order) = if is_isolated(&job) {
                (&mut self.isolated, settings.isolated)
            } else {
                (&mut self.others, settings.others)
            };
            let new = job.run_time.on(None);
            let at = queue.partition_point(|job| order.is_behind(new, job.run_time.on(None)));
            queue.insert(at, job);
        }
    }

    /// Why a job fits no instance even when it is empty; `None` if it fits one.
    fn too_large(&self, job: &Job, fleet: &Fleet) -> Option<String> {
        let [demand] = job.request.pattern.demands() else {
            return Some("a job of one rank".to_owned());
        };
        // The footprint of an isolated job includes its context.
        let context = if is_isolated(job) {
            ContextMemory::default()
        } else {
            self.books.settings.context
        };
        let alone = (demand.memory_bytes, context);
        let fits = self.books.fits_empty(fleet, &job.request, demand, alone);
        (!fits).then(|| self.books.too_large(fleet, demand, alone))
    }

    /// How many instances isolated jobs may have now.
    fn isolated_at_most(&self) -> usize {
        let list = self.books.instances.list();
        match self.books.settings.classes {
            ClassDivision::IsolatedFirst => list.len(),
            ClassDivision::OthersFirst if self.others.is_empty() && self.blocked.is_empty() => {
                list.len()
            }
            ClassDivision::OthersFirst => 0,
            ClassDivision::Balance => {
                let bytes = list.iter().filter_map(|instance| instance.kind.capacity);
                let sum: f64 = bytes.map(|bytes| bytes as f64).sum();
                let work = ClassLoad {
                    waiting: self.isolated.len(),
                    running: self.running.len(),
                    others: self.others.len() + self.books.workers(),
                    seconds: self.seconds,
                    byte_seconds: self.byte_seconds,
                    capacity: sum / list.len().max(1) as f64,
                };
                isolated_instances(list.len(), &work)
            }
        }
    }

    fn has_worker_left(&self) -> bool {
        self.books.workers() + self.running.len() < self.books.most_workers()
    }

    /// Algorithm 1, lines 5 to 20, corrected: each isolated job is launched once, leaves the queue,
    /// and goes where no task runs.
    fn start_isolated(&mut self, now: Time, turn: &mut Turn<'_>) {
        if self.isolated.is_empty() {
            return;
        }
        let most = self.isolated_at_most();
        let list = self.books.instances.list().iter();
        let mut idle: BTreeSet<InstanceRef> = list
            .map(|instance| instance.seat)
            .filter(|&seat| tenants(turn.fleet(), seat) == 0)
            .collect();
        let mut at = 0;
        while at < self.isolated.len() && !idle.is_empty() {
            // A drained instance waits for its job. If the job then waited for a worker, and the workers
            // for the instance, nobody would go on.
            let has_worker = self.books.settings.drain || self.has_worker_left();
            if !has_worker || self.running.len() >= most {
                return;
            }
            let job = &self.isolated[at];
            let found = self.instance_for(job, &idle, turn.fleet());
            let placed = found.filter(|&seat| place(Tenant::Job(job.id), &job.request, seat, turn));
            let Some(seat) = placed else {
                at += 1;
                continue;
            };
            let job = self.isolated.remove(at);
            idle.remove(&seat);
            self.running.insert(job.id, now);
        }
    }

    /// The instance for an isolated job: of the smallest memory that holds it, without tasks, with
    /// the fewest contexts. Ties end in the lowest id.
    fn instance_for(
        &self,
        job: &Job,
        idle: &BTreeSet<InstanceRef>,
        fleet: &Fleet,
    ) -> Option<InstanceRef> {
        let [demand] = job.request.pattern.demands() else {
            return None;
        };
        let settings = &self.books.settings;
        let class = self.books.instances.class(fleet, demand, settings.fit)?;
        let suits = |instance: &&ServingInstance| {
            let is_others = self
                .drained
                .is_some_and(|(of, seat)| of != job.id && seat == instance.seat);
            instance.kind.capacity == class && !is_others
        };
        let fits = |instance: &&ServingInstance| {
            fleet.machine(instance.seat.machine).is_ok_and(|machine| {
                let view = machine.view();
                view.has_room(demand, instance.seat.id)
                    && settings
                        .fit
                        .fits(demand.memory_bytes, instance.free(&view, settings.context))
            })
        };
        let instances = &self.books.instances;
        let idle = idle.iter().filter_map(|&seat| {
            let at = instances.position(seat)?;
            instances.list().get(at)
        });
        let best = idle.filter(suits).filter(fits);
        let best = best.min_by_key(|instance| (instance.clients.len(), instance.seat));
        best.map(|instance| instance.seat)
    }

    /// Chooses an instance to drain for the isolated job that waits in front: that of its class with
    /// the fewest tasks and clients. The choice stays until the job starts or leaves.
    fn drain(&mut self, fleet: &Fleet) {
        if self.isolated.is_empty() {
            self.drained = None;
            return;
        }
        let is_valid = self.drained.is_some_and(|(job, seat)| {
            let waits = self.isolated.iter().any(|candidate| candidate.id == job);
            waits && self.books.instances.position(seat).is_some()
        });
        // Nothing is kept from others for a job that may not start.
        let most = self.isolated_at_most();
        if is_valid && self.running.len() < most {
            return;
        }
        self.drained = None;
        if !self.books.settings.drain || self.running.len() >= most {
            return;
        }
        let Some(job) = self.isolated.first() else {
            return;
        };
        let [demand] = job.request.pattern.demands() else {
            return;
        };
        let fit = self.books.settings.fit;
        let Some(class) = self.books.instances.class(fleet, demand, fit) else {
            return;
        };
        let list = self.books.instances.list().iter();
        // An instance with an isolated job empties when that job ends, and takes no task until then.
        let candidates = list.filter(|instance| {
            let machine = fleet.machine(instance.seat.machine);
            let is_shared =
                machine.is_ok_and(|machine| machine.view().usage(instance.seat.id).exclusive == 0);
            instance.kind.capacity == class && is_shared
        });
        let least = candidates.min_by_key(|candidate| {
            (
                tenants(fleet, candidate.seat),
                candidate.clients.len(),
                candidate.seat,
            )
        });
        self.drained = least.map(|instance| (job.id, instance.seat));
    }

    /// Algorithm 1, lines 21 to 30, corrected: one job is taken from the queue at a time.
    fn launch_others(&mut self, turn: &mut Turn<'_>) {
        if self.others.is_empty() {
            return;
        }
        let left = self
            .books
            .most_workers()
            .saturating_sub(self.books.workers() + self.running.len());
        for job in self.others.drain(..left.min(self.others.len())) {
            let bytes = job.request.pattern.demands().first();
            let peak = bytes.map_or(0, |demand| demand.memory_bytes);
            let process = SharingProcess::launched(peak, job.grows).lasting(job.run_time.on(None));
            self.books.launch(job.id, process);
            turn.launch(job.id);
        }
    }

    /// Algorithm 2 for each blocked task: first for processes that hold memory, then in order.
    /// Returns whether a process was rejected, so that others may have room now.
    fn place_tasks(&mut self, now: Time, turn: &mut Turn<'_>) -> bool {
        let mut barred = Barred::default();
        barred.drained.extend(self.drained.map(|(_, seat)| seat));
        let holds = |books: &Bindings, job: JobId| {
            let process = books.processes.get(&job);
            process.is_some_and(SharingProcess::is_holding)
        };
        let one = self.books.settings.growers == Growers::One;
        let mut blocked = std::mem::take(&mut self.blocked);
        // The sorts are stable: equal tasks stay in order of arrival.
        self.books.settings.others.sort(&mut blocked, |task| {
            let process = self.books.processes.get(&task.job);
            process.and_then(|process| process.lasts)
        });
        if one {
            blocked.sort_by_key(|task| !holds(&self.books, task.job));
        }
        let mut dead = BTreeSet::new();
        let (mut waiting, mut pass) = (Vec::new(), PlacingPass::default());
        for task in blocked {
            if dead.contains(&task.job) {
                continue;
            }
            let tenant = Tenant::Task(task.job, task.task);
            let choice = self
                .books
                .seat_in_pass(turn.fleet(), &task, &barred, &mut pass);
            match choice {
                TaskChoice::At(seat) if place(tenant, &task.request, seat, turn) => {
                    self.books.hold(&task, seat, now);
                }
                TaskChoice::At(_) | TaskChoice::Wait => {
                    if let Some(process) = self.books.processes.get_mut(&task.job)
                        && one
                        && process.is_holding()
                    {
                        process.grows = true;
                        barred.growth.extend(process.seats());
                    }
                    waiting.push(task);
                }
                TaskChoice::Never(why) => {
                    dead.insert(task.job);
                    self.kill(task.job, why, turn);
                    pass.frees();
                }
            }
        }
        waiting.retain(|task| !dead.contains(&task.job));
        self.blocked = waiting;
        !dead.is_empty()
    }

    /// Orders a repartition of idle instances, if something waits for what it would create.
    fn reprovision(&self, turn: &mut Turn<'_>) {
        let fit = self.books.settings.fit;
        let context = self.books.settings.context;
        // Isolated jobs that wait for their share of the instances do not wait for another layout.
        let has_share = self.running.len() < self.isolated_at_most();
        let isolated = self.isolated.iter().filter(|_| has_share);
        let isolated = isolated.filter_map(|job| {
            let demand = *job.request.pattern.demands().first()?;
            Some(WantedInstance {
                demand,
                context: ContextMemory::default(),
            })
        });
        let unbound = self.blocked.iter().filter_map(|task| {
            let process = self.books.processes.get(&task.job)?;
            let mut demand = *task.demand()?;
            demand.memory_bytes = demand.memory_bytes.max(process.peak);
            (process.bound.is_none() && !process.is_holding())
                .then_some(WantedInstance { demand, context })
        });
        let wanted: Vec<WantedInstance> = isolated.chain(unbound).collect();
        if wanted.is_empty() {
            return;
        }
        let kept = self.drained.map(|(_, seat)| seat);
        repartition(&self.books.instances, &wanted, fit, kept, turn);
    }
}

/// The tenants on an instance.
fn tenants(fleet: &Fleet, seat: InstanceRef) -> u32 {
    let machine = fleet.machine(seat.machine);
    machine.map_or(0, |machine| machine.view().usage(seat.id).tenants)
}

/// Places a tenant on a seat. Returns whether the fleet has booked it.
pub(super) fn place(
    tenant: Tenant,
    request: &mapa_core::Request,
    seat: InstanceRef,
    turn: &mut Turn<'_>,
) -> bool {
    let Ok(view) = turn.view(seat.machine) else {
        return false;
    };
    let decision = Decision::checked("case", request, &view, [seat.id]);
    decision
        .and_then(|decision| turn.place(tenant, decision))
        .is_ok()
}

/// Whether a job is for the manager: one rank, and no constraint on where.
pub(super) fn is_own(job: &Job) -> bool {
    let request = &job.request;
    request.pattern.len() == 1
        && request.must_include.is_empty()
        && request.avoid.is_empty()
        && request.only.is_none()
        && !request.same_numa
}

/// Whether a job must be alone on its instance.
pub(super) fn is_isolated(job: &Job) -> bool {
    let mut demands = job.request.pattern.demands().iter();
    job.isolated || demands.any(|demand| !demand.is_shared())
}

/// The job, with the demand of an isolated one made exclusive, so that the fleet keeps others off
/// its instance.
pub(super) fn alone(mut job: Job) -> Job {
    if is_isolated(&job) {
        let demand = job.request.pattern.demands().first().copied();
        if let Some(demand) = demand.filter(|demand| demand.is_shared()) {
            job.request.pattern = job.request.pattern.with_demand(0, demand.exclusive());
        }
    }
    job
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case")
            .field("name", &self.name)
            .field("isolated", &self.isolated.len())
            .field("others", &self.others.len())
            .field("running", &self.running.len())
            .field("blocked", &self.blocked.len())
            .finish_non_exhaustive()
    }
}

impl Scheduler for Case {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.arrived.push(job),
            Event::TaskBegin { job, task, request } => {
                let (waiting, tasks) = self.waits_for(job);
                let blocked = Blocked { job, task, request };
                let bytes = blocked.demand().map_or(0, |demand| demand.memory_bytes);
                let process = self.books.processes.entry(job).or_default();
                // From now on others are bound only where it still fits.
                process.asks(bytes, waiting);
                // Of two that wait one is placed first, and the process grows by the other.
                process.grows |= tasks > 0 && self.books.settings.growers == Growers::One;
                self.blocked.push(blocked);
            }
            Event::TaskEnd { job, task } => {
                self.blocked
                    .retain(|waiting| (waiting.job, waiting.task) != (job, task));
                self.books.end(job, task, now);
            }
            Event::ActionFailed {
                order:
                    Action::Place {
                        tenant: Tenant::Task(job, task),
                        ..
                    },
                ..
            } => self.books.end(job, task, now),
            Event::ActionFailed {
                order: Action::Launch { job },
                ..
            } => self.forget(job, None),
            event => {
                if let Some(job) = event.leaves() {
                    let is_well = matches!(event, Event::Finished(_));
                    self.forget(job, is_well.then_some(now));
                }
                self.by_policy.on_event(now, event);
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.books.instances.refresh(turn.fleet());
        self.sort(now, turn);
        self.by_policy.act(now, turn);
        // A rejected process leaves room, and no event will say so. Each round rejects one at least.
        loop {
            self.start_isolated(now, turn);
            self.drain(turn.fleet());
            self.launch_others(turn);
            if !self.place_tasks(now, turn) {
                break;
            }
        }
        if self.books.settings.reprovision {
            self.reprovision(turn);
            self.books.instances.refresh(turn.fleet());
        }
    }
}
