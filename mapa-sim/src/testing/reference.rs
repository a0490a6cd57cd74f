//! Two simulators without an event queue.
//!
//! [`replay`] drives any scheduler and looks at every job at every moment. It has no generations
//! and no stale events, and updates the remaining work of every job at each step. [`fifo`] has no
//! scheduler and no fleet either, only free sets and a queue.

use std::sync::Arc;

use mapa_core::mig::Layout;
use mapa_core::{DeviceId, DeviceSet, HardwareGraph, MachineId, Policy, Refusal, Request};
use mapa_sched::{
    Action, Assignment, Event, Fleet, JobId, JobLimitTable, Residency, Scheduler, TaskId, Tenant,
    Time, Token, step,
};

use crate::error::{Error, ErrorKind};
use crate::execution::Execution;
use crate::outcome::{Outcome, Rejected, Run, TaskRun};
use crate::workload::{Submission, Workload};

const FULL: u64 = 1 << 32;

/// A piece of work: of a job as a whole, or of a task that has begun.
struct Doing {
    own: Submission,
    left: u128,
    rate: u64,
    at: Option<Assignment>,
    stays: Vec<Residency>,
}

impl Doing {
    fn new(submission: Submission) -> Self {
        let left = submission.work.as_nanos() << 32;
        Self {
            own: submission,
            left,
            rate: 0,
            at: None,
            stays: Vec::new(),
        }
    }

    fn goes_on(&mut self, nanoseconds: u64) {
        let done = u128::from(nanoseconds) * u128::from(self.rate);
        self.left = self.left.saturating_sub(done);
    }

    /// When so much work is left.
    fn end(&self, stop: u128, now: Time) -> Option<Time> {
        let left = self.left.saturating_sub(stop);
        (self.rate > 0).then(|| Time(now.0 + left.div_ceil(u128::from(self.rate)) as u64))
    }

    fn enter(&mut self, now: Time, at: &Assignment) {
        self.leave(now);
        self.stays.push(Residency {
            from: now,
            until: now,
            at: at.clone(),
        });
        self.at = Some(at.clone());
    }

    fn leave(&mut self, now: Time) {
        if let (Some(at), Some(open)) = (self.at.take(), self.stays.last_mut()) {
            (open.until, open.at) = (now, at);
        }
        self.rate = 0;
    }

    fn set_rate(&mut self, execution: &dyn Execution, guards: &JobLimitTable, fleet: &Fleet) {
        if let Some(at) = &self.at {
            let slowdown = execution.slowdown_under(guards, &self.own, at, fleet);
            self.rate = (FULL as f64 / slowdown).round() as u64;
        }
    }
}

fn is_over(doing: &Doing) -> bool {
    doing.rate > 0 && doing.left == 0
}

/// A job that has arrived and has neither ended nor been rejected.
struct ReferenceJob {
    index: usize,
    job: JobId,
    doing: Doing,
    has_started: bool,
    launched: Option<Time>,
    /// How many tasks are over.
    over: usize,
    /// When the next task begins.
    begins: Option<Time>,
    task: Option<(Time, Doing)>,
    /// What the task has requested in addition, and when.
    grown: Vec<(Time, Doing)>,
    done: Vec<TaskRun>,
}

impl ReferenceJob {
    /// The number of the task: how many requests were made before it.
    fn number(&self) -> TaskId {
        TaskId(self.done.len() as u64)
    }

    /// The work that is left when the task makes its next request, and the request.
    fn growth(&self) -> Option<(u128, &Request)> {
        let plan = self.doing.own.tasks.get(self.over)?;
        let growth = plan.grows.get(self.grown.len())?;
        let left = (plan.work - growth.after).as_nanos() << 32;
        Some((left, &growth.request))
    }

    fn asks(&self) -> bool {
        let task = self.task.as_ref().filter(|(_, doing)| doing.rate > 0);
        task.zip(self.growth())
            .is_some_and(|((_, doing), (stop, _))| doing.left <= stop)
    }

