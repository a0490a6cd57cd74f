//! Conservative backfilling: every waiting job has a reservation.

use std::fmt;
use std::time::Duration;

use mapa_core::{Decision, DeviceSet, MachineId, Policy, Refusal};

use super::plan::{FreeOutlook, PlanSlot, ReservationPlan, ReservedDevices, need};
use super::{Policies, open, rejection};
use crate::estimate::{RunningEstimates, length, length_at};
use crate::event::Event;
use crate::fleet::{Fleet, best_of};
use crate::job::{Job, JobId, Tenant};
use crate::memo::Memo;
use crate::order::Order;
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;
use crate::waiting::{WaitingJob, WaitingJobs};

/// First come, first served, with a reservation of a moment and of devices for every job that
/// waits. The moment is the earliest at which the job's policy has a decision that leaves every
/// other reservation its moment, given the expected ends of running jobs. A later job may start
/// before an earlier one if that delays no reservation. (Feitelson and Weil, "Utilization and
/// predictability in scheduling the IBM SP2 with backfilling", IPPS/SPDP 1998; Mu'alem and
/// Feitelson, IEEE TPDS 12(6), 2001.)
///
/// **What is promised is the moment.** Devices are reserved so that the moment can be kept, and are
/// exchanged for others where the plan changes. A job starts on the devices that its policy chooses
/// at that moment. If an earlier reservation needs those devices, the policy chooses among the
/// others.
///
/// **When a plan changes.** Nothing changes while everything goes as expected. When a job ends
/// early or is cancelled, every reservation moves to the earliest moment that is open to it, in
/// order of arrival and never to a later one, until none moves any more (compression). The whole
/// plan is made anew, in order of arrival, when a job outlives its estimate, when a layout changes,
/// or when another program takes or gives back devices. Only then can a job be delayed; where
/// estimates are too short, this can happen again and again. If all estimates are right, every job
/// starts no later than the moment reserved when it came within the depth.
///
/// **Estimates** are as for [`Easy`](crate::Easy).
///
/// **Jobs without a reservation.** At most [`depth`](Self::depth) jobs have one; those behind them
/// wait. A job that its policy refuses even on the idle fleet in its present layout is tried at
/// every change, and delays no other job. A job that is [`Infeasible`](Refusal::Infeasible) is
/// rejected when it comes within the depth.
///
/// **Sharing.** A job that starts at once may share a device with running jobs. In plans a device
/// has one job at a time, and policies decide as if nothing else ran. So reservations of jobs that
/// share are later than necessary. They hold for policies that look at what is free, and not at
/// which jobs use the rest.
///
/// # Complexity
/// To put a job into a plan of n reservations takes O(n log n), one decision, and one more for each
/// reservation that must change its devices. This is repeated for each moment at which enough
/// devices are free by number, but not the right ones. Compression and planning anew do this for
/// every reservation.
pub struct Conservative {
    name: String,
    policies: Policies,
    waiting: WaitingJobs<Reservation>,
    running: RunningEstimates,
    /// The decisions of policies on the present state, by class.
    answers: Memo<Option<Decision>>,
    depth: usize,
    plan: ReservationPlan,
    /// The fleet without any tenant, on which plans are made.
    idle: Fleet,
    outlook: FreeOutlook,
    /// Whether something has become free sooner than planned.
    eased: bool,
}

/// The data that this scheduler keeps for a waiting job.
#[derive(Clone, Copy, Debug, Default)]
struct Reservation {
    on_idle: OnIdle,
    reserved: Option<Time>,
}

/// Whether the policy of a job has a decision on the idle fleet.
#[derive(Clone, Copy, Debug, Default)]
enum OnIdle {
    /// Not known, since the layouts last changed.
    #[default]
    Unknown,
    /// It has one: the job can be planned.
    Fits,
    /// It has none: the job can start at once where its policy allows it, but not be planned.
    Refused,
}

impl Conservative {
    /// The default of [`depth`](Self::depth), jobs.
    pub const DEPTH: usize = 100;

