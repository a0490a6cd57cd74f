//! Turns changes of the ledger and the drivers since the last poll into events.
//!
//! The ledger is the truth, and a scheduler knows only what was reported to it. So each poll compares the two,
//! and reports the differences. A ticket that this daemon serves stays the same job under its lease;
//! any other lease is a job that was adopted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mapa_core::mig::Layout;
use mapa_core::{Demand, DeviceId, LeaseId, MachineId, Pattern, Request, Want};
use mapa_sched::{Assignment, Event, Job, JobId, RunTime, Time};

use super::config::DaemonConfig;
use crate::acquire::NodeSnapshot;
use crate::error::Error;
use crate::ledger::{ENDED_BY_OWNER, Lease, LedgerTx, Ticket, UnixNanos, now};
use crate::node::{Cause, Node};
use crate::plan::request;

/// The only machine.
pub(super) const MACHINE: MachineId = MachineId(0);

/// The job of a ticket: odd numbers, so that leases have the even ones.
pub(super) fn job_of_ticket(ticket: i64) -> JobId {
    JobId(ticket.unsigned_abs() * 2 + 1)
}

/// The job of a lease that no ticket of this daemon led to.
pub(crate) fn job_of_lease(lease: i64) -> JobId {
    JobId(lease.unsigned_abs() * 2)
}

/// The job that stands for a stranger on an instance: no lease has so high a number.
fn job_of_stranger(instance: DeviceId) -> JobId {
    JobId((1 << 62) + u64::from(instance.0) * 2)
}

/// The ticket of a job.
pub(super) fn ticket_of(job: JobId) -> Option<i64> {
    (job.0 % 2 == 1).then_some((job.0 / 2) as i64)
}

/// A lease as it was reported.
#[derive(Clone, Debug)]
pub(crate) struct ReportedLease {
    /// Its job.
    pub job: JobId,
    /// The tenant.
    pub tenant: String,
    /// The whole devices that were reported as occupied, because the lease could not be adopted.
    pub occupies: BTreeSet<DeviceId>,
}

/// The state that was reported to the scheduler.
#[derive(Debug, Default)]
pub(crate) struct ReportedState {
    /// By ticket: those who wait.
    pub tickets: BTreeMap<i64, JobId>,
    /// A ticket whose order failed waits this long before it is reported again.
    pub not_before: BTreeMap<i64, UnixNanos>,
    /// By lease.
    pub leases: BTreeMap<i64, ReportedLease>,
    /// Instances that strangers use.
    closed: BTreeSet<DeviceId>,
    cordoned: BTreeSet<DeviceId>,
    occupied: BTreeSet<DeviceId>,
    unhealthy: BTreeMap<DeviceId, String>,
    layouts: BTreeMap<DeviceId, Layout>,
    /// Devices whose layout the next poll reports even if it has not changed.
    unsure: BTreeSet<DeviceId>,
}

impl ReportedState {
    /// What another scheduler knows, which was told nothing yet. Tickets whose orders failed wait as long as before.
    pub(super) fn of_none(self) -> Self {
        Self {
            not_before: self.not_before,
            ..Self::default()
        }
    }

    /// Makes the next poll report the layout of a device.
    pub(super) fn layout_unsure(&mut self, whole: DeviceId) {
        self.unsure.insert(whole);
    }
}

/// The ledger as one poll found it.
pub(super) struct LedgerSnapshot {
    /// The leases that hold, and the state of the machine.
    pub seen: NodeSnapshot,
    /// The tickets that wait, in their order.
    pub waiting: BTreeSet<i64>,
    /// Those of them of which the scheduler does not know.
    pub new: Vec<Ticket>,
    /// Why each lease that is gone has ended, as the audit says.
    pub ends: BTreeMap<i64, String>,
}

