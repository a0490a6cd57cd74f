//! Histories of one machine: no device is lost or leased twice, and a restored snapshot behaves
//! identically.

use std::sync::Arc;

use mapa_core::testing::{machines, patterns};
use mapa_core::{
    Allocator, BuiltIn, Decision, DeviceSet, Fabric, LeaseId, LinkClass, MachineId, Pattern,
    Policy, Refusal, Request, Snapshot, View, greedy, lowest_id,
};
use proptest::prelude::*;

fn pair(gbps: f64) -> Arc<mapa_core::HardwareGraph> {
    let mut f = Fabric::new();
    let [a, b] = ["a", "b"].map(|name| f.add_device(name).unwrap());
    f.link(a, b, LinkClass::Direct(1), gbps).unwrap();
    Arc::new(f.lower().unwrap())
}

#[test]
fn only_decisions_on_the_present_state_of_this_machine_are_committed() {
    let mut allocator = Allocator::new(pair(25.0));
    let request = Request::new(Pattern::ring(1));
    let first = allocator.view().decide(lowest_id(), &request).unwrap();
    let imagined = allocator
        .graph()
        .with_free(&DeviceSet::from([1]))
        .decide(lowest_id(), &request)
        .unwrap();
    let error = allocator.commit(imagined).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the decision was made on an imagined state and cannot be committed"
    );
    let mut other = Allocator::with_id(MachineId(1), pair(25.0));
    assert!(other.commit(first.clone()).unwrap_err().is_other_machine());

    let mut slower = Allocator::new(pair(20.0));
    assert!(
        slower.commit(first.clone()).unwrap_err().is_other_machine(),
        "another graph under the same id"
    );

    let lease = allocator.commit(first.clone()).unwrap();
    assert!(allocator.commit(first.clone()).unwrap_err().is_stale());
    allocator.release(lease.id).unwrap();
    assert!(
        allocator.commit(first).unwrap_err().is_stale(),
        "the devices are free again, the state is another"
    );
    assert!(allocator.release(lease.id).unwrap_err().is_unknown_lease());
    assert!(
        allocator
            .release(LeaseId(99))
            .unwrap_err()
            .is_unknown_lease()
    );
}

/// A policy that always gives the same answer.
struct Stuck(Decision);

impl Policy for Stuck {
    fn name(&self) -> &str {
        "stuck"
    }
    fn decide(&self, _: &Request, _: &View<'_>) -> Result<Decision, Refusal> {
        Ok(self.0.clone())
    }
}

#[test]
fn a_policy_that_answers_with_an_old_decision_leases_nothing_twice() {
    let mut allocator = Allocator::new(pair(25.0));
    let request = Request::new(Pattern::ring(1));
    let stuck = Stuck(allocator.view().decide(lowest_id(), &request).unwrap());
    assert!(allocator.allocate(&stuck, &request).is_ok());
    assert_eq!(
        allocator.allocate(&stuck, &request).unwrap_err().kind(),
        "busy"
    );
    assert_eq!(allocator.leases().count(), 1);
}

#[test]
fn a_limited_view_never_has_more_than_there_is() {
    let mut allocator = Allocator::new(pair(25.0));
    allocator
        .allocate(lowest_id(), &Request::new(Pattern::ring(1)))
        .unwrap();
    let claimed = DeviceSet::from([0]);
    let decide = |claimed| {
        allocator
            .view()
            .limited_to(claimed)
            .decide(lowest_id(), &Request::new(Pattern::ring(1)))
    };
    assert_eq!(decide(&claimed).unwrap_err().kind(), "busy");
    let all = allocator.graph().all();
    let decision = decide(&all).unwrap();
    assert_eq!(decision.placement().set(), DeviceSet::from([1]));
    assert!(allocator.commit(decision).is_ok());
}

#[test]
fn a_snapshot_is_restored_on_its_own_machine_only() {
    let mut allocator = Allocator::new(pair(25.0));
    allocator
        .allocate(lowest_id(), &Request::new(Pattern::ring(2)))
        .unwrap();
    let snapshot = allocator.snapshot();
    let other = Allocator::restore(MachineId(0), pair(20.0), snapshot.clone()).unwrap_err();
    assert!(other.is_other_machine());
    assert_eq!(
        Allocator::restore(MachineId(0), pair(25.0), snapshot).unwrap(),
        allocator
    );
}

