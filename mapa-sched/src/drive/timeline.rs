//! Events that are known in advance.

use std::collections::BTreeMap;

use crate::event::{Action, Event};
use crate::time::Time;

/// Events that will happen, by their moment. Events of one moment come in this order: ends of jobs,
/// by number; ends of tasks, by job and task; orders that failed; layouts; devices that are
/// cordoned or back; arrivals; tasks that begin, by job and task; latencies; signals; wakes, by
/// token. Events that are still equal come in the order in which they were put in. So devices of
/// jobs that end are free for jobs that arrive.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Apart, as an event may have a job, and a map moves what stands in its nodes with every event that comes or goes.
    events: BTreeMap<EventKey, Box<Event>>,
    put: u64,
}

/// The place of an event in a [`Timeline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    at: Time,
    /// The kind of the event, then what orders events of this kind.
    rank: (u8, u64, u64),
    put: u64,
}

impl Timeline {
    /// Puts an event in. O(log n) for n events.
    pub fn put(&mut self, at: Time, event: Event) -> EventKey {
        let key = EventKey {
            at,
            rank: rank(&event),
            put: self.put,
        };
        self.put += 1;
        self.events.insert(key, Box::new(event));
        key
    }

    /// Takes an event out that will not happen after all. O(log n) for n events.
    pub fn cancel(&mut self, key: EventKey) -> Option<Event> {
        self.events.remove(&key).map(|event| *event)
    }

    /// When the next event happens.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.events.first_key_value().map(|(key, _)| key.at)
    }

    /// Whether the next event comes before a job that arrives at this moment, for drivers that keep arrivals elsewhere.
    #[must_use]
    pub fn is_before_arrival(&self, at: Time) -> bool {
        let next = self.events.first_key_value();
        next.is_some_and(|(key, _)| (key.at, key.rank) < (at, ARRIVAL))
    }

    /// Takes the next event out, if it is not later than `now`.
    pub fn take(&mut self, now: Time) -> Option<(Time, Event)> {
        let first = self
            .events
            .first_entry()
            .filter(|entry| entry.key().at <= now)?;
        let (key, event) = first.remove_entry();
        Some((key.at, *event))
    }
}

/// The rank of an arrival.
const ARRIVAL: (u8, u64, u64) = (5, 0, 0);

fn rank(event: &Event) -> (u8, u64, u64) {
    match event {
        Event::Finished(job) | Event::Failed(job) | Event::Cancelled(job) => (0, job.0, 0),
        Event::TaskEnd { job, task } => (1, job.0, task.0),
        Event::ActionFailed { order, .. } => match order {
            Action::Place { tenant, .. } => (2, tenant.job().0, 0),
            _ => (2, u64::MAX, 0),
        },
        Event::LayoutIs { .. } => (3, 0, 0),
        // What runs already takes its place before anybody who arrives, and before its device is
        // withheld from others.
        Event::Adopted { job, .. } => (3, 1, job.id.0),
        Event::Cordoned { machine, .. }
        | Event::Occupied { machine, .. }
        | Event::Health { machine, .. } => (4, machine.0.into(), 0),
        Event::Arrived(_) => ARRIVAL,
        Event::TaskBegin { job, task, .. } => (6, job.0, task.0),
        Event::Progress { job, .. } => (7, job.0, 0),
        Event::Latency(_) => (8, 0, 0),
        Event::Signals(_) => (9, 0, 0),
        Event::Woken(token) => (10, token.0, 0),
    }
}
