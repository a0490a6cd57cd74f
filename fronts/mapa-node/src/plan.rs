//! Which of those who wait start now, by a scheduler of `mapa-sched`.
//!
//! The ledger is the only state between two decisions. So a fresh scheduler gets all present state:
//! what is withheld, who runs, who has come when. It acts once, and its orders are what to do. The
//! same ledger gives the same orders in every program that asks.

use std::time::Duration;

use mapa_core::{Demand, DeviceId, LeaseId, MachineId, Pattern, Refusal, Request};
use mapa_front::{ExecutionSpec, Files, JobSpec, Names, PolicySpec, SchedulerSpec};
use mapa_sched::{
    Action, Assignment, Event, Fleet, Job, JobId, RunTime, Scheduler, Tenant, Time, step,
};

use crate::error::Error;
use crate::ledger::{Lease, Ticket, UnixNanos};
use crate::local_files::{LocalFiles, NoFiles};
use crate::node::{Cause, Node, NodeState};

/// The first number of jobs that stand for strangers on instances. Leases do not get so far.
const STRANGERS: u64 = 1 << 62;

/// What becomes of a place in the queue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueueTurn {
    /// It starts on these devices, in rank order.
    Start(Vec<DeviceId>),
    /// It never will, for this reason.
    Reject(Refusal),
}

/// The scheduler that orders a queue, and the policy that chooses for all who wait.
///
/// # Errors
/// The scheduler or the policy is unknown, or they do not go together; the model cannot be read.
pub(crate) fn scheduler(
    words: &str,
    policy: &PolicySpec,
    files: &dyn Files,
) -> Result<Box<dyn Scheduler>, Error> {
    let names = Names::built_in();
    let spec: SchedulerSpec = words.into();
    // The scheduler alone decides here who starts. How long a job runs under sharing matters to no decision, so
    // any model of execution will do.
    let execution: ExecutionSpec = "ring-packing".into();
    Ok(policy.scheduler(&names, &spec, &execution, files)?)
}

/// The places of the queue that start now, or never, in the order in which the scheduler says so.
///
/// `asking` is the place of whoever asks. What is wrong with it is an error. Another request's faults are
/// reported by its own process when it polls: this program may not be able to read its files and devices. A first one
/// whose policy cannot be read here decides by itself, and no request starts before that.
///
/// # Errors
/// The scheduler or the policy is unknown, or the request cannot be read, of the place `asking`; the
/// ledger contradicts the machine; or nothing is in use, and the scheduler starts nobody.
pub(crate) fn plan(
    node: &Node,
    state: &NodeState,
    leases: &[Lease],
    queue: &[Ticket],
    now: UnixNanos,
    asking: i64,
) -> Result<Vec<(i64, QueueTurn)>, Error> {
    // A ticket with an answer waits only for its program to fetch it.
    let waiting: Vec<&Ticket> = queue
        .iter()
        .filter(|ticket| ticket.lease.is_none() && ticket.refusal.is_none())
        .collect();
    let Some(&first) = waiting.first() else {
        return Ok(Vec::new());
    };
    // Only its own program opens the files that a policy names.
    let files: &dyn Files = if first.id == asking {
        &LocalFiles
    } else {
        &NoFiles
    };
    let decider =
        parse(&first.asker.policy).and_then(|policy| scheduler(&first.scheduler, &policy, files));
    let mut scheduler = match decider {
        Ok(decider) => decider,
        Err(error) if first.id == asking => return Err(error),
        // That program decides at its next poll.
        Err(_) => return Ok(Vec::new()),
    };
    let present = Present::new(node, state, leases, waiting, now);
    let mut events = Vec::new();
    // Layouts come first: leases are on what they make present.
    present.add_layouts(&mut events);
    present.add_leases(&mut events);
    present.add_strangers(&mut events);
    present.add_withheld(&mut events);
    present.add_tickets(asking, &mut events)?;
    let mut fleet = Fleet::new([node.loaded().graph().clone()]);
    let mut orders = Vec::new();
    step(
        &mut *scheduler,
        &mut fleet,
        present.at(now),
        events,
        &mut orders,
    )
    .map_err(|error| Error::at("the ledger", format_args!("{}: {error}", first.scheduler)))?;
    let orders = QueueOrders::of(orders);
    // Leases end and cordons are lifted. Without either, nothing will change that could let a job start. The same
    // ledger gives the same orders, so nobody would ever start.
    let is_whole = state.withheld.is_empty() && !node.has_links_down();
    let waits = orders.wakes || !leases.is_empty() || !is_whole;
    if orders.turns.is_empty() && !waits {
        let instead = match orders.others.first() {
            Some(other) => format!("it wants {other} first, which mapa does not do"),
            None => "it orders nothing".to_owned(),
        };
        return Err(Error::malformed(format_args!(
            "nothing is in use, and {} starts no job of the queue: {instead}: expected instances that exist, another scheduler, or none",
            first.scheduler
        )));
    }
    Ok(orders.turns)
}

