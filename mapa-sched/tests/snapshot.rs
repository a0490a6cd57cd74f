//! A fleet that is restored from a snapshot continues identically.

use std::sync::Arc;

use mapa_core::{HardwareGraph, Pattern, Request};
use mapa_sched::testing::{
    SnapshotEvent, SnapshotRun, any_machines, check, check_snapshot, cuttable, joined,
    snapshot_events,
};
use mapa_sched::{Fleet, FleetSnapshot, NamedScheduler, SCHEDULERS};
use proptest::prelude::*;
use serde_json::{Value, json};

fn fifo() -> &'static NamedScheduler {
    &SCHEDULERS[0]
}

/// A snapshot after it was written to a file and read again.
fn written_and_read(snapshot: &FleetSnapshot) -> FleetSnapshot {
    serde_json::from_str(&serde_json::to_string(snapshot).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn a_restored_fleet_gives_the_orders_of_the_one_that_went_on(
        graphs in any_machines(),
        events in snapshot_events(),
        cut in 0usize..24,
        network in prop::option::of(Just(25.0)),
    ) {
        for row in &SCHEDULERS {
            check_snapshot(row, &graphs, &events, cut, network, written_and_read);
        }
    }

    #[test]
    fn a_damaged_snapshot_is_an_error_or_a_fleet_and_never_a_panic(
        events in snapshot_events(),
        at in 0usize..400,
        with in any::<u8>(),
    ) {
        let graphs = [cuttable(2), joined(&[0.0, 25.0, 50.0])];
        let mut run = SnapshotRun::new(Fleet::new(graphs.clone()), fifo());
        for (at, event) in events.iter().enumerate() {
            run.tell(at, event);
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
    let mut run = SnapshotRun::new(Fleet::new(graphs.clone()).with_network(25.0), fifo());
    for at in 0..2 {
        run.tell(at, &SnapshotEvent::Arrives(Request::new(Pattern::ring(1))));
    }
    run.tell(2, &SnapshotEvent::EndsFirst);
    run.tell(3, &SnapshotEvent::Arrives(Request::new(Pattern::ring(3))));
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
    insta::assert_snapshot!(
        error(other, &good),
        @"snapshot of a fleet: machine 0: it belongs to another machine"
    );
    assert_eq!(
        changed("/version", json!(9)),
        "snapshot of a fleet: version 9: expected 1"
    );
    insta::assert_snapshot!(
        changed("/network/gbps", json!(0.0)),
        @"snapshot of a fleet: the network: expected a number of GB/s above 0"
    );
    let tenants = good["tenants"].as_array().unwrap();
    let mut twice = tenants.clone();
    twice.push(tenants[0].clone());
    insta::assert_snapshot!(
        changed("/tenants", json!(twice)),
        @"snapshot of a fleet: lease 1 of machine 0: held by job 1 and by job 1: expected one tenant"
    );
    insta::assert_snapshot!(
        changed("/tenants", json!(tenants[1..])),
        @"snapshot of a fleet: lease 1 of machine 0 has no tenant: expected one"
    );
    insta::assert_snapshot!(
        changed("/tenants/0/leases", json!([[0, 77]])),
        @"snapshot of a fleet: job 1 holds lease 77 of machine 0: expected a lease of that machine"
    );
    insta::assert_snapshot!(
        changed("/tenants/0/leases", json!([])),
        @"snapshot of a fleet: job 1 holds nothing: expected a lease"
    );
    insta::assert_snapshot!(
        changed("/tenants/0/leases", json!([[5, 0]])),
        @"no machine 5: expected an id below 2"
    );
}
