//! Machines, and who holds what on them.

mod index;
mod question;
mod spread;
mod states;
mod tournament;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mapa_core::mig::Layout;
use mapa_core::{
    Allocator, Decision, DeviceId, HardwareGraph, Lease, LeaseId, MachineId, Policy, Reason, Refusal, Request, View,
    WhatIf,
};

use crate::error::{Error, ErrorKind};
use crate::event::{Event, Part, Placed};
use crate::job::{JobId, TaskId, Tenant};

use index::Index;
use spread::Network;

/// Some machines, of any number and mix; equal ones share a graph and what was worked out about it. Read-only to schedulers: a
/// [`Turn`](crate::Turn) acts on it, and [`step`](crate::step) books facts.
#[derive(Debug, Default)]
pub struct Fleet {
    machines: Vec<Allocator>,
    holders: BTreeMap<Tenant, Held>,
    /// The same the other way round.
    held_by: BTreeMap<(MachineId, LeaseId), Tenant>,
    network: Option<Network>,
    state: FleetState,
    /// What was worked out about the machines; it changes no answer.
    index: Mutex<Index>,
    /// The same machines with nobody there; made when first asked for.
    idle: Arc<OnceLock<Fleet>>,
}

/// The leases of a tenant, by rank; nearly always one.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    first: (MachineId, LeaseId),
    rest: Vec<(MachineId, LeaseId)>,
}

impl Held {
    fn all(&self) -> impl Iterator<Item = (MachineId, LeaseId)> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }

    /// The one lease of a tenant that has one.
    fn only(&self) -> Option<(MachineId, LeaseId)> {
        self.rest.is_empty().then_some(self.first)
    }
}

/// A hash of the states of all machines, and how often any has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FleetState {
    hash: u64,
    changes: u64,
}

impl FleetState {
    /// Adds or takes away a machine's state.
    fn toggle(&mut self, machine: &Allocator) {
        let stamp = machine.stamp();
        // The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) mixes all bits.
        let mut z = stamp.lineage ^ stamp.fingerprint.rotate_left(32) ^ u64::from(stamp.machine.0) << 16;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.hash ^= z ^ (z >> 31);
    }
}

impl Fleet {
    /// Idle machines, every device whole; ids `0..` in this order.
    #[must_use]
    pub fn new(graphs: impl IntoIterator<Item = Arc<HardwareGraph>>) -> Self {
        let mut known: HashMap<u64, Vec<Arc<HardwareGraph>>> = HashMap::new();
        let machine = |(id, graph): (u32, Arc<HardwareGraph>)| {
            let alike = known.entry(graph.fingerprint()).or_default();
            let same = |known: &&Arc<HardwareGraph>| Arc::ptr_eq(known, &graph) || ***known == *graph;
            let graph = alike.iter().find(same).cloned().unwrap_or_else(|| {
                alike.push(graph.clone());
                graph
            });
            Allocator::with_id(MachineId(id), graph)
        };
        let machines: Vec<Allocator> = (0u32..).zip(graphs).map(machine).collect();
        let mut fleet = Self { machines, ..Self::default() };
        fleet.machines.iter().for_each(|machine| fleet.state.toggle(machine));
        fleet
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
        self.machines.get(id.0 as usize).ok_or_else(|| ErrorKind::UnknownMachine { id, machines }.into())
    }

    /// Changes a machine: the only way in which one changes.
    fn change<T>(
        &mut self,
        id: MachineId,
        change: impl FnOnce(&mut Allocator) -> Result<T, mapa_core::Error>,
    ) -> Result<T, Error> {
        let machines = self.machines.len();
        let unknown = || ErrorKind::UnknownMachine { id, machines };
        let machine = self.machines.get_mut(id.0 as usize).ok_or_else(unknown)?;
        self.state.toggle(machine);
        let changed = change(machine);
        self.state.toggle(machine);
        self.state.changes += u64::from(changed.is_ok());
        self.index.get_mut().unwrap_or_else(PoisonError::into_inner).put(machine);
        Ok(changed?)
    }

    /// Equal as long as nothing has changed. O(1).
    pub(crate) fn state(&self) -> FleetState {
        self.state
    }

