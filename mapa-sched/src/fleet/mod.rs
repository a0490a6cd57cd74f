//! Machines, and the leases that tenants hold on them.

mod alike;
mod answer;
mod changes;
mod hash;
mod index;
mod network;
mod ranked_states;
mod snapshot;
mod spread;
mod states;
mod tournament;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mapa_core::mig::Layout;
use mapa_core::{
    Allocator, Decision, DeviceId, DeviceSet, HardwareGraph, Lease, LeaseId, MachineId, Policy,
    Reason, Refusal, Request, View, WhatIf,
};

use crate::error::{Error, ErrorKind};
use crate::event::{Action, Assignment, AssignmentPart, Event};
use crate::job::{Job, JobId, TaskId, Tenant};

pub(crate) use answer::best_of;
use answer::{better, no_machine};
use changes::ChangeLog;
pub use changes::FleetState;
pub(crate) use hash::{hash_of, hash_of_tenant};
use index::Index;
use network::FleetNetwork;
pub use snapshot::FleetSnapshot;

/// Any number of machines, of any mix. Equal machines share one graph, and the results that were
/// computed from it. Schedulers only read a fleet: they change it through a [`Turn`](crate::Turn),
/// and [`step`](crate::step) books events.
#[derive(Debug, Default)]
pub struct Fleet {
    machines: Vec<Allocator>,
    holders: BTreeMap<Tenant, TenantLeases>,
    /// The tenant of each lease: `holders`, by machine and lease.
    held_by: BTreeMap<(MachineId, LeaseId), Tenant>,
    network: Option<FleetNetwork>,
    /// Why devices get no new tenants, for as long as there is a cause.
    withheld: BTreeMap<(MachineId, DeviceId), BTreeSet<WithheldCause>>,
    changes: ChangeLog,
    /// How often it may have changed which devices are present or withheld.
    usable_changes: u64,
    /// The XOR of the tenants' hashes.
    tenants_hash: u64,
    /// Cached answers of policies. The cache changes no answer.
    index: Mutex<Index>,
    /// The same machines without tenants, built when first needed.
    idle: Arc<OnceLock<Fleet>>,
}

/// Why a device gets no new tenants. Causes come and go apart from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
enum WithheldCause {
    /// An operator's [`Event::Cordoned`].
    Cordon,
    /// A foreign process uses it: [`Event::Occupied`].
    Occupied,
    /// Its driver reports a fault: [`Event::Health`].
    Unhealthy,
}

/// The leases of a tenant, by rank; nearly always one.
#[derive(Clone, Debug, PartialEq)]
struct TenantLeases {
    first: (MachineId, LeaseId),
    rest: Vec<(MachineId, LeaseId)>,
}

impl TenantLeases {
    fn all(&self) -> impl Iterator<Item = (MachineId, LeaseId)> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }

    /// The one lease of a tenant that has one.
    fn only(&self) -> Option<(MachineId, LeaseId)> {
        self.rest.is_empty().then_some(self.first)
    }
}

impl Fleet {
    /// Idle machines, every device whole; ids `0..` in this order.
    #[must_use]
    pub fn new(graphs: impl IntoIterator<Item = Arc<HardwareGraph>>) -> Self {
        let mut known: HashMap<u64, Vec<Arc<HardwareGraph>>> = HashMap::new();
        let machine = |(id, graph): (u32, Arc<HardwareGraph>)| {
            let alike = known.entry(graph.fingerprint()).or_default();
            // The pointer first, because comparing two graphs visits every pair of devices. Equal
            // fingerprints alone prove nothing: they may collide.
            let same =
                |known: &&Arc<HardwareGraph>| Arc::ptr_eq(known, &graph) || ***known == *graph;
            let graph = alike.iter().find(same).cloned().unwrap_or_else(|| {
                alike.push(graph.clone());
                graph
            });
            Allocator::with_id(MachineId(id), graph)
        };
        let machines: Vec<Allocator> = (0u32..).zip(graphs).map(machine).collect();
        Self {
            changes: ChangeLog::of(&machines),
            machines,
            ..Self::default()
        }
    }

