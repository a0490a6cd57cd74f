//! Conservative backfilling: a reservation for everybody.

use std::fmt;
use std::time::Duration;

use mapa_core::{Decision, DeviceSet, MachineId, Policy, Refusal};

use super::plan::{Outlook, Place, Plan, Slot, need};
use super::{Policies, open, rejection};
use crate::estimate::{Running, length, length_at};
use crate::event::Event;
use crate::fleet::{Fleet, best_of};
use crate::job::{Job, JobId, Tenant};
use crate::memo::Memo;
use crate::order::Order;
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;
use crate::waiting::{Entry, Waiting};

/// First come, first served, and every job that waits holds a reservation, of a moment and of devices: the earliest at which, by
/// the expected ends of those that run and the reservations there are, its policy has a decision that leaves every other
/// reservation its moment. A later job may start before an earlier one where that delays none. (Feitelson and Weil, "Utilization
/// and predictability in scheduling the IBM SP2 with backfilling", IPPS/SPDP 1998; Mu'alem and Feitelson, IEEE TPDS 12(6), 2001.)
///
/// **What is promised is the moment.** Devices are reserved so that it can be kept, and exchanged for others where the plan
/// changes. What a job starts on is what its policy decides then, unless an earlier reservation needs those devices; then
/// what it decides on the others.
///
/// **When a plan changes.** What goes as expected changes nothing. When a job ends early or withdraws, every reservation is
/// moved to the earliest moment that is open to it, in order of arrival, never to a later one, until none moves any more
/// (compression). When one outlives its estimate, when a layout changes, or somebody else takes or gives back devices, all is
/// planned anew in order of arrival; only then may a job be put off, and where estimates are too short again and again. With estimates that are right, every job starts no later
/// than it was promised when it came within the depth.
///
/// **Estimates** are as for [`Easy`](crate::Easy).
///
/// **Who has no reservation.** Jobs behind the first [`depth`](Self::depth) that have one; they wait. Jobs that their policy
/// refuses even on the idle fleet in its present layout are tried at every change, and hold up nobody. One that is
/// [`Infeasible`](Refusal::Infeasible) is rejected when it comes within the depth.
///
/// **Sharing.** A job shares a device with those that run there when it starts at once. In plans a device has one job at a
/// time, and policies are asked as if nothing else ran: promises are later than need be for jobs that share, and hold for
/// policies that look at what is free, not at who uses the rest.
///
/// **Cost.** Putting a job into a plan of n takes O(n log n), one decision, and one for each reservation that must change its
/// devices; the same again for every moment that devices rule out and their number does not. Compression and planning anew do
/// so for each.
pub struct Conservative {
    name: String,
    policies: Policies,
    waiting: Waiting<Own>,
    running: Running,
    /// What policies decide now, by class.
    answers: Memo<Option<Decision>>,
    depth: usize,
    plan: Plan,
    /// The fleet with everybody gone: what plans are made on.
    idle: Fleet,
    outlook: Outlook,
    /// Something has become free sooner than planned.
    eased: bool,
}

/// What is kept of a job that waits.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    /// Whether its policy has a decision on the idle fleet, once that was asked.
    possible: Option<bool>,
    reserved: Option<Time>,
}

impl Conservative {
    /// The default [`depth`](Self::depth).
    pub const DEPTH: usize = 100;

    /// Every job placed by the same policy, on the best machine of the fleet.
    #[must_use]
    pub fn new(policy: impl Policy + 'static) -> Self {
        let name = format!("conservative-backfill, {}", policy.name());
        Self { name, ..Self::with(Policies::One(Box::new(policy))) }
    }

    /// Every job placed by a policy of its own, made anew whenever it is asked: with the same answers for the same job.
    #[must_use]
    pub fn choosing(policy: impl FnMut(&Job) -> Box<dyn Policy> + Send + 'static) -> Self {
        Self::with(Policies::PerJob(Box::new(policy)))
    }

    fn with(policies: Policies) -> Self {
        Self {
            name: "conservative-backfill".to_owned(),
            waiting: Waiting::new(Order::Arrival, policies.is_one()),
            policies,
            running: Running::default(),
            answers: Memo::new(),
            depth: Self::DEPTH,
            plan: Plan::default(),
            idle: Fleet::default(),
            outlook: Outlook::default(),
            eased: false,
        }
    }

