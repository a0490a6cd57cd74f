//! EASY backfilling: one reservation, that of the head.

use std::fmt;

use mapa_core::{Decision, DeviceSet, MachineId, Policy, Refusal};

use super::{Policies, open, rejection};
use crate::estimate::{Running, length_at};
use crate::event::Event;
use crate::fleet::{Fleet, best_of};
use crate::job::{Job, JobId, Tenant};
use crate::memo::Memo;
use crate::order::Order;
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;
use crate::waiting::{Entry, Waiting};

/// First come, first served, and the first job that cannot start holds a reservation: the earliest moment at which, by the
/// expected ends of those that run, its policy will have a decision. A later job may start before it if it is expected to
/// have ended by then, or if with it running the head can be placed at that moment all the same: on an image of the fleet at
/// that moment, without the devices that such jobs have taken, the head's policy is asked. Where it then says no, the later
/// job is tried on what the head would leave. (Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995; Mu'alem and Feitelson,
/// "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS
/// 12(6), 2001.)
///
/// **Estimates** are [`Job::run_time`](crate::Job::run_time); an unknown one counts as ten years, and a job that outlives its
/// estimate as running as long again as it has run. With estimates that are never too short the head starts no later than it
/// was promised. Where they are too short the reservation moves; but once the earliest moment that the head was ever promised
/// has passed, nobody overtakes it any more, else a queue of jobs with too short estimates might do so forever. A driver is
/// asked to wake the scheduler when a job should have ended.
///
/// **Who is not protected.** Jobs behind the head may be delayed by those that overtake them. A job that its policy refuses
/// even with everybody gone (a rule, a limit, a layout that must change first) is passed over and has no reservation; one
/// that is [`Infeasible`](Refusal::Infeasible) is rejected, when it is first looked at.
/// Reservations are on one machine: a job that is too large for each is rejected, whatever [network](Fleet::with_network) joins
/// them.
///
/// **Sharing.** A device on which a later job stays beyond the reservation counts as gone for the head, though they might
/// share it. Layouts count as they are.
///
/// **Cost.** An instant at which something has ended: a copy of the fleet, a decision for each expected end until the head
/// fits, and two decisions for each different request that waits, after each start; nothing if neither the fleet nor the
/// queue has changed.
pub struct Easy {
    name: String,
    policies: Policies,
    waiting: Waiting,
    running: Running,
    answers: Memo<Answer>,
    head: Option<Head>,
    /// The earliest moment that the head was ever promised, and who that is.
    promised: Option<(u64, Time)>,
}

/// What there is for a class of jobs on the present state.
#[derive(Clone, Debug, Default)]
struct Answer {
    /// What its policy decides.
    now: Option<Decision>,
    /// What may stay beyond the head's reservation; none before it was asked for.
    stays: Option<Option<Decision>>,
}

/// The head's reservation.
#[derive(Clone, Debug)]
struct Head {
    told: u64,
    job: JobId,
    at: Time,
    /// The fleet at that moment.
    then: Fleet,
    /// What those that overtook the head hold beyond it, by machine.
    taken: Vec<DeviceSet>,
}

enum Tried {
    Left,
    Waits,
}

impl Easy {
    /// Every job placed by the same policy, on the best machine of the fleet.
    #[must_use]
    pub fn new(policy: impl Policy + 'static) -> Self {
        let name = format!("easy-backfill, {}", policy.name());
        Self { name, ..Self::with(Policies::One(Box::new(policy))) }
    }

    /// Every job placed by a policy of its own, made anew whenever it is asked: with the same answers for the same job.
    #[must_use]
    pub fn choosing(policy: impl FnMut(&Job) -> Box<dyn Policy> + Send + 'static) -> Self {
        Self::with(Policies::PerJob(Box::new(policy)))
    }

    fn with(policies: Policies) -> Self {
        Self {
            name: "easy-backfill".to_owned(),
            waiting: Waiting::new(Order::Arrival, policies.is_one()),
            policies,
            running: Running::default(),
            answers: Memo::new(),
            head: None,
            promised: None,
        }
    }

