//! The loop: from one event to the next.
//!
//! **Time.** A job's work and what is left of it are counted in 2⁻³² ns, its rate in 2⁻³² of full speed, both integers. What is left
//! after a change of speed is exact, whenever it is worked out; a job ends in the first nanosecond in which nothing is left. The only
//! rounding is that of a slowdown to a rate, once, to 32 binary digits.
//!
//! **Ties.** All that happens at one nanosecond is told in one instant: first the jobs that end, by number; then layouts; then
//! arrivals, by their order in the workload; then wakes, by token. Devices of jobs that end are so free for those that arrive. What
//! follows from orders without any time, such as a job without work, comes in a further instant at the same nanosecond.
//!
//! **Stale events.** Whenever a job's speed changes, its end is put into the queue anew under a new generation; ends of older
//! generations are passed over when they come up.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::time::Duration;

use fnv::FnvBuildHasher;
use mapa_core::mig::{Layout, Model};
use mapa_core::{DeviceId, MachineId};
use mapa_sched::{Action, Event, Fleet, JobId, Placed, Scheduler, Tenant, Time, Token, step};

use crate::error::{Error, ErrorKind};
use crate::execution::{Coupling, Execution};
use crate::outcome::{Outcome, Rejected, Run, Stay};
use crate::workload::Workload;

/// A workload on a fleet, ready to run.
pub struct Simulation<'a> {
    workload: &'a Workload,
    fleet: Fleet,
    repartition: Repartition<'a>,
    until: Option<Time>,
    observer: Option<Observer<'a>>,
}

type Observer<'a> = Box<dyn FnMut(Time, &Fleet) + 'a>;

/// How long it takes to cut a device of this model up anew: from one layout to the other.
type Repartition<'a> = Box<dyn Fn(&Model, &Layout, &Layout) -> Duration + 'a>;

/// Wakes at one moment, with nothing else, after which a scheduler is taken to wake itself forever.
const STUCK: u64 = 1_000_000;

impl<'a> Simulation<'a> {
    /// This workload on this fleet. What holds leases on it already stays there.
    #[must_use]
    pub fn new(workload: &'a Workload, fleet: Fleet) -> Self {
        Self { workload, fleet, repartition: Box::new(|_, _, _| Duration::ZERO), until: None, observer: None }
    }

    /// How long it takes to cut a device up anew. Default: no time.
    #[must_use]
    pub fn repartition(self, repartition: Duration) -> Self {
        self.repartition_by(move |_, _, _| repartition)
    }

    /// How long it takes to cut a device up anew, by its model and its layouts before and after: for times of each instance that is
    /// destroyed or created.
    #[must_use]
    pub fn repartition_by(self, takes: impl Fn(&Model, &Layout, &Layout) -> Duration + 'a) -> Self {
        Self { repartition: Box::new(takes), ..self }
    }

    /// Stops after the last instant that is not later: for schedulers that ask to be woken forever while a job waits. Default: never.
    #[must_use]
    pub fn until(self, until: Time) -> Self {
        Self { until: Some(until), ..self }
    }

    /// Is shown the fleet after every instant: for progress, and for what changes over time.
    #[must_use]
    pub fn observe(self, observer: impl FnMut(Time, &Fleet) + 'a) -> Self {
        Self { observer: Some(Box::new(observer)), ..self }
    }

    /// Runs until every job has ended or was told no, or nothing more can happen. O((jobs + orders) log jobs) besides what the scheduler does.
    ///
    /// # Errors
    /// A workload in which two jobs have one number; an order that cannot be: for a tenant that is not there, for a task; a
    /// slowdown that is no number between 2⁻³¹ and 2³¹; a scheduler that never lets time go on; times beyond 584 years.
    pub fn run(self, scheduler: &mut dyn Scheduler, execution: &dyn Execution) -> Result<Outcome, Error> {
        let mut run = Running::new(self, execution)?;
        let mut orders = Vec::new();
        let mut facts = Vec::new();
        while run.next_instant(&mut facts)? {
            run.outcome.events += facts.len() as u64;
            run.outcome.instants += 1;
            step(scheduler, &mut run.fleet, run.now, facts.drain(..), &mut orders)?;
            for order in orders.drain(..) {
                run.carry_out(order)?;
            }
            run.settle()?;
            if let Some(observer) = &mut run.observer {
                observer(run.now, &run.fleet);
            }
        }
        Ok(run.finish(scheduler.name(), execution.name()))
    }
}

