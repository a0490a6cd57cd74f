//! EASY backfilling: one reservation, for the queue head.

use std::fmt;

use mapa_core::{Decision, DeviceSet, MachineId, Policy, Refusal};

use super::{Policies, open, rejection};
use crate::estimate::{RunningEstimates, length_at};
use crate::event::Event;
use crate::fleet::{Fleet, best_of};
use crate::job::{Job, JobId, Tenant};
use crate::memo::Memo;
use crate::order::Order;
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;
use crate::waiting::{WaitingJob, WaitingJobs};

/// First come, first served, with a reservation for the first job that cannot start, the queue
/// head. The reserved moment is the earliest at which the head's policy will have a decision, by
/// the expected ends of running jobs. A later job may start before the head in two cases: it is
/// expected to end by that moment, or the head can still be placed at that moment while the later
/// job runs. For the second case the head's policy decides on a copy of the fleet at that moment,
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
/// An instant at which something has ended costs a copy of the fleet, a decision for each expected
/// end until the head fits, and after each start two decisions for each different request that
/// waits. An instant costs nothing if neither the fleet nor the queue has changed.
pub struct Easy {
    name: String,
    policies: Policies,
    waiting: WaitingJobs,
    running: RunningEstimates,
    answers: Memo<ClassAnswer>,
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
    job: JobId,
    at: Time,
    /// The fleet at that moment.
    then: Fleet,
    /// The devices that jobs which overtook the head hold beyond that moment, by machine.
    taken: Vec<DeviceSet>,
}

