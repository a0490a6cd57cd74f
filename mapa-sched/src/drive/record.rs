//! The record of a run: who runs where since when, what was rejected, and what failed.

use std::collections::BTreeMap;

use mapa_core::Refusal;

use crate::event::{Action, Assignment, Event};
use crate::job::{JobId, TaskId, Tenant};
use crate::job_limits::JobLimitTable;
use crate::time::Time;

/// A period that a tenant spent on the same devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residency {
    /// When the tenant started there, or was moved there.
    pub from: Time,
    /// When it left. Equal to `from` for as long as the stay lasts.
    pub until: Time,
    /// The machine and the devices.
    pub at: Assignment,
}

/// The stays of a tenant, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    list: Vec<Residency>,
    /// Whether the last of them lasts.
    open: bool,
}

impl Stays {
    /// The stays. The last of them may still last.
    #[must_use]
    pub fn list(&self) -> &[Residency] {
        &self.list
    }

    /// The stay that lasts, which is the last one; `None` if the tenant is nowhere now.
    #[must_use]
    pub fn open(&self) -> Option<&Residency> {
        self.list.last().filter(|_| self.open)
    }

    /// The stays, without their tenant.
    #[must_use]
    pub fn into_list(self) -> Vec<Residency> {
        self.list
    }

    fn enter(&mut self, from: Time, at: Assignment) {
        self.leave(from);
        // Most tenants have one stay, and a list of its own accord takes room for four.
        if self.list.is_empty() {
            self.list.reserve_exact(1);
        }
        self.list.push(Residency {
            from,
            until: from,
            at,
        });
        self.open = true;
    }

    /// The stay that lasts has never begun: its order has failed.
    fn never_was(&mut self) {
        if self.open {
            // Removed, not closed: a period that never began must not count as one of length 0.
            self.list.pop();
        }
        self.open = false;
    }

    fn leave(&mut self, until: Time) {
        if let Some(open) = self.list.last_mut().filter(|_| self.open) {
            open.until = until;
        }
        self.open = false;
    }
}

/// What has become of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobHistory {
    /// The number under which it arrived.
    pub job: JobId,
    /// When it arrived by its own account ([`Job::arrived`](crate::Job::arrived)), which may be
    /// before that was reported.
    pub arrived: Time,
    /// When its process was started without a device; `None` for a job that holds devices itself.
    pub launched: Option<Time>,
    /// Where it ran. Several stays if it was moved or suspended.
    pub stays: Stays,
    /// Its tasks, in the order in which they began.
    pub tasks: Vec<TaskHistory>,
}

/// What has become of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskHistory {
    /// The number, unique within the job.
    pub task: TaskId,
    /// When it requested a device.
    pub begun: Time,
    /// When it or its job ended; `None` while it is blocked or runs.
    pub ended: Option<Time>,
    /// Where it ran. None while it is blocked.
    pub stays: Stays,
}

impl JobHistory {
    fn stays_of(&mut self, tenant: Tenant) -> Option<&mut Stays> {
        match tenant {
            Tenant::Job(_) => Some(&mut self.stays),
            Tenant::Task(_, task) => {
                // From the end, where the tasks are that began last: those that run are mostly
                // among them.
                let mut tasks = self.tasks.iter_mut().rev();
                Some(&mut tasks.find(|life| life.task == task)?.stays)
            }
        }
    }

    fn end_task(&mut self, task: TaskId, now: Time) {
        let mut tasks = self.tasks.iter_mut().rev();
        if let Some(life) = tasks.find(|life| life.task == task && life.ended.is_none()) {
            life.stays.leave(now);
            life.ended = Some(now);
        }
    }
}

/// The way in which a job left the system.
#[derive(Clone, Debug, PartialEq)]
pub enum JobEnd {
    /// Its process ended without an error.
    Finished,
    /// Its process ended with an error, or could not be started.
    Failed,
    /// Its owner withdrew it, while it waited or ran.
    Cancelled,
    /// The scheduler refused it for good, for this reason.
    Rejected(Refusal),
}

