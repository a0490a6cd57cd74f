//! Processes, their tasks, and the instance to which each is bound.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mapa_core::{Demand, Device, DeviceId, Request, Unit, View, Want};

use crate::instances::{InstanceRef, PresentInstances, ServingInstance};
use crate::settings::{CaseSettings, ContextMemory, Growers, ProcessBinding};
use mapa_sched::Fleet;
use mapa_sched::Time;
use mapa_sched::{JobId, TaskId};

/// How much an instance has to do: warps, then processes, then how little memory is free.
type InstanceLoad = (u64, usize, Reverse<u64>);

/// A task that holds memory.
#[derive(Clone, Copy, Debug)]
struct HeldTask {
    seat: InstanceRef,
    bytes: u64,
    since: Time,
}

/// The process of a job that needs no isolation.
#[derive(Clone, Debug, Default)]
pub(super) struct SharingProcess {
    /// The most that it holds at once, bytes, as far as is known.
    pub(super) peak: u64,
    /// Whether it may ask for more while it holds some.
    pub(super) grows: bool,
    /// The estimate of its job.
    pub(super) lasts: Option<Duration>,
    /// Whether it takes one of the workers: it was launched here.
    pub(super) is_worker: bool,
    /// Its instance until its death.
    pub(super) bound: Option<InstanceRef>,
    tasks: BTreeMap<TaskId, HeldTask>,
    /// What its ended tasks used: bytes times seconds.
    pub(super) byte_seconds: f64,
}

impl SharingProcess {
    /// A process that is launched, with the most that it will hold as far as its job declares.
    pub(super) fn launched(peak: u64, grows: bool) -> Self {
        Self {
            peak,
            grows,
            is_worker: true,
            ..Self::default()
        }
    }

    /// A process that runs already under another job.
    pub(super) fn joined(peak: u64, grows: bool) -> Self {
        Self {
            is_worker: false,
            ..Self::launched(peak, grows)
        }
    }

    /// The process with the estimate of its job.
    pub(super) fn lasting(self, lasts: Option<Duration>) -> Self {
        Self { lasts, ..self }
    }

    fn held(&self) -> u64 {
        let bytes = self.tasks.values().map(|held| held.bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// Notes that it asks for so many bytes beside what it holds and what it waits for: all of it may
    /// be held at once.
    pub(super) fn asks(&mut self, bytes: u64, waiting: u64) {
        let all = self.held().saturating_add(waiting).saturating_add(bytes);
        self.peak = self.peak.max(all);
    }

    pub(super) fn is_holding(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// The instances on which its tasks hold memory.
    pub(super) fn seats(&self) -> impl Iterator<Item = InstanceRef> + '_ {
        self.tasks.values().map(|held| held.seat)
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.tasks.keys().copied()
    }
}

/// A task that has no place yet.
#[derive(Clone, Debug)]
pub(super) struct Blocked {
    pub(super) job: JobId,
    pub(super) task: TaskId,
    pub(super) request: Request,
}

impl Blocked {
    /// What its one rank demands; `None` if it has several ranks or none.
    pub(super) fn demand(&self) -> Option<&Demand> {
        match self.request.pattern.demands() {
            [demand] => Some(demand),
            _ => None,
        }
    }
}

/// Where a task can go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskChoice {
    /// There, now.
    At(InstanceRef),
    /// Nowhere yet.
    Wait,
    /// Nowhere ever, for this reason.
    Never(Cow<'static, str>),
}

/// The instances that take no new work at this instant.
#[derive(Clone, Debug, Default)]
pub(super) struct Barred {
    /// A process waits there for more memory: no other task is admitted.
    pub(super) growth: BTreeSet<InstanceRef>,
    /// Drained for an isolated job: no further process is bound there.
    pub(super) drained: BTreeSet<InstanceRef>,
    /// What the process that asks waits for already: the bytes and the number of its tasks. Zero
    /// where a task that waits is judged itself.
    pub(super) before: (u64, usize),
}

/// What the first task of a process needs of any instance.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreeNeed {
    demand: Demand,
    /// The most that the process will hold.
    peak: u64,
    /// The bytes that must fit an instance that is empty.
    wanted: u64,
    /// Whether no other process that grows may be there.
    is_alone: bool,
}

/// What is known of the tasks that were looked at earlier in a pass over those that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct PlacingPass {
    /// What found no instance.
    refused: Vec<FreeNeed>,
    /// What fits an instance that is empty, among what is no less than that.
    waiting: Vec<FreeNeed>,
}

