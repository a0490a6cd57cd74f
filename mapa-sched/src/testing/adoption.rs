//! A job that ran before the scheduler was started.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::{DeviceId, DeviceSet, LeaseId, MachineId, Pattern, Request, lowest_id};

use super::machines::joined;
use crate::event::{Action, Assignment, Event};
use crate::first_fit::LinkModel;
use crate::fleet::Fleet;
use crate::job::{Job, JobId, RunTime};
use crate::named::NamedScheduler;
use crate::scheduler::step;
use crate::time::Time;

fn placed(devices: &[u32]) -> Assignment {
    Assignment {
        machine: MachineId(0),
        lease: LeaseId::default(),
        placement: devices.iter().map(|&id| DeviceId(id)).collect(),
        rest: Vec::new(),
    }
}

fn job(id: u64, ranks: usize, seconds: u64) -> Job {
    let mut job = Job::new(JobId(id), Request::new(Pattern::ring(ranks)));
    job.run_time = RunTime::Fixed(Duration::from_secs(seconds));
    job
}

fn adopted(job: Job, devices: &[u32], since: u64) -> Event {
    let at = placed(devices);
    Event::Adopted {
        job,
        at,
        since: Time::from_secs(since),
    }
}

/// Checks that this scheduler of jobs on whole devices leaves an adopted job its devices, and gives
/// them to others when the job ends.
///
/// # Panics
/// If it does not.
pub fn check_adoption(row: &NamedScheduler) {
    let mut scheduler = row
        .scheduler(row.name, Box::new(lowest_id()), LinkModel::Usual)
        .unwrap();
    let (mut fleet, mut orders) = (Fleet::new([joined(&[50.0; 4])]), Vec::new());
    let mut next = |now: u64, events: Vec<Event>| {
        orders.clear();
        step(
            &mut *scheduler,
            &mut fleet,
            Time::from_secs(now),
            events,
            &mut orders,
        )
        .unwrap();
        let started = orders.iter().filter_map(|order| match order {
            Action::Place { at, .. } => Some(at.placement.set()),
            _ => None,
        });
        started.collect::<Vec<_>>()
    };
    // The adopted job holds all but device 1, so that one is left for the job that arrives.
    let events = vec![
        adopted(job(1, 3, 60), &[0, 2, 3], 0),
        Event::Arrived(job(2, 1, 5)),
    ];
    assert_eq!(next(10, events), [DeviceSet::from([1])], "{}", row.name);
    assert_eq!(
        next(11, vec![Event::Arrived(job(3, 1, 5))]),
        [],
        "{}",
        row.name
    );
    let given = next(12, vec![Event::Finished(JobId(1))]);
    assert_eq!(given.len(), 1, "{}", row.name);
    // Job 2 still runs on it.
    assert!(!given[0].contains(DeviceId(1)), "{}", row.name);
}

/// Checks that, on a machine that gives its devices in pairs, this scheduler finds the pair that is
/// left.
///
/// # Panics
/// If it does not.
pub fn check_offered_sets(row: &NamedScheduler) {
    let mut fabric = joined(&[50.0; 4]).fabric().clone();
    let set = |ids: &[u32]| -> DeviceSet { ids.iter().copied().map(DeviceId).collect() };
    let mut sets: Vec<DeviceSet> = (0..4).map(|id| set(&[id])).collect();
    sets.extend([set(&[0, 1]), set(&[2, 3]), set(&[0, 1, 2, 3])]);
    fabric.set_offered(Some(sets)).unwrap();
    let graph = Arc::new(fabric.lower().unwrap());
    let mut scheduler = row
        .scheduler(row.name, Box::new(lowest_id()), LinkModel::Usual)
        .unwrap();
    let mut fleet = Fleet::new([graph.clone()]);
    let mut orders = Vec::new();
    let events = [
        adopted(job(1, 1, 100), &[1], 0),
        Event::Arrived(job(2, 2, 10)),
    ];
    step(&mut *scheduler, &mut fleet, Time::ZERO, events, &mut orders).unwrap();
    let given: Vec<&Assignment> = orders
        .iter()
        .filter_map(|order| match order {
            Action::Place { at, .. } => Some(at),
            _ => None,
        })
        .collect();
    assert_eq!(given.len(), 1, "{}: {orders:?}", row.name);
    let found: DeviceSet = given[0].placement.iter().copied().collect();
    assert_eq!(found, set(&[2, 3]), "{}", row.name);
}