#[test]
fn tampered_snapshots_are_refused() {
    let mut allocator = Allocator::new(pair(25.0));
    for _ in 0..2 {
        allocator
            .allocate(lowest_id(), &Request::new(Pattern::ring(1)))
            .unwrap();
    }
    let text = serde_json::to_string(&allocator.snapshot()).unwrap();
    let restore = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} in {text}");
        let snapshot: Snapshot = serde_json::from_str(&text.replacen(from, to, 1)).unwrap();
        Allocator::restore(MachineId(0), pair(25.0), snapshot)
            .unwrap_err()
            .to_string()
    };
    let bad = "the snapshot is not consistent: ";
    assert_eq!(
        restore(r#""version":1"#, r#""version":9"#),
        format!("{bad}version 9: expected 1")
    );
    assert_eq!(
        restore(r#""placement":[1]"#, r#""placement":[0]"#),
        format!("{bad}lease 1: rank 0 is on device 0, which is not available")
    );
    assert_eq!(
        restore(r#""placement":[1]"#, r#""placement":[4000000000]"#),
        format!("{bad}lease 1: rank 0 is on device 4000000000, which is not available")
    );
    assert_eq!(
        restore(r#"{"id":1"#, r#"{"id":0"#),
        format!("{bad}lease 0 is listed twice: expected each id once")
    );
    assert_eq!(
        restore(r#""next_lease":2"#, r#""next_lease":1"#),
        format!("{bad}lease 1: expected ids below 1")
    );
    let most = format!("{bad}expected at most {} changes and leases", u64::MAX / 2);
    assert_eq!(
        restore(
            r#""generation":2"#,
            &format!(r#""generation":{}"#, u64::MAX)
        ),
        most
    );
    assert_eq!(
        restore(
            r#""next_lease":2"#,
            &format!(r#""next_lease":{}"#, u64::MAX)
        ),
        most
    );
    assert!(serde_json::from_str::<Snapshot>(&text.replacen("version", "size", 1)).is_err());
    let huge = text.replacen(r#""vertices":1"#, r#""vertices":99999999"#, 1);
    assert!(
        serde_json::from_str::<Snapshot>(&huge).is_err(),
        "a pattern no machine could hold"
    );
}

#[derive(Clone, Debug)]
enum Step {
    Allocate(Pattern, usize, bool),
    Release(usize),
    Snapshot,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (patterns(1..=4), 0..BuiltIn::ALL.len(), any::<bool>()).prop_map(|(p, i, s)| Step::Allocate(p, i, s)),
        3 => (0usize..8).prop_map(Step::Release),
        1 => Just(Step::Snapshot),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(300))]

    #[test]
    fn histories_never_lose_or_double_a_device(graph in machines(1..=7), steps in steps()) {
        let graph = Arc::new(graph);
        let mut allocator = Allocator::new(graph.clone());
        let mut given = 0;
        for step in steps {
            match step {
                Step::Allocate(pattern, policy, sensitive) => {
                    let policy = BuiltIn::named(BuiltIn::ALL[policy].name).unwrap();
                    let request = Request::new(pattern.clone()).sensitive(sensitive);
                    let free = allocator.view().free().clone();
                    if let Ok(lease) = allocator.allocate(policy, &request) {
                        prop_assert_eq!(lease.id, LeaseId(given), "ids are never given twice");
                        given += 1;
                        prop_assert!(lease.placement.set().is_subset(&free));
                        prop_assert_eq!(lease.placement.set().len(), pattern.len());
                    }
                }
                Step::Release(i) => {
                    let held = allocator.leases().nth(i).map(|lease| lease.id);
                    if let Some(id) = held {
                        prop_assert!(allocator.release(id).is_ok());
                        prop_assert!(allocator.release(id).is_err());
                    }
                }
                Step::Snapshot => {
                    let text = serde_json::to_string(&allocator.snapshot()).unwrap();
                    let restored =
                        Allocator::restore(MachineId(0), graph.clone(), serde_json::from_str(&text).unwrap()).unwrap();
                    prop_assert_eq!(&restored, &allocator);
                    allocator = restored;
                }
            }
            let mut left = graph.all();
            for lease in allocator.leases() {
                let set = lease.placement.set();
                prop_assert!(set.is_subset(&left), "no device twice");
                left = &left - &set;
            }
            prop_assert_eq!(allocator.view().free(), &left);
        }
        let held: Vec<LeaseId> = allocator.leases().map(|lease| lease.id).collect();
        for id in held {
            allocator.release(id).unwrap();
        }
        prop_assert_eq!(allocator.view().free(), &graph.all());
    }

    #[test]
    fn deciding_changes_nothing(graph in machines(1..=6), pattern in patterns(1..=4)) {
        let allocator = Allocator::new(Arc::new(graph));
        let before = allocator.clone();
        let _ = allocator.view().decide(greedy(), &Request::new(pattern));
        prop_assert_eq!(allocator, before);
    }
}