    fn task_is_over(&self) -> bool {
        let task = self.task.as_ref().filter(|_| self.growth().is_none());
        task.is_some_and(|(_, doing)| is_over(doing))
    }

    fn is_through(&self) -> bool {
        self.has_started && self.over == self.doing.own.tasks.len()
    }

    /// From now on the next task's pause runs, if there is one.
    fn pauses(&mut self, now: Time) {
        let next = self.doing.own.tasks.get(self.over);
        self.begins = next.map(|plan| now + plan.pause);
        if next.is_none() && self.launched.is_some() {
            self.doing.rate = FULL;
        }
    }

    fn starts(&mut self, now: Time) {
        if !self.has_started {
            self.has_started = true;
            self.pauses(now);
        }
    }

    /// The next task begins, or the task requests more.
    fn begin_task(&mut self, now: Time) -> Event {
        if let Some((_, request)) = self.growth().filter(|_| self.task.is_some()) {
            let request = request.clone();
            let mut submission = self.doing.own.clone();
            submission.job.request = request.clone();
            let task = TaskId(self.number().0 + 1 + self.grown.len() as u64);
            self.grown.push((now, Doing::new(submission)));
            let job = self.job;
            return Event::TaskBegin { job, task, request };
        }
        self.begins = None;
        let plan = &self.doing.own.tasks[self.over];
        let mut submission = self.doing.own.clone();
        submission.job.request = plan.request.clone();
        (submission.work, submission.tasks) = (plan.work, Vec::new());
        let (job, task, request) = (self.job, self.number(), plan.request.clone());
        self.task = Some((now, Doing::new(submission)));
        Event::TaskBegin { job, task, request }
    }

    fn end_task(&mut self, now: Time) -> Vec<Event> {
        let mut ends = Vec::new();
        let job = self.job;
        for (begun, mut doing) in self.task.take().into_iter().chain(self.grown.drain(..)) {
            doing.leave(now);
            let task = TaskId(self.done.len() as u64);
            let stays = doing.stays;
            self.done.push(TaskRun { task, begun, stays });
            ends.push(Event::TaskEnd { job, task });
        }
        self.over += 1;
        self.pauses(now);
        ends
    }

