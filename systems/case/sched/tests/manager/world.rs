//! A small driver of processes: each runs its steps, and asks for memory while it may hold some.
//! After every instant it checks what must hold at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mapa_core::{Demand, DeviceId, HardwareGraph, MachineId, Pattern, Request};
use mapa_sched::testing::{check, cuttable, layout};
use mapa_sched::{Action, Event, Fleet, Job, JobId, Scheduler, TaskId, Tenant, Time, step};
use mapa_system_case::{Case, SlurmMig};

/// A tenth of a gigabyte, the unit of all sizes here.
pub(crate) const UNIT: u64 = 100_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Host(u64),
    Begin(u64, u64),
    End(u64),
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Bytes and seconds.
    Isolated(u64, u64),
    /// The declared peak, whether it says that it grows, and its steps.
    Process(u64, bool, Vec<Step>),
}

pub(crate) fn request(bytes: u64) -> Request {
    Request::new(Pattern::single(
        Demand::any().shared().memory(bytes).warps(1),
    ))
}

/// A scheduler that says what contexts take.
pub(crate) trait Manager: Scheduler {
    fn contexts(&self) -> BTreeMap<(MachineId, DeviceId), u64> {
        BTreeMap::new()
    }
    fn bound_to(&self, _: JobId) -> Option<(MachineId, DeviceId)> {
        None
    }
}

impl Manager for Case {
    fn contexts(&self) -> BTreeMap<(MachineId, DeviceId), u64> {
        let all = self.context_bytes();
        all.map(|(machine, id, bytes)| ((machine, id), bytes))
            .collect()
    }
    fn bound_to(&self, job: JobId) -> Option<(MachineId, DeviceId)> {
        self.bound(job)
    }
}

impl Manager for SlurmMig {}

/// Devices of four slices of 6 GiB, partitioned alike.
pub(crate) fn fleet(devices: usize, profiles: &[&str]) -> (Vec<Arc<HardwareGraph>>, Fleet) {
    let graphs = vec![cuttable(devices)];
    let mut fleet = Fleet::new(graphs.clone());
    for id in 0..devices as u32 {
        fleet
            .layout_is(MachineId(0), DeviceId(id), &layout(profiles))
            .unwrap();
    }
    (graphs, fleet)
}

#[derive(Clone, Copy, Debug)]
enum What {
    Arrives(JobId),
    GoesOn(JobId),
    Dies(JobId),
}

pub(crate) struct World {
    pub(crate) fleet: Fleet,
    jobs: BTreeMap<JobId, Kind>,
    at: BTreeMap<JobId, usize>,
    queue: BTreeMap<(u64, u64), Vec<Event>>,
    plans: BTreeMap<(u64, u64), What>,
    serial: u64,
    pub(crate) now: u64,
    pub(crate) placed: Vec<(u64, Tenant, DeviceId)>,
    pub(crate) ended: BTreeMap<JobId, u64>,
    /// Jobs that were rejected, and why.
    pub(crate) rejected: BTreeMap<JobId, String>,
    pub(crate) died: BTreeSet<JobId>,
    running: BTreeSet<JobId>,
    bound: BTreeMap<JobId, (MachineId, DeviceId)>,
    /// How many seconds a repartition takes, and every how many-th one fails.
    pub(crate) repartition: (u64, u64),
    pub(crate) repartitions: u64,
    /// Every how many-th place of a task fails; 0: none.
    pub(crate) fails: u64,
    places: u64,
    pub(crate) most_running: usize,
}

impl World {
    pub(crate) fn new(fleet: Fleet, jobs: impl IntoIterator<Item = (u64, Kind)>) -> Self {
        let mut world = Self {
            fleet,
            jobs: BTreeMap::new(),
            at: BTreeMap::new(),
            queue: BTreeMap::new(),
            plans: BTreeMap::new(),
            serial: 0,
            now: 0,
            placed: Vec::new(),
            ended: BTreeMap::new(),
            rejected: BTreeMap::new(),
            died: BTreeSet::new(),
            running: BTreeSet::new(),
            bound: BTreeMap::new(),
            repartition: (10, 0),
            repartitions: 0,
            fails: 0,
            places: 0,
            most_running: 0,
        };
        for (id, (arrives, kind)) in (0..).zip(jobs) {
            world.jobs.insert(JobId(id), kind);
            world.plan(arrives, What::Arrives(JobId(id)));
        }
        world
    }

    fn plan(&mut self, at: u64, what: What) {
        self.serial += 1;
        self.plans.insert((at, self.serial), what);
    }

    fn tell(&mut self, at: u64, events: Vec<Event>) {
        self.serial += 1;
        self.queue.insert((at, self.serial), events);
    }

    /// A process dies at this moment, whatever it holds.
    pub(crate) fn dies(&mut self, job: u64, at: u64) {
        self.plan(at, What::Dies(JobId(job)));
    }

    fn job(&self, id: JobId) -> Job {
        let mut job = match &self.jobs[&id] {
            Kind::Isolated(bytes, seconds) => {
                let mut job = Job::new(id, request(*bytes));
                job.isolated = true;
                job.run_time = mapa_sched::RunTime::Fixed(std::time::Duration::from_secs(*seconds));
                job
            }
            Kind::Process(peak, grows, _) => {
                let mut job = Job::new(id, request(*peak));
                job.grows = *grows;
                job
            }
        };
        job.arrived = Time::from_secs(self.now);
        job
    }

    fn is_over(&self, job: JobId) -> bool {
        self.ended.contains_key(&job)
            || self.rejected.contains_key(&job)
            || self.died.contains(&job)
    }

