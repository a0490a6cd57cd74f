//! Machines and devices that are cordoned, and actions that fail: no job is lost, none runs twice,
//! and nothing starts where it must not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mapa_core::testing::patterns;
use mapa_core::{
    Demand, DeviceId, HardwareGraph, MachineId, Pattern, Request, Want, lowest_id, mig::Size,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::machines::check;
use super::policy;
use crate::event::{Action, Event};
use crate::first_fit::LinkModel;
use crate::fleet::Fleet;
use crate::job::{Job, JobId, RunTime, Tenant};
use crate::named::NamedScheduler;
use crate::scheduler::{Scheduler, step};
use crate::time::Time;

/// What happens at an instant.
#[derive(Clone, Debug)]
pub enum CordonEvent {
    /// A job arrives.
    Arrives(Request),
    /// The job that has run longest ends.
    Ends,
    /// A machine, or one of its devices, is cordoned or is so no longer. Numbers are taken modulo what is there.
    Cordons(usize, Option<usize>, bool),
}

/// Events, each with whether the orders that it leads to fail.
pub fn cordon_events() -> impl Strategy<Value = Vec<(CordonEvent, bool)>> {
    let instance = (1u8..=2)
        .prop_map(|slices| Request::new(Pattern::single(Demand::slice(Size::new(slices, slices)))));
    let whole = (patterns(1..=4), any::<bool>())
        .prop_map(|(pattern, sensitive)| Request::new(pattern).sensitive(sensitive));
    let request = prop_oneof![2 => whole, 1 => instance];
    let cordon = (0usize..3, prop::option::of(0usize..4), any::<bool>());
    let one = prop_oneof![
        3 => request.prop_map(CordonEvent::Arrives),
        2 => Just(CordonEvent::Ends),
        2 => cordon.prop_map(|(machine, device, on)| CordonEvent::Cordons(machine, device, on)),
    ];
    vec((one, prop::bool::weighted(0.2)), 1..24)
}

/// A driver whose orders can fail.
struct CordonRun {
    fleet: Fleet,
    scheduler: Box<dyn Scheduler + Send>,
    requests: BTreeMap<JobId, Request>,
    running: Vec<JobId>,
    /// Jobs whose start has failed, which arrive again.
    again: BTreeSet<JobId>,
    /// Events of the next instant.
    later: Vec<Event>,
    started: BTreeSet<JobId>,
    rejected: BTreeSet<JobId>,
    now: Time,
}

impl CordonRun {
    fn new(graphs: &[Arc<HardwareGraph>], row: &NamedScheduler) -> Self {
        let policy = policy(row);
        Self {
            fleet: Fleet::new(graphs.to_vec()),
            scheduler: row.scheduler(row.name, policy, LinkModel::Usual).unwrap(),
            requests: BTreeMap::new(),
            running: Vec::new(),
            again: BTreeSet::new(),
            later: Vec::new(),
            started: BTreeSet::new(),
            rejected: BTreeSet::new(),
            now: Time::ZERO,
        }
    }

    /// Whether a placement uses a device that is cordoned.
    fn is_cordoned(&self, machine: MachineId, devices: &[DeviceId]) -> bool {
        let view = self.fleet.machine(machine).unwrap().view();
        devices.iter().any(|&id| view.is_cordoned(id))
    }

    fn arrival(&self, id: JobId) -> Event {
        let mut job = Job::new(id, self.requests[&id].clone());
        job.run_time = RunTime::Fixed(Duration::from_secs(5));
        job.arrived = Time::ZERO + Duration::from_secs(id.0);
        Event::Arrived(job)
    }

    /// Tells events and carries out the orders, all of which fail if `fails` says so.
    fn instant(&mut self, new: Vec<Event>, fails: bool) {
        let mut events = std::mem::take(&mut self.later);
        events.extend(new);
        let mut steps = 0;
        self.now = self.now + Duration::from_secs(1);
        while !events.is_empty() {
            steps += 1;
            // A scheduler that answers each failure with the same order would go on without end.
            assert!(
                steps < 100,
                "{} orders at one instant without end",
                self.scheduler.name()
            );
            let mut orders = Vec::new();
            let (scheduler, fleet) = (self.scheduler.as_mut(), &mut self.fleet);
            step(scheduler, fleet, self.now, events, &mut orders).unwrap();
            events = Vec::new();
            for order in orders {
                match &order {
                    Action::Place {
                        tenant: Tenant::Job(job),
                        at,
                    } => {
                        assert!(!self.is_cordoned(at.machine, &at.placement), "{order:?}");
                        assert!(!self.running.contains(job), "job {job} runs already");
                        if fails {
                            self.again.insert(*job);
                            events.push(Event::ActionFailed {
                                order,
                                why: "the daemon did not answer".to_owned(),
                            });
                        } else {
                            self.running.push(*job);
                            self.started.insert(*job);
                        }
                    }
                    Action::Repartition {
                        machine,
                        whole,
                        layout,
                    } => {
                        let now = self
                            .fleet
                            .machine(*machine)
                            .unwrap()
                            .view()
                            .layout_of(*whole);
                        let layout_is = Event::LayoutIs {
                            machine: *machine,
                            whole: *whole,
                            layout: if fails { now } else { layout.clone() },
                        };
                        // The result of a failed action is reported later: it would fail again at once.
                        if fails {
                            let why = "the driver is busy".to_owned();
                            self.later.push(Event::ActionFailed { order, why });
                            self.later.push(layout_is);
                        } else {
                            events.push(layout_is);
                        }
                    }
                    Action::Reject { job, .. } => {
                        assert!(self.rejected.insert(*job));
                    }
                    _ => {}
                }
            }
        }
        check(&self.fleet);
        // The index of the fleet, which has seen all of this, says what a new one says.
        let fresh = self.fleet.snapshot();
        let graphs = self
            .fleet
            .machines()
            .iter()
            .map(|machine| machine.graph().clone());
        let fresh = Fleet::restore(graphs, fresh).unwrap();
        let (request, policy) = (Request::new(Pattern::ring(2)), lowest_id());
        let seat = |fleet: &Fleet| {
            let decision = fleet.decide(&policy, &request).ok()?;
            Some((decision.stamp().machine, decision.placement().clone()))
        };
        assert_eq!(seat(&self.fleet), seat(&fresh));
    }

    fn tell(&mut self, at: usize, event: &CordonEvent, fails: bool) {
        let again: Vec<JobId> = std::mem::take(&mut self.again).into_iter().collect();
        let mut events: Vec<Event> = again.into_iter().map(|id| self.arrival(id)).collect();
        match event {
            CordonEvent::Arrives(request) => {
                let id = JobId(at as u64);
                self.requests.insert(id, request.clone());
                events.push(self.arrival(id));
            }
            CordonEvent::Ends if !self.running.is_empty() => {
                events.push(Event::Finished(self.running.remove(0)));
            }
            CordonEvent::Ends => {}
            CordonEvent::Cordons(machine, device, cordoned) => {
                let machine = machine % self.fleet.machines().len();
                let wholes = self.fleet.machines()[machine].graph().wholes().len();
                events.push(Event::Cordoned {
                    machine: MachineId(machine as u32),
                    whole: device.map(|device| DeviceId((device % wholes) as u32)),
                    cordoned: *cordoned,
                });
            }
        }
        self.instant(events, fails);
    }
}

/// Checks that under this scheduler no job is lost, none runs twice, and none starts on a cordoned
/// device, while actions fail as the events say.
///
/// # Panics
/// If one of these is not so.
pub fn check_cordons(
    row: &NamedScheduler,
    graphs: &[Arc<HardwareGraph>],
    events: &[(CordonEvent, bool)],
) {
    let mut run = CordonRun::new(graphs, row);
    // Schedulers with a policy of their own place instances and repartition for them; under
    // the others a head that wants an instance would wait for ever.
    let suits = |request: &Request| {
        let wants = request.pattern.demands()[0].want;
        (wants == Want::Whole) != row.policy.is_some()
    };
    for (at, (event, fails)) in events.iter().enumerate() {
        if !matches!(event, CordonEvent::Arrives(request) if !suits(request)) {
            run.tell(at, event, *fails);
        }
    }
    // All cordons are lifted, and all orders succeed: every job gets a turn.
    for machine in 0..graphs.len() {
        run.instant(
            vec![Event::Cordoned {
                machine: MachineId(machine as u32),
                whole: None,
                cordoned: false,
            }],
            false,
        );
    }
    for at in 0..4 * events.len() {
        run.tell(1000 + at, &CordonEvent::Ends, false);
    }
    for (job, request) in &run.requests {
        let idle = Fleet::new(graphs.to_vec());
        // An instance is busy, not infeasible, where a repartition makes room for it.
        let why = idle.decide(lowest_id(), request).map_err(|why| why.kind());
        let ever = why != Err("infeasible");
        let is_known = run.started.contains(job) || run.rejected.contains(job);
        assert!(is_known || !ever, "{}: job {job} is lost", row.name);
        assert!(
            !(ever && run.rejected.contains(job)),
            "{}: job {job} is rejected",
            row.name
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_start_is_gone_from_fleet_and_scheduler_until_it_arrives_again() {
        let graphs = [super::super::machines::joined(&[0.0, 25.0])];
        let mut run = CordonRun::new(&graphs, &crate::schedulers::SCHEDULERS[0]);
        run.tell(
            0,
            &CordonEvent::Arrives(Request::new(Pattern::ring(2))),
            true,
        );
        assert_eq!((run.fleet.tenants().count(), run.again.len()), (0, 1));
        run.tell(1, &CordonEvent::Ends, false);
        assert_eq!(run.running, [JobId(0)]);
        let lost = Event::Cordoned {
            machine: MachineId(7),
            whole: None,
            cordoned: true,
        };
        let error = run.fleet.book(&lost).unwrap_err().to_string();
        assert_eq!(error, "no machine 7: expected an id below 1");
    }
}
