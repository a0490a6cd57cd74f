//! A scheduler's turn: what it sees, and how it gives orders.

use mapa_core::mig::Layout;
use mapa_core::{Decision, DeviceId, MachineId, Policy, Refusal, Request, View, WhatIf};

use crate::error::Error;
use crate::event::{Action, Assignment, JobLimit, Token};
use crate::fleet::Fleet;
use crate::job::{JobId, Tenant};
use crate::time::Time;

/// A scheduler's turn at one instant. Each order is booked in the fleet at once, and noted for the
/// driver.
#[derive(Debug)]
pub struct Turn<'a> {
    fleet: &'a mut Fleet,
    orders: &'a mut Vec<Action>,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(fleet: &'a mut Fleet, orders: &'a mut Vec<Action>) -> Self {
        Self { fleet, orders }
    }

    /// The machines, and the tenants on them.
    #[must_use]
    pub fn fleet(&self) -> &Fleet {
        self.fleet
    }

    /// The states of the machines, by id.
    pub fn views(&self) -> impl Iterator<Item = View<'_>> {
        self.fleet.views()
    }

    /// The state of a machine.
    ///
    /// # Errors
    /// An id that the fleet does not have.
    pub fn view(&self, machine: MachineId) -> Result<View<'_>, Error> {
        self.fleet.machine(machine).map(mapa_core::Allocator::view)
    }

    /// The best decision of a policy over all machines, as [`Fleet::decide`].
    ///
    /// # Errors
    /// As [`Fleet::decide`].
    pub fn decide(&self, policy: impl Policy, request: &Request) -> Result<Decision, Refusal> {
        self.fleet.decide(policy, request)
    }

    /// Gives a tenant the devices of a decision, and orders it to start there.
    ///
    /// # Errors
    /// `Busy`: the decision was not made on the present state
    /// ([`Reason::Stale`](mapa_core::Reason::Stale)), or the tenant holds a lease already.
    pub fn place(&mut self, tenant: Tenant, decision: Decision) -> Result<Assignment, Refusal> {
        let at = self.fleet.place(tenant, decision)?;
        self.orders.push(Action::Place {
            tenant,
            at: at.clone(),
        });
        Ok(at)
    }

    /// The decisions for a job over several machines, as [`Fleet::spread`].
    ///
    /// # Errors
    /// As [`Fleet::spread`].
    pub fn spread(&self, policy: impl Policy, request: &Request) -> Result<Vec<Decision>, Refusal> {
        self.fleet.spread(policy, request)
    }

    /// Gives a tenant the devices of several decisions, machine by machine, and orders it to start
    /// there. It gets all of them or none.
    ///
    /// # Errors
    /// As [`Turn::place`], for any of them, or if two are on one machine; nothing is booked then.
    pub fn place_parts(
        &mut self,
        tenant: Tenant,
        parts: Vec<Decision>,
    ) -> Result<Assignment, Refusal> {
        let at = self.fleet.place_parts(tenant, parts)?;
        self.orders.push(Action::Place {
            tenant,
            at: at.clone(),
        });
        Ok(at)
    }

    /// Decides and places: on one machine, or on several if no machine can ever hold the job and a
    /// [network](Fleet::with_network) joins them.
    ///
    /// # Errors
    /// As [`Turn::decide`], [`Turn::spread`] and [`Turn::place`]; `Busy` for a policy that decides
    /// for another job.
    pub fn start(
        &mut self,
        tenant: Tenant,
        policy: impl Policy,
        request: &Request,
    ) -> Result<Assignment, Refusal> {
        let (decision, rest) = self.fleet.choose(policy, request)?;
        if !rest.is_empty() {
            return self.place_parts(tenant, std::iter::once(decision).chain(rest).collect());
        }
        // A policy written by hand may decide for another job, or use devices that the request
        // excludes. The allocator sees only the decision, and would not notice.
        if let Ok(machine) = self.fleet.machine(decision.stamp().machine) {
            decision.answers(request, machine.graph())?;
        }
        self.place(tenant, decision)
    }

    /// The state of a tenant's machine as if the tenant held nothing. None for a tenant that holds
    /// nothing, or is on several machines.
    #[must_use]
    pub fn without(&self, tenant: Tenant) -> Option<WhatIf> {
        self.fleet.without(tenant)
    }

    /// Moves a tenant to the devices of a decision: one made [without](Turn::without) the tenant,
    /// or one made on any machine while the tenant holds its devices.
    ///
    /// # Errors
    /// `Busy`: the decision was not made on the present state, it was made without another tenant,
    /// or the tenant holds no lease.
    pub fn relocate(&mut self, tenant: Tenant, decision: Decision) -> Result<Assignment, Refusal> {
        let at = self.fleet.relocate(tenant, decision)?;
        self.orders.push(Action::Move {
            tenant,
            at: at.clone(),
        });
        Ok(at)
    }

    /// Releases the devices of a tenant, and orders it to stop.
    ///
    /// # Errors
    /// The tenant holds nothing.
    pub fn suspend(&mut self, tenant: Tenant) -> Result<(), Error> {
        self.fleet.release(tenant)?;
        self.orders.push(Action::Suspend { tenant });
        Ok(())
    }

    /// Orders the repartition of a device. Until [`Event::LayoutIs`](crate::Event::LayoutIs)
    /// reports the new layout, only the instances that both layouts have are present.
    ///
    /// # Errors
    /// As [`mapa_core::Allocator::begin_repartition`].
    pub fn repartition(
        &mut self,
        machine: MachineId,
        whole: DeviceId,
        layout: Layout,
    ) -> Result<(), Error> {
        self.fleet
            .begin_repartition(machine, whole, layout.clone())?;
        self.orders.push(Action::Repartition {
            machine,
            whole,
            layout,
        });
        Ok(())
    }

    /// Orders a job's process to start without a device.
    pub fn launch(&mut self, job: JobId) {
        self.orders.push(Action::Launch { job });
    }

    /// Orders a limit on a job, or lifts one.
    pub fn throttle(&mut self, job: JobId, guard: JobLimit) {
        self.orders.push(Action::Throttle { job, guard });
    }

    /// Rejects a job, for this reason.
    pub fn reject(&mut self, job: JobId, why: Refusal) {
        self.orders.push(Action::Reject { job, why });
    }

    /// Orders a wake-up at a moment.
    pub fn wake(&mut self, at: Time, token: Token) {
        self.orders.push(Action::Wake { at, token });
    }
}