impl LedgerSnapshot {
    /// What the ledger says now, after recovery.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub(super) fn new(
        books: &LedgerTx<'_>,
        seen: NodeSnapshot,
        known: &ReportedState,
    ) -> Result<Self, Error> {
        let held: BTreeSet<i64> = seen.recovered.leases.iter().map(|lease| lease.id).collect();
        let mut ends = BTreeMap::new();
        for &lease in known.leases.keys().filter(|key| !held.contains(key)) {
            let last = books.decisions(1, Some(lease))?;
            let reason = last.into_iter().next().map(|decision| decision.reason);
            ends.insert(lease, reason.unwrap_or_default());
        }
        let waiting: BTreeSet<i64> = books.waiting_tickets()?.into_iter().collect();
        let mut new = Vec::new();
        for &id in waiting.iter().filter(|id| !known.tickets.contains_key(id)) {
            new.extend(books.ticket(id)?);
        }
        Ok(Self {
            waiting,
            new,
            seen,
            ends,
        })
    }

    /// The devices that a lease keeps from others.
    pub(super) fn held(&self, lease: i64) -> &[DeviceId] {
        let mut held = self.seen.state.held.iter();
        held.find(|row| row.0 == lease)
            .map_or(&[], |row| row.1.as_slice())
    }
}

/// A ticket that makes no sense on this machine: why.
pub(super) struct InvalidTicket {
    /// The ticket.
    pub ticket: i64,
    /// Why.
    pub why: String,
}

/// How the ledger's words become jobs.
pub(super) struct EventBuilder<'a> {
    /// The machine.
    pub node: &'a Node,
    /// The configuration.
    pub config: &'a DaemonConfig,
    /// The moment 0.
    pub began: UnixNanos,
}