/// The only machine.
const MACHINE: MachineId = MachineId(0);

/// The present state, as events for a fresh scheduler. Leases keep their numbers as jobs, and so do
/// tickets: the lowest bit tells them apart.
struct Present<'a> {
    node: &'a Node,
    state: &'a NodeState,
    leases: &'a [Lease],
    waiting: Vec<&'a Ticket>,
    /// The moment 0.
    begin: UnixNanos,
}

impl<'a> Present<'a> {
    fn new(
        node: &'a Node,
        state: &'a NodeState,
        leases: &'a [Lease],
        waiting: Vec<&'a Ticket>,
        now: UnixNanos,
    ) -> Self {
        // Schedulers count time from 0, in unsigned nanoseconds. The earliest moment of all becomes 0, so that none
        // is negative.
        let begin = leases
            .iter()
            .map(|lease| lease.granted)
            .chain(waiting.iter().map(|ticket| ticket.since))
            .fold(now, UnixNanos::min);
        Self {
            node,
            state,
            leases,
            waiting,
            begin,
        }
    }

    /// A moment of the ledger, as the scheduler counts.
    fn at(&self, moment: UnixNanos) -> Time {
        Time(u64::try_from(moment.saturating_sub(self.begin)).unwrap_or_default())
    }

    /// How devices are partitioned.
    fn add_layouts(&self, events: &mut Vec<Event>) {
        let view = self.node.loaded().idle.view();
        for whole in self.node.graph().wholes().iter() {
            let layout = view.layout_of(whole);
            if !layout.is_whole() {
                events.push(Event::LayoutIs {
                    machine: MACHINE,
                    whole,
                    layout,
                });
            }
        }
    }

    /// Who runs.
    fn add_leases(&self, events: &mut Vec<Event>) {
        for (id, devices) in &self.state.held {
            let Some(lease) = self.leases.iter().find(|lease| lease.id == *id) else {
                continue;
            };
            let (mut job, at) = running(*id as u64 * 2, devices);
            let since = self.at(lease.granted);
            job.arrived = since;
            job.run_time = run_time(lease.expires.map(|end| (end - lease.granted).max(0) as u64));
            events.push(Event::Adopted { job, at, since });
        }
    }

    /// Instances that others use without a lease, each as a job of no name.
    fn add_strangers(&self, events: &mut Vec<Event>) {
        for device in &self.state.closed {
            let (job, at) = running(STRANGERS + u64::from(device.0) * 2, &[*device]);
            let since = self.at(self.begin);
            events.push(Event::Adopted { job, at, since });
        }
    }