    /// The states of the machines, by id.
    pub fn views(&self) -> impl Iterator<Item = View<'_>> {
        self.machines.iter().map(Allocator::view)
    }

    /// Who holds what: the tenant, its machine and its lease, by tenant. Who is on several machines is there once for each.
    pub fn tenants(&self) -> impl Iterator<Item = (Tenant, MachineId, LeaseId)> + '_ {
        let leases = |(&tenant, held)| Held::all(held).map(move |(machine, lease)| (tenant, machine, lease));
        self.holders.iter().flat_map(leases)
    }

    /// Where a tenant is, if it holds anything: its first ranks, if it is on several machines.
    #[must_use]
    pub fn lease_of(&self, tenant: Tenant) -> Option<(MachineId, &Lease)> {
        self.leases_of(tenant).next()
    }

    /// What a tenant holds, machine by machine, in the order of its ranks; often one lease, or nothing.
    pub fn leases_of(&self, tenant: Tenant) -> impl Iterator<Item = (MachineId, &Lease)> {
        let held = self.holders.get(&tenant).into_iter().flat_map(Held::all);
        held.filter_map(|(machine, lease)| Some((machine, self.machine(machine).ok()?.lease(lease)?)))
    }

    /// Who holds a lease. O(log tenants).
    #[must_use]
    pub fn tenant_of(&self, machine: MachineId, lease: LeaseId) -> Option<Tenant> {
        self.held_by.get(&(machine, lease)).copied()
    }

    /// The state of a tenant's machine as if it held nothing: decisions on it move the tenant. None for one on several machines,
    /// which is not moved.
    #[must_use]
    pub fn without(&self, tenant: Tenant) -> Option<WhatIf> {
        let (machine, lease) = self.holders.get(&tenant)?.only()?;
        self.machine(machine).ok()?.without(lease).ok()
    }

    /// The policy's best decision over all machines, by [`Decision::order`]; the lowest machine on a tie. Policies written by
    /// hand have no order, so theirs is the first machine that has a decision.
    ///
    /// Machines are visited one by one only for policies that do not promise to see nothing but what is free
    /// ([`Policy::of_free_set`]), and where devices are cut up or shared. Else an index finds the best one: O(log machines) for
    /// each machine that has changed since the policy was last asked for this request, a decision for each combination of free
    /// devices that is new, and one more. What is found is kept for the policy and its copies: make a policy once, not for each
    /// decision.
    ///
    /// # Errors
    /// Where no machine has a decision: `LimitReached` if any search stopped early; else `Busy` if any machine is (one that
    /// a re-partition would help first); else `Infeasible`.
    pub fn decide(&self, policy: impl Policy, request: &Request) -> Result<Decision, Refusal> {
        match policy.of_free_set() {
            None => best_of(self.views(), policy, request),
            Some(id) => {
                let best = self.index().best(&self.machines, (id, &policy), request, &[]);
                best.map_or_else(|| Err(no_machine(request)), |(_, answer)| answer)
            }
        }
    }

    /// What the index takes, bytes, about: what is kept of the machines' states and of the answers of policies.
    #[must_use]
    pub fn index_bytes(&self) -> usize {
        self.index().bytes()
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn place(&mut self, tenant: Tenant, decision: Decision) -> Result<Placed, Refusal> {
        if self.holders.contains_key(&tenant) {
            return Err(Refusal::Busy(Reason::Rule(format!("a lease at a time, and {tenant} holds one").into())));
        }
        if decision.stamp().vacated.is_some() {
            return Err(Refusal::Busy(Reason::Stale));
        }
        self.commit(tenant, decision)
    }

    /// All or none.
    pub(crate) fn place_parts(&mut self, tenant: Tenant, parts: Vec<Decision>) -> Result<Placed, Refusal> {
        let mut parts = parts.into_iter();
        let first = parts.next().ok_or(Refusal::Infeasible(Reason::Empty))?;
        let mut placed = self.place(tenant, first)?;
        for decision in parts {
            let machine = decision.stamp().machine;
            let vacates = decision.stamp().vacated.is_some();
            let stale = || Err(Refusal::Busy(Reason::Stale));
            match if vacates { stale() } else { self.book_lease(tenant, machine, decision) } {
                Ok(Lease { id: lease, placement, .. }) => {
                    let held = self.holders.get_mut(&tenant);
                    held.into_iter().for_each(|held| held.rest.push((machine, lease)));
                    placed.rest.push(Part { machine, lease, placement });
                }
                Err(why) => {
                    // It holds the first part at least.
                    let _ = self.release(tenant);
                    return Err(why);
                }
            }
        }
        Ok(placed)
    }

    pub(crate) fn relocate(&mut self, tenant: Tenant, decision: Decision) -> Result<Placed, Refusal> {
        let rule = |rule: String| Err(Refusal::Busy(Reason::Rule(rule.into())));
        let Some(held) = self.holders.get(&tenant) else {
            return rule(format!("a lease to replace, and {tenant} holds none"));
        };
        let Some((machine, lease)) = held.only() else {
            return rule(format!("one lease to replace, and {tenant} is on several machines"));
        };
        let stamp = decision.stamp();
        match stamp.vacated {
            Some(vacated) if (stamp.machine, vacated) == (machine, lease) => self.commit(tenant, decision),
            Some(_) => Err(Refusal::Busy(Reason::Stale)),
            None => {
                let placed = self.commit(tenant, decision)?;
                // Held until this moment, so it can be released.
                let _ = self.release_lease(machine, lease);
                Ok(placed)
            }
        }
    }

    fn commit(&mut self, tenant: Tenant, decision: Decision) -> Result<Placed, Refusal> {
        let machine = decision.stamp().machine;
        let lease = self.book_lease(tenant, machine, decision)?;
        self.holders.insert(tenant, Held { first: (machine, lease.id), rest: Vec::new() });
        Ok(Placed { machine, lease: lease.id, placement: lease.placement, rest: Vec::new() })
    }

    fn book_lease(&mut self, tenant: Tenant, machine: MachineId, decision: Decision) -> Result<Lease, Refusal> {
        let lease = self.change(machine, |machine| machine.commit(decision)).map_err(Error::into_refusal)?;
        // One that is vacated keeps its number.
        self.held_by.insert((machine, lease.id), tenant);
        Ok(lease)
    }

    fn release_lease(&mut self, machine: MachineId, lease: LeaseId) -> Result<(), Error> {
        self.held_by.remove(&(machine, lease));
        self.change(machine, |machine| machine.release(lease)).map(drop)
    }

    pub(crate) fn release(&mut self, tenant: Tenant) -> Result<(), Error> {
        let held = self.holders.remove(&tenant).ok_or(ErrorKind::HoldsNothing(tenant))?;
        self.give_back(&held)
    }

    fn give_back(&mut self, held: &Held) -> Result<(), Error> {
        held.all().try_for_each(|(machine, lease)| self.release_lease(machine, lease))
    }

    /// Releases what a job and its tasks hold; often nothing. O(its tenants x log(tenants)).
    pub(crate) fn release_job(&mut self, job: JobId) -> Result<(), Error> {
        if let Some(held) = self.holders.remove(&Tenant::Job(job)) {
            self.give_back(&held)?;
        }
        // Tasks come after all jobs; mostly there is none.
        if !matches!(self.holders.last_key_value(), Some((Tenant::Task(..), _))) {
            return Ok(());
        }
        let tasks = Tenant::Task(job, TaskId(0))..=Tenant::Task(job, TaskId(u64::MAX));
        let held: Vec<Tenant> = self.holders.range(tasks).map(|(&tenant, _)| tenant).collect();
        held.into_iter().try_for_each(|tenant| self.release(tenant))
    }

    pub(crate) fn begin_repartition(
        &mut self,
        machine: MachineId,
        whole: DeviceId,
        layout: Layout,
    ) -> Result<(), Error> {
        self.change(machine, |machine| machine.begin_repartition(whole, layout))
    }

    /// Books what a fact says of leases and layouts, as [`step`](crate::step) does. On a clone of the fleet a scheduler sees so
    /// what will be once a job has ended; decisions made there are not for the fleet itself.
    ///
    /// # Errors
    /// As [`step`](crate::step); nothing is booked then.
    pub fn book(&mut self, fact: &Event) -> Result<(), Error> {
        match fact {
            Event::Finished(job) | Event::Failed(job) | Event::Cancelled(job) => self.release_job(*job),
            // A task that was blocked until its end held nothing.
            Event::TaskEnd { job, task } => match self.release(Tenant::Task(*job, *task)) {
                Err(error) if error.is_unknown_tenant() => Ok(()),
                done => done,
            },
            Event::LayoutIs { machine, whole, layout } => self.layout_is(*machine, *whole, layout),
            _ => Ok(()),
        }
    }

    /// Books how a device is cut up, as [`Allocator::layout_is`]: for setting a fleet up, before there is a scheduler.
    ///
    /// # Errors
    /// An id that the fleet does not have; as [`Allocator::layout_is`].
    pub fn layout_is(&mut self, machine: MachineId, whole: DeviceId, layout: &Layout) -> Result<(), Error> {
        self.change(machine, |machine| machine.layout_is(whole, layout))
    }
}