impl EventBuilder<'_> {
    /// A moment of the ledger as a driver counts.
    pub(super) fn at(&self, moment: UnixNanos) -> Time {
        Time(u64::try_from(moment.saturating_sub(self.began)).unwrap_or_default())
    }

    /// Compares what was found with what was reported, and returns the differences as events.
    pub(super) fn diff(
        &self,
        known: &mut ReportedState,
        found: &LedgerSnapshot,
        nonsense: &mut Vec<InvalidTicket>,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        self.layouts(known, &mut events);
        self.ends(known, found, &mut events);
        self.begins(known, found, &mut events);
        self.withheld(known, found, &mut events);
        self.arrivals(known, found, &mut events, nonsense);
        events
    }

    fn layouts(&self, known: &mut ReportedState, events: &mut Vec<Event>) {
        let view = self.node.loaded().idle.view();
        for whole in self.node.graph().wholes().iter() {
            let layout = view.layout_of(whole);
            let before = known.layouts.get(&whole);
            let is_known = before.map_or(layout.is_whole(), |before| *before == layout);
            if is_known && !known.unsure.remove(&whole) {
                continue;
            }
            known.unsure.remove(&whole);
            known.layouts.insert(whole, layout.clone());
            events.push(Event::LayoutIs {
                machine: MACHINE,
                whole,
                layout,
            });
        }
    }

    /// Records a layout that was reported outside of a poll.
    pub(super) fn layout_is(known: &mut ReportedState, whole: DeviceId, layout: Layout) {
        known.layouts.insert(whole, layout);
        known.unsure.remove(&whole);
    }

    fn ends(&self, known: &mut ReportedState, found: &LedgerSnapshot, events: &mut Vec<Event>) {
        for (lease, reason) in &found.ends {
            let Some(known_lease) = known.leases.remove(lease) else {
                continue;
            };
            for whole in known_lease.occupies {
                if known.occupied.remove(&whole) {
                    events.push(occupied(whole, false));
                }
            }
            events.push(end(known_lease.job, reason));
        }
        let waits = &found.waiting;
        let gone: Vec<i64> = known.tickets.keys().copied().collect();
        for ticket in gone.into_iter().filter(|number| !waits.contains(number)) {
            let Some(job) = known.tickets.remove(&ticket) else {
                continue;
            };
            // A lease that another program granted to it is reported as adopted.
            events.push(Event::Cancelled(job));
        }
        known.not_before.retain(|ticket, _| waits.contains(ticket));
    }

    fn begins(&self, known: &mut ReportedState, found: &LedgerSnapshot, events: &mut Vec<Event>) {
        for lease in &found.seen.recovered.leases {
            if known.leases.contains_key(&lease.id) {
                continue;
            }
            let job = job_of_lease(lease.id);
            known.leases.insert(
                lease.id,
                ReportedLease {
                    job,
                    tenant: lease.asker.tenant.clone(),
                    occupies: BTreeSet::new(),
                },
            );
            events.extend(self.adopted(lease, found.held(lease.id), job));
        }
        let closed: BTreeSet<DeviceId> = found.seen.state.closed.iter().copied().collect();
        for &instance in known.closed.difference(&closed) {
            events.push(Event::Cancelled(job_of_stranger(instance)));
        }
        for &instance in closed.difference(&known.closed) {
            let at = self.at(now());
            events.push(self.running(job_of_stranger(instance), &[instance], "", at));
        }
        known.closed = closed;
    }

    /// A lease as a job that runs already; `None` if its devices are not there any more.
    pub(super) fn adopted(&self, lease: &Lease, held: &[DeviceId], id: JobId) -> Option<Event> {
        if held.is_empty() {
            return None;
        }
        let tenant = &lease.asker.tenant;
        let mut event = self.running(id, held, tenant, self.at(lease.granted));
        if let Event::Adopted { job, .. } = &mut event {
            job.run_time = lease.expires.map_or(RunTime::Unknown, |end| {
                let length = end.saturating_sub(lease.granted).max(0);
                RunTime::Fixed(Duration::from_nanos(length.unsigned_abs()))
            });
            self.of_tenant(tenant, lease.granted, job);
        }
        Some(event)
    }

    /// A job that runs on these devices.
    fn running(&self, id: JobId, devices: &[DeviceId], tenant: &str, since: Time) -> Event {
        let pattern = Pattern::independent(devices.len()).each(self.any(tenant));
        let mut job = Job::new(id, Request::new(pattern));
        job.arrived = since;
        Event::Adopted {
            job,
            at: Assignment {
                machine: MACHINE,
                lease: LeaseId::default(),
                placement: devices.iter().copied().collect(),
                rest: Vec::new(),
            },
            since,
        }
    }

    /// Any device, with the traffic that is known of the tenant.
    fn any(&self, tenant: &str) -> Demand {
        let traffic = self
            .config
            .tenants
            .get(tenant)
            .and_then(|tenant| tenant.pcie_mb_s);
        Demand {
            want: Want::Any,
            pcie_mb_s: traffic.map_or(0, |whole| whole.0 as u32),
            ..Demand::default()
        }
    }

    /// What the configuration says of a tenant's jobs.
    fn of_tenant(&self, tenant: &str, since: UnixNanos, job: &mut Job) {
        job.isolated = self.config.queue.isolated;
        let Some(settings) = self.config.tenants.get(tenant) else {
            return;
        };
        job.slo = settings
            .latency_slo_ms
            .map(|millis| Duration::from_nanos(millis.ns()));
        job.priority = settings.priority;
        job.deadline = settings
            .deadline_s
            .map(|whole| self.at(since) + Duration::from_secs(whole.0));
    }

    fn withheld(&self, known: &mut ReportedState, found: &LedgerSnapshot, events: &mut Vec<Event>) {
        let graph = self.node.graph();
        let (mut cordoned, mut occupied) = (BTreeSet::new(), BTreeSet::new());
        let mut unhealthy: BTreeMap<DeviceId, String> = BTreeMap::new();
        for device in &found.seen.state.withheld {
            // Foreign processes on one instance are reported as jobs.
            if graph.device(device.device).parent != device.device {
                continue;
            }
            match device.cause {
                Cause::Cordoned => drop(cordoned.insert(device.device)),
                Cause::Occupied => drop(occupied.insert(device.device)),
                Cause::Unhealthy => drop(unhealthy.insert(device.device, device.why.clone())),
            }
        }
        for lease in known.leases.values() {
            occupied.extend(lease.occupies.iter().copied());
        }
        let mut differs = |was: &BTreeSet<DeviceId>,
                           is: &BTreeSet<DeviceId>,
                           event: fn(DeviceId, bool) -> Event| {
            events.extend(was.difference(is).map(|&device| event(device, false)));
            events.extend(is.difference(was).map(|&device| event(device, true)));
        };
        differs(&known.cordoned, &cordoned, cordon);
        differs(&known.occupied, &occupied, self::occupied);
        known.cordoned = cordoned;
        known.occupied = occupied;
        for &whole in known.unhealthy.keys() {
            if !unhealthy.contains_key(&whole) {
                events.push(health(whole, None));
            }
        }
        for (&whole, why) in &unhealthy {
            if known.unhealthy.get(&whole) != Some(why) {
                events.push(health(whole, Some(why.clone())));
            }
        }
        known.unhealthy = unhealthy;
    }

    fn arrivals(
        &self,
        known: &mut ReportedState,
        found: &LedgerSnapshot,
        events: &mut Vec<Event>,
        nonsense: &mut Vec<InvalidTicket>,
    ) {
        let at = now();
        for ticket in &found.new {
            let too_early = known
                .not_before
                .get(&ticket.id)
                .is_some_and(|not_before| at < *not_before);
            if too_early || known.tickets.contains_key(&ticket.id) {
                continue;
            }
            known.not_before.remove(&ticket.id);
            match self.job(ticket) {
                Ok(job) => {
                    known.tickets.insert(ticket.id, job.id);
                    events.push(Event::Arrived(job));
                }
                Err(error) => nonsense.push(InvalidTicket {
                    ticket: ticket.id,
                    why: error.to_string(),
                }),
            }
        }
    }

    /// A ticket as a job.
    fn job(&self, ticket: &Ticket) -> Result<Job, Error> {
        let mut request = request(self.node, ticket)?;
        let traffic = self.any(&ticket.asker.tenant).pcie_mb_s;
        if traffic > 0 {
            for rank in 0..request.pattern.len() {
                let demand = Demand {
                    pcie_mb_s: traffic,
                    ..request.pattern.demands()[rank]
                };
                request.pattern = request.pattern.with_demand(rank, demand);
            }
        }
        let mut job = Job::new(job_of_ticket(ticket.id), request);
        job.arrived = self.at(ticket.since);
        job.run_time = ticket.seconds.map_or(RunTime::Unknown, |seconds| {
            RunTime::Fixed(Duration::from_secs(seconds))
        });
        self.of_tenant(&ticket.asker.tenant, ticket.since, &mut job);
        Ok(job)
    }
}

fn cordon(whole: DeviceId, cordoned: bool) -> Event {
    Event::Cordoned {
        machine: MACHINE,
        whole: Some(whole),
        cordoned,
    }
}

fn occupied(whole: DeviceId, occupied: bool) -> Event {
    Event::Occupied {
        machine: MACHINE,
        whole,
        occupied,
    }
}

fn health(whole: DeviceId, trouble: Option<String>) -> Event {
    Event::Health {
        machine: MACHINE,
        whole,
        trouble,
    }
}

/// The end of a job, by what the audit says of its lease.
fn end(job: JobId, reason: &str) -> Event {
    // The words of `mapa run`, of owners outside and of `mapa release`.
    if reason.ends_with("ended with status 0") || reason == ENDED_BY_OWNER {
        Event::Finished(job)
    } else if reason.starts_with("ended by ") {
        Event::Cancelled(job)
    } else {
        Event::Failed(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_and_leases_never_share_a_number_of_a_job() {
        for id in [1, 2, 77, 1 << 40] {
            assert_eq!(ticket_of(job_of_ticket(id)), Some(id));
            assert_eq!(ticket_of(job_of_lease(id)), None);
        }
    }
}
