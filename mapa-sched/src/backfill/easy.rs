//! EASY backfilling: one reservation, for the queue head.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mapa_core::{Allocator, Decision, DeviceSet, MachineId, Policy, Refusal};

use super::moments::FreeMoments;
use super::{Policies, need, open, rejection};
use crate::estimate::{RunningEstimates, length_at};
use crate::event::Event;
use crate::fleet::{Fleet, best_of};
use crate::job::{Job, JobId, Tenant};
use crate::memo::Memo;
use crate::order::Order;
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;
use crate::waiting::{Position, WaitingJobs};

/// First come, first served, with a reservation for the first job that cannot start, the queue
/// head. The reserved moment is the earliest at which the head's policy will have a decision, by
/// the expected ends of running jobs. A later job may start before the head in two cases: it is
/// expected to end by that moment, or the head can still be placed at that moment while the later
/// job runs. For the second case the head's policy decides on copies of the machines that fit at that moment,
/// without the devices that such jobs have taken. If it has no decision, the later job is tried on
/// the devices that the head would leave. (Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995;
/// Mu'alem and Feitelson, "Utilization, predictability, workloads, and user runtime estimates in
/// scheduling the IBM SP2 with backfilling", IEEE TPDS 12(6), 2001.)
///
/// **Estimates** are [`Job::run_time`](crate::Job::run_time); an unknown one counts as ten years,
/// and a job that outlives its estimate is expected to run as long again as it has run. If no
/// estimate is too short, the head starts no later than the moment reserved for it. If one is too
/// short, the reservation moves. Once the earliest moment ever reserved for the head has passed, no
/// job overtakes it any more; otherwise jobs with too short estimates might do so for ever. The
/// scheduler orders a wake-up for the moment at which a job should have ended.
///
/// **Jobs that are not protected.** Jobs behind the head may be delayed by jobs that overtake them.
/// A job that its policy refuses even on the idle fleet (a rule, a limit, a layout that must change
/// first) is passed over and has no reservation. A job that is [`Infeasible`](Refusal::Infeasible)
/// is rejected when it is first looked at. Reservations are on one machine: a job that is too large
/// for every machine is rejected, even if a [network](Fleet::with_network) joins them.
///
/// **Sharing.** A device on which a later job stays beyond the reserved moment counts as taken,
/// even if the head could share it. Layouts count as they are now.
///
/// # Complexity
/// An instant costs one decision over the fleet for each different request that waits, and two more
/// after each start for those that would run beyond the reserved moment; to reserve the moment, one
/// decision on a machine for each that has enough free devices by number before the head fits. Other
/// jobs with the same request cost nothing. An instant costs O(1) for each different request if
/// neither the fleet nor the queue has changed.
pub struct Easy {
    name: String,
    policies: Policies,
    waiting: WaitingJobs,
    running: RunningEstimates,
    answers: Memo<ClassAnswer>,
    moments: FreeMoments,
    head: Option<HeadReservation>,
    /// The head, by its number, and the earliest moment ever reserved for it.
    promised: Option<(u64, Time)>,
}

/// The answers for a class of jobs on the present state.
#[derive(Clone, Debug, Default)]
struct ClassAnswer {
    /// The decision of its policy, if it has one.
    now: Option<Decision>,
    beside: BackfillChoice,
}

/// The decision with which a job may run on beyond the head's reservation.
#[derive(Clone, Debug, Default)]
enum BackfillChoice {
    /// Neither computed nor needed so far, on the present state.
    #[default]
    Unknown,
    /// The job would delay the head wherever its policy puts it.
    Nothing,
    /// On these devices the job leaves room for the head.
    Decided(Box<Decision>),
}

/// The queue head with its reservation. Made anew when the fleet changes by other hands.
#[derive(Clone, Debug)]
struct HeadReservation {
    serial: u64,
    job: Arc<Job>,
    at: Time,
    /// The machines on which the head can be placed at that moment, by id.
    then: BTreeMap<MachineId, MachineThen>,
}