/// A copy has what was worked out so far, and goes its own way.
impl Clone for Fleet {
    fn clone(&self) -> Self {
        Self {
            machines: self.machines.clone(),
            holders: self.holders.clone(),
            held_by: self.held_by.clone(),
            network: self.network,
            state: self.state,
            index: Mutex::new(self.index().clone()),
            idle: self.idle.clone(),
        }
    }
}

/// The machines, what joins them, and who holds what.
impl PartialEq for Fleet {
    fn eq(&self, other: &Self) -> bool {
        (&self.machines, &self.holders, &self.network) == (&other.machines, &other.holders, &other.network)
    }
}

/// What a policy says of a machine.
type Answer = (MachineId, Result<Decision, Refusal>);

/// The better of two answers to one request is less: a decision before a refusal, then by the policy's criteria or by what can
/// still come of it, then the lower machine.
fn better((machine, a): &Answer, (other, b): &Answer) -> Ordering {
    let order = match (a, b) {
        (Ok(a), Ok(b)) => a.order(b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(a), Err(b)) => b.hope().cmp(&a.hope()),
    };
    order.then(machine.cmp(other))
}

/// What is said where there is no machine at all.
fn no_machine(request: &Request) -> Refusal {
    Refusal::Infeasible(Reason::TooFewDevices { wanted: request.pattern.len(), allowed: 0 })
}

/// As [`Fleet::decide`], on these states of machines.
pub(crate) fn best_of<'a>(
    views: impl IntoIterator<Item = View<'a>>,
    policy: impl Policy,
    request: &Request,
) -> Result<Decision, Refusal> {
    let answers = views.into_iter().map(|view| (view.machine(), policy.decide(request, &view)));
    answers.min_by(better).map_or_else(|| Err(no_machine(request)), |(_, answer)| answer)
}
