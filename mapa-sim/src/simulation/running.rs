//! The simulator as a driver of schedulers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fnv::FnvBuildHasher;
use mapa_core::mig::Layout;
use mapa_core::{DeviceId, MachineId};
use mapa_sched::{
    Action, Assignment, Driver, DriverView, Event, EventKey, JobId, TaskId, Tenant, Time, Timeline,
};

use super::setup::Setup;
use super::work::{FULL, OwnSubmission, TenantWork, rate};
use crate::error::{Error, ErrorKind};
use crate::execution::{Coupling, Execution};
use crate::workload::{Submission, TaskPlan, Workload};

/// The number of successive instants at one moment, with nothing but wakes, after which the
/// simulation stops: the scheduler would wake itself forever.
const STUCK: u64 = 1_000_000;

/// A job that has arrived and has not left.
struct PresentJob {
    /// Its place in the workload's jobs.
    index: usize,
    start: StartResult,
    /// How many of its tasks have begun or are in the timeline.
    plans: usize,
    /// The number of the last of them.
    task: u64,
    /// By how many requests that task has grown. Each has the number after the one before.
    grown: u64,
    /// Its next task in the timeline.
    next: Option<EventKey>,
}

impl PresentJob {
    /// The task that has begun or is in the timeline, if any.
    fn plan<'a>(&self, workload: &'a Workload) -> Option<&'a TaskPlan> {
        let tasks = &workload.jobs.get(self.index)?.tasks;
        tasks.get(self.plans.checked_sub(1)?)
    }

    /// The tenants of that task: of its first request, then of those by which it has grown.
    fn tenants(&self, job: JobId) -> impl Iterator<Item = Tenant> + use<> {
        let last = (self.plans > 0).then_some(self.task + self.grown);
        let all = last.into_iter().flat_map({
            let first = self.task;
            move |last| first..=last
        });
        all.map(move |number| Tenant::Task(job, TaskId(number)))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StartResult {
    Waits,
    Placed,
    Launched,
}

/// The jobs of a workload by arrival. They are not in the timeline: an event has a job of some hundred bytes, and a workload
/// may have millions.
struct Arrivals {
    /// The places of the jobs in the workload, by arrival, then by place.
    order: Vec<usize>,
    /// How many events of arrivals were made.
    told: usize,
    /// How many of these jobs are there.
    arrived: usize,
}

impl Arrivals {
    fn of(workload: &Workload) -> Self {
        let mut order: Vec<usize> = (0..workload.jobs.len()).collect();
        order.sort_by_key(|&place| workload.jobs[place].job.arrived);
        Self {
            order,
            told: 0,
            arrived: 0,
        }
    }

    /// When the next job arrives.
    fn next(&self, workload: &Workload) -> Option<Time> {
        let place = *self.order.get(self.told)?;
        Some(workload.jobs[place].job.arrived)
    }

    /// The event of the next job that arrives, if it is not later than `now`.
    fn take(&mut self, workload: &Workload, now: Time) -> Option<(Time, Event)> {
        let at = self.next(workload).filter(|&at| at <= now)?;
        let job = workload.jobs[self.order[self.told]].job.clone();
        self.told += 1;
        Some((at, Event::Arrived(job)))
    }

    /// The place of the job that arrives now. Events are noted in the order in which they were made.
    fn arrive(&mut self) -> Option<usize> {
        let place = self.order.get(self.arrived).copied();
        self.arrived += 1;
        place
    }

    /// Whether all have arrived.
    fn is_over(&self) -> bool {
        self.arrived >= self.order.len()
    }
}

pub(super) struct SimulationState<'a> {
    setup: Setup<'a>,
    execution: &'a dyn Execution,
    timeline: Timeline,
    arrivals: Arrivals,
    present: HashMap<JobId, PresentJob, FnvBuildHasher>,
    works: HashMap<Tenant, TenantWork<'a>, FnvBuildHasher>,
    /// The tenants on each machine, by whole device. Kept only if jobs of one machine slow each other down.
    there: HashMap<MachineId, BTreeMap<DeviceId, BTreeSet<Tenant>>, FnvBuildHasher>,
    /// Whole devices on which a tenant has started, moved or left in this instant. May name one twice.
    changed: Vec<(MachineId, DeviceId)>,
    /// Tenants that were placed or moved in this instant, or have other limits.
    moved: Vec<Tenant>,
    /// How many instants of this moment had nothing but wakes.
    woken: u64,
}

