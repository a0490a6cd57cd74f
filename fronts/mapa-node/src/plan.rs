//! Which of those who wait start now, by a scheduler of `mapa-sched`.
//!
//! The ledger is the only state between two decisions. So a fresh scheduler is told all that holds:
//! what is withheld, who runs, who has come when. It acts once, and its orders are what to do. The
//! same ledger gives the same orders in every program that asks.

use std::time::Duration;

use mapa_core::{Demand, LeaseId, Placement};
use mapa_core::{DeviceId, MachineId, Pattern, Refusal, Request};
use mapa_front::names::Choice;
use mapa_front::{ExecutionSpec, JobSpec, Names, PolicySpec, SchedulerSpec};
use mapa_sched::{Action, Event, Fleet, Job, JobId, Placed, RunTime, Tenant, Time, step};

use crate::disk::Disk;
use crate::error::Error;
use crate::ledger::{Lease, Moment, Ticket};
use crate::node::{Node, State};

/// What becomes of a place in the queue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Turn {
    /// It starts on these devices, in rank order.
    Start(Vec<DeviceId>),
    /// It never will, for this reason.
    Reject(Refusal),
}

/// The places of the queue that start now, or never, in the order in which the scheduler says so.
///
/// # Errors
/// The scheduler or a policy is unknown, or a request of the queue cannot be read.
pub(crate) fn plan(
    node: &Node,
    state: &State,
    leases: &[Lease],
    queue: &[Ticket],
    now: Moment,
) -> Result<Vec<(i64, Turn)>, Error> {
    let waiting: Vec<&Ticket> = queue
        .iter()
        .filter(|own| own.lease.is_none() && own.refusal.is_none())
        .collect();
    let Some(first) = waiting.first() else {
        return Ok(Vec::new());
    };
    let names = Names::built_in();
    let spec: SchedulerSpec = first.scheduler.as_str().into();
    let policy = match names.own_policy(&spec) {
        Some(own) => names.policy(own, &Choice::default())?,
        None => {
            let spec: PolicySpec = parse(&first.asker.policy)?;
            let model = spec.model(&names, &Disk)?;
            spec.policy(&names, model.as_ref(), None)?
        }
    };
    let execution: ExecutionSpec = "effective-bandwidth".into();
    let mut scheduler = names.scheduler(&spec, policy, &execution)?;
    let mut fleet = Fleet::new([node.loaded().graph().clone()]);
    let machine = MachineId(0);
    let begin = leases
        .iter()
        .map(|own| own.granted)
        .chain(waiting.iter().map(|own| own.since))
        .fold(now, Moment::min);
    let at = |moment: Moment| Time(u64::try_from(moment.saturating_sub(begin)).unwrap_or_default());

    // Layouts come first: leases are on what they make present.
    let mut facts = Vec::new();
    let view = node.loaded().idle.view();
    for whole in node.graph().wholes().iter() {
        let layout = view.layout_of(whole);
        if !layout.is_whole() {
            facts.push(Event::LayoutIs {
                machine,
                whole,
                layout,
            });
        }
    }
    // Numbers of jobs: leases keep theirs and tickets theirs, apart by the lowest bit.
    for lease in leases {
        let devices: Placement = lease
            .devices
            .iter()
            .filter_map(|key| node.device(key))
            .collect();
        if devices.is_empty() {
            continue;
        }
        let request = Request::new(Pattern::independent(devices.len()).each(Demand::any()));
        let mut job = Job::new(JobId(lease.id as u64 * 2), request);
        job.arrived = at(lease.granted);
        job.run_time = run_time(lease.expires.map(|end| (end - lease.granted).max(0) as u64));
        facts.push(Event::Adopted {
            job,
            at: Placed {
                machine,
                lease: LeaseId::default(),
                placement: devices,
                rest: Vec::new(),
            },
            since: at(lease.granted),
        });
    }
    for own in &state.withheld {
        facts.push(Event::Cordoned {
            machine,
            whole: Some(own.device),
            cordoned: true,
        });
    }
    for ticket in &waiting {
        let spec: JobSpec = parse(&ticket.asker.spec)?;
        let request = spec.request(&spec.job(&Disk)?, node.graph())?;
        let mut job = Job::new(JobId(ticket.id as u64 * 2 + 1), request);
        job.arrived = at(ticket.since);
        job.run_time = run_time(ticket.seconds.map(|own| own.saturating_mul(1_000_000_000)));
        facts.push(Event::Arrived(job));
    }
    let mut orders = Vec::new();
    step(&mut *scheduler, &mut fleet, at(now), facts, &mut orders).map_err(Error::malformed)?;
    let mut turns = Vec::new();
    for order in orders {
        match order {
            Action::Place {
                tenant: Tenant::Job(job),
                at,
            } if job.0 % 2 == 1 => {
                turns.push((
                    (job.0 / 2) as i64,
                    Turn::Start(at.placement.iter().copied().collect()),
                ));
            }
            Action::Reject { job, why } => turns.push(((job.0 / 2) as i64, Turn::Reject(why))),
            // Nothing here repartitions, throttles or moves; a wake-up is one more look at the queue.
            _ => {}
        }
    }
    Ok(turns)
}

fn run_time(nanoseconds: Option<u64>) -> RunTime {
    nanoseconds.map_or(RunTime::Unknown, |own| {
        RunTime::Fixed(Duration::from_nanos(own))
    })
}

/// Reads what a program has written into the ledger.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text)
        .map_err(|error| Error::at("the ledger", format_args!("`{text}`: {error}")))
}