    /// The machines, by id.
    #[must_use]
    pub fn machines(&self) -> &[Allocator] {
        &self.machines
    }

    /// A machine.
    ///
    /// # Errors
    /// An id that the fleet does not have.
    pub fn machine(&self, id: MachineId) -> Result<&Allocator, Error> {
        let machines = self.machines.len();
        self.machines
            .get(id.0 as usize)
            .ok_or_else(|| ErrorKind::UnknownMachine { id, machines }.into())
    }

    /// Changes a machine. All changes go through here, so the state of the fleet and the index stay
    /// up to date.
    fn change<T>(
        &mut self,
        id: MachineId,
        change: impl FnOnce(&mut Allocator) -> Result<T, mapa_core::Error>,
    ) -> Result<T, Error> {
        let machines = self.machines.len();
        let unknown = || ErrorKind::UnknownMachine { id, machines };
        let machine = self.machines.get_mut(id.0 as usize).ok_or_else(unknown)?;
        let before = machine.stamp();
        let changed = change(machine);
        if changed.is_ok() || machine.stamp() != before {
            self.changes.push(machine);
        }
        self.index
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .put(machine);
        Ok(changed?)
    }

    /// The state of all machines: equal as long as no machine has changed. O(1).
    #[must_use]
    pub fn state(&self) -> FleetState {
        self.changes.now()
    }