    /// How many jobs have reservations at most, at least one; later ones wait until they are among the first so many. Default:
    /// [`Conservative::DEPTH`].
    #[must_use]
    pub fn depth(self, depth: usize) -> Self {
        Self { depth: depth.max(1), ..self }
    }

    /// The jobs that wait, first come first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &Job> {
        self.waiting.jobs()
    }

    /// The reservations, by moment: who, when, and where by the present plan.
    pub fn reservations(&self) -> impl Iterator<Item = (JobId, Time, MachineId, &DeviceSet)> {
        let places = self.plan.slots().iter().filter_map(|slot| Some((slot, slot.place.as_ref()?)));
        places.map(|(slot, place)| (slot.job.id, slot.from, place.machine, &place.set))
    }

    /// Brings what is known of the fleet up to date; whether all must be planned anew.
    fn refresh(&mut self, now: Time, fleet: &Fleet) -> bool {
        let mut anew = self.running.refresh(now, fleet);
        self.answers.refresh(fleet);
        if !self.idle.views().map(|view| view.present()).eq(fleet.views().map(|view| view.present())) {
            anew = true;
            self.idle = fleet.clone();
            for (tenant, ..) in fleet.tenants() {
                // It holds something, so that its end can be booked.
                let _ = self.idle.book(&Event::Finished(tenant.job()));
            }
            self.waiting.iter_mut().for_each(|entry| entry.own.possible = None);
        }
        anew
    }

    /// Whether anything is to be done: a job without a reservation, or one whose moment has come.
    fn is_due(&self, now: Time) -> bool {
        let mut reserved = 0;
        for entry in self.waiting.iter() {
            match entry.own.reserved {
                Some(at) if at <= now => return true,
                Some(_) => reserved += 1,
                None if reserved < self.depth => return true,
                None => return false,
            }
        }
        false
    }

    /// Goes through the queue once; whether any reservation was given up for an earlier moment.
    fn pass(&mut self, now: Time, compress: bool, turn: &mut Turn<'_>) -> bool {
        let (mut at, mut reserved, mut moved) = (0, 0, false);
        while at < self.waiting.len() && reserved < self.depth {
            let before = self.waiting.get(at).and_then(|entry| entry.own.reserved);
            if self.plan_one(at, now, compress, turn) {
                moved |= before.is_some_and(|before| before > now);
                self.waiting.remove(at);
                continue;
            }
            let after = self.waiting.get(at).and_then(|entry| entry.own.reserved);
            moved |= before > after && after.is_some();
            reserved += usize::from(after.is_some());
            at += 1;
        }
        moved
    }

    /// Starts, rejects or reserves for a job; whether it has left the queue.
    fn plan_one(&mut self, at: usize, now: Time, compress: bool, turn: &mut Turn<'_>) -> bool {
        let Some(entry) = self.waiting.get(at).cloned() else { return false };
        let held = match entry.own.reserved {
            Some(from) if from > now && !compress => return false,
            Some(_) => self.plan.remove(entry.told),
            None => None,
        };
        let possible = match self.is_possible(at, &entry) {
            Ok(possible) => possible,
            Err(why) => {
                turn.reject(entry.job.id, rejection(why, turn.fleet()));
                return true;
            }
        };
        let before = held.as_ref().map(|slot| slot.from).filter(|&from| from > now);
        let (need, length) = (need(&entry.job), length(&entry.job));
        let mut next = Some(now);
        while let Some(from) = next.and_then(|next| self.plan.earliest(need, length, next)) {
            if before.is_some_and(|before| before <= from) || !possible && from > now {
                break;
            }
            if from == now && self.start(&entry, now, turn) {
                return true;
            }
            if from > now && self.reserve(&entry, from, length) {
                self.note(at, Some(from));
                return false;
            }
            next = self.plan.next_change(from);
        }
        let kept = held.filter(|_| before.is_some());
        self.note(at, kept.as_ref().map(|slot| slot.from));
        if let Some(slot) = kept {
            self.plan.add(slot);
        }
        false
    }

    fn note(&mut self, at: usize, reserved: Option<Time>) {
        if let Some(entry) = self.waiting.get_mut(at) {
            entry.own.reserved = reserved;
        }
    }

    /// Whether a job can be planned for at all.
    fn is_possible(&mut self, at: usize, entry: &Entry<Own>) -> Result<bool, Refusal> {
        if let Some(possible) = entry.own.possible {
            return Ok(possible);
        }
        let answer = self.policies.ask(&entry.job, |policy| self.idle.decide(policy, &entry.job.request));
        if let Err(why @ Refusal::Infeasible(_)) = answer {
            return Err(why);
        }
        if let Some(entry) = self.waiting.get_mut(at) {
            entry.own.possible = Some(answer.is_ok());
        }
        Ok(answer.is_ok())
    }

    /// Reserves a moment to come, if no other reservation loses its own.
    fn reserve(&mut self, entry: &Entry<Own>, from: Time, length: Duration) -> bool {
        self.plan.add(Slot { told: entry.told, job: entry.job.clone(), from, length, place: None });
        let outlook = std::mem::take(&mut self.outlook);
        let places = self.replay(&outlook);
        self.outlook = outlook;
        match places {
            Some(places) => self.plan.settle(places),
            None => drop(self.plan.remove(entry.told)),
        }
        self.plan.slots().iter().any(|slot| slot.told == entry.told)
    }

    fn replay(&mut self, outlook: &Outlook) -> Option<Vec<Place>> {
        let (policies, idle) = (&mut self.policies, &self.idle);
        self.plan.replay(outlook, |job, free| {
            let need = need(job) as usize;
            let has_room = |(_, free): &(mapa_core::View<'_>, &DeviceSet)| free.len() >= need;
            let views = idle.views().zip(free).filter(has_room).map(|(view, free)| view.limited_to(free));
            let decision = policies.ask(job, |policy| best_of(views, policy, &job.request)).ok()?;
            Some(Place { machine: decision.stamp().machine, set: decision.placement().set() })
        })
    }

    /// Starts a job now, if no reservation loses its moment.
    fn start(&mut self, entry: &Entry<Own>, now: Time, turn: &mut Turn<'_>) -> bool {
        if self.answers.get(entry.class).is_none() {
            let answer = self.policies.ask(&entry.job, |policy| turn.decide(policy, &entry.job.request));
            self.answers.insert(entry.class, answer.ok());
        }
        let Some(Some(decision)) = self.answers.get(entry.class) else { return false };
        let decision = decision.clone();
        if self.start_there(entry, decision, now, turn) {
            return true;
        }
        let until = now + length(&entry.job);
        let limit = |view: mapa_core::View<'_>| {
            let places =
                self.plan.slots().iter().filter(|slot| slot.from < until).filter_map(|slot| slot.place.as_ref());
            let here = places.filter(|place| place.machine == view.machine());
            here.fold(open(&view, &entry.job.request), |left, place| &left - &place.set)
        };
        let limits: Vec<DeviceSet> = turn.views().map(limit).collect();
        let views = turn.views().zip(&limits).map(|(view, limit)| view.limited_to(limit));
        match self.policies.ask(&entry.job, |policy| best_of(views, policy, &entry.job.request)) {
            Ok(other) => self.start_there(entry, other, now, turn),
            Err(_) => false,
        }
    }

    fn start_there(&mut self, entry: &Entry<Own>, decision: Decision, now: Time, turn: &mut Turn<'_>) -> bool {
        let place = Place { machine: decision.stamp().machine, set: decision.placement().set() };
        let Ok(machine) = turn.fleet().machine(place.machine) else { return false };
        let length = length_at(&entry.job, machine.graph(), decision.placement());
        let mut outlook = self.outlook.clone();
        outlook.take(&place, now + length);
        let Some(places) = self.replay(&outlook) else { return false };
        if turn.place(Tenant::Job(entry.job.id), decision).is_err() {
            return false;
        }
        self.running.start(entry.job.id, now, length);
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
            Event::Cancelled(job) | Event::Failed(job) | Event::Finished(job) => {
                self.eased |= self.running.end(job, now);
                let slot = self.waiting.forget(job).and_then(|entry| self.plan.remove(entry.told));
                self.eased |= slot.is_some();
            }
            _ => {}
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        let anew = self.refresh(now, turn.fleet());
        let compress = std::mem::take(&mut self.eased);
        if anew {
            self.plan.clear();
            self.waiting.iter_mut().for_each(|entry| entry.own.reserved = None);
        }
        if anew || compress || self.is_due(now) {
            self.outlook = Outlook::of(turn.fleet(), &self.running);
            self.plan.count(&self.outlook);
            // What one leaves for an earlier moment may be room for those before it.
            while self.pass(now, compress, turn) && compress {}
        }
        if self.waiting.len() > 0 {
            let planned = self.plan.slots().first().map(|slot| slot.from);
            self.running.wake(planned, turn);
        }
    }
}
