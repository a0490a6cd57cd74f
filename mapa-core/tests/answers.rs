//! The answers that a machine keeps: which questions are decided again, and which are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mapa_core::criteria::max;
use mapa_core::{
    Allocator, DeviceSet, Fabric, HardwareGraph, LinkClass, MachineId, Objective, Pattern, Policy,
    Refusal, Request, Rules, auto,
};

use crate::common::gpus;

fn machine() -> HardwareGraph {
    let mut fabric = Fabric::new();
    let nodes = gpus(&mut fabric, 6);
    for b in 0..6 {
        for a in 0..b {
            let gbps = 10.0 + (a * b) as f64;
            fabric
                .link(nodes[a], nodes[b], LinkClass::Direct(1), gbps)
                .unwrap();
        }
    }
    fabric.lower().unwrap()
}

/// Rules that see sets of devices, and how often they have looked at one.
fn counting() -> (Rules<'static>, Arc<AtomicUsize>) {
    let looked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&looked);
    let lowest = Objective::chosen("lowest", move |set| {
        count.fetch_add(1, Relaxed);
        -f64::from(set.devices.first().map_or(0, |id| id.0))
    });
    (Rules::new("counting").prefer(max(lowest)), looked)
}

#[test]
fn a_question_is_decided_once_for_each_state() {
    let graph = machine();
    let (policy, looked) = counting();
    let (all, some) = (graph.all(), DeviceSet::from([1, 2, 4, 5]));
    let request = Request::new(Pattern::ring(3));
    let first = policy.decide(&request, &graph.with_free(&all)).unwrap();
    let once = looked.load(Relaxed);
    assert!(once > 0);
    assert_eq!(
        policy.decide(&request, &graph.with_free(&all)).unwrap(),
        first
    );
    assert_eq!(looked.load(Relaxed), once, "kept");
    // Every part of the question matters.
    let others = [
        request.clone().sensitive(false),
        request.clone().avoid([0].into()),
        request.clone().runners_up(1),
        Request::new(Pattern::chain(3)),
    ];
    let mut before = once;
    for other in &others {
        policy.decide(other, &graph.with_free(&all)).unwrap();
        let now = looked.load(Relaxed);
        assert!(now > before, "{other:?}");
        before = now;
    }
    let found = policy.decide(&request, &graph.with_free(&some)).unwrap();
    assert_eq!(found.placement().set(), [1, 2, 4].into());
    assert!(looked.load(Relaxed) > before, "another free set");
    // Another policy with the same name has answers of its own.
    let (other, looked) = counting();
    other.decide(&request, &graph.with_free(&all)).unwrap();
    assert!(looked.load(Relaxed) > 0);
}

#[test]
fn a_limited_answer_is_not_kept_for_an_unlimited_question() {
    let graph = machine();
    let all = graph.all();
    let policy = auto();
    let request = Request::new(Pattern::all_to_all(4));
    let mut limited = request.clone();
    limited.limits = limited.limits.nodes(1);
    let cut = policy.decide(&limited, &graph.with_free(&all));
    assert!(cut.is_err() || !cut.unwrap().search().complete());
    let whole = policy.decide(&request, &graph.with_free(&all)).unwrap();
    assert!(whole.search().complete());
    // A deadline that has passed does not hide what is known, and what it cuts short is not kept.
    let stop = || true;
    let after = policy
        .decide(&request, &graph.with_free(&all).until(&stop))
        .unwrap();
    assert_eq!(after, whole);
    let fresh = machine();
    let late = policy.decide(&request, &fresh.with_free(&all).until(&stop));
    // Another way may have found the same, with another number of nodes.
    assert!(late.is_ok_and(|late| !late.search().complete() || late.best() == whole.best()));
    let again = policy.decide(&request, &fresh.with_free(&all)).unwrap();
    assert!(again.search().complete());
    assert_eq!(again.best(), whole.best());
}

#[test]
fn a_kept_answer_is_one_for_the_state_that_asks() {
    let graph = Arc::new(machine());
    let mut allocator = Allocator::with_id(MachineId(7), Arc::clone(&graph));
    let request = Request::new(Pattern::ring(3));
    let policy = auto();
    // The same free set, of a machine with another id and history.
    let imagined = policy
        .decide(&request, &graph.with_free(&graph.all()))
        .unwrap();
    let lease = allocator.allocate(&policy, &request).unwrap();
    assert_eq!(lease.placement, *imagined.placement());
    allocator.release(lease.id).unwrap();
    let again = policy.decide(&request, &allocator.view()).unwrap();
    assert_eq!(again.stamp(), allocator.view().stamp());
    assert_eq!(again.best(), imagined.best());
    allocator.commit(again).unwrap();
    // Six devices are never free again: a refusal is kept too, and is the same refusal.
    let whole = Request::new(Pattern::ring(6));
    let refused = policy.decide(&whole, &allocator.view());
    assert!(matches!(refused, Err(Refusal::Busy(_))));
    assert_eq!(policy.decide(&whole, &allocator.view()), refused);
}