    /// The machines that have changed since a [state](Self::state); a machine may be listed more than
    /// once. `None` if there were more than 1,024 changes since, or if it is a state of another fleet:
    /// then any may have changed. O(1).
    #[must_use]
    pub fn changed_since(&self, state: FleetState) -> Option<impl Iterator<Item = MachineId> + '_> {
        self.changes.since(state)
    }

    /// How often it may have changed which devices are present or withheld: events that change
    /// nothing count too.
    pub(crate) fn usable_changes(&self) -> u64 {
        self.usable_changes
    }

    /// The XOR of the hashes of all tenants.
    pub(crate) fn tenants_hash(&self) -> u64 {
        self.tenants_hash
    }

    /// The machines on which a job or its tasks hold devices; one may be listed more than once.
    pub(crate) fn machines_of(&self, job: JobId) -> impl Iterator<Item = MachineId> + '_ {
        let tasks = Tenant::Task(job, TaskId(0))..=Tenant::Task(job, TaskId(u64::MAX));
        let tasks = self.holders.range(tasks).map(|(_, held)| held);
        let all = self.holders.get(&Tenant::Job(job)).into_iter().chain(tasks);
        all.flat_map(TenantLeases::all).map(|(machine, _)| machine)
    }

    /// Notes what a tenant holds.
    fn hold(&mut self, tenant: Tenant, held: TenantLeases) {
        if self.holders.insert(tenant, held).is_none() {
            self.tenants_hash ^= hash_of_tenant(tenant);
        }
    }

    /// Notes that a tenant holds nothing any more. Returns what it held.
    fn let_go(&mut self, tenant: Tenant) -> Option<TenantLeases> {
        let held = self.holders.remove(&tenant)?;
        self.tenants_hash ^= hash_of_tenant(tenant);
        Some(held)
    }

    /// The states of the machines, by id.
    pub fn views(&self) -> impl Iterator<Item = View<'_>> {
        self.machines.iter().map(Allocator::view)
    }

    /// All leases: the tenant, its machine and its lease, sorted by tenant. A tenant on several
    /// machines has an entry for each.
    pub fn tenants(&self) -> impl Iterator<Item = (Tenant, MachineId, LeaseId)> + '_ {
        let leases = |(&tenant, held)| {
            TenantLeases::all(held).map(move |(machine, lease)| (tenant, machine, lease))
        };
        self.holders.iter().flat_map(leases)
    }

    /// The machine and the lease of a tenant, if it holds one. For a tenant on several machines,
    /// those of its first ranks.
    #[must_use]
    pub fn lease_of(&self, tenant: Tenant) -> Option<(MachineId, &Lease)> {
        self.leases_of(tenant).next()
    }

    /// The leases of a tenant, machine by machine, in the order of its ranks. Most tenants have one
    /// or none.
    pub fn leases_of(&self, tenant: Tenant) -> impl Iterator<Item = (MachineId, &Lease)> {
        let held = self
            .holders
            .get(&tenant)
            .into_iter()
            .flat_map(TenantLeases::all);
        held.filter_map(|(machine, lease)| {
            Some((machine, self.machine(machine).ok()?.lease(lease)?))
        })
    }

    /// The tenant that holds a lease. O(log t) for t tenants.
    #[must_use]
    pub fn tenant_of(&self, machine: MachineId, lease: LeaseId) -> Option<Tenant> {
        self.held_by.get(&(machine, lease)).copied()
    }

    /// The state of a tenant's machine as if the tenant held nothing. A decision made on this state
    /// moves the tenant. `None` if the tenant holds nothing, or is on several machines: such
    /// tenants cannot be moved.
    #[must_use]
    pub fn without(&self, tenant: Tenant) -> Option<WhatIf> {
        let (machine, lease) = self.holders.get(&tenant)?.only()?;
        self.machine(machine).ok()?.without(lease).ok()
    }

    /// The policy's best decision over all machines by [`Decision::order`]; of equal decisions, the
    /// one on the lowest machine. Decisions of policies written by hand have no order, so the first
    /// machine with a decision is taken.
    ///
    /// An index finds the best machine if the policy promises that its answer depends on the free
    /// devices alone ([`Policy::of_free_set`]). Other policies visit every machine, and machines
    /// with partitioned or shared devices are always visited. The index keeps its answers for the
    /// policy and its copies. So make a policy once, not for each decision.
    ///
    /// # Complexity
    /// With the index: O(log m) for each of m machines that has changed since the last decision by
    /// this policy for this request, a decision for each new combination of free devices, and one
    /// more.
    ///
    /// # Errors
    /// If no machine has a decision: `LimitReached` if any search stopped early; else `Busy` if any
    /// machine is busy, preferably with the refusal of one that a repartition would help; else
    /// `Infeasible`.
    pub fn decide(&self, policy: impl Policy, request: &Request) -> Result<Decision, Refusal> {
        match policy.of_free_set() {
            None => best_of(self.views(), policy, request),
            Some(id) => {
                let best = self
                    .index()
                    .best(&self.machines, (id, &policy), request, &[]);
                best.map_or_else(|| Err(no_machine(request)), |(_, answer)| answer)
            }
        }
    }

    /// Decides as [`Fleet::decide`] does, with some machines limited to these devices.
    ///
    /// # Complexity
    /// As [`Fleet::decide`], and a decision for each machine in `limits`.
    ///
    /// # Errors
    /// As [`Fleet::decide`].
    pub(crate) fn decide_limited(
        &self,
        policy: impl Policy,
        request: &Request,
        limits: &BTreeMap<MachineId, DeviceSet>,
    ) -> Result<Decision, Refusal> {
        let there = limits.iter().filter_map(|(&id, devices)| {
            let view = self.machine(id).ok()?.view();
            Some((id, policy.decide(request, &view.limited_to(devices))))
        });
        let best_there = there.min_by(better);
        let taken: Vec<MachineId> = limits.keys().copied().collect();
        let best_elsewhere = match policy.of_free_set() {
            None => {
                let elsewhere = self
                    .views()
                    .filter(|view| !limits.contains_key(&view.machine()));
                let answers = elsewhere.map(|view| (view.machine(), policy.decide(request, &view)));
                answers.min_by(better)
            }
            Some(id) => self
                .index()
                .best(&self.machines, (id, &policy), request, &taken),
        };
        let best = best_there.into_iter().chain(best_elsewhere).min_by(better);
        best.map_or_else(|| Err(no_machine(request)), |(_, answer)| answer)
    }

    /// About how many bytes the index takes: the states of the machines, and the cached answers of
    /// policies.
    #[must_use]
    pub fn index_bytes(&self) -> usize {
        self.index().bytes()
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        // A policy that panics inside a look-up poisons the lock. The index is still good: the next
        // look-up reads the log of states from where the last complete one ended.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn place(
        &mut self,
        tenant: Tenant,
        decision: Decision,
    ) -> Result<Assignment, Refusal> {
        if self.holders.contains_key(&tenant) {
            return Err(Refusal::Busy(Reason::Rule(
                format!("one lease for each tenant, and {tenant} holds one already").into(),
            )));
        }
        // A decision that leaves a lease out moves the tenant of that lease, which is for
        // `relocate`.
        if decision.stamp().vacated.is_some() {
            return Err(Refusal::Busy(Reason::Stale));
        }
        self.commit(tenant, decision)
    }

    /// Books all parts of a job, or none.
    pub(crate) fn place_parts(
        &mut self,
        tenant: Tenant,
        parts: Vec<Decision>,
    ) -> Result<Assignment, Refusal> {
        let mut parts = parts.into_iter();
        let first = parts.next().ok_or(Refusal::Infeasible(Reason::Empty))?;
        let mut placed = self.place(tenant, first)?;
        for decision in parts {
            let machine = decision.stamp().machine;
            let vacates = decision.stamp().vacated.is_some();
            let booked = if vacates {
                Err(Refusal::Busy(Reason::Stale))
            } else {
                self.book_lease(tenant, machine, decision)
            };
            match booked {
                Ok(Lease {
                    id: lease,
                    placement,
                    ..
                }) => {
                    let held = self.holders.get_mut(&tenant);
                    held.into_iter()
                        .for_each(|held| held.rest.push((machine, lease)));
                    placed.rest.push(AssignmentPart {
                        machine,
                        lease,
                        placement,
                    });
                }
                Err(why) => {
                    // The tenant holds at least the first part, so this cannot fail.
                    let _ = self.release(tenant);
                    return Err(why);
                }
            }
        }
        Ok(placed)
    }

    pub(crate) fn relocate(
        &mut self,
        tenant: Tenant,
        decision: Decision,
    ) -> Result<Assignment, Refusal> {
        let rule = |rule: String| Err(Refusal::Busy(Reason::Rule(rule.into())));
        let Some(held) = self.holders.get(&tenant) else {
            return rule(format!(
                "a tenant with a lease to move, and {tenant} holds none"
            ));
        };
        let Some((machine, lease)) = held.only() else {
            return rule(format!(
                "a tenant on one machine to move, and {tenant} is on several"
            ));
        };
        let stamp = decision.stamp();
        match stamp.vacated {
            Some(vacated) if (stamp.machine, vacated) == (machine, lease) => {
                self.commit(tenant, decision)
            }
            Some(_) => Err(Refusal::Busy(Reason::Stale)),
            None => {
                // The new lease first: if it cannot be booked, the tenant keeps the old one.
                let placed = self.commit(tenant, decision)?;
                // The tenant held this lease until now, so this cannot fail.
                let _ = self.release_lease(machine, lease);
                Ok(placed)
            }
        }
    }

    fn commit(&mut self, tenant: Tenant, decision: Decision) -> Result<Assignment, Refusal> {
        let machine = decision.stamp().machine;
        let lease = self.book_lease(tenant, machine, decision)?;
        self.hold(
            tenant,
            TenantLeases {
                first: (machine, lease.id),
                rest: Vec::new(),
            },
        );
        Ok(Assignment {
            machine,
            lease: lease.id,
            placement: lease.placement,
            rest: Vec::new(),
        })
    }

    fn book_lease(
        &mut self,
        tenant: Tenant,
        machine: MachineId,
        decision: Decision,
    ) -> Result<Lease, Refusal> {
        let lease = self
            .change(machine, |machine| machine.commit(decision))
            .map_err(Error::into_refusal)?;
        // A decision made without the tenant keeps the number of its lease.
        self.held_by.insert((machine, lease.id), tenant);
        Ok(lease)
    }

    fn release_lease(&mut self, machine: MachineId, lease: LeaseId) -> Result<(), Error> {
        self.held_by.remove(&(machine, lease));
        self.change(machine, |machine| machine.release(lease))
            .map(drop)
    }

    pub(crate) fn release(&mut self, tenant: Tenant) -> Result<(), Error> {
        let held = self.let_go(tenant).ok_or(ErrorKind::HoldsNothing(tenant))?;
        self.give_back(&held)
    }

    fn give_back(&mut self, held: &TenantLeases) -> Result<(), Error> {
        held.all()
            .try_for_each(|(machine, lease)| self.release_lease(machine, lease))
    }

    /// Releases the leases of a job and its tasks, if there are any. O(k log t) for k such leases
    /// and t tenants.
    pub(crate) fn release_job(&mut self, job: JobId) -> Result<(), Error> {
        if let Some(held) = self.let_go(Tenant::Job(job)) {
            self.give_back(&held)?;
        }
        // Tasks are sorted after all jobs. Most fleets have none, and then this returns early.
        if !matches!(self.holders.last_key_value(), Some((Tenant::Task(..), _))) {
            return Ok(());
        }
        let tasks = Tenant::Task(job, TaskId(0))..=Tenant::Task(job, TaskId(u64::MAX));
        let held: Vec<Tenant> = self
            .holders
            .range(tasks)
            .map(|(&tenant, _)| tenant)
            .collect();
        held.into_iter().try_for_each(|tenant| self.release(tenant))
    }

    pub(crate) fn begin_repartition(
        &mut self,
        machine: MachineId,
        whole: DeviceId,
        layout: Layout,
    ) -> Result<(), Error> {
        self.usable_changes += 1;
        self.change(machine, |machine| machine.begin_repartition(whole, layout))
    }

    /// Books the changes of leases and layouts that follow from an event, as [`step`](crate::step)
    /// does. A scheduler can book a future event, such as the end of a job, on a clone of the fleet
    /// and look ahead. Decisions made on the clone cannot be placed on the fleet itself.
    ///
    /// # Errors
    /// As [`step`](crate::step); nothing is booked then.
    pub fn book(&mut self, event: &Event) -> Result<(), Error> {
        match event {
            Event::Cordoned {
                machine,
                whole,
                cordoned,
            } => self.cordon(*machine, *whole, *cordoned),
            Event::Occupied {
                machine,
                whole,
                occupied,
            } => self.withhold(*machine, *whole, WithheldCause::Occupied, *occupied),
            Event::Health {
                machine,
                whole,
                trouble,
            } => self.withhold(
                *machine,
                *whole,
                WithheldCause::Unhealthy,
                trouble.is_some(),
            ),
            Event::Adopted { job, at, .. } => self.adopt(job, at),
            Event::ActionFailed {
                order:
                    Action::Place {
                        tenant: tenant @ Tenant::Task(..),
                        ..
                    },
                ..
            } => match self.release(*tenant) {
                Err(error) if error.is_unknown_tenant() => Ok(()),
                done => done,
            },
            event if event.leaves().is_some() => {
                event.leaves().map_or(Ok(()), |job| self.release_job(job))
            }
            // A task that was blocked until its end held nothing.
            Event::TaskEnd { job, task } => match self.release(Tenant::Task(*job, *task)) {
                Err(error) if error.is_unknown_tenant() => Ok(()),
                done => done,
            },
            Event::LayoutIs {
                machine,
                whole,
                layout,
            } => self.layout_is(*machine, *whole, layout),
            _ => Ok(()),
        }
    }

    /// Books the devices of a job that runs already.
    fn adopt(&mut self, job: &Job, at: &Assignment) -> Result<(), Error> {
        let refused = |refusal: Refusal| -> Error {
            ErrorKind::NotAdopted {
                job: job.id,
                why: refusal.to_string(),
            }
            .into()
        };
        if !at.rest.is_empty() {
            let one = Reason::Rule("one machine for a job that is adopted".into());
            return Err(refused(Refusal::Busy(one)));
        }
        let view = self.machine(at.machine)?.view();
        let ids = at.placement.iter().copied();
        let decision = Decision::of_use("adopted", &job.request, &view, ids).map_err(refused)?;
        self.place(Tenant::Job(job.id), decision)
            .map(drop)
            .map_err(refused)
    }

    /// Cordons a device, or all of a machine, or lifts the cordon.
    fn cordon(
        &mut self,
        machine: MachineId,
        whole: Option<DeviceId>,
        cordoned: bool,
    ) -> Result<(), Error> {
        let wholes = match whole {
            Some(whole) => [whole.0].into(),
            None => self.machine(machine)?.graph().wholes(),
        };
        wholes
            .iter()
            .try_for_each(|whole| self.withhold(machine, whole, WithheldCause::Cordon, cordoned))
    }

    /// Withholds a device from new tenants for a cause, or lifts that cause. The device is cordoned
    /// as long as any cause lasts.
    fn withhold(
        &mut self,
        machine: MachineId,
        whole: DeviceId,
        cause: WithheldCause,
        withheld: bool,
    ) -> Result<(), Error> {
        let mut causes = self
            .withheld
            .get(&(machine, whole))
            .cloned()
            .unwrap_or_default();
        if withheld {
            causes.insert(cause);
        } else {
            causes.remove(&cause);
        }
        // The machine first: it refuses a device that it does not have, and then no cause may be
        // kept.
        self.usable_changes += 1;
        self.change(machine, |allocator| {
            allocator.cordon(whole, !causes.is_empty())
        })?;
        if causes.is_empty() {
            self.withheld.remove(&(machine, whole));
        } else {
            self.withheld.insert((machine, whole), causes);
        }
        Ok(())
    }

    /// Books the current layout of a device, as [`Allocator::layout_is`]. Use this to set up a
    /// fleet before a scheduler runs.
    ///
    /// # Errors
    /// An id that the fleet does not have; as [`Allocator::layout_is`].
    pub fn layout_is(
        &mut self,
        machine: MachineId,
        whole: DeviceId,
        layout: &Layout,
    ) -> Result<(), Error> {
        self.usable_changes += 1;
        self.change(machine, |machine| machine.layout_is(whole, layout))
    }
}

/// A copy starts with the same cached answers. Later changes to one do not affect the other.
impl Clone for Fleet {
    fn clone(&self) -> Self {
        Self {
            machines: self.machines.clone(),
            holders: self.holders.clone(),
            held_by: self.held_by.clone(),
            network: self.network,
            withheld: self.withheld.clone(),
            changes: self.changes.clone(),
            usable_changes: self.usable_changes,
            tenants_hash: self.tenants_hash,
            index: Mutex::new(self.index().clone()),
            idle: self.idle.clone(),
        }
    }
}

/// Two fleets are equal if their machines, their network and the leases of their tenants are equal.
impl PartialEq for Fleet {
    fn eq(&self, other: &Self) -> bool {
        // `held_by` follows from `holders`. `changes` has the past, and two fleets may reach equal
        // states by different ones.
        (&self.machines, &self.holders, &self.network, &self.withheld)
            == (
                &other.machines,
                &other.holders,
                &other.network,
                &other.withheld,
            )
    }
}
