//! Conservative backfilling: every waiting job has a reservation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use mapa_core::{Allocator, Decision, DeviceSet, MachineId, Policy, Refusal};

use super::moments::FreeMoments;
use super::plan::{FreeOutlook, MachinePlan, PlanSlot};
use super::{Policies, need, open, rejection};
use crate::estimate::{RunningEstimates, length, length_at};
use crate::event::Event;
use crate::fleet::{Fleet, FleetState};
use crate::job::{Job, JobId, Tenant};
use crate::memo::Memo;
use crate::order::Order;
use crate::scheduler::Scheduler;
use crate::time::Time;
use crate::turn::Turn;
use crate::waiting::{Position, WaitingJob, WaitingJobs};

/// First come, first served, with a reservation of a moment and of devices for every job that
/// waits. The moment is the earliest at which the job's policy has a decision that leaves every
/// other reservation its moment, given the expected ends of running jobs. A later job may start
/// before an earlier one if that delays no reservation. (Feitelson and Weil, "Utilization and
/// predictability in scheduling the IBM SP2 with backfilling", IPPS/SPDP 1998; Mu'alem and
/// Feitelson, IEEE TPDS 12(6), 2001.)
///
/// **What is promised is the moment.** Devices are reserved so that the moment can be kept, and are
/// exchanged for others of the same machine where the plan changes. A job starts on the devices that
/// its policy chooses at that moment, on any machine. If an earlier reservation needs those devices,
/// the policy chooses among the others.
///
/// **When a plan changes.** Nothing changes while everything goes as expected. A machine has more room
/// than planned when a job there ends early, or when a job with a reservation there is cancelled or
/// starts elsewhere. Every reservation then moves to the earliest moment that is open to it on such
/// machines, in order of arrival and never to a later one, until none moves any more (compression).
/// The plan of a machine is made anew, in order of arrival, when its layout changes, a device is
/// cordoned or withheld, a job there is adopted or outlives its estimate, or another program takes or
/// gives back devices. Only then can a job be delayed; where estimates are too short, this can happen
/// again and again. If all estimates are right, every job starts no later than the moment reserved
/// when it came within the depth.
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
/// To reserve a moment visits the machines that have enough free devices by number before that
/// moment: each costs O(c) for c starts and ends on it. Where they are not the right ones, the policy
/// decides on that machine, once and once more for each reservation there that must change its
/// devices. Compression does this for every reservation, but only on machines that have more room.
/// Planning anew does it for every reservation of the machine, on all machines. An instant at which
/// nothing starts and all goes as expected costs O(d) for d jobs within the depth.
pub struct Conservative {
    name: String,
    policies: Policies,
    waiting: WaitingJobs<Reservation>,
    running: RunningEstimates,
    /// The decisions of policies on the present state, by class.
    answers: Memo<Option<Decision>>,
    depth: usize,
    /// The plan of each machine, by id.
    plans: Vec<MachinePlan>,
    /// The reservations by moment, then by arrival, with their machines.
    moments: BTreeSet<(Time, u64, MachineId)>,
    /// When machines have free devices, apart from reservations.
    free: FreeMoments,
    /// The fleet without any tenant, on which plans are made; with its number of machines, and
    /// [`Fleet::usable_changes`] when it was made.
    idle: Fleet,
    usable: Option<(usize, u64)>,
    /// The state of the fleet that the plans know.
    read: Option<FleetState>,
    /// Whether a job has ended sooner than planned since the last turn.
    ended_early: bool,
    /// The machines on which jobs were adopted since the last turn.
    adopted: BTreeSet<MachineId>,
    /// The machines that have more room than reservations know.
    eased: BTreeSet<MachineId>,
}

