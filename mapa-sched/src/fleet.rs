//! Machines, and who holds what on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use mapa_core::mig::Layout;
use mapa_core::{
    Allocator, Decision, DeviceId, HardwareGraph, Lease, LeaseId, MachineId, Policy, Reason, Refusal, Request, View,
    WhatIf,
};

use crate::error::{Error, ErrorKind};
use crate::event::{Event, Placed};
use crate::job::{JobId, TaskId, Tenant};

/// Some machines; identical ones share a graph. Read-only to schedulers: a [`Turn`](crate::Turn) acts on it, and
/// [`step`](crate::step) books facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    machines: Vec<Allocator>,
    holders: BTreeMap<Tenant, (MachineId, LeaseId)>,
}

impl Fleet {
    /// Idle machines, every device whole; ids `0..` in this order.
    #[must_use]
    pub fn new(graphs: impl IntoIterator<Item = Arc<HardwareGraph>>) -> Self {
        let machine = |(id, graph)| Allocator::with_id(MachineId(id), graph);
        Self { machines: (0u32..).zip(graphs).map(machine).collect(), holders: BTreeMap::new() }
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

    fn machine_mut(&mut self, id: MachineId) -> Result<&mut Allocator, Error> {
        let machines = self.machines.len();
        self.machines.get_mut(id.0 as usize).ok_or_else(|| ErrorKind::UnknownMachine { id, machines }.into())
    }

    /// The states of the machines, by id.
    pub fn views(&self) -> impl Iterator<Item = View<'_>> {
        self.machines.iter().map(Allocator::view)
    }

    /// Who holds what: the tenant, its machine and its lease, by tenant.
    pub fn tenants(&self) -> impl Iterator<Item = (Tenant, MachineId, LeaseId)> + '_ {
        self.holders.iter().map(|(&tenant, &(machine, lease))| (tenant, machine, lease))
    }

    /// Where a tenant is, if it holds anything.
    #[must_use]
    pub fn lease_of(&self, tenant: Tenant) -> Option<(MachineId, &Lease)> {
        let &(machine, lease) = self.holders.get(&tenant)?;
        Some((machine, self.machine(machine).ok()?.lease(lease)?))
    }

    /// Who holds a lease. O(tenants).
    #[must_use]
    pub fn tenant_of(&self, machine: MachineId, lease: LeaseId) -> Option<Tenant> {
        self.holders.iter().find(|(_, held)| **held == (machine, lease)).map(|(&tenant, _)| tenant)
    }

    /// The state of a tenant's machine as if it held nothing: decisions on it move the tenant.
    #[must_use]
    pub fn without(&self, tenant: Tenant) -> Option<WhatIf> {
        let &(machine, lease) = self.holders.get(&tenant)?;
        self.machine(machine).ok()?.without(lease).ok()
    }

    /// The policy's best decision over all machines, by [`Decision::order`]; the lowest machine on a tie. Policies written by
    /// hand have no order, so theirs is the first machine that has a decision.
    ///
    /// # Errors
    /// Where no machine has a decision: `LimitReached` if any search stopped early; else `Busy` if any machine is (one that
    /// a re-partition would help first); else `Infeasible`.
    pub fn decide(&self, policy: impl Policy, request: &Request) -> Result<Decision, Refusal> {
        best_of(self.views(), policy, request)
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

    pub(crate) fn relocate(&mut self, tenant: Tenant, decision: Decision) -> Result<Placed, Refusal> {
        let Some(&(machine, lease)) = self.holders.get(&tenant) else {
            return Err(Refusal::Busy(Reason::Rule(format!("a lease to replace, and {tenant} holds none").into())));
        };
        let stamp = decision.stamp();
        match stamp.vacated {
            Some(vacated) if (stamp.machine, vacated) == (machine, lease) => self.commit(tenant, decision),
            Some(_) => Err(Refusal::Busy(Reason::Stale)),
            None => {
                let placed = self.commit(tenant, decision)?;
                // Held until this moment, so it can be released.
                let _ = self.machine_mut(machine).map(|machine| machine.release(lease));
                Ok(placed)
            }
        }
    }

    fn commit(&mut self, tenant: Tenant, decision: Decision) -> Result<Placed, Refusal> {
        let machine = decision.stamp().machine;
        let unknown = |error: Error| Refusal::Busy(Reason::Rule(error.to_string().into()));
        let lease = self.machine_mut(machine).map_err(unknown)?.commit(decision).map_err(Refusal::from_commit)?;
        self.holders.insert(tenant, (machine, lease.id));
        Ok(Placed { machine, lease: lease.id, placement: lease.placement })
    }

    pub(crate) fn release(&mut self, tenant: Tenant) -> Result<(), Error> {
        let (machine, lease) = self.holders.remove(&tenant).ok_or(ErrorKind::HoldsNothing(tenant))?;
        self.machine_mut(machine)?.release(lease)?;
        Ok(())
    }

    /// Releases what a job and its tasks hold; often nothing. O(its tenants x log(tenants)).
    pub(crate) fn release_job(&mut self, job: JobId) -> Result<(), Error> {
        let itself = Tenant::Job(job)..=Tenant::Job(job);
        let tasks = Tenant::Task(job, TaskId(0))..=Tenant::Task(job, TaskId(u64::MAX));
        let held = self.holders.range(itself).chain(self.holders.range(tasks)).map(|(&tenant, _)| tenant);
        let held: Vec<Tenant> = held.collect();
        held.into_iter().try_for_each(|tenant| self.release(tenant))
    }

    pub(crate) fn begin_repartition(
        &mut self,
        machine: MachineId,
        whole: DeviceId,
        layout: Layout,
    ) -> Result<(), Error> {
        Ok(self.machine_mut(machine)?.begin_repartition(whole, layout)?)
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
        Ok(self.machine_mut(machine)?.layout_is(whole, layout)?)
    }
}

/// As [`Fleet::decide`], on these states of machines.
pub(crate) fn best_of<'a>(
    views: impl IntoIterator<Item = View<'a>>,
    policy: impl Policy,
    request: &Request,
) -> Result<Decision, Refusal> {
    let mut best: Option<Decision> = None;
    let mut refusal = Refusal::Infeasible(Reason::TooFewDevices { wanted: request.pattern.len(), allowed: 0 });
    for view in views {
        match policy.decide(request, &view) {
            Ok(decision) if best.as_ref().is_none_or(|best| decision.order(best).is_lt()) => best = Some(decision),
            Ok(_) => {}
            Err(why) if view.machine() == MachineId(0) || why.hope() > refusal.hope() => refusal = why,
            Err(_) => {}
        }
    }
    best.ok_or(refusal)
}
