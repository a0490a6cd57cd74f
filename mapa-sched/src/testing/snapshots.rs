//! A fleet that is restored from a snapshot continues identically.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::testing::patterns;
use mapa_core::{Demand, HardwareGraph, Pattern, Request, mig::Size};
use proptest::collection::vec;
use proptest::prelude::*;

use super::machines::check;
use super::policy;
use crate::event::{Action, Event};
use crate::first_fit::LinkModel;
use crate::fleet::{Fleet, FleetSnapshot};
use crate::job::{Job, JobId, RunTime, Tenant};
use crate::named::NamedScheduler;
use crate::scheduler::{Scheduler, step};
use crate::time::Time;

/// What happens: a job arrives, or the job that has run longest, or shortest, ends.
#[derive(Clone, Debug)]
pub enum SnapshotEvent {
    /// A job arrives.
    Arrives(Request),
    /// The job that has run longest ends.
    EndsFirst,
    /// The job that has run shortest ends.
    EndsLast,
}

/// Events of some jobs.
pub fn snapshot_events() -> impl Strategy<Value = Vec<SnapshotEvent>> {
    let instance = (1u8..=2).prop_map(|slices| {
        Request::new(Pattern::single(
            Demand::slice(Size::new(slices, slices)).pcie_gbps(3.0),
        ))
    });
    let whole = (patterns(1..=4), any::<bool>())
        .prop_map(|(pattern, sensitive)| Request::new(pattern).sensitive(sensitive));
    let request = prop_oneof![2 => whole, 1 => instance];
    let one = prop_oneof![
        3 => request.prop_map(SnapshotEvent::Arrives),
        1 => Just(SnapshotEvent::EndsFirst),
        1 => Just(SnapshotEvent::EndsLast),
    ];
    vec(one, 1..24)
}

/// A driver that carries every order out at once: the jobs that run, in the order of their starts.
pub struct SnapshotRun {
    /// The fleet as it is now.
    pub fleet: Fleet,
    scheduler: Box<dyn Scheduler + Send>,
    running: Vec<JobId>,
    orders: Vec<Action>,
}

impl SnapshotRun {
    /// A run of this scheduler, before any event.
    ///
    /// # Panics
    /// If the scheduler cannot be made without settings.
    #[must_use]
    pub fn new(fleet: Fleet, row: &NamedScheduler) -> Self {
        Self {
            fleet,
            scheduler: row
                .scheduler(row.name, policy(row), LinkModel::Usual)
                .unwrap(),
            running: Vec::new(),
            orders: Vec::new(),
        }
    }

    fn instant(&mut self, now: Time, mut events: Vec<Event>) {
        while !events.is_empty() {
            let from = self.orders.len();
            // Layouts are changed at once, so a repartition makes an event for another step of the
            // same instant.
            step(
                self.scheduler.as_mut(),
                &mut self.fleet,
                now,
                events,
                &mut self.orders,
            )
            .unwrap();
            events = Vec::new();
            for order in &self.orders[from..] {
                match order {
                    Action::Place {
                        tenant: Tenant::Job(job),
                        ..
                    } => self.running.push(*job),
                    Action::Repartition {
                        machine,
                        whole,
                        layout,
                    } => events.push(Event::LayoutIs {
                        machine: *machine,
                        whole: *whole,
                        layout: layout.clone(),
                    }),
                    _ => {}
                }
            }
        }
    }

    /// Gives the scheduler an event at so many seconds, and carries out what it wants.
    ///
    /// # Panics
    /// If the scheduler does what is not valid.
    pub fn tell(&mut self, at: usize, event: &SnapshotEvent) {
        let now = Time::ZERO + Duration::from_secs(at as u64);
        let event = match event {
            SnapshotEvent::Arrives(request) => {
                let mut job = Job::new(JobId(at as u64), request.clone());
                job.arrived = now;
                job.run_time = RunTime::Fixed(Duration::from_secs(5));
                Event::Arrived(job)
            }
            SnapshotEvent::EndsFirst if !self.running.is_empty() => {
                Event::Finished(self.running.remove(0))
            }
            SnapshotEvent::EndsLast if !self.running.is_empty() => {
                Event::Finished(self.running.pop().unwrap())
            }
            _ => return,
        };
        self.instant(now, vec![event]);
    }
}

/// Checks that a fleet which is restored from a snapshot before event number `cut` gives the same
/// actions under this scheduler as the one that went on. `copied` writes a snapshot and reads it
/// again.
///
/// # Panics
/// If it does not.
pub fn check_snapshot(
    row: &NamedScheduler,
    graphs: &[Arc<HardwareGraph>],
    events: &[SnapshotEvent],
    cut: usize,
    network: Option<f64>,
    copied: impl Fn(&FleetSnapshot) -> FleetSnapshot,
) {
    let mut fleet = Fleet::new(graphs.to_vec());
    if let Some(gbps) = network {
        fleet = fleet.with_network(gbps);
    }
    let mut whole = SnapshotRun::new(fleet.clone(), row);
    let mut cut_off = SnapshotRun::new(fleet, row);
    for (at, event) in events.iter().enumerate() {
        if at == cut {
            let snapshot = copied(&cut_off.fleet.snapshot());
            assert_eq!(&snapshot, &cut_off.fleet.snapshot());
            // The scheduler of this run goes on: only the fleet is taken from the snapshot.
            cut_off.fleet = Fleet::restore(graphs.to_vec(), snapshot).unwrap();
            check(&cut_off.fleet);
        }
        whole.tell(at, event);
        cut_off.tell(at, event);
        assert_eq!(&whole.orders, &cut_off.orders, "{} at {at}", row.name);
    }
    assert_eq!(&whole.fleet, &cut_off.fleet);
    assert_eq!(whole.fleet.snapshot(), cut_off.fleet.snapshot());
}