/// What will happen. The order of its variants is that in which facts of one moment are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A job's end, if its generation is still this.
    End(JobId, u64),
    /// A device's new layout, by its place in the list of those under way.
    Layout(u64),
    Wake(Token),
}

/// A job that has arrived, and neither finished nor been told no.
struct Active {
    index: usize,
    /// Work left at `since`, 2⁻³² ns.
    left: u128,
    since: Time,
    /// 2⁻³² of full speed; 0 while it is suspended or waits.
    rate: u64,
    generation: u64,
    /// Whether it lies anywhere: on the last of its stays, which is then still open.
    runs: bool,
    stays: Vec<Stay>,
}

/// Full speed.
const FULL: f64 = (1u64 << 32) as f64;

impl Active {
    /// Brings what is left up to date.
    fn advance(&mut self, now: Time) {
        let passed = u128::from(now.0 - self.since.0);
        self.left = self.left.saturating_sub(passed * u128::from(self.rate));
        self.since = now;
    }

    /// When nothing will be left, if it goes on like this.
    fn end(&self) -> Option<Time> {
        let takes = self.left.div_ceil(u128::from(self.rate));
        u64::try_from(takes).ok().and_then(|takes| self.since.0.checked_add(takes)).map(Time)
    }

    /// Where it lies.
    fn at(&self) -> Option<&Placed> {
        self.stays.last().filter(|_| self.runs).map(|open| &open.at)
    }

    /// Closes its stay.
    fn leave(&mut self, now: Time) {
        if let Some(open) = self.stays.last_mut().filter(|_| self.runs) {
            open.until = now;
        }
        self.runs = false;
    }
}

struct Running<'a> {
    workload: &'a Workload,
    execution: &'a dyn Execution,
    fleet: Fleet,
    repartition: Repartition<'a>,
    until: Option<Time>,
    observer: Option<Observer<'a>>,
    now: Time,
    /// Places in the workload, last arrival first.
    to_come: Vec<usize>,
    due: BinaryHeap<Reverse<(Time, Due)>>,
    active: HashMap<JobId, Active, FnvBuildHasher>,
    /// Who lies on which machine, if jobs of one machine notice each other.
    there: HashMap<MachineId, BTreeSet<JobId>, FnvBuildHasher>,
    layouts: BTreeMap<u64, (MachineId, DeviceId, Layout)>,
    /// Machines on which something has changed in this instant.
    changed: Vec<MachineId>,
    /// Jobs that were put somewhere in this instant.
    moved: Vec<JobId>,
    /// At how many instants of this moment nothing but a wake was told.
    woken: u64,
    outcome: Outcome,
}