impl<'a> SimulationState<'a> {
    pub(super) fn new(setup: Setup<'a>, execution: &'a dyn Execution) -> Result<Self, Error> {
        let workload = setup.workload;
        let mut ids: Vec<JobId> = workload.jobs.iter().map(|job| job.job.id).collect();
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ErrorKind::BadJob {
                job: twice[0].0,
                what: "its number is given twice: expected numbers that differ".to_owned(),
            }
            .into());
        }
        for submission in &workload.jobs {
            if let Some(what) = submission.tasks.iter().find_map(TaskPlan::wrong_growth) {
                let job = submission.job.id.0;
                let what = what.to_owned();
                return Err(ErrorKind::BadJob { job, what }.into());
            }
        }
        Ok(Self {
            setup,
            execution,
            timeline: Timeline::default(),
            arrivals: Arrivals::of(workload),
            present: HashMap::default(),
            works: HashMap::default(),
            there: HashMap::default(),
            changed: Vec::new(),
            moved: Vec::new(),
            woken: 0,
        })
    }

    /// Takes out the next event that is not later than `now`, in the order of a timeline that has the arrivals too.
    fn take(&mut self, now: Time) -> Option<(Time, Event)> {
        let arrival = self.arrivals.next(self.setup.workload);
        if arrival.is_some_and(|at| !self.timeline.is_before_arrival(at)) {
            return self.arrivals.take(self.setup.workload, now);
        }
        self.timeline.take(now)
    }

    /// Does what follows from an event besides what the scheduler makes of it.
    fn note(&mut self, event: &Event, seen: DriverView<'_>, now: Time) -> Result<(), Error> {
        match event {
            Event::Arrived(_) => self.arrive(now),
            Event::Finished(job) => self.forget(*job, seen),
            Event::TaskBegin { job, task, .. } => {
                let present = self.present.get(job);
                if present.is_some_and(|present| present.task == task.0) {
                    self.begin_task(*job, *task, now);
                } else {
                    self.grow(*job, now);
                }
            }
            Event::TaskEnd { job, task } => {
                let tenant = Tenant::Task(*job, *task);
                self.leave(tenant, seen);
                // Growth that ends with its task has no work of its own.
                if self.works.remove(&tenant).is_some() {
                    self.next_task(*job, now)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn arrive(&mut self, now: Time) {
        let Some(index) = self.arrivals.arrive() else {
            return;
        };
        let submission = &self.setup.workload.jobs[index];
        let job = submission.job.id;
        let present = PresentJob {
            index,
            start: StartResult::Waits,
            plans: 0,
            task: 0,
            grown: 0,
            next: None,
        };
        self.present.insert(job, present);
        let work = TenantWork::new(
            OwnSubmission::Job(submission),
            submission.tasks.is_empty(),
            now,
        );
        self.works.insert(Tenant::Job(job), work);
    }

    fn begin_task(&mut self, job: JobId, task: TaskId, now: Time) {
        let Some(present) = self.present.get_mut(&job) else {
            return;
        };
        present.next = None;
        let submission = &self.setup.workload.jobs[present.index];
        if let Some(plan) = present.plan(self.setup.workload) {
            let mut of_task = submission.job.clone();
            of_task.request = plan.request.clone();
            let of_task = Submission::new(of_task, plan.work).task(submission.task.clone());
            let mut work = TenantWork::new(OwnSubmission::Task(Box::new(of_task)), true, now);
            work.stop_after(plan.grows.first().map(|growth| growth.after));
            self.works.insert(Tenant::Task(job, task), work);
        }
    }

    /// A task has made a further request. Its work stands still until that is granted.
    fn grow(&mut self, job: JobId, now: Time) {
        let Some(present) = self.present.get_mut(&job) else {
            return;
        };
        present.grown += 1;
        let next = present.plan(self.setup.workload);
        let next = next.and_then(|plan| plan.grows.get(present.grown as usize));
        if let Some(work) = self.works.get_mut(&Tenant::Task(job, TaskId(present.task))) {
            work.end = None;
            work.set_rate(0, now);
            work.stop_after(next.map(|growth| growth.after));
        }
    }

    /// Forgets a job that has left, and its tasks.
    fn forget(&mut self, job: JobId, seen: DriverView<'_>) {
        let Some(present) = self.present.remove(&job) else {
            return;
        };
        for tenant in present.tenants(job).chain([Tenant::Job(job)]) {
            let work = self.works.remove(&tenant);
            let keys = work.into_iter().flat_map(|work| [work.end, work.report]);
            keys.flatten().for_each(|key| {
                self.timeline.cancel(key);
            });
            self.leave(tenant, seen);
        }
        present.next.map(|next| self.timeline.cancel(next));
    }

    /// Notes that a tenant has left its machines, as the others there may run faster now.
    fn leave(&mut self, tenant: Tenant, seen: DriverView<'_>) {
        let from = seen.record.stay(tenant).filter(|_| self.is_coupled());
        for (machine, whole) in from.into_iter().flat_map(|stay| wholes(&stay.at, seen)) {
            let devices = self.there.entry(machine).or_default();
            devices.entry(whole).or_default().remove(&tenant);
            self.changed.push((machine, whole));
        }
    }

    fn is_coupled(&self) -> bool {
        self.execution.coupling() == Coupling::Machine
    }

    /// Puts a job's next task into the timeline, or lets the job end when its work is done.
    fn next_task(&mut self, job: JobId, now: Time) -> Result<(), Error> {
        let Some(present) = self.present.get_mut(&job) else {
            return Ok(());
        };
        let tasks = &self.setup.workload.jobs[present.index].tasks;
        if let Some(plan) = tasks.get(present.plans) {
            if present.plans > 0 {
                present.task += present.grown + 1;
            }
            (present.plans, present.grown) = (present.plans + 1, 0);
            let begin = Event::TaskBegin {
                job,
                task: TaskId(present.task),
                request: plan.request.clone(),
            };
            present.next = Some(self.timeline.put(now + plan.pause, begin));
            return Ok(());
        }
        present.next = None;
        let launched = present.start == StartResult::Launched;
        if let Some(work) = self.works.get_mut(&Tenant::Job(job)) {
            work.may_end = true;
            if launched {
                work.set_rate(FULL, now);
            }
        }
        self.put_end(Tenant::Job(job), now)
    }

    /// Puts the end of a tenant into the timeline, or the next request of a task that grows before its
    /// end, in place of what it has there.
    fn put_end(&mut self, tenant: Tenant, now: Time) -> Result<(), Error> {
        let Some(work) = self.works.get_mut(&tenant) else {
            return Ok(());
        };
        if let Some(end) = work.end.take() {
            self.timeline.cancel(end);
        }
        if let Some(at) = work.ends(now)? {
            let end = match tenant {
                Tenant::Job(job) => Event::Finished(job),
                Tenant::Task(job, task) => {
                    let present = self.present.get(&job);
                    let growth = present.and_then(|job| {
                        let plan = job.plan(self.setup.workload)?;
                        Some((job.grown, plan.grows.get(job.grown as usize)?))
                    });
                    match growth {
                        Some((grown, growth)) => Event::TaskBegin {
                            job,
                            task: TaskId(task.0 + grown + 1),
                            request: growth.request.clone(),
                        },
                        None => Event::TaskEnd { job, task },
                    }
                }
            };
            work.end = Some(self.timeline.put(at, end));
        }
        Ok(())
    }

    /// The tenant whose work a tenant is part of: for growth, that of the task which grows.
    fn worker(&self, tenant: Tenant) -> Tenant {
        let Tenant::Task(job, task) = tenant else {
            return tenant;
        };
        match self.present.get(&job) {
            Some(present) if task.0 > present.task => Tenant::Task(job, TaskId(present.task)),
            _ => tenant,
        }
    }

    /// Whether a task has begun and is not over.
    fn has_begun(&self, tenant: Tenant) -> bool {
        let present = self.present.get(&tenant.job());
        let is_there = |candidate: &PresentJob| {
            candidate
                .tenants(tenant.job())
                .any(|candidate| candidate == tenant)
        };
        present.is_some_and(is_there) && self.works.contains_key(&self.worker(tenant))
    }

    /// Whether all that a task has requested is granted. A task that waits for more does not work.
    fn has_all(&self, tenant: Tenant, seen: DriverView<'_>) -> bool {
        let Tenant::Task(job, _) = tenant else {
            return true;
        };
        let Some(present) = self.present.get(&job) else {
            return true;
        };
        present.grown == 0
            || present
                .tenants(job)
                .all(|part| seen.record.stay(part).is_some())
    }

    /// The job that an order is for.
    fn present(&mut self, tenant: Tenant, order: &'static str) -> Result<&mut PresentJob, Error> {
        let wrong = |what| ErrorKind::BadOrder {
            order,
            tenant,
            what,
        };
        if matches!(tenant, Tenant::Task(..)) && !self.has_begun(tenant) {
            return Err(wrong(
                "this task has not begun or is over; expected one that requests a device",
            )
            .into());
        }
        let present = self.present.get_mut(&tenant.job());
        Ok(
            present
                .ok_or_else(|| wrong("this job does not wait or run; expected one that does"))?,
        )
    }

    /// Starts a tenant at a place, or moves it there.
    fn put(
        &mut self,
        tenant: Tenant,
        at: &Assignment,
        order: &'static str,
        seen: DriverView<'_>,
    ) -> Result<(), Error> {
        let present = self.present(tenant, order)?;
        if matches!(tenant, Tenant::Job(_)) {
            match present.start {
                StartResult::Placed => {}
                StartResult::Waits => {
                    present.start = StartResult::Placed;
                    self.next_task(tenant.job(), seen.now)?;
                }
                StartResult::Launched => {
                    return Err(ErrorKind::BadOrder {
                        order,
                        tenant,
                        what: "this job was launched; expected one of its tasks",
                    }
                    .into());
                }
            }
        }
        if let (Tenant::Job(job), Some(every)) = (tenant, self.setup.progress) {
            self.put_progress(job, seen.now + every);
        }
        self.leave(tenant, seen);
        self.moved.push(tenant);
        if self.is_coupled() {
            for (machine, whole) in wholes(at, seen) {
                let devices = self.there.entry(machine).or_default();
                devices.entry(whole).or_default().insert(tenant);
                self.changed.push((machine, whole));
            }
        }
        Ok(())
    }

    /// Puts the next report of a job's progress into the timeline, in place of the one there.
    fn put_progress(&mut self, job: JobId, at: Time) {
        let Some(work) = self.works.get_mut(&Tenant::Job(job)) else {
            return;
        };
        if let Some(report) = work.report.take() {
            self.timeline.cancel(report);
        }
        let event = Event::Progress { job, share: 0.0 };
        work.report = Some(self.timeline.put(at, event));
    }

    /// Writes into a report of progress what is done by now, and puts the next one into the timeline
    /// while the job runs. Returns whether the report is of a job that is there.
    fn report(&mut self, event: &mut Event, now: Time) -> bool {
        let Event::Progress { job, share } = event else {
            return true;
        };
        let Some(work) = self.works.get_mut(&Tenant::Job(*job)) else {
            return false;
        };
        work.report = None;
        *share = work.share_done(now);
        if let (true, Some(every)) = (work.rate() > 0, self.setup.progress) {
            self.put_progress(*job, now + every);
        }
        true
    }

    fn launch(&mut self, job: JobId, now: Time) -> Result<(), Error> {
        let (tenant, order) = (Tenant::Job(job), "a launch");
        let present = self.present(tenant, order)?;
        if present.start != StartResult::Waits {
            return Err(ErrorKind::BadOrder {
                order,
                tenant,
                what: "this job has started; expected one that waits",
            }
            .into());
        }
        present.start = StartResult::Launched;
        self.next_task(job, now)
    }

    fn suspend(&mut self, tenant: Tenant, seen: DriverView<'_>) -> Result<(), Error> {
        self.present(tenant, "a suspension")?;
        self.leave(tenant, seen);
        // A task works only while it has all that it has requested.
        let worker = self.worker(tenant);
        if let Some(work) = self.works.get_mut(&worker) {
            work.set_rate(0, seen.now);
        }
        self.put_end(worker, seen.now)
    }

    /// Other limits change the speed of a job and of its task, and so that of their neighbours.
    fn limit(&mut self, job: JobId, seen: DriverView<'_>) -> Result<(), Error> {
        let tasks = self.present(Tenant::Job(job), "a guard")?.tenants(job);
        for tenant in tasks.chain([Tenant::Job(job)]) {
            self.moved.push(tenant);
            let at = seen.record.stay(tenant).into_iter();
            self.changed
                .extend(at.flat_map(|stay| wholes(&stay.at, seen)));
        }
        Ok(())
    }

    fn repartition(
        &mut self,
        machine: MachineId,
        whole: DeviceId,
        layout: &Layout,
        seen: DriverView<'_>,
    ) -> Result<(), Error> {
        let view = seen.fleet.machine(machine)?.view();
        // Only devices with a model can be repartitioned. For others no time is known.
        let model = view.graph().model(whole);
        let takes =
            model.map(|model| (self.setup.repartition)(model, &view.layout_of(whole), layout));
        let layout_is = Event::LayoutIs {
            machine,
            whole,
            layout: layout.clone(),
        };
        self.timeline
            .put(seen.now + takes.unwrap_or_default(), layout_is);
        Ok(())
    }

    /// Adds the ends of all by which a task has grown to that of the task, in the order of numbers.
    fn end_growth(&self, events: &mut Vec<(Time, Event)>) {
        let mut at = 0;
        while at < events.len() {
            if let (time, Event::TaskEnd { job, task }) = events[at] {
                let grown = self.present.get(&job).map_or(0, |present| present.grown);
                let ends = (1..=grown).map(|by| {
                    let task = TaskId(task.0 + by);
                    (time, Event::TaskEnd { job, task })
                });
                events.splice(at + 1..at + 1, ends);
                at += grown as usize;
            }
            at += 1;
        }
    }

    /// The tenants on the devices where the changes of this instant are felt.
    fn neighbours(&self, changed: &[(MachineId, DeviceId)], seen: DriverView<'_>) -> Vec<Tenant> {
        let mut neighbours = Vec::new();
        for (machine, whole) in changed {
            let Some(devices) = self.there.get(machine) else {
                continue;
            };
            // A limit on a job is shared out among its ranks, which may be on any devices.
            let has_no_limits = seen.record.guards().is_empty();
            let graph = seen.fleet.machine(*machine).ok().map(|there| there.graph());
            let felt = graph.filter(|_| has_no_limits);
            match felt.and_then(|graph| self.execution.felt_on(graph, *whole)) {
                Some(felt) => {
                    let felt = felt.iter().filter_map(|device| devices.get(&device));
                    neighbours.extend(felt.flatten());
                }
                None => neighbours.extend(devices.values().flatten()),
            }
        }
        neighbours
    }

    /// Sets the rates of tenants from their places, and puts the new end of each whose rate has changed into the timeline.
    fn set_speeds(&mut self, tenants: &[Tenant], seen: DriverView<'_>) -> Result<(), Error> {
        // As in most instants, in which jobs arrive or end and nothing starts.
        if tenants.is_empty() {
            return Ok(());
        }
        let there = |tenant: &Tenant| {
            let worker = self.worker(*tenant);
            let stay = seen.record.stay(worker)?;
            let work = self
                .works
                .get(&worker)
                .filter(|_| self.has_all(worker, seen))?;
            Some((worker, (&*work.own, &stay.at)))
        };
        let (workers, jobs): (Vec<_>, Vec<_>) = tenants.iter().filter_map(there).unzip();
        let guards = seen.record.guards();
        let slowdowns = self.execution.slowdowns_under(guards, &jobs, seen.fleet);
        let rates = jobs.iter().zip(slowdowns);
        let rates: Vec<_> = rates
            .map(|((job, _), slowdown)| rate(slowdown, job))
            .collect();
        for (tenant, rate) in workers.into_iter().zip(rates) {
            let rate = rate?;
            let Some(work) = self
                .works
                .get_mut(&tenant)
                .filter(|work| work.rate() != rate)
            else {
                continue;
            };
            work.set_rate(rate, seen.now);
            self.put_end(tenant, seen.now)?;
        }
        Ok(())
    }
}

/// The whole devices of a place, with their machines. May name one twice.
fn wholes<'a>(
    at: &'a Assignment,
    seen: DriverView<'a>,
) -> impl Iterator<Item = (MachineId, DeviceId)> + 'a {
    at.parts().flat_map(move |(_, machine, placement)| {
        let graph = seen.fleet.machine(machine).ok().map(|there| there.graph());
        let whole = move |&id: &DeviceId| graph.map_or(id, |graph| graph.device(id).parent);
        placement.iter().map(move |id| (machine, whole(id)))
    })
}

impl Driver for SimulationState<'_> {
    type Error = Error;

    fn next(
        &mut self,
        seen: DriverView<'_>,
        events: &mut Vec<(Time, Event)>,
    ) -> Result<Option<Time>, Error> {
        // Without jobs only wakes and layouts are left, and they could go on forever.
        if self.arrivals.is_over() && self.present.is_empty() {
            return Ok(None);
        }
        let arrival = self.arrivals.next(self.setup.workload);
        let next = self.timeline.next().into_iter().chain(arrival).min();
        let Some(next) = next.filter(|&next| self.setup.until.is_none_or(|until| next <= until))
        else {
            return Ok(None);
        };
        let now = next.max(seen.now);
        // All are taken out before any is noted: what follows from them is in a further instant.
        while let Some(event) = self.take(now) {
            events.push(event);
        }
        events.retain_mut(|(_, event)| self.report(event, now));
        self.end_growth(events);
        for (_, event) in events.iter() {
            self.note(event, seen, now)?;
        }
        // A scheduler that asks to be woken at this same moment each time would stop the clock.
        let only_wakes = events
            .iter()
            .all(|(_, event)| matches!(event, Event::Woken(_)));
        self.woken = if only_wakes && next <= seen.now {
            self.woken + 1
        } else {
            0
        };
        if self.woken > STUCK {
            return Err(ErrorKind::Stuck(STUCK).into());
        }
        Ok(Some(now))
    }

    fn carry_out(&mut self, seen: DriverView<'_>, order: &Action) -> Result<Time, Error> {
        match order {
            Action::Launch { job } => self.launch(*job, seen.now)?,
            Action::Place { tenant, at } => self.put(*tenant, at, "a place", seen)?,
            Action::Move { tenant, at } => self.put(*tenant, at, "a move", seen)?,
            Action::Suspend { tenant } => self.suspend(*tenant, seen)?,
            Action::Repartition {
                machine,
                whole,
                layout,
            } => self.repartition(*machine, *whole, layout, seen)?,
            Action::Throttle { job, .. } => self.limit(*job, seen)?,
            Action::Reject { job, .. } => {
                self.present(Tenant::Job(*job), "a rejection")?;
                self.forget(*job, seen);
            }
            Action::Wake { at, token } => {
                self.timeline.put((*at).max(seen.now), Event::Woken(*token));
            }
            _ => return Err(ErrorKind::Unsupported("something new").into()),
        }
        Ok(seen.now)
    }

    /// Sets the speeds that have changed in this instant. This is done once, after all orders of
    /// the instant: a job may be placed beside another that a later order of the same instant moves
    /// away.
    fn settle(&mut self, seen: DriverView<'_>) -> Result<(), Error> {
        let mut tenants = std::mem::take(&mut self.moved);
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        tenants.extend(self.neighbours(&changed, seen));
        tenants.sort_unstable();
        tenants.dedup();
        self.set_speeds(&tenants, seen)?;
        if let Some(observer) = &mut self.setup.observer {
            observer(seen.now, seen.fleet);
        }
        Ok(())
    }
}