/// A machine at the reserved moment.
#[derive(Clone, Debug)]
struct MachineThen {
    /// Its state, without the jobs that have overtaken the head.
    machine: Allocator,
    /// The devices that such jobs hold beyond the moment.
    taken: DeviceSet,
}

/// What has become of a job.
enum StartAttempt {
    /// It has started or was rejected.
    Left,
    /// It stays in the queue, and so do all jobs of its class that wait behind it.
    Waits,
    /// It stays in the queue: it does not end by this moment from now. Shorter jobs of its class may
    /// start.
    TooLong(Duration),
}

impl Easy {
    /// Every job placed by the same policy, on the best machine of the fleet.
    #[must_use]
    pub fn new(policy: impl Policy + 'static) -> Self {
        let name = format!("easy-backfill, {}", policy.name());
        Self {
            name,
            ..Self::with(Policies::One(Box::new(policy)))
        }
    }

    /// Every job placed by a policy of its own, made whenever one is needed. It must give the same
    /// answers for the same job each time.
    #[must_use]
    pub fn choosing(policy: impl FnMut(&Job) -> Box<dyn Policy> + Send + 'static) -> Self {
        Self::with(Policies::PerJob(Box::new(policy)))
    }

    fn with(policies: Policies) -> Self {
        Self {
            name: "easy-backfill".to_owned(),
            waiting: WaitingJobs::new(Order::Arrival, policies.is_one()),
            policies,
            running: RunningEstimates::default(),
            answers: Memo::new(),
            moments: FreeMoments::default(),
            head: None,
            promised: None,
        }
    }

    /// The order in which jobs are considered; the first that cannot start has the reservation.
    /// Call this before the first job arrives. In another order than that of arrival, a job that
    /// arrives may become the head. Then the old head has no reservation any more, and may starve.
    /// Default: [`Order::Arrival`].
    #[must_use]
    pub fn order(self, order: Order) -> Self {
        Self {
            waiting: WaitingJobs::new(order, self.policies.is_one()),
            ..self
        }
    }

