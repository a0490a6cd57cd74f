//! `best_partition`: points as low and as high as there are numbers.

use mapa_core::{
    DeviceSet, Fabric, LinkClass, Pattern, Policy, Refusal, Request, StopReason, best_partition,
};

#[test]
fn the_lowest_and_the_highest_points_still_find_a_group() {
    let mut fabric = Fabric::new();
    let ids = ["a", "b", "c", "d", "e", "f"].map(|name| fabric.add_device(name).unwrap());
    for pair in ids.windows(2) {
        fabric
            .link(pair[0], pair[1], LinkClass::Direct(1), 25.0)
            .unwrap();
    }
    let graph = fabric.lower().unwrap();
    let free = graph.all();
    for points in [i32::MIN, i32::MIN / 2, i32::MAX] {
        let policy = best_partition("same", move |_, _, _| points);
        for k in 1..=6 {
            let decision = policy.decide(&Request::new(Pattern::chain(k)), &graph.with_free(&free));
            let set = decision.unwrap().placement().set();
            assert_eq!(set, DeviceSet::first_n(k), "{points}, {k}");
        }
    }
}

#[test]
fn more_devices_than_are_tried_are_refused_by_the_limit_on_nodes() {
    let mut fabric = Fabric::new();
    for at in 0..21 {
        fabric.add_device(format!("GPU{at}")).unwrap();
    }
    let graph = fabric.lower().unwrap();
    let free = graph.all();
    let policy = best_partition("same", |_, _, _| 1);
    let request = Request::new(Pattern::independent(2));
    let decision = policy.decide(&request, &graph.with_free(&free));
    match decision.unwrap_err() {
        Refusal::LimitReached(stats) => assert_eq!(stats.stopped, StopReason::NodeLimit),
        other => panic!("{other:?}"),
    }
}
