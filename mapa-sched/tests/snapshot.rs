//! A fleet that is restored from a snapshot continues identically.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::testing::patterns;
use mapa_core::{BuiltIn as Policies, Demand, HardwareGraph, Pattern, Request, mig::Size};
use mapa_sched::{
    Action, BuiltIn, Event, Fleet, FleetSnapshot, Job, JobId, RunTime, Scheduler, Tenant, Time,
    step,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::machines::{any_machines, check, cuttable, joined};

/// What happens: a job arrives, or the job that has run longest, or shortest, ends.
#[derive(Clone, Debug)]
enum Fact {
    Arrives(Request),
    EndsFirst,
    EndsLast,
}

fn facts() -> impl Strategy<Value = Vec<Fact>> {
    let instance = (1u8..=2).prop_map(|slices| {
        Request::new(Pattern::single(
            Demand::slice(Size::new(slices, slices)).pcie_gbps(3.0),
        ))
    });
    let whole = (patterns(1..=4), any::<bool>())
        .prop_map(|(pattern, sensitive)| Request::new(pattern).sensitive(sensitive));
    let request = prop_oneof![2 => whole, 1 => instance];
    let one = prop_oneof![
        3 => request.prop_map(Fact::Arrives),
        1 => Just(Fact::EndsFirst),
        1 => Just(Fact::EndsLast),
    ];
    vec(one, 1..24)
}

/// A driver that carries every order out at once: the jobs that run, in the order of their starts.
struct Run {
    fleet: Fleet,
    scheduler: Box<dyn Scheduler + Send>,
    running: Vec<JobId>,
    orders: Vec<Action>,
}

impl Run {
    fn new(fleet: Fleet, words: &str) -> Self {
        let scheduler = BuiltIn::ALL.iter().find(|own| own.name == words).unwrap();
        let policy = Policies::named(scheduler.policy.unwrap_or("preserve")).unwrap();
        Self {
            fleet,
            scheduler: BuiltIn::named(words, policy).unwrap(),
            running: Vec::new(),
            orders: Vec::new(),
        }
    }

    fn instant(&mut self, now: Time, mut facts: Vec<Event>) {
        while !facts.is_empty() {
            let from = self.orders.len();
            step(
                self.scheduler.as_mut(),
                &mut self.fleet,
                now,
                facts,
                &mut self.orders,
            )
            .unwrap();
            facts = Vec::new();
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
                    } => facts.push(Event::LayoutIs {
                        machine: *machine,
                        whole: *whole,
                        layout: layout.clone(),
                    }),
                    _ => {}
                }
            }
        }
    }

    fn tell(&mut self, at: usize, fact: &Fact) {
        let now = Time::ZERO + Duration::from_secs(at as u64);
        let event = match fact {
            Fact::Arrives(request) => {
                let mut job = Job::new(JobId(at as u64), request.clone());
                job.arrived = now;
                job.run_time = RunTime::Fixed(Duration::from_secs(5));
                Event::Arrived(job)
            }
            Fact::EndsFirst if !self.running.is_empty() => Event::Finished(self.running.remove(0)),
            Fact::EndsLast if !self.running.is_empty() => {
                Event::Finished(self.running.pop().unwrap())
            }
            _ => return,
        };
        self.instant(now, vec![event]);
    }
}

