//! A small reference driver: an event queue ordered by time, then insertion, and what becomes of
//! orders. It keeps books of its own, by the orders alone, and holds the fleet to them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::machines::check;
use crate::event::{Action, Assignment, Event};
use crate::fleet::Fleet;
use crate::job::{JobId, RunTime, TaskId, Tenant};
use crate::scheduler::{Scheduler, step};
use crate::time::Time;
use crate::turn::Turn;
use mapa_core::{Demand, DeviceId, HardwareGraph, MachineId, Request};

/// What a job's tasks ask for, one after another, and how long each runs.
pub type TaskProgram = VecDeque<(Request, Duration)>;

/// A driver that keeps the fleet to what its own books say.
pub struct TestDriver {
    /// The fleet as it is now.
    pub fleet: Fleet,
    /// The actions so far, each with its time.
    pub log: Vec<(Time, Action)>,
    /// How long it takes to cut a device up anew.
    pub cutting: Duration,
    /// How long jobs run whose estimates are wrong.
    pub lengths: BTreeMap<JobId, Duration>,
    now: Time,
    queue: BTreeMap<(Time, u64), Event>,
    told: u64,
    asked: BTreeMap<Tenant, (Request, RunTime)>,
    programs: BTreeMap<JobId, (u64, TaskProgram)>,
    held: BTreeMap<Tenant, HeldDevices>,
}

struct HeldDevices {
    machine: MachineId,
    seats: Vec<(DeviceId, Demand)>,
    /// Its end's place in the queue.
    end: (Time, u64),
}

impl TestDriver {
    /// A driver of idle machines at time 0.
    pub fn new(machines: impl IntoIterator<Item = Arc<HardwareGraph>>) -> Self {
        Self {
            fleet: Fleet::new(machines),
            log: Vec::new(),
            cutting: Duration::from_secs(2),
            lengths: BTreeMap::new(),
            now: Time::ZERO,
            queue: BTreeMap::new(),
            told: 0,
            asked: BTreeMap::new(),
            programs: BTreeMap::new(),
            held: BTreeMap::new(),
        }
    }

    /// Puts an event into the queue.
    pub fn at(&mut self, time: Time, event: Event) -> (Time, u64) {
        let key = (time, self.told);
        self.told += 1;
        self.queue.insert(key, event);
        key
    }

    /// What a job does once it is launched.
    pub fn program(&mut self, job: JobId, tasks: TaskProgram) {
        self.programs.insert(job, (0, tasks));
    }

    /// Runs until nothing is left to happen.
    ///
    /// # Panics
    /// If the scheduler does what is not valid.
    pub fn run(&mut self, scheduler: &mut dyn Scheduler) {
        for instant in 0.. {
            assert!(instant < 10_000, "it goes on for ever");
            let Some((&(now, _), _)) = self.queue.first_key_value() else {
                break;
            };
            // All events of one moment make one instant, in the order in which they were put in.
            let later = self.queue.split_off(&(Time(now.0 + 1), 0));
            let events: Vec<Event> = std::mem::replace(&mut self.queue, later)
                .into_values()
                .collect();
            self.now = now;
            events.iter().for_each(|event| self.note(event));
            let mut orders = Vec::new();
            step(scheduler, &mut self.fleet, now, events, &mut orders).unwrap();
            for order in orders {
                self.obey(&order);
                self.log.push((now, order));
            }
            self.compare();
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Arrived(job) => {
                self.asked.insert(
                    Tenant::Job(job.id),
                    (job.request.clone(), job.run_time.clone()),
                );
            }
            Event::Finished(job) | Event::Failed(job) | Event::Cancelled(job) => {
                let over: Vec<Tenant> = self
                    .held
                    .keys()
                    .copied()
                    .filter(|tenant| tenant.job() == *job)
                    .collect();
                over.into_iter().for_each(|tenant| drop(self.take(tenant)));
            }
            Event::TaskEnd { job, task } => {
                drop(self.take(Tenant::Task(*job, *task)));
                self.go_on(*job);
            }
            _ => {}
        }
    }

    /// Takes what a tenant holds away, and its end out of the queue.
    fn take(&mut self, tenant: Tenant) -> Option<HeldDevices> {
        let held = self.held.remove(&tenant)?;
        self.queue.remove(&held.end);
        Some(held)
    }

    /// The next task of a job, or its end.
    fn go_on(&mut self, job: JobId) {
        let (number, tasks) = self.programs.get_mut(&job).expect("a job with tasks");
        let task = TaskId(*number);
        *number += 1;
        match tasks.pop_front() {
            Some((request, length)) => {
                self.asked.insert(
                    Tenant::Task(job, task),
                    (request.clone(), RunTime::Fixed(length)),
                );
                self.at(self.now, Event::TaskBegin { job, task, request });
            }
            None => drop(self.at(self.now, Event::Finished(job))),
        }
    }