/// A job that has left.
#[derive(Clone, Debug, PartialEq)]
pub struct DepartedJob {
    /// Where it and its tasks were. No stay of them lasts any more.
    pub life: JobHistory,
    /// When it ended or was cancelled, or when the order to reject it took effect.
    pub at: Time,
    /// The way in which it left.
    pub how: JobEnd,
}

/// An order that could not be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedOrder {
    /// The moment of the event that reported the failure.
    pub at: Time,
    /// The order as the scheduler gave it, some instants earlier.
    pub order: Action,
    /// The driver's reason, in one sentence.
    pub why: String,
}

/// The record of a run. It is made from events and orders alone. A job without a reported arrival
/// is not in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    present: BTreeMap<JobId, JobHistory>,
    left: Vec<DepartedJob>,
    failed_orders: Vec<FailedOrder>,
    guards: JobLimitTable,
    events: u64,
    instants: u64,
}

impl Record {
    /// The jobs that have arrived and have not left, by number.
    pub fn present(&self) -> impl ExactSizeIterator<Item = &JobHistory> {
        self.present.values()
    }

    /// A job that has arrived and has not left. O(log n) for n such jobs.
    #[must_use]
    pub fn life(&self, job: JobId) -> Option<&JobHistory> {
        self.present.get(&job)
    }

    /// The stay of a tenant that lasts: where it is, and since when. O(log n + t) for n jobs and
    /// the t tasks of its job.
    #[must_use]
    pub fn stay(&self, tenant: Tenant) -> Option<&Residency> {
        let life = self.present.get(&tenant.job())?;
        match tenant {
            Tenant::Job(_) => life.stays.open(),
            Tenant::Task(_, task) => {
                let mut tasks = life.tasks.iter().rev();
                tasks.find(|life| life.task == task)?.stays.open()
            }
        }
    }

    /// The jobs that have left, in this order.
    #[must_use]
    pub fn left(&self) -> &[DepartedJob] {
        &self.left
    }

    /// Takes the jobs that have left out of the record, so that it does not grow forever.
    pub fn take_left(&mut self) -> Vec<DepartedJob> {
        std::mem::take(&mut self.left)
    }

    /// Drops the ended tasks of jobs that have not left, so that the record of a process with many
    /// tasks does not grow forever. O(tasks of present jobs).
    pub fn forget_ended_tasks(&mut self) {
        for life in self.present.values_mut() {
            life.tasks.retain(|task| task.ended.is_none());
        }
    }

    /// The orders that could not be carried out, in the order in which that was reported.
    #[must_use]
    pub fn failed_orders(&self) -> &[FailedOrder] {
        &self.failed_orders
    }

    /// Takes the orders that could not be carried out out of the record, so that it does not grow
    /// forever.
    pub fn take_failed_orders(&mut self) -> Vec<FailedOrder> {
        std::mem::take(&mut self.failed_orders)
    }

    /// The limits on jobs that have not left.
    #[must_use]
    pub fn guards(&self) -> &JobLimitTable {
        &self.guards
    }

    /// The number of events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The number of instants so far.
    #[must_use]
    pub fn instants(&self) -> u64 {
        self.instants
    }

    pub(super) fn begin_instant(&mut self) {
        self.instants += 1;
    }