impl PlacingPass {
    /// Notes that a process is gone: what it held is free.
    pub(super) fn frees(&mut self) {
        self.refused.clear();
    }
}

impl FreeNeed {
    /// Whether whatever has no room for another need has none for this.
    fn is_no_less_than(&self, other: &Self) -> bool {
        // Warps say which instance is the best, not whether there is room.
        let kind = |need: &Self| Demand {
            memory_bytes: 0,
            warps: 0,
            ..need.demand
        };
        kind(self) == kind(other)
            && self.demand.memory_bytes >= other.demand.memory_bytes
            && self.peak >= other.peak
            && self.wanted >= other.wanted
            && (self.is_alone || !other.is_alone)
    }
}

/// Who is where, by the orders that were given.
#[derive(Clone, Debug, Default)]
pub(super) struct Bindings {
    pub(super) instances: PresentInstances,
    pub(super) processes: BTreeMap<JobId, SharingProcess>,
    pub(super) settings: CaseSettings,
    /// How many of the processes are workers.
    workers: usize,
}

impl Bindings {
    pub(super) fn new(settings: CaseSettings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// The live processes that were launched here.
    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    /// Adds a process that is launched.
    pub(super) fn launch(&mut self, job: JobId, process: SharingProcess) {
        self.workers += usize::from(process.is_worker);
        let before = self.processes.insert(job, process);
        self.workers -= usize::from(before.is_some_and(|process| process.is_worker));
    }

    /// The most workers: by the setting, and never more than the MPS clients of an instance.
    pub(super) fn most_workers(&self) -> usize {
        let most = |instance: &ServingInstance| {
            let wanted = self.settings.workers.saturating_mul(instance.slices);
            wanted.min(instance.most_clients) as usize
        };
        self.instances.list().iter().map(most).sum()
    }

    /// Binds a process to an instance. Until its death it is a client there.
    pub(super) fn bind(&mut self, job: JobId, seat: InstanceRef) {
        if let Some(instance) = self.instances.at(seat) {
            instance.clients.entry(job).or_insert(0);
            self.processes.entry(job).or_default().bound = Some(seat);
        }
    }

    /// Notes that a task holds memory.
    pub(super) fn hold(&mut self, blocked: &Blocked, seat: InstanceRef, now: Time) {
        let bytes = blocked.demand().map_or(0, |demand| demand.memory_bytes);
        let process = self.processes.entry(blocked.job).or_default();
        let held = HeldTask {
            seat,
            bytes,
            since: now,
        };
        process.tasks.insert(blocked.task, held);
        process.peak = process.peak.max(process.held());
        if self.settings.binding == ProcessBinding::Once {
            self.bind(blocked.job, seat);
        }
        if let Some(instance) = self.instances.at(seat) {
            *instance.clients.entry(blocked.job).or_insert(0) += 1;
        }
    }

    /// Notes that a task is over. Nothing happens if it holds nothing.
    pub(super) fn end(&mut self, job: JobId, task: TaskId, now: Time) {
        let Some(process) = self.processes.get_mut(&job) else {
            return;
        };
        let Some(held) = process.tasks.remove(&task) else {
            return;
        };
        let took = Duration::from_nanos(now.0.saturating_sub(held.since.0));
        process.byte_seconds += held.bytes as f64 * took.as_secs_f64();
        let is_bound = process.bound == Some(held.seat);
        if let Some(instance) = self.instances.at(held.seat) {
            let tasks = instance.clients.entry(job).or_insert(1);
            *tasks = tasks.saturating_sub(1);
            // A bound process keeps its context until its death.
            if *tasks == 0 && !is_bound {
                instance.clients.remove(&job);
            }
        }
    }

    /// Forgets a process that is dead, and all that it held.
    pub(super) fn leave(&mut self, job: JobId) -> Option<SharingProcess> {
        let process = self.processes.remove(&job)?;
        self.workers -= usize::from(process.is_worker);
        let seats = process.tasks.values().map(|held| held.seat);
        for seat in seats.chain(process.bound) {
            if let Some(instance) = self.instances.at(seat) {
                instance.clients.remove(&job);
            }
        }
        Some(process)
    }

    /// Whether another process on the instance grows.
    fn has_grower(&self, instance: &ServingInstance, but: JobId) -> bool {
        let others = instance.clients.keys().filter(|&&job| job != but);
        let mut processes = others.filter_map(|job| self.processes.get(job));
        processes.any(|process| process.grows)
    }

    /// Whether these bytes fit on an instance beside so many contexts, if no task is there.
    fn fits_beside(&self, bytes: u64, contexts: usize, instance: &ServingInstance) -> bool {
        let contexts = instance.contexts(self.settings.context, contexts);
        let all = bytes.saturating_add(contexts);
        self.settings.fit.fits(all, instance.kind.capacity)
    }

    /// Whether a process with this peak may be bound to an instance: the peak of every process there
    /// still fits beside all contexts. Otherwise processes that hold nothing but contexts could keep
    /// each other from ever starting a task.
    fn may_bind(&self, peak: u64, instance: &ServingInstance) -> bool {
        let clients = instance.clients.len();
        if clients >= instance.most_clients as usize {
            return false;
        }
        let own = instance.clients.keys();
        let peaks = own.filter_map(|job| self.processes.get(job).map(|process| process.peak));
        let most = peaks.max().unwrap_or(0).max(peak);
        self.fits_beside(most, clients + 1, instance)
    }

    /// Where a task can go: Algorithm 2 on the instances that its process may use.
    ///
    /// # Complexity
    /// O(1) for a process that is bound, else O(i + c log p) for i instances, and c clients on those
    /// that improve on the one before, of p processes.
    pub(super) fn seat_for(&self, fleet: &Fleet, blocked: &Blocked, barred: &Barred) -> TaskChoice {
        let Some(demand) = blocked.demand() else {
            return never("a task of one rank");
        };
        let new = SharingProcess::default();
        let process = self.processes.get(&blocked.job).unwrap_or(&new);
        let grows = process.is_holding();
        let stays = match (process.bound, process.tasks.values().next()) {
            (Some(seat), _) => Some(seat),
            // A process that grows stays where it grows, so that it waits for that instance alone.
            (None, Some(held)) if self.settings.growers == Growers::One => Some(held.seat),
            (None, _) => None,
        };
        match stays {
            Some(seat) => self.seat_of_bound(fleet, blocked, demand, seat, grows, barred),
            None => self.seat_of_free(fleet, blocked, demand, process, barred),
        }
    }

    /// Where a task of a process goes that has an instance.
    fn seat_of_bound(
        &self,
        fleet: &Fleet,
        blocked: &Blocked,
        demand: &Demand,
        seat: InstanceRef,
        grows: bool,
        barred: &Barred,
    ) -> TaskChoice {
        let gone = never("an instance that still exists: that of the process is gone");
        let Some(instance) = self.instances.position(seat) else {
            return gone;
        };
        let instance = &self.instances.list()[instance];
        let Ok(machine) = fleet.machine(seat.machine) else {
            return gone;
        };
        let view = machine.view();
        let process = self.processes.get(&blocked.job);
        let held = process.map_or(0, SharingProcess::held);
        let (waiting, before) = barred.before;
        let all = held.saturating_add(waiting);
        let all = all.saturating_add(demand.memory_bytes);
        // The contexts of bound processes stay until these die, and they may wait for this one.
        let clients = match self.settings.binding {
            ProcessBinding::Once => instance.clients.len(),
            ProcessBinding::Free => 1,
        };
        if !demand.fits(view.graph().device(seat.id)) || !self.fits_beside(all, clients, instance) {
            return never("memory for all that the process holds, on the instance where it is");
        }
        if !allows(&blocked.request, &view, seat) {
            return never("the instance where the process is");
        }
        let has_room = view.usage(seat.id).exclusive == 0
            && view.has_room(demand, seat.id)
            && self.fits_now(demand, 0, instance, &view);
        let is_barred = !grows && barred.growth.contains(&seat);
        // Of two that wait one is placed first, and the process grows by the other.
        let fits = has_room && !is_barred;
        let may_grow = grows && !fits || before > 0;
        if may_grow
            && self.settings.growers == Growers::One
            && self.has_grower(instance, blocked.job)
        {
            return never("no other process that grows on the instance");
        }
        if fits {
            return TaskChoice::At(seat);
        }
        TaskChoice::Wait
    }

    /// Where the first task of a process goes, or any task of one that is free to choose.
    fn seat_of_free(
        &self,
        fleet: &Fleet,
        blocked: &Blocked,
        demand: &Demand,
        process: &SharingProcess,
        barred: &Barred,
    ) -> TaskChoice {
        let binds = self.settings.binding == ProcessBinding::Once;
        let peak = barred.before.0.saturating_add(demand.memory_bytes);
        let peak = process.peak.max(peak);
        let alone = self.settings.growers == Growers::One && process.grows;
        // A process that grows stays where it is, so its peak has to fit there.
        let wanted = if binds || alone {
            peak
        } else {
            demand.memory_bytes
        };
        let is_free = allows_all(&blocked.request);
        let mut best: Option<(InstanceLoad, InstanceRef)> = None;
        for (view, instances) in self.by_machine(fleet) {
            for instance in instances {
                let seat = instance.seat;
                let usage = view.usage(seat.id);
                // Line 9 of Algorithm 2: fewer warps than the best so far, so the first wins a tie. A
                // task that names no warps would make the first instance the one of all: it goes where
                // the fewest processes are, then to the most free memory.
                let load = if demand.warps > 0 {
                    (usage.warps, 0, Reverse(0))
                } else {
                    let free = view.free_memory(seat.id).unwrap_or(0);
                    (usage.warps, instance.clients.len(), Reverse(free))
                };
                if best.is_some_and(|(least, _)| load >= least)
                    || usage.exclusive > 0
                    || barred.growth.contains(&seat)
                    || barred.drained.contains(&seat)
                {
                    continue;
                }
                let is_new = !instance.clients.contains_key(&blocked.job);
                let admits = || match binds {
                    true => self.may_bind(peak, instance),
                    false => !is_new || instance.clients.len() < instance.most_clients as usize,
                };
                // What is free comes first: under load it rules out most instances, and to bind a process all others
                // there are looked up.
                if self.fits_now(demand, usize::from(is_new), instance, &view)
                    && admits()
                    && view.has_room(demand, seat.id)
                    && (is_free || allows(&blocked.request, &view, seat))
                    && !(alone && self.has_grower(instance, blocked.job))
                    && (binds || self.fits_beside(wanted, 1, instance))
                {
                    best = Some((load, seat));
                }
            }
        }
        match best {
            Some((_, seat)) => TaskChoice::At(seat),
            None => self.seat_of_none(fleet, blocked, demand, wanted),
        }
    }

    /// Whether a task that no instance takes now waits for one.
    fn seat_of_none(
        &self,
        fleet: &Fleet,
        blocked: &Blocked,
        demand: &Demand,
        wanted: u64,
    ) -> TaskChoice {
        let alone = (wanted, self.settings.context);
        if self.fits_empty(fleet, &blocked.request, demand, alone) {
            TaskChoice::Wait
        } else {
            TaskChoice::Never(self.too_large(fleet, demand, alone).into())
        }
    }

    /// What a task needs of an instance, if any will do: its process is bound to none, and its request excludes none.
    fn need_of(&self, blocked: &Blocked) -> Option<FreeNeed> {
        let demand = *blocked.demand()?;
        let new = SharingProcess::default();
        let process = self.processes.get(&blocked.job).unwrap_or(&new);
        if process.bound.is_some() || process.is_holding() || !allows_all(&blocked.request) {
            return None;
        }
        let peak = process.peak.max(demand.memory_bytes);
        let is_alone = self.settings.growers == Growers::One && process.grows;
        let binds = self.settings.binding == ProcessBinding::Once;
        let wanted = if binds || is_alone {
            peak
        } else {
            demand.memory_bytes
        };
        Some(FreeNeed {
            demand,
            peak,
            wanted,
            is_alone,
        })
    }

    /// As [`seat_for`](Self::seat_for), in a pass over tasks that wait. Since the earlier ones of the pass, others may have
    /// got places, and nobody has left one.
    pub(super) fn seat_in_pass(
        &self,
        fleet: &Fleet,
        blocked: &Blocked,
        barred: &Barred,
        pass: &mut PlacingPass,
    ) -> TaskChoice {
        let Some(need) = self.need_of(blocked) else {
            return self.seat_for(fleet, blocked, barred);
        };
        if !pass.refused.iter().any(|less| need.is_no_less_than(less)) {
            let choice = self.seat_for(fleet, blocked, barred);
            if choice == TaskChoice::Wait {
                pass.refused.push(need);
            }
            return choice;
        }
        let is_known = pass.waiting.iter().any(|more| more.is_no_less_than(&need));
        let choice = if is_known {
            TaskChoice::Wait
        } else {
            self.seat_of_none(fleet, blocked, &need.demand, need.wanted)
        };
        debug_assert_eq!(choice, self.seat_for(fleet, blocked, barred));
        if choice == TaskChoice::Wait && !is_known {
            pass.waiting.push(need);
        }
        choice
    }

    /// Whether so many bytes of a demand, and a context, fit an instance that is empty: in the present layouts, in
    /// those under way, or in any if instances are re-provisioned.
    pub(super) fn fits_empty(
        &self,
        fleet: &Fleet,
        request: &Request,
        demand: &Demand,
        (bytes, context): (u64, ContextMemory),
    ) -> bool {
        let is_free = allows_all(request);
        fleet.views().any(|view| {
            let graph = view.graph();
            graph.devices().iter().zip(0..).any(|(device, id)| {
                let (whole, id) = (device.parent, DeviceId(id));
                let seat = InstanceRef {
                    machine: view.machine(),
                    id,
                };
                let is_slice = matches!(device.unit, Unit::Slice(_));
                let next = || view.changing_to(whole);
                let is_next = || {
                    let next = next().and_then(|layout| graph.vertices_in(whole, layout).ok());
                    next.is_some_and(|next| next.contains(id))
                };
                let bytes = bytes.saturating_add(context.on_device(graph, device));
                demand.fits(device)
                    && (self.settings.fit.fits(bytes, device.memory_bytes)
                        || demand.memory_bytes == 0 && device.memory_bytes.is_none())
                    && (view.present().contains(id)
                        || self.settings.reprovision && is_slice
                        || is_next())
                    && (is_free || allows(request, &view, seat))
            })
        })
    }

    /// What is expected where so many bytes of a demand, and a context, fit no instance.
    pub(super) fn too_large(
        &self,
        fleet: &Fleet,
        demand: &Demand,
        (bytes, context): (u64, ContextMemory),
    ) -> String {
        let of_any_size = Demand {
            memory_bytes: 0,
            ..*demand
        };
        // The memory of each instance, and what a context takes of it.
        let sizes = fleet.views().flat_map(|view| {
            let graph = view.graph();
            let present = view.present().iter().map(|id| graph.device(id));
            let own = present.filter(|device| of_any_size.fits(device));
            let size = |device: &Device| {
                (
                    device.memory_bytes.unwrap_or(0),
                    context.on_device(graph, device),
                )
            };
            own.map(size).collect::<Vec<_>>()
        });
        let gb = |bytes: u64| format!("{:.2} GB", bytes as f64 / 1e9);
        match sizes.max() {
            Some((largest, context)) => format!(
                "an instance that holds {} when empty: the largest has {}",
                gb(bytes.saturating_add(context)),
                gb(largest)
            ),
            None if demand.want == Want::Whole => {
                "a whole device: every device is partitioned".to_owned()
            }
            None => "an instance of the size that is requested".to_owned(),
        }
    }

    /// The instances, machine by machine.
    fn by_machine<'a>(
        &'a self,
        fleet: &'a Fleet,
    ) -> impl Iterator<Item = (View<'a>, &'a [ServingInstance])> + 'a {
        let same = |a: &ServingInstance, b: &ServingInstance| a.seat.machine == b.seat.machine;
        let machines = self.instances.list().chunk_by(same);
        machines.filter_map(|instances| {
            let machine = fleet.machine(instances.first()?.seat.machine).ok()?;
            Some((machine.view(), instances))
        })
    }

    /// Whether a demand fits beside the leases and contexts on an instance, with so many contexts
    /// more.
    fn fits_now(
        &self,
        demand: &Demand,
        contexts: usize,
        instance: &ServingInstance,
        view: &View<'_>,
    ) -> bool {
        let context = self.settings.context;
        let bytes = demand
            .memory_bytes
            .saturating_add(instance.contexts(context, contexts));
        self.settings.fit.fits(bytes, instance.free(view, context))
    }
}

fn never(why: &'static str) -> TaskChoice {
    TaskChoice::Never(why.into())
}

/// Whether a request allows every seat.
fn allows_all(request: &Request) -> bool {
    request.only.is_none()
        && request.avoid.is_empty()
        && request.must_include.is_empty()
        && !request.same_numa
}

/// Whether a request allows a seat.
fn allows(request: &Request, view: &View<'_>, seat: InstanceRef) -> bool {
    let graph = view.graph();
    let is_in = |set| graph.with_parts(set).contains(seat.id);
    request.only.as_ref().is_none_or(is_in)
        && (request.avoid.is_empty() || !is_in(&request.avoid))
        && request.must_include.is_empty()
        && !request.same_numa
}