    fn obey(&mut self, order: &Action) {
        match order {
            Action::Place { tenant, at } => {
                let size = self
                    .fleet
                    .machine(at.machine)
                    .unwrap()
                    .graph()
                    .device(at.placement[0])
                    .size;
                let length = self.asked[tenant]
                    .1
                    .on(size)
                    .unwrap_or(Duration::from_secs(1));
                // The true length, where a test lets it differ from the estimate.
                let length = self.lengths.get(&tenant.job()).copied().unwrap_or(length);
                let end = match *tenant {
                    Tenant::Job(job) => Event::Finished(job),
                    Tenant::Task(job, task) => Event::TaskEnd { job, task },
                };
                let end = self.at(self.now + length, end);
                assert!(
                    self.put(*tenant, at, end).is_none(),
                    "{tenant} holds something already"
                );
            }
            Action::Move { tenant, at } => {
                let held = self
                    .held
                    .remove(tenant)
                    .expect("who is moved holds something");
                // A move does not change when the tenant ends.
                self.put(*tenant, at, held.end);
            }
            Action::Suspend { tenant } => drop(
                self.take(*tenant)
                    .expect("who is suspended holds something"),
            ),
            Action::Repartition {
                machine,
                whole,
                layout,
            } => {
                let (machine, whole, layout) = (*machine, *whole, layout.clone());
                self.at(
                    self.now + self.cutting,
                    Event::LayoutIs {
                        machine,
                        whole,
                        layout,
                    },
                );
            }
            Action::Wake { at, token } => drop(self.at(self.now.max(*at), Event::Woken(*token))),
            Action::Launch { job } => self.go_on(*job),
            _ => {}
        }
    }

    /// Records which job holds which devices, and that no other job does.
    fn put(&mut self, tenant: Tenant, at: &Assignment, end: (Time, u64)) -> Option<HeldDevices> {
        let graph = self.fleet.machine(at.machine).unwrap().graph();
        let seats: Vec<_> = at
            .placement
            .iter()
            .copied()
            .zip(self.asked[&tenant].0.pattern.demands().iter().copied())
            .collect();
        for (other, held) in self
            .held
            .iter()
            .filter(|(_, held)| held.machine == at.machine)
        {
            for ((id, demand), (theirs, their_demand)) in seats
                .iter()
                .flat_map(|seat| held.seats.iter().map(move |other| (seat, other)))
            {
                let share = demand.is_shared() && their_demand.is_shared();
                assert!(id != theirs || share, "{tenant} and {other} both on {id}");
                assert!(
                    !graph.overlap(*id).contains(*theirs),
                    "{tenant} on {id}, {other} on {theirs}"
                );
            }
        }
        self.held.insert(
            tenant,
            HeldDevices {
                machine: at.machine,
                seats,
                end,
            },
        )
    }

    /// That the fleet says what the orders said.
    fn compare(&self) {
        check(&self.fleet);
        assert!(
            self.fleet
                .tenants()
                .map(|(tenant, ..)| tenant)
                .eq(self.held.keys().copied())
        );
        for (tenant, held) in &self.held {
            let (machine, lease) = self.fleet.lease_of(*tenant).unwrap();
            assert_eq!(machine, held.machine);
            assert!(
                lease
                    .placement
                    .iter()
                    .eq(held.seats.iter().map(|(id, _)| id))
            );
        }
    }

    /// Who was placed, in that order, with the second and the machine.
    pub fn placed<'a>(&'a self) -> Vec<(u64, Tenant, &'a Assignment)> {
        let place = |(time, order): &'a (Time, Action)| match order {
            Action::Place { tenant, at } => Some((time.0 / 1_000_000_000, *tenant, at)),
            _ => None,
        };
        self.log.iter().filter_map(place).collect()
    }
}

/// Whatever a test wants to do in a turn.
struct Acting<F>(F);

impl<F: FnMut(&mut Turn<'_>)> Scheduler for Acting<F> {
    fn name(&self) -> &str {
        "acting"
    }
    fn on_event(&mut self, _: Time, _: Event) {}
    fn act(&mut self, _: Time, turn: &mut Turn<'_>) {
        (self.0)(turn);
    }
}

/// One turn on a fleet, and its orders.
///
/// # Panics
/// If the turn is not valid.
pub fn in_turn(fleet: &mut Fleet, act: impl FnMut(&mut Turn<'_>)) -> Vec<Action> {
    let mut orders = Vec::new();
    step(&mut Acting(act), fleet, Time::ZERO, [], &mut orders).unwrap();
    check(fleet);
    orders
}

/// Runs a scheduler, and shows what it says after each instant, with the fleet as it was left.
pub struct WatchedScheduler<S, F>(pub S, pub F);

impl<S: Scheduler, F: FnMut(&S, Time, &mut Turn<'_>)> Scheduler for WatchedScheduler<S, F> {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn on_event(&mut self, now: Time, event: Event) {
        self.0.on_event(now, event);
    }
    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.0.act(now, turn);
        (self.1)(&self.0, now, turn);
    }
}