    /// Runs a process until it waits for time or memory.
    fn go_on(&mut self, job: JobId) -> Vec<Event> {
        let mut events = Vec::new();
        let Kind::Process(.., steps) = self.jobs[&job].clone() else {
            return events;
        };
        loop {
            let at = self.at.entry(job).or_insert(0);
            let step = steps.get(*at).copied();
            *at += 1;
            match step {
                Some(Step::Host(seconds)) => {
                    self.plan(self.now + seconds, What::GoesOn(job));
                    return events;
                }
                Some(Step::Begin(task, bytes)) => {
                    let (task, request) = (TaskId(task), request(bytes));
                    events.push(Event::TaskBegin { job, task, request });
                    return events;
                }
                Some(Step::End(task)) => events.push(Event::TaskEnd {
                    job,
                    task: TaskId(task),
                }),
                None => {
                    events.push(Event::Finished(job));
                    self.ended.insert(job, self.now);
                    return events;
                }
            }
        }
    }

    fn events_of(&mut self, what: What) -> Vec<Event> {
        match what {
            What::Arrives(job) => vec![Event::Arrived(self.job(job))],
            What::GoesOn(job) if !self.is_over(job) => match self.jobs[&job] {
                Kind::Isolated(..) => {
                    self.ended.insert(job, self.now);
                    vec![Event::Finished(job)]
                }
                Kind::Process(..) => self.go_on(job),
            },
            What::Dies(job) if self.running.contains(&job) && !self.is_over(job) => {
                self.died.insert(job);
                vec![Event::Failed(job)]
            }
            _ => Vec::new(),
        }
    }

    /// Runs until nothing more happens.
    pub(crate) fn run(&mut self, manager: &mut impl Manager) {
        for instant in 0.. {
            assert!(instant < 200_000, "it goes on for ever");
            let next = [self.queue.keys().next(), self.plans.keys().next()];
            let Some(&(now, _)) = next.into_iter().flatten().min() else {
                return;
            };
            self.now = now;
            let later = self.queue.split_off(&(now + 1, 0));
            let mut events: Vec<Event> = std::mem::replace(&mut self.queue, later)
                .into_values()
                .flatten()
                .collect();
            let later = self.plans.split_off(&(now + 1, 0));
            for what in std::mem::replace(&mut self.plans, later).into_values() {
                events.extend(self.events_of(what));
            }
            events.retain(
                |event| !matches!(event, Event::TaskBegin { job, .. } if self.rejected.contains_key(job)),
            );
            let mut orders = Vec::new();
            step(
                manager,
                &mut self.fleet,
                Time::from_secs(now),
                events,
                &mut orders,
            )
            .unwrap();
            for order in orders {
                self.obey(order);
            }
            self.running.retain(|job| {
                !self.ended.contains_key(job)
                    && !self.rejected.contains_key(job)
                    && !self.died.contains(job)
            });
            self.most_running = self.most_running.max(self.running.len());
            self.hold_to(manager);
        }
    }

    fn obey(&mut self, order: Action) {
        match &order {
            Action::Launch { job } => {
                assert!(!self.running.contains(job), "job {job} is launched once");
                self.running.insert(*job);
                self.plan(self.now, What::GoesOn(*job));
            }
            Action::Place { tenant, at } => {
                self.places += 1;
                let id = at.placement[0];
                self.placed.push((self.now, *tenant, id));
                let job = tenant.job();
                self.running.insert(job);
                if self.fails > 0 && self.places.is_multiple_of(self.fails) {
                    let why = "the process did not answer".to_owned();
                    self.died.insert(job);
                    let failed = Event::ActionFailed { order, why };
                    self.tell(self.now, vec![failed, Event::Failed(job)]);
                    return;
                }
                match self.jobs[&job] {
                    Kind::Isolated(_, seconds) => self.plan(self.now + seconds, What::GoesOn(job)),
                    Kind::Process(..) => self.plan(self.now, What::GoesOn(job)),
                }
            }
            Action::Reject { job, why } => {
                let before = self.rejected.insert(*job, why.to_string());
                assert!(before.is_none(), "job {job} is rejected once");
            }
            Action::Repartition {
                machine,
                whole,
                layout,
            } => {
                self.repartitions += 1;
                let (takes, fails) = self.repartition;
                let view = self.fleet.machines()[0].view();
                let is_wrong = fails > 0 && self.repartitions.is_multiple_of(fails);
                let layout = if is_wrong {
                    view.layout_of(*whole)
                } else {
                    layout.clone()
                };
                let event = Event::LayoutIs {
                    machine: *machine,
                    whole: *whole,
                    layout,
                };
                self.tell(self.now + takes, vec![event]);
            }
            _ => {}
        }
    }

    /// What must hold after any instant.
    fn hold_to(&mut self, manager: &impl Manager) {
        check(&self.fleet);
        let contexts = manager.contexts();
        for view in self.fleet.views() {
            for id in view.present().iter() {
                let usage = view.usage(id);
                let context = contexts.get(&(view.machine(), id)).copied().unwrap_or(0);
                let Some(memory) = view.graph().device(id).memory_bytes else {
                    continue;
                };
                assert!(
                    usage.memory_bytes + context <= memory,
                    "leases and contexts fit"
                );
                assert!(
                    usage.exclusive == 0 || usage.tenants == 1,
                    "alone means alone"
                );
            }
        }
        for &job in &self.running {
            if let Some(seat) = manager.bound_to(job) {
                let first = *self.bound.entry(job).or_insert(seat);
                assert_eq!(first, seat, "job {job} changed its instance");
            }
        }
    }

    /// The jobs that neither ended nor died nor were rejected.
    pub(crate) fn stuck(&self) -> Vec<JobId> {
        let all = self.jobs.keys().copied();
        all.filter(|&job| !self.is_over(job)).collect()
    }
}