    /// Every job placed by the same policy, on the best machine of the fleet.
    #[must_use]
    pub fn new(policy: impl Policy + 'static) -> Self {
        let name = format!("conservative-backfill, {}", policy.name());
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
            name: "conservative-backfill".to_owned(),
            waiting: WaitingJobs::new(Order::Arrival, policies.is_one()),
            policies,
            running: RunningEstimates::default(),
            answers: Memo::new(),
            depth: Self::DEPTH,
            plan: ReservationPlan::default(),
            idle: Fleet::default(),
            outlook: FreeOutlook::default(),
            eased: false,
        }
    }

    /// The largest number of jobs with reservations, at least one. Jobs behind them wait. Default:
    /// [`Conservative::DEPTH`].
    #[must_use]
    pub fn depth(self, depth: usize) -> Self {
        Self {
            depth: depth.max(1),
            ..self
        }
    }

    /// The jobs that wait, first come first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.waiting.jobs()
    }

    /// The reservations by moment: the job, the moment, and the devices by the present plan.
    pub fn reservations(&self) -> impl Iterator<Item = (JobId, Time, MachineId, &DeviceSet)> {
        let places = self
            .plan
            .slots()
            .iter()
            .filter_map(|slot| Some((slot, slot.place.as_ref()?)));
        places.map(|(slot, place)| (slot.job.id, slot.from, place.machine, &place.set))
    }

    /// Brings the known state of the fleet up to date. Returns whether the whole plan must be made
    /// anew.
    fn refresh(&mut self, now: Time, fleet: &Fleet) -> bool {
        let mut anew = self.running.refresh(now, fleet);
        self.answers.refresh(fleet);
        // The devices that are present and not cordoned differ from those planned with.
        if !usable(&self.idle).eq(usable(fleet)) {
            anew = true;
            self.idle = fleet.clone();
            for (tenant, ..) in fleet.tenants() {
                // A tenant that the fleet lists holds a lease, so its end can be booked.
                let _ = self.idle.book(&Event::Finished(tenant.job()));
            }
            // Whether the idle fleet has a place for a job depends on what is present and not
            // cordoned.
            self.waiting
                .iter_mut()
                .for_each(|entry| entry.own.on_idle = OnIdle::Unknown);
        }
        anew
    }

    /// Whether the queue must be gone through: a job within the depth has no reservation, or its
    /// moment has come.
    fn is_due(&self, now: Time) -> bool {
        let mut reserved = 0;
        for entry in self.waiting.iter() {
            match entry.own.reserved {
                Some(at) if at <= now => return true,
                Some(_) => reserved += 1,
                // A job that cannot be planned never has a reservation, so it makes the queue due
                // at every instant: it is tried at every change.
                None if reserved < self.depth => return true,
                None => return false,
            }
        }
        false
    }

    /// Goes through the queue once. Returns whether any reservation has moved to an earlier moment.
    fn pass(&mut self, now: Time, compress: bool, turn: &mut Turn<'_>) -> bool {
        let (mut at, mut reserved, mut moved) = (0, 0, false);
        while at < self.waiting.len() && reserved < self.depth {
            let before = self.waiting.get(at).and_then(|entry| entry.own.reserved);
            if self.plan_one(at, now, compress, turn) {
                // The job has started before its moment, which leaves the room of its reservation
                // to others.
                moved |= before.is_some_and(|before| before > now);
                self.waiting.remove(at);
                continue;
            }
            let after = self.waiting.get(at).and_then(|entry| entry.own.reserved);
            // `None` is less than every moment: a first reservation does not count as moved, and
            // neither does one that was lost.
            moved |= before > after && after.is_some();
            reserved += usize::from(after.is_some());
            at += 1;
        }
        moved
    }

    /// Starts or rejects a job, or reserves a moment for it. Returns whether the job leaves the
    /// queue.
    fn plan_one(&mut self, at: usize, now: Time, compress: bool, turn: &mut Turn<'_>) -> bool {
        let Some(entry) = self.waiting.get(at).cloned() else {
            return false;
        };
        // The reservation is taken out while a better one is looked for, so that the job is not in
        // its own way.
        let held = match entry.own.reserved {
            Some(from) if from > now && !compress => return false,
            Some(_) => self.plan.remove(entry.serial),
            None => None,
        };
        let can_wait = match self.is_possible(at, &entry) {
            Ok(possible) => possible,
            Err(why) => {
                turn.reject(entry.job.id, rejection(why, turn.fleet()));
                return true;
            }
        };
        // A reservation whose moment is still to come is kept, unless an earlier moment is found.
        let before = held
            .as_ref()
            .map(|slot| slot.from)
            .filter(|&from| from > now);
        let (need, length) = (need(&entry.job), length(&entry.job));
        // Counts of devices propose moments in order of time, and the policy decides whether the
        // right devices are free at each.
        let mut next = Some(now);
        while let Some(from) = next.and_then(|next| self.plan.earliest(need, length, next)) {
            // No moment from here on is better than the one that the job has; and a job that cannot
            // be planned may only start now.
            if before.is_some_and(|before| before <= from) || !can_wait && from > now {
                break;
            }
            if from == now && self.start(&entry, now, turn) {
                return true;
            }
            if from > now && self.reserve(&entry, from, length) {
                self.note(at, Some(from));
                return false;
            }
            // Between two planned starts or ends nothing changes, so no moment in between can be
            // better.
            next = self.plan.next_change(from);
        }
        // No better moment was found: the old reservation returns to the plan, with its devices.
        let kept = held.filter(|_| before.is_some());
        self.note(at, kept.as_ref().map(|slot| slot.from));
        if let Some(slot) = kept {
            self.plan.add(slot);
        }
        false
    }

    /// Notes the moment that is reserved for a job.
    fn note(&mut self, at: usize, reserved: Option<Time>) {
        if let Some(entry) = self.waiting.get_mut(at) {
            entry.own.reserved = reserved;
        }
    }

    /// Whether a reservation is possible for a job at all: whether its policy has a decision on the
    /// idle fleet.
    ///
    /// # Errors
    /// The job can never be placed.
    fn is_possible(&mut self, at: usize, entry: &WaitingJob<Reservation>) -> Result<bool, Refusal> {
        match entry.own.on_idle {
            OnIdle::Unknown => {}
            OnIdle::Fits => return Ok(true),
            OnIdle::Refused => return Ok(false),
        }
        let answer = self.policies.ask(&entry.job, |policy| {
            self.idle.decide(policy, &entry.job.request)
        });
        if let Err(why @ Refusal::Infeasible(_)) = answer {
            return Err(why);
        }
        if let Some(entry) = self.waiting.get_mut(at) {
            entry.own.on_idle = match answer {
                Ok(_) => OnIdle::Fits,
                Err(_) => OnIdle::Refused,
            };
        }
        Ok(answer.is_ok())
    }

    /// Reserves a future moment, if every other reservation keeps its own. Returns whether it does.
    fn reserve(&mut self, entry: &WaitingJob<Reservation>, from: Time, length: Duration) -> bool {
        self.plan.add(PlanSlot {
            serial: entry.serial,
            job: entry.job.clone(),
            from,
            length,
            place: None,
        });
        // The replay needs the policies mutably, so the outlook is taken out for its time.
        let outlook = std::mem::take(&mut self.outlook);
        let places = self.replay(&outlook);
        self.outlook = outlook;
        match places {
            Some(places) => self.plan.settle(places),
            None => drop(self.plan.remove(entry.serial)),
        }
        self.plan
            .slots()
            .iter()
            .any(|slot| slot.serial == entry.serial)
    }

    /// The devices of each reservation, if the plan can be kept from this outlook on.
    fn replay(&mut self, outlook: &FreeOutlook) -> Option<Vec<ReservedDevices>> {
        let (policies, idle) = (&mut self.policies, &self.idle);
        self.plan.replay(outlook, |job, free| {
            let need = need(job) as usize;
            // Most machines have too few free devices, and are not shown to the policy.
            let views = idle
                .views()
                .zip(free)
                .filter(|(_, free)| free.len() >= need)
                .map(|(view, free)| view.limited_to(free));
            let decision = policies
                .ask(job, |policy| best_of(views, policy, &job.request))
                .ok()?;
            Some(ReservedDevices {
                machine: decision.stamp().machine,
                set: decision.placement().set(),
            })
        })
    }

    /// Starts a job now, if every reservation keeps its moment. Returns whether it has started.
    fn start(&mut self, entry: &WaitingJob<Reservation>, now: Time, turn: &mut Turn<'_>) -> bool {
        // This decision does not depend on the plan, so jobs with equal requests share it. The
        // second try below depends on it, and is asked anew.
        if self.answers.get(entry.class).is_none() {
            let answer = self
                .policies
                .ask(&entry.job, |policy| turn.decide(policy, &entry.job.request));
            self.answers.insert(entry.class, answer.ok());
        }
        let Some(Some(decision)) = self.answers.get(entry.class) else {
            return false;
        };
        let decision = decision.clone();
        if self.start_there(entry, decision, now, turn) {
            return true;
        }
        // The policy's first choice takes devices that a reservation needs. Its choice among all
        // others is the second try: without the devices of reservations that begin before the job
        // is expected to end.
        let until = now + length(&entry.job);
        let mut limits: Vec<DeviceSet> = turn
            .views()
            .map(|view| open(&view, &entry.job.request))
            .collect();
        for slot in self.plan.slots().iter().filter(|slot| slot.from < until) {
            if let Some(place) = &slot.place
                && let Some(limit) = limits.get_mut(place.machine.0 as usize)
            {
                *limit = &*limit - &place.set;
            }
        }
        let views = turn
            .views()
            .zip(&limits)
            .map(|(view, limit)| view.limited_to(limit));
        match self.policies.ask(&entry.job, |policy| {
            best_of(views, policy, &entry.job.request)
        }) {
            Ok(other) => self.start_there(entry, other, now, turn),
            Err(_) => false,
        }
    }

    /// Starts a job as decided, if every reservation keeps its moment then. Returns whether it has
    /// started.
    fn start_there(
        &mut self,
        entry: &WaitingJob<Reservation>,
        decision: Decision,
        now: Time,
        turn: &mut Turn<'_>,
    ) -> bool {
        let place = ReservedDevices {
            machine: decision.stamp().machine,
            set: decision.placement().set(),
        };
        let Ok(machine) = turn.fleet().machine(place.machine) else {
            return false;
        };
        let length = length_at(&entry.job, machine.graph(), decision.placement());
        // Whether the plan can be kept with the job running there.
        let mut outlook = self.outlook.clone();
        outlook.take(&place, now + length);
        let Some(places) = self.replay(&outlook) else {
            return false;
        };
        // The plan is replayed first: a start that is booked has become an order to the driver.
        if turn.place(Tenant::Job(entry.job.id), decision).is_err() {
            return false;
        }
        self.running.start(entry.job.id, now, length);
        // On this instance the job is faster than planned for: others may move forward.
        self.eased |= length < crate::estimate::length(&entry.job);
        self.answers.refresh(turn.fleet());
        self.outlook = outlook;
        self.plan.settle(places);
        self.plan.count(&self.outlook);
        true
    }
}