    /// Devices that nobody gets, and why.
    fn add_withheld(&self, events: &mut Vec<Event>) {
        let machine = MACHINE;
        for device in &self.state.withheld {
            let whole = device.device;
            // Instances are in `closed`, as jobs of no name: only whole devices can be cordoned.
            if self.node.graph().device(whole).parent != whole {
                continue;
            }
            events.push(match device.cause {
                Cause::Cordoned => Event::Cordoned {
                    machine,
                    whole: Some(whole),
                    cordoned: true,
                },
                Cause::Occupied => Event::Occupied {
                    machine,
                    whole,
                    occupied: true,
                },
                Cause::Unhealthy => Event::Health {
                    machine,
                    whole,
                    trouble: Some(device.why.clone()),
                },
            });
        }
    }

    /// Who waits.
    ///
    /// # Errors
    /// The request of the ticket `asking` cannot be read.
    fn add_tickets(&self, asking: i64, events: &mut Vec<Event>) -> Result<(), Error> {
        for ticket in &self.waiting {
            let request = match request(self.node, ticket) {
                Ok(request) => request,
                Err(error) if ticket.id == asking => return Err(error),
                // Its own program sees the error at its next poll, and leaves the queue.
                Err(_) => continue,
            };
            let mut job = Job::new(JobId(ticket.id as u64 * 2 + 1), request);
            job.arrived = self.at(ticket.since);
            job.run_time = run_time(
                ticket
                    .seconds
                    .map(|seconds| seconds.saturating_mul(1_000_000_000)),
            );
            events.push(Event::Arrived(job));
        }
        Ok(())
    }
}

/// A job that runs on these devices, and where. What it once asked for is of no use any more: its devices are fixed.
fn running(job: u64, devices: &[DeviceId]) -> (Job, Assignment) {
    let request = Request::new(Pattern::independent(devices.len()).each(Demand::any()));
    let at = Assignment {
        machine: MACHINE,
        lease: LeaseId::default(),
        placement: devices.iter().copied().collect(),
        rest: Vec::new(),
    };
    (Job::new(JobId(job), request), at)
}

/// What a scheduler's orders mean for the queue.
#[derive(Default)]
struct QueueOrders {
    /// What becomes of tickets, in the order of the orders.
    turns: Vec<(i64, QueueTurn)>,
    /// Whether the scheduler wants to be asked again later.
    wakes: bool,
    /// Orders that are not carried out here, in words.
    others: Vec<&'static str>,
}

impl QueueOrders {
    fn of(orders: Vec<Action>) -> Self {
        let mut found = Self::default();
        for order in orders {
            match order {
                Action::Place {
                    tenant: Tenant::Job(job),
                    at,
                    // Odd numbers are tickets.
                } if job.0 % 2 == 1 => {
                    found.turns.push((
                        (job.0 / 2) as i64,
                        QueueTurn::Start(at.placement.iter().copied().collect()),
                    ));
                }
                Action::Reject { job, why } => {
                    found
                        .turns
                        .push(((job.0 / 2) as i64, QueueTurn::Reject(why)));
                }
                // A wake-up is one more poll of the queue, which comes anyway.
                Action::Wake { .. } => found.wakes = true,
                // Nothing here repartitions, throttles or moves.
                other => found.others.push(name(&other)),
            }
        }
        found
    }
}

/// An order that is not carried out here, in words.
fn name(order: &Action) -> &'static str {
    match order {
        Action::Repartition { .. } => "another layout of a device",
        Action::Launch { .. } => "a process without a device",
        Action::Move { .. } | Action::Suspend { .. } => "a tenant to leave its place",
        _ => "something else",
    }
}

/// What a ticket asks for.
pub(crate) fn request(node: &Node, ticket: &Ticket) -> Result<Request, Error> {
    let spec: JobSpec = parse(&ticket.asker.spec)?;
    Ok(spec.request(&spec.job(&NoFiles)?, node.graph())?)
}

fn run_time(nanoseconds: Option<u64>) -> RunTime {
    nanoseconds.map_or(RunTime::Unknown, |nanoseconds| {
        RunTime::Fixed(Duration::from_nanos(nanoseconds))
    })
}

/// Reads what a program has written into the ledger.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text)
        .map_err(|error| Error::at("the ledger", format_args!("`{text}`: {error}")))
}