    /// The jobs that wait, first come first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.waiting.jobs()
    }

    /// The job that has the reservation, and the moment, as of the last instant at which it acted.
    #[must_use]
    pub fn reservation(&self) -> Option<(JobId, Time)> {
        self.head.as_ref().map(|head| (head.job, head.at))
    }

    /// Starts a job, rejects it, or leaves it where it is.
    fn try_one(&mut self, at: usize, now: Time, guarded: bool, turn: &mut Turn<'_>) -> Tried {
        let Some(entry) = self.waiting.get(at).cloned() else { return Tried::Waits };
        if self.answers.get(entry.class).is_none() {
            let answer = self.policies.ask(&entry.job, |policy| turn.decide(policy, &entry.job.request));
            if let Err(why @ Refusal::Infeasible(_)) = answer {
                turn.reject(entry.job.id, rejection(why, turn.fleet()));
                return Tried::Left;
            }
            self.answers.insert(entry.class, Answer { now: answer.ok(), stays: None });
        }
        if guarded && self.promised.is_some_and(|(_, promised)| promised <= now) {
            return Tried::Waits;
        }
        let at = self.head.as_ref().filter(|_| guarded).map_or(Time(u64::MAX), |head| head.at);
        let Some(Answer { now: Some(decision), stays }) = self.answers.get_mut(entry.class) else {
            return Tried::Waits;
        };
        if now + expected(&entry.job, decision, turn.fleet()) <= at {
            let decision = decision.clone();
            return self.start(&entry, decision, now, turn);
        }
        if matches!(stays, Some(None)) {
            return Tried::Waits;
        }
        let decision = decision.clone();
        let Some(beside) = self.beside(&entry, decision, turn.fleet()) else { return Tried::Waits };
        let (MachineId(machine), set) = (beside.stamp().machine, beside.placement().set());
        let tried = self.start(&entry, beside, now, turn);
        if let (Tried::Left, Some(head)) = (&tried, &mut self.head) {
            let taken = &mut head.taken[machine as usize];
            *taken = &*taken | &set;
        }
        tried
    }

    fn start(&mut self, entry: &Entry<()>, decision: Decision, now: Time, turn: &mut Turn<'_>) -> Tried {
        let length = expected(&entry.job, &decision, turn.fleet());
        if turn.place(Tenant::Job(entry.job.id), decision).is_err() {
            return Tried::Waits;
        }
        self.running.start(entry.job.id, now, length);
        self.answers.refresh(turn.fleet());
        Tried::Left
    }

    /// What a job may hold beyond the head's reservation: what its policy decides, or else what it decides on what the head
    /// would leave.
    fn beside(&mut self, entry: &Entry<()>, decision: Decision, fleet: &Fleet) -> Option<Decision> {
        if let Some(known) = self.answers.get_mut(entry.class).and_then(|answer| answer.stays.clone()) {
            return known;
        }
        let stays = self.leaves_room(decision, entry, fleet);
        if let Some(answer) = self.answers.get_mut(entry.class) {
            answer.stays = Some(stays.clone());
        }
        stays
    }

    fn leaves_room(&mut self, decision: Decision, entry: &Entry<()>, fleet: &Fleet) -> Option<Decision> {
        if self.place_head(Some(&decision)).is_some() {
            return Some(decision);
        }
        let (machine, planned) = self.place_head(None)?;
        let limits: Vec<DeviceSet> = fleet.views().map(|view| open(&view, &entry.job.request)).collect();
        let left = |(view, limit): (mapa_core::View<'_>, &DeviceSet)| {
            if view.machine() == machine { limit - &planned } else { limit.clone() }
        };
        let limits: Vec<DeviceSet> = fleet.views().zip(&limits).map(left).collect();
        let views = fleet.views().zip(&limits).map(|(view, limit)| view.limited_to(limit));
        let other = self.policies.ask(&entry.job, |policy| best_of(views, policy, &entry.job.request)).ok()?;
        self.place_head(Some(&other)).is_some().then_some(other)
    }

    /// Where the head would be at its moment, with those that overtook it, and one more.
    fn place_head(&mut self, more: Option<&Decision>) -> Option<(MachineId, DeviceSet)> {
        let head = self.head.as_ref()?;
        let at = self.waiting.iter().find(|entry| entry.told == head.told)?;
        let (job, request) = (&at.job, &at.job.request);
        let left = |view: mapa_core::View<'_>| {
            let all = &open(&view, request) - &head.taken[view.machine().0 as usize];
            match more.filter(|more| more.stamp().machine == view.machine()) {
                Some(more) => &all - &more.placement().set(),
                None => all,
            }
        };
        let limits: Vec<DeviceSet> = head.then.views().map(left).collect();
        let views = head.then.views().zip(&limits).map(|(view, limit)| view.limited_to(limit));
        let decision = self.policies.ask(job, |policy| best_of(views, policy, request)).ok()?;
        Some((decision.stamp().machine, decision.placement().set()))
    }

    /// Reserves the earliest moment at which a job has room; none if it has none with everybody gone.
    fn reserve(&mut self, at: usize, fleet: &Fleet) -> bool {
        let Some(entry) = self.waiting.get(at) else { return false };
        if self.head.as_ref().is_some_and(|head| head.told == entry.told) {
            return true;
        }
        self.head = None;
        self.answers.clear();
        let mut then = fleet.clone();
        for (at, jobs) in self.running.ends() {
            for job in jobs {
                // A running job's end can always be booked.
                let _ = then.book(&Event::Finished(job));
            }
            let fits = self.policies.ask(&entry.job, |policy| then.decide(policy, &entry.job.request)).is_ok();
            if fits {
                let taken = vec![DeviceSet::new(); then.machines().len()];
                let before = self.promised.filter(|(told, _)| *told == entry.told);
                self.promised = Some((entry.told, before.map_or(at, |(_, before)| before.min(at))));
                self.head = Some(Head { told: entry.told, job: entry.job.id, at, then, taken });
                return true;
            }
        }
        false
    }
}

fn expected(job: &Job, decision: &Decision, fleet: &Fleet) -> std::time::Duration {
    let machine = fleet.machine(decision.stamp().machine);
    machine.map_or_else(|_| crate::estimate::length(job), |at| length_at(job, at.graph(), decision.placement()))
}

impl fmt::Debug for Easy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Easy").field("name", &self.name).field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl Scheduler for Easy {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.waiting.push(job),
            Event::Cancelled(job) | Event::Failed(job) | Event::Finished(job) => {
                drop(self.waiting.forget(job));
                self.running.end(job, now);
            }
            _ => {}
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let surprised = self.running.refresh(now, turn.fleet());
        if self.answers.refresh(turn.fleet()) || surprised {
            self.head = None;
            self.answers.clear();
        }
        let (mut at, mut guarded) = (0, false);
        while at < self.waiting.len() {
            match self.try_one(at, now, guarded, turn) {
                Tried::Left => drop(self.waiting.remove(at)),
                Tried::Waits => {
                    guarded = guarded || self.reserve(at, turn.fleet());
                    at += 1;
                }
            }
        }
        if !guarded {
            self.head = None;
        }
        if self.waiting.len() > 0 {
            self.running.wake(None, turn);
        }
    }
}