impl<'a> Running<'a> {
    fn new(simulation: Simulation<'a>, execution: &'a dyn Execution) -> Result<Self, Error> {
        let Simulation { workload, fleet, repartition, until, observer } = simulation;
        let mut ids: Vec<JobId> = workload.jobs.iter().map(|own| own.job.id).collect();
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ErrorKind::BadJob { job: twice[0].0, what: "its number is given twice".to_owned() }.into());
        }
        let mut to_come: Vec<usize> = (0..workload.jobs.len()).collect();
        to_come.sort_by_key(|&index| Reverse((workload.jobs[index].job.arrived, index)));
        Ok(Self {
            workload,
            execution,
            fleet,
            repartition,
            until,
            observer,
            now: Time::ZERO,
            to_come,
            due: BinaryHeap::new(),
            active: HashMap::default(),
            there: HashMap::default(),
            layouts: BTreeMap::new(),
            changed: Vec::new(),
            moved: Vec::new(),
            woken: 0,
            outcome: Outcome::default(),
        })
    }

    fn is_stale(&self, due: Due) -> bool {
        matches!(due, Due::End(job, generation)
            if self.active.get(&job).is_none_or(|active| active.generation != generation))
    }

    /// Goes to the next moment at which something happens, and says what; false at the end.
    fn next_instant(&mut self, facts: &mut Vec<Event>) -> Result<bool, Error> {
        while let Some(&Reverse((_, due))) = self.due.peek()
            && self.is_stale(due)
        {
            self.due.pop();
        }
        if self.to_come.is_empty() && self.active.is_empty() {
            return Ok(false);
        }
        let arrival = self.to_come.last().map(|&index| self.workload.jobs[index].job.arrived);
        let due = self.due.peek().map(|Reverse((at, _))| *at);
        let Some(next) = arrival.into_iter().chain(due).min() else { return Ok(false) };
        if self.until.is_some_and(|until| next > until) {
            return Ok(false);
        }
        let is_later = next > self.now;
        self.now = next.max(self.now);
        let mut wakes = Vec::new();
        while let Some(&Reverse((at, due))) = self.due.peek()
            && at <= self.now
        {
            self.due.pop();
            match due {
                _ if self.is_stale(due) => {}
                Due::End(job, _) => facts.push(self.end(job)),
                Due::Layout(number) => {
                    facts.extend(self.layouts.remove(&number).map(|(machine, whole, layout)| Event::LayoutIs {
                        machine,
                        whole,
                        layout,
                    }))
                }
                Due::Wake(token) => wakes.push(Event::Woken(token)),
            }
        }
        while let Some(&index) = self.to_come.last()
            && self.workload.jobs[index].job.arrived <= self.now
        {
            self.to_come.pop();
            facts.push(self.arrive(index));
        }
        // Whoever is only woken, again and again at one moment, never lets time go on.
        self.woken = if is_later || !facts.is_empty() { 0 } else { self.woken + 1 };
        if self.woken > STUCK {
            return Err(ErrorKind::Stuck(STUCK).into());
        }
        facts.extend(wakes);
        Ok(true)
    }

    fn arrive(&mut self, index: usize) -> Event {
        let own = &self.workload.jobs[index];
        let left = own.work.as_nanos() << 32;
        let active = Active { index, left, since: self.now, rate: 0, generation: 0, runs: false, stays: Vec::new() };
        self.active.insert(own.job.id, active);
        Event::Arrived(own.job.clone())
    }

    fn end(&mut self, job: JobId) -> Event {
        if let Some(mut active) = self.active.remove(&job) {
            self.goes(job, active.at());
            active.leave(self.now);
            let arrived = self.workload.jobs[active.index].job.arrived;
            self.outcome.runs.push(Run { index: active.index, job, arrived, stays: active.stays });
        }
        Event::Finished(job)
    }

    fn carry_out(&mut self, order: Action) -> Result<(), Error> {
        match order {
            Action::Place { tenant, at } => self.put(tenant, at, "a place"),
            Action::Move { tenant, at } => self.put(tenant, at, "a move"),
            Action::Suspend { tenant } => {
                let now = self.now;
                let active = self.job_of(tenant, "a suspension")?;
                active.advance(now);
                active.rate = 0;
                active.generation += 1;
                let from = active.at().cloned();
                active.leave(now);
                self.goes(tenant.job(), from.as_ref());
                Ok(())
            }
            Action::Repartition { machine, whole, layout } => {
                let number = self.layouts.keys().next_back().map_or(0, |last| last + 1);
                let view = self.fleet.machine(machine)?.view();
                // Only what can be cut up is ordered to be.
                let model = view.graph().model(whole);
                let takes = model.map(|model| (self.repartition)(model, &view.layout_of(whole), &layout));
                self.layouts.insert(number, (machine, whole, layout));
                self.due.push(Reverse((self.now + takes.unwrap_or_default(), Due::Layout(number))));
                Ok(())
            }
            Action::Reject { job, why } => {
                let active = self.active.remove(&job).ok_or(ErrorKind::BadOrder {
                    order: "a rejection",
                    tenant: Tenant::Job(job),
                    what: "no such job is there",
                })?;
                self.outcome.rejected.push(Rejected { index: active.index, job, at: self.now, why });
                Ok(())
            }
            Action::Wake { at, token } => {
                self.due.push(Reverse((at.max(self.now), Due::Wake(token))));
                Ok(())
            }
            Action::Launch { .. } => Err(ErrorKind::Unsupported("a launch").into()),
            Action::Throttle { .. } => Err(ErrorKind::Unsupported("a guard").into()),
            _ => Err(ErrorKind::Unsupported("something new").into()),
        }
    }

    fn job_of(&mut self, tenant: Tenant, order: &'static str) -> Result<&mut Active, Error> {
        let wrong = |what| ErrorKind::BadOrder { order, tenant, what };
        match tenant {
            Tenant::Job(job) => Ok(self.active.get_mut(&job).ok_or_else(|| wrong("no such job is there"))?),
            Tenant::Task(..) => Err(wrong("the simulator runs no tasks of jobs").into()),
        }
    }

    fn put(&mut self, tenant: Tenant, at: Placed, order: &'static str) -> Result<(), Error> {
        let now = self.now;
        let active = self.job_of(tenant, order)?;
        active.advance(now);
        let from = active.at().cloned();
        active.leave(now);
        let to: Vec<MachineId> = at.machines().collect();
        active.stays.push(Stay { from: now, until: now, at });
        active.runs = true;
        self.goes(tenant.job(), from.as_ref());
        self.moved.push(tenant.job());
        if self.is_coupled() {
            for machine in to {
                self.there.entry(machine).or_default().insert(tenant.job());
                self.changed.push(machine);
            }
        }
        Ok(())
    }

    /// Notes that a job is no longer where it was.
    fn goes(&mut self, job: JobId, from: Option<&Placed>) {
        for machine in from.filter(|_| self.is_coupled()).into_iter().flat_map(Placed::machines) {
            self.there.entry(machine).or_default().remove(&job);
            self.changed.push(machine);
        }
    }

    fn is_coupled(&self) -> bool {
        self.execution.coupling() == Coupling::Machine
    }

    /// Works out the speeds that this instant has changed, once all of it is known.
    fn settle(&mut self) -> Result<(), Error> {
        let mut jobs = std::mem::take(&mut self.moved);
        let changed = std::mem::take(&mut self.changed);
        jobs.extend(changed.iter().filter_map(|machine| self.there.get(machine)).flatten());
        jobs.sort_unstable();
        jobs.dedup();
        jobs.into_iter().try_for_each(|job| self.set_speed(job))
    }

    fn set_speed(&mut self, job: JobId) -> Result<(), Error> {
        let Some(active) = self.active.get_mut(&job) else { return Ok(()) };
        let Some(at) = active.at() else { return Ok(()) };
        let slowdown = self.execution.slowdown(&self.workload.jobs[active.index], at, &self.fleet);
        let rate = (FULL / slowdown).round();
        if !(2.0..=FULL * FULL / 2.0).contains(&rate) {
            let what = format!("a slowdown of {slowdown}: expected a number between 2^-31 and 2^31");
            return Err(ErrorKind::BadJob { job: job.0, what }.into());
        }
        let rate = rate as u64;
        let is_new = active.stays.last().is_some_and(|open| open.from == self.now);
        if rate == active.rate && !is_new {
            return Ok(());
        }
        active.advance(self.now);
        active.rate = rate;
        active.generation += 1;
        let end = active.end().ok_or_else(|| ErrorKind::BadJob {
            job: job.0,
            what: "it would end after more than 584 years, which is as far as time goes".to_owned(),
        })?;
        self.due.push(Reverse((end, Due::End(job, active.generation))));
        Ok(())
    }

    fn finish(mut self, scheduler: &str, execution: &str) -> Outcome {
        self.outcome.runs.sort_unstable_by_key(|run| run.index);
        self.outcome.rejected.sort_by_key(|rejected| rejected.index);
        self.outcome.waiting = self.active.values().map(|active| active.index).collect();
        self.outcome.waiting.sort_unstable();
        Outcome { scheduler: scheduler.to_owned(), execution: execution.to_owned(), end: self.now, ..self.outcome }
    }
}