/// The data that this scheduler keeps for a waiting job.
#[derive(Clone, Copy, Debug, Default)]
struct Reservation {
    on_idle: OnIdle,
    reserved: Option<(Time, MachineId)>,
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
            plans: Vec::new(),
            moments: BTreeSet::new(),
            free: FreeMoments::default(),
            idle: Fleet::default(),
            usable: None,
            read: None,
            ended_early: false,
            adopted: BTreeSet::new(),
            eased: BTreeSet::new(),
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
        self.moments.iter().filter_map(|&(from, serial, machine)| {
            let slots = self.plans.get(machine.0 as usize)?.slots();
            let slot = slots.iter().find(|slot| slot.serial == serial)?;
            Some((slot.job.id, from, machine, slot.place.as_ref()?))
        })
    }

    /// Brings the known state of the fleet up to date, and with it the outlook of every machine that
    /// has changed.
    fn refresh(&mut self, now: Time, fleet: &Fleet) {
        let surprises = self.running.refresh(now, fleet);
        self.answers.refresh(fleet);
        let all = || fleet.machines().iter().map(Allocator::id).collect();
        let changed = self.read.and_then(|read| fleet.changed_since(read));
        let mut changed: BTreeSet<MachineId> = changed.map_or_else(all, Iterator::collect);
        if std::mem::take(&mut self.ended_early) {
            self.eased.extend(changed.iter().copied());
        }
        // The old moments on these machines rest on a state or on ends that no longer hold.
        // Compression only moves jobs to earlier moments, so it cannot repair them.
        let mut anew = std::mem::take(&mut self.adopted);
        if surprises.tenants {
            anew.extend(changed.iter().copied());
        }
        for &job in &surprises.overdue {
            self.free.is_late(job, fleet);
            anew.extend(fleet.machines_of(job));
        }
        anew.extend(self.use_machines(fleet));
        self.plans
            .resize(fleet.machines().len(), Default::default());
        for &id in &anew {
            for slot in self.plans[id.0 as usize].clear() {
                self.moments.remove(&(slot.from, slot.serial, id));
                if let Some(entry) = self.waiting.find_mut(slot.job.id) {
                    entry.own.reserved = None;
                }
            }
        }
        changed.extend(anew);
        for &id in &changed {
            if let Ok(machine) = fleet.machine(id) {
                let outlook = FreeOutlook::of(machine, fleet, &self.running);
                self.plans[id.0 as usize].look_out(outlook);
            }
        }
        self.read = Some(fleet.state());
    }

    /// Brings the idle fleet up to date. Returns the machines whose devices that are present and not
    /// cordoned differ from those planned with.
    ///
    /// # Complexity
    /// O(1) if the fleet says that none has changed, else O(m) for m machines, and a copy of the fleet
    /// if any differs.
    fn use_machines(&mut self, fleet: &Fleet) -> BTreeSet<MachineId> {
        let usable = Some((fleet.machines().len(), fleet.usable_changes()));
        if self.usable == usable {
            return BTreeSet::new();
        }
        self.usable = usable;
        let as_known = |machine: &Allocator| {
            let known = self.idle.machine(machine.id());
            known.is_ok_and(|known| {
                known.view().present() == machine.view().present()
                    && known.cordoned() == machine.cordoned()
            })
        };
        let others = fleet.machines().iter().filter(|machine| !as_known(machine));
        let others: BTreeSet<MachineId> = others.map(Allocator::id).collect();
        if !others.is_empty() {
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
        others
    }

    /// Whether the queue must be gone through: a job within the depth has no reservation, or the
    /// moment of one has come.
    fn is_due(&self, now: Time) -> bool {
        let has_come = self.moments.first().is_some_and(|&(at, ..)| at <= now);
        // A job that cannot be planned never has a reservation, so it makes the queue due at every
        // instant: it is tried at every change.
        let mut first = self.waiting.iter().take(self.depth);
        has_come || first.any(|entry| entry.own.reserved.is_none())
    }

    /// Goes through the queue once. Jobs whose moment is still to come may move to an earlier one, on
    /// the machines that are `eased`.
    fn pass(&mut self, now: Time, eased: &BTreeSet<MachineId>, turn: &mut Turn<'_>) {
        let (mut next, mut reserved) = (self.waiting.first().map(|(at, _)| at), 0);
        while let Some(at) = next
            && reserved < self.depth
        {
            next = self.waiting.after(at).map(|(at, _)| at);
            if self.plan_one(at, now, eased, turn) {
                self.waiting.remove(at);
            } else {
                let entry = self.waiting.get(at);
                reserved += usize::from(entry.is_some_and(|entry| entry.own.reserved.is_some()));
            }
        }
        // Jobs may have a reservation and others before them none, so that they are beyond the depth.
        let due: Vec<Position> = {
            let come = self.moments.iter().take_while(|(from, ..)| *from <= now);
            let jobs = come.filter_map(|&(_, serial, machine)| {
                let slots = self.plans.get(machine.0 as usize)?.slots();
                Some(slots.iter().find(|slot| slot.serial == serial)?.job.id)
            });
            jobs.filter_map(|job| self.waiting.position(job)).collect()
        };
        for at in due {
            if self.plan_one(at, now, eased, turn) {
                self.waiting.remove(at);
            }
        }
    }

    /// Starts or rejects a job, or reserves a moment for it. Returns whether the job leaves the
    /// queue.
    fn plan_one(
        &mut self,
        at: Position,
        now: Time,
        eased: &BTreeSet<MachineId>,
        turn: &mut Turn<'_>,
    ) -> bool {
        let Some(entry) = self.waiting.get(at) else {
            return false;
        };
        let before = entry.own.reserved;
        // A reservation whose moment is still to come is kept, unless an earlier moment is found.
        let kept = before.filter(|&(from, _)| from > now);
        if kept.is_some() && eased.is_empty() {
            return false;
        }
        let entry = entry.clone();
        let can_wait = match self.is_possible(at, &entry) {
            Ok(possible) => possible,
            Err(why) => {
                self.take_out(&entry);
                self.eased.extend(before.map(|(_, machine)| machine));
                turn.reject(entry.job.id, rejection(why, turn.fleet()));
                return true;
            }
        };
        // The reservation is taken out while a better one is looked for, so that the job is not in
        // its own way. On other machines it is not.
        let is_in_its_way =
            before.is_some_and(|(_, machine)| kept.is_none() || eased.contains(&machine));
        let mut held = is_in_its_way.then(|| self.take_out(&entry)).flatten();
        self.free.refresh(turn.fleet(), &self.running);
        let mut candidates = Candidates::new(&entry.job, now);
        match kept {
            Some((until, _)) => candidates.of(eased, until, &self.plans),
            None => candidates.of_all(&mut self.free),
        }
        if !candidates.is_empty() {
            held = held.or_else(|| self.take_out(&entry));
            let until = kept.map(|(from, _)| from);
            match self.search(&entry, candidates, (now, until, can_wait), turn) {
                Found::Started(machine) => {
                    // Elsewhere or earlier than planned: that leaves the room of its reservation to
                    // others.
                    let left = before.filter(|&(_, planned)| kept.is_some() || planned != machine);
                    self.eased.extend(left.map(|(_, planned)| planned));
                    return true;
                }
                Found::Reserved(from, machine) => {
                    self.eased.extend(kept.map(|(_, planned)| planned));
                    self.note(at, Some((from, machine)));
                    return false;
                }
                Found::Nothing => {}
            }
        }
        // No better moment was found: the old reservation returns to the plan, with its devices.
        self.note(at, kept);
        if let (Some(slot), Some((_, machine))) = (held, kept) {
            self.put(slot, machine);
        }
        false
    }

    /// Starts a job now, or reserves the earliest moment before `until`.
    fn search(
        &mut self,
        entry: &WaitingJob<Reservation>,
        mut candidates: Candidates,
        (now, until, can_wait): (Time, Option<Time>, bool),
        turn: &mut Turn<'_>,
    ) -> Found {
        let mut has_tried = false;
        // Counts of devices propose moments in order of time, and the policy decides whether the
        // right devices are free at each.
        while let Some((from, machine)) = candidates.next(&self.plans, &self.free) {
            // No moment from here on is better than the one that the job has; and a job that cannot
            // be planned may only start now.
            if until.is_some_and(|until| until <= from) || !can_wait && from > now {
                break;
            }
            if from > now {
                if self.reserve(entry, from, machine) {
                    return Found::Reserved(from, machine);
                }
            } else if !has_tried {
                // The job starts wherever its policy says, so one try is enough.
                has_tried = true;
                if let Some(machine) = self.start(entry, now, turn) {
                    return Found::Started(machine);
                }
            }
            // Between two planned starts or ends nothing changes, so no moment in between can be
            // better.
            candidates.go_on(machine, from, &self.plans);
        }
        Found::Nothing
    }

    /// Notes the moment and the machine that are reserved for a job.
    fn note(&mut self, at: Position, reserved: Option<(Time, MachineId)>) {
        if let Some(entry) = self.waiting.get_mut(at) {
            entry.own.reserved = reserved;
        }
    }

    /// Puts a reservation into the plan of a machine.
    fn put(&mut self, slot: PlanSlot, machine: MachineId) {
        self.moments.insert((slot.from, slot.serial, machine));
        self.plans[machine.0 as usize].add(slot);
    }

    /// Takes the reservation of a job out of its plan, if it has one there.
    fn take_out(&mut self, entry: &WaitingJob<Reservation>) -> Option<PlanSlot> {
        let (from, machine) = entry.own.reserved?;
        self.moments.remove(&(from, entry.serial, machine));
        self.plans.get_mut(machine.0 as usize)?.remove(entry.serial)
    }

    /// Whether a reservation is possible for a job at all: whether its policy has a decision on the
    /// idle fleet.
    ///
    /// # Errors
    /// The job can never be placed.
    fn is_possible(
        &mut self,
        at: Position,
        entry: &WaitingJob<Reservation>,
    ) -> Result<bool, Refusal> {
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

    /// Reserves a moment to come on a machine, if every other reservation there keeps its own. Returns
    /// whether it does.
    fn reserve(&mut self, entry: &WaitingJob<Reservation>, from: Time, machine: MachineId) -> bool {
        let slot = PlanSlot {
            serial: entry.serial,
            job: entry.job.clone(),
            from,
            length: length(&entry.job),
            place: None,
        };
        self.put(slot, machine);
        let places = self.replay(machine, None);
        let plan = &mut self.plans[machine.0 as usize];
        match places {
            Some(places) => {
                plan.settle(places);
                true
            }
            None => {
                plan.remove(entry.serial);
                self.moments.remove(&(from, entry.serial, machine));
                false
            }
        }
    }

    /// The devices of each reservation on a machine, if its plan can be kept from this outlook on, or
    /// from the present one.
    fn replay(
        &mut self,
        machine: MachineId,
        outlook: Option<&FreeOutlook>,
    ) -> Option<Vec<DeviceSet>> {
        let plan = self.plans.get(machine.0 as usize)?;
        let policies = &mut self.policies;
        let idle = self.idle.machine(machine).ok()?;
        plan.replay(outlook.unwrap_or(&plan.outlook), |job, free| {
            let view = idle.view().limited_to(free);
            let decision = policies.ask(job, |policy| policy.decide(&job.request, &view));
            Some(decision.ok()?.placement().set())
        })
    }

    /// Starts a job now, if every reservation keeps its moment. Returns its machine.
    fn start(
        &mut self,
        entry: &WaitingJob<Reservation>,
        now: Time,
        turn: &mut Turn<'_>,
    ) -> Option<MachineId> {
        // This decision does not depend on the plan, so jobs with equal requests share it. The
        // second try below depends on it, and is asked anew.
        if self.answers.get(entry.class).is_none() {
            let answer = self
                .policies
                .ask(&entry.job, |policy| turn.decide(policy, &entry.job.request));
            self.answers.insert(entry.class, answer.ok());
        }
        let decision = self.answers.get(entry.class)?.clone()?;
        if let Some(machine) = self.start_there(entry, decision, now, turn) {
            return Some(machine);
        }
        // The policy's first choice takes devices that a reservation needs. Its choice among all
        // others is the second try: without the devices of reservations that begin before the job
        // is expected to end.
        let until = now + length(&entry.job);
        let mut limits: BTreeMap<MachineId, DeviceSet> = BTreeMap::new();
        for (_, _, machine) in self.moments.range(..(until, 0, MachineId(0))) {
            let (Ok(view), Some(plan)) = (turn.view(*machine), self.plans.get(machine.0 as usize))
            else {
                continue;
            };
            limits.entry(*machine).or_insert_with(|| {
                let slots = plan.slots().iter().filter(|slot| slot.from < until);
                let places = slots.filter_map(|slot| slot.place.as_ref());
                places.fold(open(&view, &entry.job.request), |left, place| &left - place)
            });
        }
        let other = self.policies.ask(&entry.job, |policy| {
            turn.fleet()
                .decide_limited(policy, &entry.job.request, &limits)
        });
        self.start_there(entry, other.ok()?, now, turn)
    }

    /// Starts a job as decided, if every reservation on its machine keeps its moment then. Returns the
    /// machine.
    fn start_there(
        &mut self,
        entry: &WaitingJob<Reservation>,
        decision: Decision,
        now: Time,
        turn: &mut Turn<'_>,
    ) -> Option<MachineId> {
        let (id, set) = (decision.stamp().machine, decision.placement().set());
        let machine = turn.fleet().machine(id).ok()?;
        let length = length_at(&entry.job, machine.graph(), decision.placement());
        // Whether the plan can be kept with the job running there.
        let mut outlook = self.plans.get(id.0 as usize)?.outlook.clone();
        outlook.take(set, now + length);
        let places = self.replay(id, Some(&outlook))?;
        // The plan is replayed first: a start that is booked has become an order to the driver.
        turn.place(Tenant::Job(entry.job.id), decision).ok()?;
        self.running.start(entry.job.id, now, length);
        // On this instance the job is faster than planned for: others may move forward.
        if length < crate::estimate::length(&entry.job) {
            self.eased.insert(id);
        }
        self.answers.refresh(turn.fleet());
        let plan = &mut self.plans[id.0 as usize];
        plan.settle(places);
        plan.look_out(outlook);
        // The plan knows of this change.
        self.read = Some(turn.fleet().state());
        Some(id)
    }
}

/// The result of a search for the moment of a job.
enum Found {
    Started(MachineId),
    Reserved(Time, MachineId),
    Nothing,
}

/// The moments at which a machine has enough free devices for a job by number, in order of time.
struct Candidates {
    need: i64,
    length: Duration,
    now: Time,
    /// The next moment of each machine that was looked at.
    next: BTreeSet<(Time, MachineId)>,
    /// The next machine to look at, with a moment before which it has too few.
    rest: Option<(Time, MachineId)>,
}

impl Candidates {
    fn new(job: &Job, now: Time) -> Self {
        Self {
            need: need(job),
            length: length(job),
            now,
            next: BTreeSet::new(),
            rest: None,
        }
    }

    /// Adds the moments of these machines that are before `until`.
    fn of(&mut self, machines: &BTreeSet<MachineId>, until: Time, plans: &[MachinePlan]) {
        let moments = machines.iter().filter_map(|&machine| {
            let plan = plans.get(machine.0 as usize)?;
            Some((plan.earliest(self.need, self.length, self.now)?, machine))
        });
        self.next = moments.filter(|&(from, _)| from < until).collect();
    }

    /// Adds the moments of all machines.
    fn of_all(&mut self, free: &mut FreeMoments) {
        self.rest = free.first(self.need as usize);
    }

    fn is_empty(&self) -> bool {
        self.next.is_empty() && self.rest.is_none()
    }

    /// The next moment, with its machine. Machines are looked at when their turn can have come.
    fn next(&mut self, plans: &[MachinePlan], free: &FreeMoments) -> Option<(Time, MachineId)> {
        while let Some((not_before, machine)) = self.rest
            && self
                .next
                .first()
                .is_none_or(|&(first, _)| not_before.max(self.now) < first)
        {
            let plan = plans.get(machine.0 as usize);
            let moment = plan.and_then(|plan| plan.earliest(self.need, self.length, self.now));
            self.next.extend(moment.map(|moment| (moment, machine)));
            self.rest = free.after(self.need as usize, (not_before, machine));
        }
        self.next.pop_first()
    }

    /// Goes on with the moments of a machine after this one.
    fn go_on(&mut self, machine: MachineId, from: Time, plans: &[MachinePlan]) {
        let next = plans.get(machine.0 as usize).and_then(|plan| {
            let change = plan.next_change(from)?;
            plan.earliest(self.need, self.length, change)
        });
        self.next.extend(next.map(|moment| (moment, machine)));
    }
}

impl fmt::Debug for Conservative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Conservative");
        debug
            .field("name", &self.name)
            .field("waiting", &self.waiting)
            .field("reservations", &self.moments)
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
            Event::Adopted { job, at, since } => {
                let parts = at.rest.iter().map(|part| part.machine);
                self.adopted.extend(parts.chain([at.machine]));
                self.running
                    .start(job.id, since, crate::estimate::length(&job));
            }
            event => {
                if let Some(job) = event.leaves() {
                    self.ended_early |= self.running.end(job, now);
                    // A job that leaves the queue leaves the room of its reservation to others.
                    if let Some(entry) = self.waiting.forget(job)
                        && self.take_out(&entry).is_some()
                    {
                        self.eased
                            .extend(entry.own.reserved.map(|(_, machine)| machine));
                    }
                }
            }
        }
    }

    fn act(&mut self, now: Time, turn: &mut Turn<'_>) {
        self.refresh(now, turn.fleet());
        // A reservation that moves forward leaves room where it was, perhaps for a job before it in
        // the queue. So passes are repeated until none moves.
        let mut is_due = self.is_due(now);
        while is_due || !self.eased.is_empty() && !self.waiting.is_empty() {
            is_due = false;
            let eased = std::mem::take(&mut self.eased);
            self.pass(now, &eased, turn);
        }
        self.eased.clear();
        if !self.waiting.is_empty() {
            let planned = self.moments.first().map(|&(from, ..)| from);
            self.running.wake(planned, turn);
        }
    }
}