    /// The jobs that wait, next one first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.waiting.jobs()
    }

    /// The job that has the reservation, and the moment, as of the last instant at which it acted.
    #[must_use]
    pub fn reservation(&self) -> Option<(JobId, Time)> {
        self.head.as_ref().map(|head| (head.job.id, head.at))
    }

    /// Starts a job, rejects it, or leaves it where it is.
    fn try_one(
        &mut self,
        at: Position,
        now: Time,
        guarded: bool,
        turn: &mut Turn<'_>,
    ) -> StartAttempt {
        let Some(entry) = self.waiting.get(at) else {
            return StartAttempt::Waits;
        };
        let (job, class) = (entry.job.clone(), entry.class);
        if self.answers.get(class).is_none() {
            let answer = self
                .policies
                .ask(&job, |policy| turn.decide(policy, &job.request));
            if let Err(why @ Refusal::Infeasible(_)) = answer {
                turn.reject(job.id, rejection(why, turn.fleet()));
                return StartAttempt::Left;
            }
            self.answers.insert(
                class,
                ClassAnswer {
                    now: answer.ok(),
                    beside: BackfillChoice::Unknown,
                },
            );
        }
        // Estimates were too short: the head has waited past its first reserved moment. No job
        // overtakes it any more.
        if guarded && self.promised.is_some_and(|(_, promised)| promised <= now) {
            return StartAttempt::Waits;
        }
        // Without a head nothing is in the way, and every end comes early enough.
        let head = self.head.as_ref().filter(|_| guarded);
        let at = head.map_or(Time(u64::MAX), |head| head.at);
        let Some(ClassAnswer {
            now: Some(decision),
            beside,
        }) = self.answers.get(class)
        else {
            return StartAttempt::Waits;
        };
        // The job ends before the head needs any device, so it does not matter which ones it takes.
        if now + expected(&job, decision, turn.fleet()) <= at {
            let decision = decision.clone();
            return self.start(&job, decision, now, turn);
        }
        let too_long = StartAttempt::TooLong(at - now);
        if matches!(beside, BackfillChoice::Nothing) {
            return too_long;
        }
        let decision = decision.clone();
        let Some(beside) = self.beside(&job, class, decision, turn.fleet()) else {
            return too_long;
        };
        let (machine, set) = (beside.stamp().machine, beside.placement().set());
        let tried = self.start(&job, beside, now, turn);
        if let (StartAttempt::Left, Some(head)) = (&tried, &mut self.head)
            && let Some(then) = head.then.get_mut(&machine)
        {
            // The job holds these beyond the reserved moment, so from now on the head must do
            // without them.
            then.taken = &then.taken | &set;
        }
        tried
    }

    fn start(
        &mut self,
        job: &Job,
        decision: Decision,
        now: Time,
        turn: &mut Turn<'_>,
    ) -> StartAttempt {
        let length = expected(job, &decision, turn.fleet());
        if turn.place(Tenant::Job(job.id), decision).is_err() {
            return StartAttempt::Waits;
        }
        self.running.start(job.id, now, length);
        // Takes note of the own change: `act` then drops the reservation only for changes that this
        // scheduler did not make. Answers on the state before are forgotten.
        self.answers.refresh(turn.fleet());
        StartAttempt::Left
    }

    /// The decision with which a job may run on beyond the head's reservation, looked up or looked
    /// for.
    fn beside(
        &mut self,
        job: &Job,
        class: u64,
        decision: Decision,
        fleet: &Fleet,
    ) -> Option<Decision> {
        match self.answers.get(class).map(|answer| &answer.beside) {
            Some(BackfillChoice::Decided(known)) => return Some((**known).clone()),
            Some(BackfillChoice::Nothing) => return None,
            Some(BackfillChoice::Unknown) | None => {}
        }
        let found = self.leaves_room(decision, job, fleet);
        if let Some(answer) = self.answers.get_mut(class) {
            answer.beside = match &found {
                Some(decision) => BackfillChoice::Decided(Box::new(decision.clone())),
                None => BackfillChoice::Nothing,
            };
        }
        found
    }

    /// The decision of a job's policy if it leaves room for the head; else its decision on the
    /// devices that the head would leave, if that does.
    fn leaves_room(&mut self, decision: Decision, job: &Job, fleet: &Fleet) -> Option<Decision> {
        if self.place_head(Some(&decision)).is_some() {
            return Some(decision);
        }
        // The devices that the head would choose are left out, though it might do with others: one
        // more decision instead of a search.
        let (machine, planned) = self.place_head(None)?;
        let view = fleet.machine(machine).ok()?.view();
        let limits = [(machine, &open(&view, &job.request) - &planned)].into();
        let other = self
            .policies
            .ask(job, |policy| {
                fleet.decide_limited(policy, &job.request, &limits)
            })
            .ok()?;
        // The head's policy is asked again: with fewer free devices it may refuse, even if its
        // first choice is among them.
        self.place_head(Some(&other)).is_some().then_some(other)
    }

    /// The devices on which the head would start at its reserved moment, with the jobs that
    /// overtook it still running, and perhaps one more.
    fn place_head(&mut self, more: Option<&Decision>) -> Option<(MachineId, DeviceSet)> {
        let head = self.head.as_ref()?;
        let request = &head.job.request;
        let left = |(id, then): (&MachineId, &MachineThen)| {
            let all = &open(&then.machine.view(), request) - &then.taken;
            match more.filter(|more| more.stamp().machine == *id) {
                Some(more) => &all - &more.placement().set(),
                None => all,
            }
        };
        let limits: Vec<DeviceSet> = head.then.iter().map(left).collect();
        let machines = head.then.values().map(|then| then.machine.view());
        let views = machines
            .zip(&limits)
            .map(|(view, limit)| view.limited_to(limit));
        let decision = self
            .policies
            .ask(&head.job, |policy| best_of(views, policy, request))
            .ok()?;
        Some((decision.stamp().machine, decision.placement().set()))
    }

    /// Reserves the earliest moment at which a job can be placed. Returns false if it cannot be
    /// placed even when all that runs has ended.
    fn reserve(&mut self, at: Position, fleet: &Fleet) -> bool {
        let Some(entry) = self.waiting.get(at) else {
            return false;
        };
        let (job, serial) = (entry.job.clone(), entry.serial);
        if self.head.as_ref().is_some_and(|head| head.serial == serial) {
            return true;
        }
        self.head = None;
        // Answers found for the old head say nothing about the new one.
        self.answers
            .values_mut()
            .for_each(|answer| answer.beside = BackfillChoice::Unknown);
        let policies = &mut self.policies;
        let earliest =
            self.moments
                .earliest(need(&job) as usize, (fleet, &self.running), |machine| {
                    policies
                        .ask(&job, |policy| policy.decide(&job.request, &machine.view()))
                        .is_ok()
                });
        let Some((at, machines)) = earliest else {
            return false;
        };
        // A reservation that moves to a later moment keeps its first promise: once that has passed,
        // no job overtakes the head.
        let before = self.promised.filter(|(promised, _)| *promised == serial);
        let promised = before.map_or(at, |(_, before)| before.min(at));
        self.promised = Some((serial, promised));
        let then = |machine: Allocator| {
            let taken = DeviceSet::new();
            (machine.id(), MachineThen { machine, taken })
        };
        self.head = Some(HeadReservation {
            serial,
            job,
            at,
            then: machines.into_iter().map(then).collect(),
        });
        true
    }
}