    /// Records an event that happened at this moment.
    pub(super) fn tell(&mut self, at: Time, event: &Event) {
        self.events += 1;
        match event {
            Event::Arrived(job) => {
                let life = JobHistory {
                    job: job.id,
                    arrived: job.arrived,
                    launched: None,
                    stays: Stays::default(),
                    tasks: Vec::new(),
                };
                self.present.insert(job.id, life);
            }
            Event::Adopted { job, at: to, since } => {
                let mut stays = Stays::default();
                stays.enter(*since, to.clone());
                let life = JobHistory {
                    job: job.id,
                    arrived: job.arrived,
                    launched: None,
                    stays,
                    tasks: Vec::new(),
                };
                self.present.insert(job.id, life);
            }
            Event::Finished(job) => self.leaves(*job, at, JobEnd::Finished),
            Event::Failed(job) => self.leaves(*job, at, JobEnd::Failed),
            Event::Cancelled(job) => self.leaves(*job, at, JobEnd::Cancelled),
            Event::TaskBegin { job, task, .. } => {
                let begun = TaskHistory {
                    task: *task,
                    begun: at,
                    ended: None,
                    stays: Stays::default(),
                };
                let life = self.present.get_mut(job);
                life.into_iter()
                    .for_each(|life| life.tasks.push(begun.clone()));
            }
            Event::TaskEnd { job, task } => {
                let life = self.present.get_mut(job);
                life.into_iter().for_each(|life| life.end_task(*task, at));
            }
            Event::ActionFailed { order, why } => {
                // Before the job leaves below, which would close the period instead.
                if let Action::Place { tenant, .. } = order
                    && let Some(stays) = self.stays_of(*tenant)
                {
                    stays.never_was();
                }
                self.failed_orders.push(FailedOrder {
                    at,
                    order: order.clone(),
                    why: why.clone(),
                });
                if let Some(job) = event.leaves() {
                    self.leaves(job, at, JobEnd::Failed);
                }
            }
            Event::LayoutIs { .. }
            | Event::Cordoned { .. }
            | Event::Occupied { .. }
            | Event::Health { .. }
            | Event::Progress { .. }
            | Event::Latency(_)
            | Event::Signals(_)
            | Event::Woken(_) => {}
        }
    }

    /// Records an order that took effect at this moment.
    pub(super) fn carried_out(&mut self, at: Time, order: Action) {
        match order {
            Action::Launch { job } => {
                let life = self.present.get_mut(&job);
                life.into_iter().for_each(|life| life.launched = Some(at));
            }
            Action::Place { tenant, at: to } | Action::Move { tenant, at: to } => {
                if let Some(stays) = self.stays_of(tenant) {
                    stays.enter(at, to);
                }
            }
            Action::Suspend { tenant } => {
                if let Some(stays) = self.stays_of(tenant) {
                    stays.leave(at);
                }
            }
            Action::Throttle { job, guard } => {
                // Nothing would ever lift a limit on a job that has left.
                if self.present.contains_key(&job) {
                    self.guards.set(job, guard);
                }
            }
            Action::Reject { job, why } => self.leaves(job, at, JobEnd::Rejected(why)),
            Action::Repartition { .. } | Action::Wake { .. } => {}
        }
    }

    fn stays_of(&mut self, tenant: Tenant) -> Option<&mut Stays> {
        self.present.get_mut(&tenant.job())?.stays_of(tenant)
    }

    fn leaves(&mut self, job: JobId, at: Time, how: JobEnd) {
        // A driver may use the number again, and the old limits must not apply to another job.
        self.guards.lift(job);
        if let Some(mut life) = self.present.remove(&job) {
            life.stays.leave(at);
            for task in life.tasks.iter_mut().filter(|task| task.ended.is_none()) {
                task.stays.leave(at);
                task.ended = Some(at);
            }
            self.left.push(DepartedJob { life, at, how });
        }
    }
}

#[cfg(test)]
mod tests {
    use mapa_core::{DeviceId, LeaseId, MachineId, Placement};

    use super::*;

    #[test]
    fn a_tenant_that_stays_where_it_is_takes_the_room_of_one_stay() {
        let at = Assignment {
            machine: MachineId(0),
            lease: LeaseId(0),
            placement: [DeviceId(0)].into_iter().collect::<Placement>(),
            rest: Vec::new(),
        };
        let mut stays = Stays::default();
        stays.enter(Time::ZERO, at.clone());
        assert_eq!(stays.list.capacity(), 1);
        stays.enter(Time::from_secs(1), at);
        stays.leave(Time::from_secs(2));
        let times = stays.list().iter().map(|stay| (stay.from, stay.until));
        let second = Time::from_secs(1);
        assert!(times.eq([(Time::ZERO, second), (second, Time::from_secs(2))]));
    }
}
