//! The event loop of the simulator.
//!
//! **Time.** A job's work, and what is left of it, are integers in units of 2⁻³² ns; its rate is an
//! integer in units of 2⁻³² of full speed. So what is left after a change of speed is exact,
//! whenever it is computed. A job ends in the first nanosecond in which nothing is left. Only one
//! step rounds: a slowdown becomes a rate of 32 binary digits.
//!
//! **Ties.** An instant is all that happens at one nanosecond. The scheduler receives its events in
//! this order: jobs that end, by number; layouts; arrivals, by their order in the workload; wakes,
//! by token. So devices of jobs that end are free for jobs that arrive. If an order has an
//! immediate effect, such as the end of a job without work, that event is in a further instant at
//! the same nanosecond.
//!
//! **Stale events.** Whenever a job's speed changes, its end is put into the queue again under a
//! new generation. Ends of older generations are skipped when they come up.

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

/// A function: how long the repartition of a device of this model takes, from the first layout to
/// the second.
type Repartition<'a> = Box<dyn Fn(&Model, &Layout, &Layout) -> Duration + 'a>;

/// The number of successive wakes at one moment, without any other event, after which the
/// simulation stops: the scheduler would wake itself forever.
const STUCK: u64 = 1_000_000;

impl<'a> Simulation<'a> {
    /// A simulation of this workload on this fleet. Leases that are on the fleet stay there.
    #[must_use]
    pub fn new(workload: &'a Workload, fleet: Fleet) -> Self {
        Self {
            workload,
            fleet,
            repartition: Box::new(|_, _, _| Duration::ZERO),
            until: None,
            observer: None,
        }
    }

    /// Sets how long a repartition takes. Default: no time.
    #[must_use]
    pub fn repartition(self, repartition: Duration) -> Self {
        self.repartition_by(move |_, _, _| repartition)
    }

    /// Sets how long a repartition takes, by the device's model and its layouts before and after.
    /// So the time may depend on each instance that is destroyed or created.
    #[must_use]
    pub fn repartition_by(self, takes: impl Fn(&Model, &Layout, &Layout) -> Duration + 'a) -> Self {
        Self {
            repartition: Box::new(takes),
            ..self
        }
    }

    /// Stops after the last instant that is not later than this. Needed for schedulers that order
    /// wake-ups for as long as a job waits. Default: never.
    #[must_use]
    pub fn until(self, until: Time) -> Self {
        Self {
            until: Some(until),
            ..self
        }
    }

    /// Calls this function with the moment and the fleet after every instant, to show progress or
    /// to record series over time.
    #[must_use]
    pub fn observe(self, observer: impl FnMut(Time, &Fleet) + 'a) -> Self {
        Self {
            observer: Some(Box::new(observer)),
            ..self
        }
    }