impl fmt::Debug for Conservative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Conservative");
        debug
            .field("name", &self.name)
            .field("waiting", &self.waiting)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl Scheduler for Conservative {
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
                    self.eased |= self.running.end(job, now);
                    let slot = self
                        .waiting
                        .forget(job)
                        .and_then(|entry| self.plan.remove(entry.serial));
                    // A job that leaves the queue leaves the room of its reservation to others.
                    self.eased |= slot.is_some();
                }
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let anew = self.refresh(now, turn.fleet());
        let compress = std::mem::take(&mut self.eased);
        if anew {
            // The old moments rest on a state or on ends that no longer hold. Compression only
            // moves jobs to earlier moments, so it cannot repair them.
            self.plan.clear();
            self.waiting
                .iter_mut()
                .for_each(|entry| entry.own.reserved = None);
        }
        if anew || compress || self.is_due(now) {
            self.outlook = FreeOutlook::of(turn.fleet(), &self.running);
            self.plan.count(&self.outlook);
            // A reservation that moves forward leaves room where it was, perhaps for a job before
            // it in the queue. So passes are repeated until none moves.
            while self.pass(now, compress, turn) && compress {}
        }
        if !self.waiting.is_empty() {
            let planned = self.plan.slots().first().map(|slot| slot.from);
            self.running.wake(planned, turn);
        }
    }
}

/// The devices of each machine that are present, and those that are cordoned.
fn usable(fleet: &Fleet) -> impl Iterator<Item = (&DeviceSet, DeviceSet)> {
    fleet
        .machines()
        .iter()
        .map(|machine| (machine.view().present(), machine.cordoned()))
}
