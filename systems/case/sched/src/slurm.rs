//! The paper's baseline: one process an instance.

use std::collections::BTreeSet;
use std::fmt;

use mapa_core::{Policy, Reason, Refusal};

use crate::bindings::{Barred, Bindings, Blocked, SharingProcess, TaskChoice};
use crate::instances::{InstanceRef, ServingInstance};
use crate::manager::{alone, is_isolated, is_own, place};
use crate::settings::{CaseSettings, ContextMemory, Growers, MemoryFit, ProcessBinding};
use mapa_sched::Fleet;
use mapa_sched::Order;
use mapa_sched::Queue;
use mapa_sched::Scheduler;
use mapa_sched::Time;
use mapa_sched::Turn;
use mapa_sched::{Action, Event};
use mapa_sched::{Job, JobId, Tenant};

/// Slurm with MIG, the baseline of CASE: each job has an instance of its own for life.
///
/// A job takes an instance of the smallest memory that holds its footprint, by arrival. A job that
/// cannot start is passed over, or [blocks](Self::blocking) all behind it. A job that needs no
/// isolation is launched and bound to its instance, where its tasks run; nobody else is admitted until
/// it ends. Jobs are rejected as by [`Case`](crate::Case), with the same [`MemoryFit`]; contexts take no
/// memory, as each process is alone.
///
/// # Complexity
/// O(w (k + i)) an instant, for w jobs that wait, k kinds of instances and i instances.
///
/// # Examples
/// ```
/// use mapa_core::lowest_id;
/// use mapa_sched::Scheduler;
/// use mapa_system_case::SlurmMig;
///
/// let slurm = SlurmMig::new(lowest_id()).blocking(true);
/// assert_eq!(slurm.name(), "slurm-mig, lowest-id");
/// ```
pub struct SlurmMig {
    name: String,
    books: Bindings,
    blocking: bool,
    arrived: Vec<Job>,
    waiting: Vec<Job>,
    blocked: Vec<Blocked>,
    by_policy: Queue,
}

impl SlurmMig {
    /// The baseline, passing over what does not fit. Jobs that it is not for, such as those over
    /// several devices, are placed by the policy.
    #[must_use]
    pub fn new(policy: impl Policy + 'static) -> Self {
        let settings = CaseSettings {
            binding: ProcessBinding::Once,
            growers: Growers::Any,
            context: ContextMemory::fixed(0),
            ..CaseSettings::CORRECTED
        };
        Self {
            name: format!("slurm-mig, {}", policy.name()),
            books: Bindings::new(settings),
            blocking: false,
            arrived: Vec::new(),
            waiting: Vec::new(),
            blocked: Vec::new(),
            by_policy: Queue::new(policy, Order::Arrival).first_fit(),
        }
    }

    /// Whether a job that cannot start blocks all that arrived after it. Default: no.
    #[must_use]
    pub fn blocking(self, blocking: bool) -> Self {
        Self { blocking, ..self }
    }

    /// When a footprint fits an instance. Default: if it is below its memory.
    #[must_use]
    pub fn fit(mut self, fit: MemoryFit) -> Self {
        self.books.settings.fit = fit;
        self
    }

    /// The jobs that wait, by arrival, then those of the policy.
    pub fn waiting(&self) -> impl Iterator<Item = &Job> {
        self.waiting.iter().chain(self.by_policy.waiting())
    }

    fn forget(&mut self, job: JobId) {
        self.arrived.retain(|arrived| arrived.id != job);
        self.waiting.retain(|waiting| waiting.id != job);
        self.blocked.retain(|task| task.job != job);
        self.books.leave(job);
    }