    /// Runs until every job has ended or was rejected, or no further event can happen.
    ///
    /// # Errors
    /// - Two jobs of the workload have the same number.
    /// - An order cannot be carried out, because its tenant does not exist or is a task of a job.
    /// - A slowdown is not a number between 2⁻³¹ and 2³¹.
    /// - A scheduler wakes itself again and again at one moment.
    /// - A time is beyond 584 years.
    ///
    /// # Complexity
    /// O((n + k) log n) for n jobs and k orders, besides what the scheduler does. If jobs of one
    /// machine slow each other down, each order also costs the jobs on its machine.
    pub fn run(
        self,
        scheduler: &mut dyn Scheduler,
        execution: &dyn Execution,
    ) -> Result<Outcome, Error> {
        let mut run = Running::new(self, execution)?;
        let mut orders = Vec::new();
        let mut facts = Vec::new();
        while run.next_instant(&mut facts)? {
            run.outcome.events += facts.len() as u64;
            run.outcome.instants += 1;
            step(
                scheduler,
                &mut run.fleet,
                run.now,
                facts.drain(..),
                &mut orders,
            )?;
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

/// A future event. Events of one moment are in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The end of a job, by its number and its generation. Stale if the generation has changed
    /// since.
    End(JobId, u64),
    /// The end of a repartition, by its key in [`Running::layouts`].
    Layout(u64),
    /// A wake that the scheduler asked for.
    Wake(Token),
}

/// A job that has arrived, and has neither finished nor been rejected.
struct Active {
    /// Its place in the workload's jobs.
    index: usize,
    /// The work left at `since`, in units of 2⁻³² ns.
    left: u128,
    since: Time,
    /// The rate, in units of 2⁻³² of full speed; 0 while the job waits or is suspended.
    rate: u64,
    /// Counts the changes of its rate. Ends of older generations are stale.
    generation: u64,
    /// Whether the job holds devices. Then the last of its stays is still open.
    runs: bool,
    stays: Vec<Stay>,
}

/// The rate of a job at full speed.
const FULL: f64 = (1u64 << 32) as f64;

impl Active {
    /// Brings the remaining work up to date.
    fn advance(&mut self, now: Time) {
        let passed = u128::from(now.0 - self.since.0);
        self.left = self.left.saturating_sub(passed * u128::from(self.rate));
        self.since = now;
    }

    /// The moment at which no work will be left, at the present rate. `None` beyond 584 years.
    fn end(&self) -> Option<Time> {
        // Rounded up: in the nanosecond before there is still something left.
        let takes = self.left.div_ceil(u128::from(self.rate));
        u64::try_from(takes)
            .ok()
            .and_then(|takes| self.since.0.checked_add(takes))
            .map(Time)
    }

    /// Where the job runs.
    fn at(&self) -> Option<&Placed> {
        self.stays.last().filter(|_| self.runs).map(|open| &open.at)
    }

    /// Ends the present stay of the job.
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
    /// Places in the workload of the jobs that have not arrived, the next one last.
    to_come: Vec<usize>,
    /// The future events, the next one on top. Some ends in it may be stale.
    due: BinaryHeap<Reverse<(Time, Due)>>,
    active: HashMap<JobId, Active, FnvBuildHasher>,
    /// The jobs on each machine. Kept only if jobs of one machine slow each other down.
    there: HashMap<MachineId, BTreeSet<JobId>, FnvBuildHasher>,
    /// Repartitions that have begun, by number.
    layouts: BTreeMap<u64, (MachineId, DeviceId, Layout)>,
    /// Machines on which a job has started, moved or left in this instant. May name one twice.
    changed: Vec<MachineId>,
    /// Jobs that were placed or moved in this instant.
    moved: Vec<JobId>,
    /// How many instants of this moment had nothing but wakes.
    woken: u64,
    outcome: Outcome,
}

impl<'a> Running<'a> {
    fn new(simulation: Simulation<'a>, execution: &'a dyn Execution) -> Result<Self, Error> {
        let Simulation {
            workload,
            fleet,
            repartition,
            until,
            observer,
        } = simulation;
        let mut ids: Vec<JobId> = workload.jobs.iter().map(|own| own.job.id).collect();
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ErrorKind::BadJob {
                job: twice[0].0,
                what: "its number is given twice: expected numbers that differ".to_owned(),
            }
            .into());
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

    /// Whether an event is the end of a job under a rate that it no longer has.
    fn is_stale(&self, due: Due) -> bool {
        matches!(due, Due::End(job, generation)
            if self.active.get(&job).is_none_or(|active| active.generation != generation))
    }

    /// Advances to the next moment with an event and adds its events to `facts`. Returns false if
    /// there is none.
    fn next_instant(&mut self, facts: &mut Vec<Event>) -> Result<bool, Error> {
        // Stale events must not set the clock.
        while let Some(&Reverse((_, due))) = self.due.peek()
            && self.is_stale(due)
        {
            self.due.pop();
        }
        // Without jobs only wakes and layouts are left, and they could go on forever.
        if self.to_come.is_empty() && self.active.is_empty() {
            return Ok(false);
        }
        let arrival = self
            .to_come
            .last()
            .map(|&index| self.workload.jobs[index].job.arrived);
        let due = self.due.peek().map(|Reverse((at, _))| *at);
        let Some(next) = arrival.into_iter().chain(due).min() else {
            return Ok(false);
        };
        if self.until.is_some_and(|until| next > until) {
            return Ok(false);
        }
        let is_later = next > self.now;
        // The heap gives ends and layouts in their order. Wakes are set aside: arrivals, which are
        // in a list of their own, come before them.
        self.now = next.max(self.now);
        let mut wakes = Vec::new();
        while let Some(&Reverse((at, due))) = self.due.peek()
            && at <= self.now
        {
            self.due.pop();
            match due {
                _ if self.is_stale(due) => {}
                Due::End(job, _) => facts.push(self.end(job)),
                Due::Layout(number) => facts.extend(self.layouts.remove(&number).map(
                    |(machine, whole, layout)| Event::LayoutIs {
                        machine,
                        whole,
                        layout,
                    },
                )),
                Due::Wake(token) => wakes.push(Event::Woken(token)),
            }
        }
        while let Some(&index) = self.to_come.last()
            && self.workload.jobs[index].job.arrived <= self.now
        {
            self.to_come.pop();
            facts.push(self.arrive(index));
        }
        // A scheduler that asks to be woken at this same moment each time would stop the clock.
        self.woken = if is_later || !facts.is_empty() {
            0
        } else {
            self.woken + 1
        };
        if self.woken > STUCK {
            return Err(ErrorKind::Stuck(STUCK).into());
        }
        facts.extend(wakes);
        Ok(true)
    }

    /// Makes a job active.
    fn arrive(&mut self, index: usize) -> Event {
        let own = &self.workload.jobs[index];
        let left = own.work.as_nanos() << 32;
        let active = Active {
            index,
            left,
            since: self.now,
            rate: 0,
            generation: 0,
            runs: false,
            stays: Vec::new(),
        };
        self.active.insert(own.job.id, active);
        Event::Arrived(own.job.clone())
    }

    /// Ends a job and records its run.
    fn end(&mut self, job: JobId) -> Event {
        if let Some(mut active) = self.active.remove(&job) {
            self.goes(job, active.at());
            active.leave(self.now);
            let arrived = self.workload.jobs[active.index].job.arrived;
            self.outcome.runs.push(Run {
                index: active.index,
                job,
                arrived,
                stays: active.stays,
            });
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
            Action::Repartition {
                machine,
                whole,
                layout,
            } => {
                let number = self.layouts.keys().next_back().map_or(0, |last| last + 1);
                let view = self.fleet.machine(machine)?.view();
                // Only devices with a model can be repartitioned. For others no time is known.
                let model = view.graph().model(whole);
                let takes =
                    model.map(|model| (self.repartition)(model, &view.layout_of(whole), &layout));
                self.layouts.insert(number, (machine, whole, layout));
                self.due.push(Reverse((
                    self.now + takes.unwrap_or_default(),
                    Due::Layout(number),
                )));
                Ok(())
            }
            Action::Reject { job, why } => {
                let active = self.active.remove(&job).ok_or(ErrorKind::BadOrder {
                    order: "a rejection",
                    tenant: Tenant::Job(job),
                    what: "this job does not wait or run; expected one that does",
                })?;
                self.outcome.rejected.push(Rejected {
                    index: active.index,
                    job,
                    at: self.now,
                    why,
                });
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
        let wrong = |what| ErrorKind::BadOrder {
            order,
            tenant,
            what,
        };
        match tenant {
            Tenant::Job(job) => Ok(self
                .active
                .get_mut(&job)
                .ok_or_else(|| wrong("this job does not wait or run; expected one that does"))?),
            Tenant::Task(..) => Err(wrong("the simulator runs no tasks; expected a job").into()),
        }
    }

    /// Starts a job at a place, or moves it there.
    fn put(&mut self, tenant: Tenant, at: Placed, order: &'static str) -> Result<(), Error> {
        let now = self.now;
        let active = self.job_of(tenant, order)?;
        active.advance(now);
        let from = active.at().cloned();
        active.leave(now);
        let to: Vec<MachineId> = at.machines().collect();
        active.stays.push(Stay {
            from: now,
            until: now,
            at,
        });
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

    /// Notes that a job has left these machines, as the other jobs there may run faster now.
    fn goes(&mut self, job: JobId, from: Option<&Placed>) {
        for machine in from
            .filter(|_| self.is_coupled())
            .into_iter()
            .flat_map(Placed::machines)
        {
            self.there.entry(machine).or_default().remove(&job);
            self.changed.push(machine);
        }
    }

    fn is_coupled(&self) -> bool {
        self.execution.coupling() == Coupling::Machine
    }

    /// Sets the speeds that have changed in this instant. This is done once, after all orders of
    /// the instant: a job may be placed beside another that a later order of the same instant moves
    /// away.
    fn settle(&mut self) -> Result<(), Error> {
        let mut jobs = std::mem::take(&mut self.moved);
        let changed = std::mem::take(&mut self.changed);
        jobs.extend(
            changed
                .iter()
                .filter_map(|machine| self.there.get(machine))
                .flatten(),
        );
        jobs.sort_unstable();
        jobs.dedup();
        jobs.into_iter().try_for_each(|job| self.set_speed(job))
    }

    /// Sets the rate of a job from its place, and puts its new end into the queue if the rate has
    /// changed.
    fn set_speed(&mut self, job: JobId) -> Result<(), Error> {
        let Some(active) = self.active.get_mut(&job) else {
            return Ok(());
        };
        let Some(at) = active.at() else { return Ok(()) };
        let slowdown = self
            .execution
            .slowdown(&self.workload.jobs[active.index], at, &self.fleet);
        let rate = (FULL / slowdown).round();
        // Below two units rounding would change a rate too much; above 2⁶³ it would not fit 64
        // bits. A NaN is in no range.
        if !(2.0..=FULL * FULL / 2.0).contains(&rate) {
            let what =
                format!("a slowdown of {slowdown}: expected a number between 2^-31 and 2^31");
            return Err(ErrorKind::BadJob { job: job.0, what }.into());
        }
        let rate = rate as u64;
        // An end that is in the queue stays valid while the rate does. A stay that began in this
        // instant gets an end of its own.
        let is_new = active
            .stays
            .last()
            .is_some_and(|open| open.from == self.now);
        if rate == active.rate && !is_new {
            return Ok(());
        }
        active.advance(self.now);
        active.rate = rate;
        active.generation += 1;
        let end = active.end().ok_or_else(|| ErrorKind::BadJob {
            job: job.0,
            what: "it would end after more than 584 years: expected shorter jobs, as no later \
                moment can be represented"
                .to_owned(),
        })?;
        self.due
            .push(Reverse((end, Due::End(job, active.generation))));
        Ok(())
    }

    /// Puts the outcome into the order of the workload.
    fn finish(mut self, scheduler: &str, execution: &str) -> Outcome {
        self.outcome.runs.sort_unstable_by_key(|run| run.index);
        self.outcome.rejected.sort_by_key(|rejected| rejected.index);
        self.outcome.waiting = self.active.values().map(|active| active.index).collect();
        self.outcome.waiting.sort_unstable();
        Outcome {
            scheduler: scheduler.to_owned(),
            execution: execution.to_owned(),
            end: self.now,
            ..self.outcome
        }
    }
}