/// A snapshot after it was written to a file and read again.
fn written_and_read(snapshot: &FleetSnapshot) -> FleetSnapshot {
    serde_json::from_str(&serde_json::to_string(snapshot).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn a_restored_fleet_gives_the_orders_of_the_one_that_went_on(
        graphs in any_machines(),
        facts in facts(),
        cut in 0usize..24,
        network in prop::option::of(Just(25.0)),
    ) {
        for own in BuiltIn::ALL {
            let mut fleet = Fleet::new(graphs.clone());
            if let Some(gbps) = network {
                fleet = fleet.with_network(gbps);
            }
            let (mut whole, mut cut_off) = (Run::new(fleet.clone(), own.name), Run::new(fleet, own.name));
            for (at, fact) in facts.iter().enumerate() {
                if at == cut {
                    let snapshot = written_and_read(&cut_off.fleet.snapshot());
                    prop_assert_eq!(&snapshot, &cut_off.fleet.snapshot());
                    cut_off.fleet = Fleet::restore(graphs.clone(), snapshot).unwrap();
                    check(&cut_off.fleet);
                }
                whole.tell(at, fact);
                cut_off.tell(at, fact);
                prop_assert_eq!(&whole.orders, &cut_off.orders, "{} at {}", own.name, at);
            }
            prop_assert_eq!(&whole.fleet, &cut_off.fleet);
            prop_assert_eq!(whole.fleet.snapshot(), cut_off.fleet.snapshot());
        }
    }

    #[test]
    fn a_damaged_snapshot_is_an_error_or_a_fleet_and_never_a_panic(
        facts in facts(),
        at in 0usize..400,
        with in any::<u8>(),
    ) {
        let graphs = [cuttable(2), joined(&[0.0, 25.0, 50.0])];
        let mut run = Run::new(Fleet::new(graphs.clone()), "fifo");
        for (at, fact) in facts.iter().enumerate() {
            run.tell(at, fact);
        }
        let mut bytes = serde_json::to_vec(&run.fleet.snapshot()).unwrap();
        let at = at % bytes.len();
        bytes[at] = with;
        if let Ok(snapshot) = serde_json::from_slice::<FleetSnapshot>(&bytes)
            && let Ok(fleet) = Fleet::restore(graphs, snapshot)
        {
            check(&fleet);
        }
    }
}

/// Two machines with a job on each, and one on both.
fn three_jobs() -> (Vec<Arc<HardwareGraph>>, Value) {
    let graphs = vec![joined(&[0.0, 25.0]), joined(&[0.0, 25.0])];
    let mut run = Run::new(Fleet::new(graphs.clone()).with_network(25.0), "fifo");
    for at in 0..2 {
        run.tell(at, &Fact::Arrives(Request::new(Pattern::ring(1))));
    }
    run.tell(2, &Fact::EndsFirst);
    run.tell(3, &Fact::Arrives(Request::new(Pattern::ring(3))));
    assert_eq!(
        run.fleet.tenants().count(),
        3,
        "one on one machine, one on two"
    );
    (graphs, serde_json::to_value(run.fleet.snapshot()).unwrap())
}

#[test]
fn a_snapshot_that_does_not_fit_says_what_was_expected() {
    let (graphs, good) = three_jobs();
    let error = |graphs: Vec<Arc<HardwareGraph>>, value: &Value| {
        let snapshot: FleetSnapshot = serde_json::from_value(value.clone()).unwrap();
        Fleet::restore(graphs, snapshot).unwrap_err().to_string()
    };
    let changed = |pointer: &str, to: Value| {
        let mut value = good.clone();
        *value.pointer_mut(pointer).unwrap() = to;
        error(graphs.clone(), &value)
    };
    assert_eq!(
        error(graphs[..1].to_vec(), &good),
        "snapshot of a fleet: 2 machines: expected the 1 of the fleet"
    );
    let other = vec![joined(&[0.0, 50.0]), joined(&[0.0, 25.0])];
    assert!(error(other, &good).starts_with("snapshot of a fleet: machine 0: "));
    assert_eq!(
        changed("/version", json!(9)),
        "snapshot of a fleet: version 9: expected 1"
    );
    assert!(changed("/network/gbps", json!(0.0)).contains("the network: expected"));
    let tenants = good["tenants"].as_array().unwrap();
    let mut twice = tenants.clone();
    twice.push(tenants[0].clone());
    assert!(changed("/tenants", json!(twice)).contains("expected one tenant"));
    assert!(changed("/tenants", json!(tenants[1..])).contains("has no tenant: expected one"));
    assert!(
        changed("/tenants/0/leases", json!([[0, 77]])).contains("expected a lease of that machine")
    );
    assert!(changed("/tenants/0/leases", json!([])).contains("holds nothing: expected a lease"));
    assert!(
        changed("/tenants/0/leases", json!([[5, 0]]))
            .contains("no machine 5: expected an id below 2")
    );
}