    /// An empty instance of the smallest memory that holds a job; `Err` if none ever does.
    fn instance_for(&self, job: &Job, fleet: &Fleet) -> Result<Option<InstanceRef>, Refusal> {
        let never = |why: String| Refusal::Infeasible(Reason::Rule(why.into()));
        let [demand] = job.request.pattern.demands() else {
            return Err(never("a job of one rank".to_owned()));
        };
        let fit = self.books.settings.fit;
        let Some(class) = self.books.instances.class(fleet, demand, fit) else {
            let is_changing = fleet.views().any(|view| {
                let wholes = view.graph().wholes();
                wholes.iter().any(|whole| view.changing_to(whole).is_some())
            });
            return if is_changing {
                Ok(None)
            } else {
                let alone = (demand.memory_bytes, ContextMemory::default());
                let why = self.books.too_large(fleet, demand, alone);
                Err(never(why))
            };
        };
        let is_empty = |instance: &&ServingInstance| {
            fleet.machine(instance.seat.machine).is_ok_and(|machine| {
                let view = machine.view();
                instance.kind.capacity == class
                    && instance.clients.is_empty()
                    && view.usage(instance.seat.id).tenants == 0
                    && view.has_room(demand, instance.seat.id)
            })
        };
        let list = self.books.instances.list().iter();
        Ok(list.filter(is_empty).map(|instance| instance.seat).next())
    }

    /// Starts a job on an empty instance. Returns whether it has started.
    fn start(&mut self, job: &Job, seat: InstanceRef, turn: &mut Turn<'_>) -> bool {
        if is_isolated(job) {
            return place(Tenant::Job(job.id), &job.request, seat, turn);
        }
        let process = SharingProcess::launched(0, job.grows);
        self.books.launch(job.id, process);
        self.books.bind(job.id, seat);
        turn.launch(job.id);
        true
    }

    fn start_all(&mut self, turn: &mut Turn<'_>) {
        let mut left = Vec::new();
        let mut is_blocked = false;
        for job in std::mem::take(&mut self.waiting) {
            if is_blocked {
                left.push(job);
                continue;
            }
            match self.instance_for(&job, turn.fleet()) {
                Err(why) => turn.reject(job.id, why),
                Ok(Some(seat)) if self.start(&job, seat, turn) => {}
                Ok(_) => {
                    is_blocked = self.blocking;
                    left.push(job);
                }
            }
        }
        self.waiting = left;
    }

    /// Places tasks on the instances of their processes. Returns whether a process was rejected.
    fn place_tasks(&mut self, now: Time, turn: &mut Turn<'_>) -> bool {
        let barred = Barred::default();
        let mut dead = BTreeSet::new();
        for candidate in std::mem::take(&mut self.blocked) {
            if dead.contains(&candidate.job) {
                continue;
            }
            let tenant = Tenant::Task(candidate.job, candidate.task);
            match self.books.seat_for(turn.fleet(), &candidate, &barred) {
                TaskChoice::At(seat) if place(tenant, &candidate.request, seat, turn) => {
                    self.books.hold(&candidate, seat, now);
                }
                TaskChoice::At(_) | TaskChoice::Wait => self.blocked.push(candidate),
                TaskChoice::Never(why) => {
                    let process = self.books.processes.get(&candidate.job);
                    let tasks = process.into_iter().flat_map(SharingProcess::tasks);
                    for task in tasks.collect::<Vec<_>>() {
                        // If the order that placed it has failed, nothing is held.
                        let _ = turn.suspend(Tenant::Task(candidate.job, task));
                    }
                    self.forget(candidate.job);
                    dead.insert(candidate.job);
                    turn.reject(candidate.job, Refusal::Infeasible(Reason::Rule(why)));
                }
            }
        }
        !dead.is_empty()
    }
}

impl fmt::Debug for SlurmMig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlurmMig")
            .field("name", &self.name)
            .field("waiting", &self.waiting.len())
            .field("blocked", &self.blocked.len())
            .finish_non_exhaustive()
    }
}

impl Scheduler for SlurmMig {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.arrived.push(job),
            Event::TaskBegin { job, task, request } => {
                self.blocked.push(Blocked { job, task, request });
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
            } => self.forget(job),
            event => {
                if let Some(job) = event.leaves() {
                    self.forget(job);
                }
                self.by_policy.on_event(now, event);
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.books.instances.refresh(turn.fleet());
        for job in std::mem::take(&mut self.arrived) {
            if is_own(&job) {
                self.waiting.push(alone(job));
            } else {
                self.by_policy.on_event(now, Event::Arrived(job));
            }
        }
        self.by_policy.act(now, turn);
        loop {
            self.start_all(turn);
            if !self.place_tasks(now, turn) {
                break;
            }
        }
    }
}
