//! Carries out the actions of the scheduler: grants and refuses devices in the ledger, and applies changes. It reports
//! each failure to the scheduler as an event.

use std::collections::BTreeSet;
use std::time::Duration;

use mapa_core::{DeviceId, Refusal};
use mapa_live::{Liveness, ProcessId};
use mapa_sched::{Action, Assignment, Event, JobId, JobLimit, Time};

use super::changes::{self, LimitTarget};
use super::driver::{NodeDriver, now_ms};
use super::events::{EventBuilder, MACHINE, ReportedLease, ticket_of};
use crate::acquire::grant;
use crate::error::Error;
use crate::foreign::foreign;
use crate::leader;
use crate::ledger::{Durability, Lease, UnixNanos, now};
use crate::mark;
use crate::node::{Node, Withheld};
use crate::plan::request;

/// How long a ticket whose action has failed is not reported again, nanoseconds.
const RETRY: UnixNanos = 1_000_000_000;

impl NodeDriver<'_> {
    /// Tells in a later instant that an order has failed.
    pub(super) fn fail(&mut self, order: &Action, why: &str) {
        self.fail_at(self.now(), order, why);
    }

    pub(super) fn fail_at(&mut self, at: Time, order: &Action, why: &str) {
        self.reporter.action_failed(order, why);
        let failed = Event::ActionFailed {
            order: order.clone(),
            why: why.to_owned(),
        };
        self.timeline.put(at, failed);
    }

    /// Tenants that could not be moved or stopped are where they were: they leave, all of them, and are
    /// adopted again. One by one, the first might be where the fleet has the second by now.
    pub(super) fn still_there(&mut self) {
        // Later than the failures of their orders.
        let at = self.now() + Duration::from_nanos(1);
        for job in std::mem::take(&mut self.instant.still) {
            let Some((lease, held)) = self.leases.get(&job) else {
                continue;
            };
            if let Some(event) = self.reading().adopted(lease, held, job) {
                self.timeline.put(at, Event::Cancelled(job));
                self.timeline.put(at, event);
            }
        }
    }

    pub(super) fn place(
        &mut self,
        order: &Action,
        job: JobId,
        at: &Assignment,
    ) -> Result<(), Error> {
        let Some(id) = ticket_of(job) else {
            self.fail(order, "a job that runs already cannot be started");
            return Ok(());
        };
        let placement: Vec<DeviceId> = at.placement.iter().copied().collect();
        let scheduler = self.leader.scheduler.clone();
        let (drivers, is_stale) = (self.drivers(), self.is_stale);
        let (leader, node, processes) = (&self.leader, &self.node, self.processes);
        let placed = self.ledger.change(Durability::Boot, |books| {
            leader::heartbeat(books, leader)?;
            let ticket = books.ticket(id)?;
            let ticket = ticket.filter(|ticket| ticket.lease.is_none() && ticket.refusal.is_none());
            let Some(ticket) = ticket else {
                return Ok(Err("it has left the queue".to_owned()));
            };
            // Another job may have started since the last poll.
            let drivers = match &drivers {
                Ok(drivers) if !is_stale => drivers,
                Ok(_) => return Ok(Err("the machine could not be read anew".to_owned())),
                Err(error) => return Ok(Err(format!("the drivers do not answer: {error}"))),
            };
            let leases = books.leases()?;
            let mark = |lease| books.mark(lease);
            let (others, _) = foreign(node, drivers, &leases, processes, mark);
            if let Some(other) = taken(node, &others, &placement) {
                return Ok(Err(other.why.clone()));
            }
            let reason = format!("its turn by {scheduler}");
            let lease = grant(
                books,
                node,
                &ticket.asker,
                &placement,
                Some(id),
                ticket.seconds,
                &reason,
            )?;
            books.record_grant(id, lease.id)?;
            Ok(Ok(lease))
        });
        // If another lease has taken a device by now, the ledger fails, and its transaction is rolled back.
        let placed = placed.unwrap_or_else(|error| Err(error.to_string()));
        match placed {
            Ok(lease) => {
                self.known.tickets.remove(&id);
                self.known.leases.insert(
                    lease.id,
                    ReportedLease {
                        job,
                        tenant: lease.asker.tenant.clone(),
                        occupies: BTreeSet::new(),
                    },
                );
                self.reporter.placed(&lease);
                self.leases.insert(job, (lease, placement));
                (self.reporter).queue(self.known.tickets.len(), self.leases.len());
                self.tell_answered(id);
            }
            Err(why) => {
                self.known.tickets.remove(&id);
                self.known.not_before.insert(id, now() + RETRY);
                self.fail(order, &why);
            }
        }
        Ok(())
    }

    pub(super) fn reject(&mut self, job: JobId, why: &Refusal) -> Result<(), Error> {
        if let Some(id) = ticket_of(job)
            && let Some(ticket) = self.ledger.read(|books| books.ticket(id))?
            && matches!(why, Refusal::Infeasible(_))
            && let Ok(request) = request(&self.node, &ticket)
            && matches!(self.node.with_hope(&request, why.clone()), Refusal::Busy(_))
        {
            // It arrives again after a while: its links may be up by then.
            self.known.tickets.remove(&id);
            self.known.not_before.insert(id, now() + RETRY);
            return Ok(());
        }
        self.reporter.refused(why.kind());
        let Some(id) = ticket_of(job) else {
            return Ok(());
        };
        self.known.tickets.remove(&id);
        // The refusal is not reported again: the request leaves the queue as soon as its requester has read the reason.
        self.known.not_before.insert(id, UnixNanos::MAX);
        self.change(Durability::Boot, |books| {
            books.record_refusal(id, &format!("{}: {why}", why.kind()))
        })?;
        self.tell_answered(id);
        Ok(())
    }

    /// The processes of a lease: its command and what that has started. A number that another process
    /// has by now is none.
    pub(super) fn processes_of(&self, lease: &Lease) -> Vec<ProcessId> {
        let child = lease.child.as_ref();
        let Some(child) = child.filter(|identity| identity.boot == self.processes.boot()) else {
            return Vec::new();
        };
        let below = self.processes.below(child.id.pid);
        // Asked last: as long as it runs, nobody else has had its number.
        if self.processes.life(child) != Liveness::Runs {
            return Vec::new();
        }
        let all = std::iter::once(child).chain(&below);
        all.map(|identity| identity.id).collect()
    }

    /// What a limit on a job is put on. Before its processes leave the group by which recovery finds
    /// them, the ledger says where they go.
    pub(super) fn target(
        &mut self,
        job: JobId,
        kind: changes::LimitKind,
    ) -> Result<LimitTarget, String> {
        let Some((lease, _)) = self.leases.get(&job) else {
            return Err("the job holds no lease".to_owned());
        };
        let (id, mark) = (lease.id, self.ledger.mark(lease.id));
        let cgroup = lease.cgroup.as_deref();
        let cgroup = cgroup.and_then(|text| mark::of_lease(text, &mark));
        let (levers, roots) = (self.levers.levers(), &self.live.roots);
        let (group, enrol) = changes::group(cgroup, &mark::name_of(&mark), levers, roots)?;
        let processes = self.processes_of(lease);
        let is_moved = kind == changes::LimitKind::BlockIo && enrol;
        let to = changes::moves_to(&group, roots)?.filter(|_| is_moved);
        let known = lease.limited.clone();
        if let Some(to) = to.as_deref().and_then(|path| path.to_str())
            && !self.levers.is_dry
            && known.as_deref() != Some(to)
        {
            self.change(Durability::Boot, |books| books.set_limit_cgroup(id, to))
                .map_err(|error| error.to_string())?;
        }
        Ok(LimitTarget {
            processes,
            group,
            enrol,
        })
    }

    pub(super) fn throttle(&mut self, order: &Action, job: JobId, guard: JobLimit) {
        let target = match changes::kind(guard) {
            Some((kind, true)) => self.target(job, kind),
            _ => Err("nothing is limited".to_owned()),
        };
        let (at, reporter) = (now_ms(), &mut self.reporter);
        if let Err(why) = self.levers.throttle(job, guard, at, target, reporter) {
            self.fail(order, &why);
        }
    }

    pub(super) fn repartition(
        &mut self,
        order: &Action,
        whole: DeviceId,
        layout: &mapa_core::mig::Layout,
    ) -> Result<(), Error> {
        let mut at = self.now();
        let (node, reporter) = (&self.node, &mut self.reporter);
        match self
            .levers
            .repartition(node, whole, layout, now_ms(), reporter)
        {
            Err(failed) => {
                at = at + failed.pause;
                self.fail_at(at, order, &failed.why);
                if failed.is_touched {
                    self.reload()?;
                }
            }
            Ok(()) => self.reload()?,
        }
        if self.is_stale {
            // The look that reads it tells what it has.
            self.known.layout_unsure(whole);
            return Ok(());
        }
        // The present layout is reported whether the action failed or not.
        let view = self.node.loaded().idle.view();
        let is = view.layout_of(whole);
        EventBuilder::layout_is(&mut self.known, whole, is.clone());
        let event = Event::LayoutIs {
            machine: MACHINE,
            whole,
            layout: is,
        };
        self.timeline.put(at, event);
        Ok(())
    }
}

/// The device of a placement that somebody else uses, as a whole or this instance of it.
fn taken<'w>(node: &Node, others: &'w [Withheld], placement: &[DeviceId]) -> Option<&'w Withheld> {
    let graph = node.graph();
    let is_taken = |device: &&Withheld| {
        placement
            .iter()
            .any(|&id| id == device.device || graph.device(id).parent == device.device)
    };
    others.iter().find(is_taken)
}