/// What has become of a job.
enum StartAttempt {
    /// It has started or was rejected.
    Left,
    /// It stays in the queue.
    Waits,
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
        self.head.as_ref().map(|head| (head.job, head.at))
    }

    /// Starts a job, rejects it, or leaves it where it is.
    fn try_one(
        &mut self,
        at: usize,
        now: Time,
        guarded: bool,
        turn: &mut Turn<'_>,
    ) -> StartAttempt {
        let Some(entry) = self.waiting.get(at).cloned() else {
            return StartAttempt::Waits;
        };
        if self.answers.get(entry.class).is_none() {
            let answer = self
                .policies
                .ask(&entry.job, |policy| turn.decide(policy, &entry.job.request));
            if let Err(why @ Refusal::Infeasible(_)) = answer {
                turn.reject(entry.job.id, rejection(why, turn.fleet()));
                return StartAttempt::Left;
            }
            self.answers.insert(
                entry.class,
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
        let at = self
            .head
            .as_ref()
            .filter(|_| guarded)
            .map_or(Time(u64::MAX), |head| head.at);
        let Some(ClassAnswer {
            now: Some(decision),
            beside,
        }) = self.answers.get_mut(entry.class)
        else {
            return StartAttempt::Waits;
        };
        // The job ends before the head needs any device, so it does not matter which ones it takes.
        if now + expected(&entry.job, decision, turn.fleet()) <= at {
            let decision = decision.clone();
            return self.start(&entry, decision, now, turn);
        }
        if matches!(beside, BackfillChoice::Nothing) {
            return StartAttempt::Waits;
        }
        let decision = decision.clone();
        let Some(beside) = self.beside(&entry, decision, turn.fleet()) else {
            return StartAttempt::Waits;
        };
        let (MachineId(machine), set) = (beside.stamp().machine, beside.placement().set());
        let tried = self.start(&entry, beside, now, turn);
        if let (StartAttempt::Left, Some(head)) = (&tried, &mut self.head) {
            // The job holds these beyond the reserved moment, so from now on the head must do
            // without them.
            let taken = &mut head.taken[machine as usize];
            *taken = &*taken | &set;
        }
        tried
    }

    fn start(
        &mut self,
        entry: &WaitingJob<()>,
        decision: Decision,
        now: Time,
        turn: &mut Turn<'_>,
    ) -> StartAttempt {
        let length = expected(&entry.job, &decision, turn.fleet());
        if turn.place(Tenant::Job(entry.job.id), decision).is_err() {
            return StartAttempt::Waits;
        }
        self.running.start(entry.job.id, now, length);
        // Takes note of the own change: `act` then drops the reservation only for changes that this
        // scheduler did not make. Answers on the state before are forgotten.
        self.answers.refresh(turn.fleet());
        StartAttempt::Left
    }

    /// The decision with which a job may run on beyond the head's reservation, looked up or looked
    /// for.
    fn beside(
        &mut self,
        entry: &WaitingJob<()>,
        decision: Decision,
        fleet: &Fleet,
    ) -> Option<Decision> {
        match self.answers.get(entry.class).map(|answer| &answer.beside) {
            Some(BackfillChoice::Decided(known)) => return Some((**known).clone()),
            Some(BackfillChoice::Nothing) => return None,
            Some(BackfillChoice::Unknown) | None => {}
        }
        let found = self.leaves_room(decision, entry, fleet);
        if let Some(answer) = self.answers.get_mut(entry.class) {
            answer.beside = match &found {
                Some(decision) => BackfillChoice::Decided(Box::new(decision.clone())),
                None => BackfillChoice::Nothing,
            };
        }
        found
    }

    /// The decision of a job's policy if it leaves room for the head; else its decision on the
    /// devices that the head would leave, if that does.
    fn leaves_room(
        &mut self,
        decision: Decision,
        entry: &WaitingJob<()>,
        fleet: &Fleet,
    ) -> Option<Decision> {
        if self.place_head(Some(&decision)).is_some() {
            return Some(decision);
        }
        // The devices that the head would choose are left out, though it might do with others: one
        // more decision instead of a search.
        let (machine, planned) = self.place_head(None)?;
        let mut limits: Vec<DeviceSet> = fleet
            .views()
            .map(|view| open(&view, &entry.job.request))
            .collect();
        if let Some(limit) = limits.get_mut(machine.0 as usize) {
            *limit = &*limit - &planned;
        }
        let views = fleet
            .views()
            .zip(&limits)
            .map(|(view, limit)| view.limited_to(limit));
        let other = self
            .policies
            .ask(&entry.job, |policy| {
                best_of(views, policy, &entry.job.request)
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
        let at = self
            .waiting
            .iter()
            .find(|entry| entry.serial == head.serial)?;
        let (job, request) = (&at.job, &at.job.request);
        let left = |view: mapa_core::View<'_>| {
            let all = &open(&view, request) - &head.taken[view.machine().0 as usize];
            match more.filter(|more| more.stamp().machine == view.machine()) {
                Some(more) => &all - &more.placement().set(),
                None => all,
            }
        };
        let limits: Vec<DeviceSet> = head.then.views().map(left).collect();
        let views = head
            .then
            .views()
            .zip(&limits)
            .map(|(view, limit)| view.limited_to(limit));
        let decision = self
            .policies
            .ask(job, |policy| best_of(views, policy, request))
            .ok()?;
        Some((decision.stamp().machine, decision.placement().set()))
    }

    /// Reserves the earliest moment at which a job can be placed. Returns false if it cannot be
    /// placed even on the idle fleet.
    fn reserve(&mut self, at: usize, fleet: &Fleet) -> bool {
        let Some(entry) = self.waiting.get(at) else {
            return false;
        };
        if self
            .head
            .as_ref()
            .is_some_and(|head| head.serial == entry.serial)
        {
            return true;
        }
        self.head = None;
        // Answers found for the old head say nothing about the new one.
        self.answers.clear();
        let mut then = fleet.clone();
        // In order of time, so the first state in which the policy has a decision is the earliest
        // moment. All jobs of a moment end before the policy is asked.
        for (at, jobs) in self.running.ends() {
            for job in jobs {
                // The end of a running job can always be booked.
                let _ = then.book(&Event::Finished(job));
            }
            let fits = self
                .policies
                .ask(&entry.job, |policy| then.decide(policy, &entry.job.request))
                .is_ok();
            if fits {
                let taken = vec![DeviceSet::new(); then.machines().len()];
                // A reservation that moves to a later moment keeps its first promise: once that has
                // passed, no job overtakes the head.
                let before = self.promised.filter(|(serial, _)| *serial == entry.serial);
                self.promised = Some((
                    entry.serial,
                    before.map_or(at, |(_, before)| before.min(at)),
                ));
                self.head = Some(HeadReservation {
                    serial: entry.serial,
                    job: entry.job.id,
                    at,
                    then,
                    taken,
                });
                return true;
            }
        }
        false
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
        let surprised = self.running.refresh(now, turn.fleet());
        // A change that this scheduler did not make or expect: an end, a cordon, a layout, another
        // program.
        if self.answers.refresh(turn.fleet()) || surprised {
            self.head = None;
            self.answers.clear();
        }
        let (mut at, mut guarded) = (0, false);
        while at < self.waiting.len() {
            match self.try_one(at, now, guarded, turn) {
                StartAttempt::Left => drop(self.waiting.remove(at)),
                StartAttempt::Waits => {
                    // The first waiting job that can be planned becomes the head. `||` stops there:
                    // only one job has a reservation.
                    guarded = guarded || self.reserve(at, turn.fleet());
                    at += 1;
                }
            }
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