fn expected(job: &Job, decision: &Decision, fleet: &Fleet) -> std::time::Duration {
    let machine = fleet.machine(decision.stamp().machine);
    machine.map_or_else(
        |_| crate::estimate::length(job),
        |at| length_at(job, at.graph(), decision.placement()),
    )
}

impl fmt::Debug for Easy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Easy")
            .field("name", &self.name)
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

impl Scheduler for Easy {
    fn name(&self) -> &str {
        &self.name
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrived(job) => self.waiting.push(job),
            Event::Adopted { job, since, .. } => {
                self.running
                    .start(job.id, since, crate::estimate::length(&job));
            }
            event => {
                if let Some(job) = event.leaves() {
                    drop(self.waiting.forget(job));
                    self.running.end(job, now);
                }
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let surprises = self.running.refresh(now, turn.fleet());
        for &job in &surprises.overdue {
            self.moments.is_late(job, turn.fleet());
        }
        // A change that this scheduler did not make or expect: an end, a cordon, a layout, another
        // program.
        if self.answers.refresh(turn.fleet()) || surprises.is_any() {
            self.head = None;
            self.answers.clear();
        }
        let (mut walk, mut guarded) = (self.waiting.walk(), false);
        while let Some((at, class)) = walk.next() {
            let next = match self.try_one(at, now, guarded, turn) {
                StartAttempt::Left => {
                    // A job before the head has taken devices, which the head may have counted on.
                    if !guarded {
                        self.head = None;
                    }
                    let next = self.waiting.next_of(class, at);
                    self.waiting.remove(at);
                    next
                }
                // The first waiting job that can be planned becomes the head. `||` stops there: only
                // one job has a reservation. Jobs with the same request cannot start either.
                StartAttempt::Waits => {
                    guarded = guarded || self.reserve(at, turn.fleet());
                    None
                }
                StartAttempt::TooLong(most) => self.waiting.next_short_of(class, at, most),
            };
            walk.go_on(class, next);
        }
        if !guarded {
            self.head = None;
        }
        if !self.waiting.is_empty() {
            // An end that does not come makes no event, so the scheduler asks to be woken when it
            // is due.
            self.running.wake(None, turn);
        }
    }
}