    fn doing(&mut self, tenant: Tenant) -> Option<&mut Doing> {
        let Tenant::Task(_, task) = tenant else {
            return Some(&mut self.doing);
        };
        let place = task.0.checked_sub(self.number().0)?;
        let mut all = self.task.iter_mut().chain(&mut self.grown);
        all.nth(place as usize).map(|(_, doing)| doing)
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Doing> {
        let tasks = self.task.iter_mut().chain(&mut self.grown);
        std::iter::once(&mut self.doing).chain(tasks.map(|(_, doing)| doing))
    }

    /// A task that waits for more does not work.
    fn waits_for_more(&mut self) {
        let waits = self.grown.iter().any(|(_, doing)| doing.at.is_none());
        for (_, doing) in self.task.iter_mut().filter(|_| waits) {
            doing.rate = 0;
        }
    }

    /// The next moment at which something happens to this job.
    fn next(&self, now: Time) -> Option<Time> {
        let time = self.doing.end(0, now).filter(|_| self.is_through());
        let stop = self.growth().map_or(0, |(stop, _)| stop);
        let task = self.task.as_ref();
        let task = task.and_then(|(_, doing)| doing.end(stop, now));
        time.into_iter().chain(task).chain(self.begins).min()
    }

    fn run(mut self, now: Time, arrived: Time) -> Run {
        self.doing.leave(now);
        Run {
            index: self.index,
            job: self.job,
            arrived,
            stays: self.doing.stays,
            launched: self.launched.map(|from| from..now),
            tasks: self.done,
        }
    }
}

/// Does what [`Simulation::run`](crate::Simulation::run) does, without an event queue. Repartitions
/// take no time.
///
/// # Errors
/// Events that contradict the fleet.
///
/// # Panics
/// Orders must be valid and times short. With others this may panic or overflow.
///
/// # Complexity
/// O(n) for each moment at which something happens, for n jobs.
// Long, and left so: a reader checks an oracle against the rules more easily if one turn is one piece of code.
pub fn replay(
    workload: &Workload,
    mut fleet: Fleet,
    scheduler: &mut dyn Scheduler,
    execution: &dyn Execution,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome {
        scheduler: scheduler.name().to_owned(),
        execution: execution.name().to_owned(),
        ..Outcome::default()
    };
    let mut to_come: Vec<usize> = (0..workload.jobs.len()).collect();
    let mut present: Vec<ReferenceJob> = Vec::new();
    let mut wakes: Vec<(Time, Token)> = Vec::new();
    let mut layouts: Vec<(Time, MachineId, DeviceId, Layout)> = Vec::new();
    let mut guards = JobLimitTable::default();
    let mut now = Time::ZERO;
    let mut orders = Vec::new();
    while !(to_come.is_empty() && present.is_empty()) {
        let own = present.iter().filter_map(|job| job.next(now));
        let arrivals = to_come
            .iter()
            .map(|&index| workload.jobs[index].job.arrived);
        let others = wakes
            .iter()
            .map(|(at, _)| *at)
            .chain(layouts.iter().map(|(at, ..)| *at));
        let Some(next) = own.chain(arrivals).chain(others).min() else {
            break;
        };
        let next = next.max(now);
        for doing in present.iter_mut().flat_map(ReferenceJob::all) {
            doing.goes_on(next.0 - now.0);
        }
        now = next;

        // What follows from these in no time belongs to a further instant, so all are found before
        // any has an effect.
        let mut events = Vec::new();
        present.sort_by_key(|job| job.job);
        let (over, rest): (Vec<_>, Vec<_>) = present
            .into_iter()
            .partition(|job| job.is_through() && is_over(&job.doing));
        present = rest;
        for job in over {
            events.push(Event::Finished(job.job));
            guards.lift(job.job);
            let arrived = workload.jobs[job.index].job.arrived;
            outcome.runs.push(job.run(now, arrived));
        }
        let begin: Vec<JobId> = present
            .iter()
            .filter(|job| job.begins.is_some_and(|at| at <= now) || job.asks())
            .map(|job| job.job)
            .collect();
        for job in &mut present {
            if job.task_is_over() {
                events.extend(job.end_task(now));
            }
        }
        for (_, machine, whole, layout) in layouts.drain(..) {
            events.push(Event::LayoutIs {
                machine,
                whole,
                layout,
            });
        }
        let (here, later): (Vec<_>, Vec<_>) = to_come
            .into_iter()
            .partition(|&index| workload.jobs[index].job.arrived <= now);
        to_come = later;
        for index in here {
            let job = &workload.jobs[index];
            present.push(ReferenceJob {
                index,
                job: job.job.id,
                doing: Doing::new(job.clone()),
                has_started: false,
                launched: None,
                over: 0,
                begins: None,
                task: None,
                grown: Vec::new(),
                done: Vec::new(),
            });
            events.push(Event::Arrived(job.job.clone()));
        }
        for job in present.iter_mut().filter(|job| begin.contains(&job.job)) {
            events.push(job.begin_task(now));
        }
        wakes.sort_unstable();
        let awake = wakes.iter().take_while(|(at, _)| *at <= now).count();
        events.extend(wakes.drain(..awake).map(|(_, token)| Event::Woken(token)));

        outcome.events += events.len() as u64;
        outcome.instants += 1;
        step(scheduler, &mut fleet, now, events, &mut orders)?;
        for order in orders.drain(..) {
            match order {
                Action::Place { tenant, at } | Action::Move { tenant, at } => {
                    for running in present.iter_mut().filter(|job| job.job == tenant.job()) {
                        running
                            .doing(tenant)
                            .into_iter()
                            .for_each(|doing| doing.enter(now, &at));
                        running.starts(now);
                    }
                }
                Action::Launch { job } => {
                    for running in present.iter_mut().filter(|running| running.job == job) {
                        running.launched = Some(now);
                        running.starts(now);
                    }
                }
                Action::Suspend { tenant } => {
                    for job in present.iter_mut().filter(|job| job.job == tenant.job()) {
                        job.doing(tenant)
                            .into_iter()
                            .for_each(|doing| doing.leave(now));
                    }
                }
                Action::Throttle { job, guard } => guards.set(job, guard),
                Action::Reject { job, why } => {
                    for running in present.iter().filter(|running| running.job == job) {
                        outcome.rejected.push(Rejected {
                            index: running.index,
                            job,
                            at: now,
                            why: why.clone(),
                        });
                    }
                    guards.lift(job);
                    present.retain(|running| running.job != job);
                }
                Action::Wake { at, token } => wakes.push((at.max(now), token)),
                Action::Repartition {
                    machine,
                    whole,
                    layout,
                } => layouts.push((now, machine, whole, layout)),
                _ => return Err(ErrorKind::Unsupported("something else").into()),
            }
        }
        for doing in present.iter_mut().flat_map(ReferenceJob::all) {
            doing.set_rate(execution, &guards, &fleet);
        }
        present.iter_mut().for_each(ReferenceJob::waits_for_more);
    }
    outcome.runs.sort_by_key(|run| run.index);
    outcome.rejected.sort_by_key(|rejected| rejected.index);
    outcome.waiting = present.iter().map(|job| job.index).collect();
    outcome.waiting.sort_unstable();
    outcome.end = now;
    Ok(outcome)
}

/// First in, first out, where the queue head blocks the others and every job runs for its work.
/// Returns the start, the machine and the devices in rank order of each job; `None` for a job that
/// was rejected. It uses no fleet, allocator, lease or event.
#[must_use]
pub fn fifo(
    workload: &Workload,
    graphs: &[Arc<HardwareGraph>],
    policy: &dyn Policy,
) -> Vec<Option<(Time, MachineId, Vec<DeviceId>)>> {
    let mut free: Vec<DeviceSet> = graphs.iter().map(|graph| graph.all()).collect();
    let mut queue: Vec<usize> = (0..workload.jobs.len()).collect();
    queue.sort_by_key(|&index| workload.jobs[index].job.arrived);
    let mut runs: Vec<(Time, usize, Vec<DeviceId>)> = Vec::new();
    let mut starts = vec![None; queue.len()];
    let mut now = Time::ZERO;
    for index in queue {
        let own = &workload.jobs[index];
        now = now.max(own.job.arrived);
        loop {
            for (_, machine, devices) in runs.iter().filter(|(end, ..)| *end <= now) {
                free[*machine].extend(devices.iter().copied());
            }
            runs.retain(|(end, ..)| *end > now);
            let answers = graphs
                .iter()
                .zip(&free)
                .map(|(graph, free)| policy.decide(&own.job.request, &graph.with_free(free)));
            let answers: Vec<_> = answers.collect();
            let is_never = answers
                .iter()
                .all(|answer| matches!(answer, Err(Refusal::Infeasible(_))));
            let made = answers
                .iter()
                .enumerate()
                .filter_map(|(machine, answer)| Some((machine, answer.as_ref().ok()?)));
            let best = made.reduce(|best, other| {
                if other.1.order(best.1).is_lt() {
                    other
                } else {
                    best
                }
            });
            if let Some((machine, best)) = best {
                let devices = best.placement().to_vec();
                for &device in &devices {
                    free[machine].remove(device);
                }
                runs.push((now + own.work, machine, devices.clone()));
                starts[index] = Some((now, MachineId(machine as u32), devices));
                break;
            }
            match runs.iter().map(|(end, ..)| *end).min() {
                Some(end) if !is_never => now = end,
                // The queue head is blocked forever, and so are the jobs behind it.
                None if !is_never => return starts,
                _ => break,
            }
        }
    }
    starts
}
