//! Branch and bound over partial sets, on machines with too many devices for tables: equal to the best of
//! all sets, each decided by itself.

use std::ops::RangeInclusive;

use mapa_core::{
    BuiltIn, Decision, DeviceId, DeviceSet, Fabric, HardwareGraph, LinkClass, Pattern, Policy,
    Refusal, Request, Shape, testing,
};
use proptest::prelude::*;

use crate::common::gpus;

/// A link by number: over the host in two ways, or direct. Not every rate is a whole number.
fn link(kind: usize) -> (LinkClass, f64) {
    [
        (LinkClass::Sys, 12.0),
        (LinkClass::Direct(1), 25.0),
        (LinkClass::Node, 12.3),
        (LinkClass::Direct(2), 50.0),
        (LinkClass::Direct(1), 17.28),
    ][kind]
}

/// Devices in a ring, and more links between some of them.
fn machines(devices: RangeInclusive<usize>) -> impl Strategy<Value = HardwareGraph> {
    (devices, 1..=5usize).prop_flat_map(|(n, kinds)| {
        let rare = prop_oneof![5 => Just(0), 2 => 0..kinds];
        (prop::collection::vec(rare, n * (n - 1) / 2), any::<bool>()).prop_map(
            move |(kinds, is_ring)| {
                let mut fabric = Fabric::new();
                let nodes = gpus(&mut fabric, n);
                let mut kinds = kinds.into_iter();
                for b in 0..n {
                    for a in 0..b {
                        let own = kinds.next().unwrap_or(0);
                        let next = is_ring && (b == a + 1 || b + 1 == n && a == 0);
                        let (class, gbps) = link(if next { 1 } else { own });
                        fabric.link(nodes[a], nodes[b], class, gbps).unwrap();
                    }
                }
                fabric.lower().unwrap()
            },
        )
    })
}

/// All sets of `k` of these devices.
fn sets(devices: &[DeviceId], k: usize) -> Vec<DeviceSet> {
    if k == 0 {
        return vec![DeviceSet::new()];
    }
    let mut found = Vec::new();
    for (at, &id) in devices.iter().enumerate() {
        for mut set in sets(&devices[at + 1..], k - 1) {
            set.insert(id);
            found.push(set);
        }
    }
    found
}

/// The decisions for each set alone, the best first, and on a tie that with the lowest ids.
fn decided_alone(
    policy: &dyn Policy,
    request: &Request,
    graph: &HardwareGraph,
    free: &DeviceSet,
) -> Vec<Decision> {
    let eligible = free - &request.avoid;
    let devices: Vec<DeviceId> = eligible.iter().collect();
    let all = sets(&devices, request.pattern.len()).into_iter();
    let mut alone: Vec<Decision> = all
        .filter(|set| request.must_include.is_subset(set))
        .map(|set| {
            let only = Request {
                only: Some(set),
                runners_up: 0,
                ..request.clone()
            };
            policy
                .decide(&only, &graph.with_free(free))
                .expect("the set is free")
        })
        .collect();
    let set = |decision: &Decision| decision.placement().set();
    alone.sort_by(|a, b| a.order(b).then_with(|| set(a).cmp(&set(b))));
    alone
}

/// A request for this pattern, with one device that it must have and one that it must not, where the former is
/// free.
fn request(pattern: Pattern, free: &DeviceSet, must: Option<u32>, avoid: Option<u32>) -> Request {
    let mut request = Request::new(pattern);
    if let Some(must) = must.map(DeviceId).filter(|id| free.contains(*id)) {
        request = request.must_include([must.0].into());
    }
    match avoid
        .map(DeviceId)
        .filter(|id| !request.must_include.contains(*id))
    {
        Some(avoid) => request.avoid([avoid.0].into()),
        None => request,
    }
}

/// Policies whose first criteria partial sets bound, and whether the job is sensitive. Eq. 2 is no sum:
/// `preserve` for sensitive jobs visits every set.
const POLICIES: [(&str, bool); 5] = [
    ("preserve", false),
    ("max-bandwidth", true),
    ("max-bandwidth", false),
    ("auto", true),
    ("auto", false),
];

proptest! {
    #![proptest_config(testing::cases(1024))]
    #[test]
    fn partial_sets_and_tables_agree(
        // Of drawn machines the host is a tree, known or not, and some memory is out of reach.
        graph in prop_oneof![
            3 => machines(6..=11),
            3 => testing::drawn_machines(6..=10),
            1 => testing::switched_machines(6..=9),
        ],
        busy in prop::collection::vec(0..11u32, 0..4),
        k in 1..=9usize,
        must in prop::option::of(0..11u32),
        avoid in prop::option::of(0..11u32),
        shape in prop::sample::select(&[Shape::Ring, Shape::Chain, Shape::AllToAll][..]),
    ) {
        let busy: DeviceSet = busy.into_iter().filter(|&at| (at as usize) < graph.len()).map(DeviceId).collect();
        let free = &graph.all() - &busy;
        let pattern = shape.pattern(k.min(free.len() - 1));
        let avoid = avoid.filter(|&at| (at as usize) < graph.len());
        let request = request(pattern, &free, must, avoid);
        for (name, sensitive) in POLICIES {
            let policy = BuiltIn::named(name).expect("it is built in");
            let request = request.clone().sensitive(sensitive);
            // Tables do not count matches.
            let limits = request.limits.matches(u64::MAX - 1);
            let counted = Request { limits, ..request.clone() };
            let by_table = policy.decide(&request, &graph.with_free(&free));
            let by_parts = policy.decide(&counted, &graph.with_free(&free));
            if let Ok(by_parts) = &by_parts {
                prop_assert!(by_parts.search().complete());
            }
            let best = |found: Result<Decision, Refusal>| found.map(|found| found.best().clone());
            prop_assert_eq!(best(by_parts), best(by_table), "{}, sensitive: {}", name, sensitive);
        }
    }
}

proptest! {
    #![proptest_config(testing::cases(48))]
    #[test]
    fn the_best_set_is_found_among_parts_of_sets(
        graph in machines(17..=19),
        busy in prop::collection::vec(0..19u32, 0..3),
        k in 1..=3usize,
        must in prop::option::of(0..17u32),
        avoid in prop::option::of(0..17u32),
        runners_up in 0..3usize,
    ) {
        let busy: DeviceSet = busy.into_iter().filter(|&at| (at as usize) < graph.len()).map(DeviceId).collect();
        let free = &graph.all() - &busy;
        let request = request(Pattern::ring(k), &free, must, avoid);
        for (name, sensitive) in POLICIES {
            let policy = BuiltIn::named(name).expect("it is built in");
            let request = request.clone().sensitive(sensitive).runners_up(runners_up);
            let found = policy.decide(&request, &graph.with_free(&free)).expect("there are enough");
            prop_assert!(found.search().complete());
            let each = decided_alone(&*policy, &request, &graph, &free);
            let best = |decision: &Decision| decision.best().clone();
            prop_assert_eq!(found.best(), &best(&each[0]), "{}, sensitive: {}", name, sensitive);
            let next: Vec<_> = each[1..].iter().take(runners_up).map(best).collect();
            let others: Vec<_> = found.runners_up().iter().map(|other| other.scored.clone()).collect();
            prop_assert_eq!(others, next, "{}, sensitive: {}", name, sensitive);
        }
    }
}

/// Nine devices on a path of direct links hold two islands of four: four rings cross the host between them,
/// and one between the halves of the path.
#[test]
fn sets_of_one_component_may_be_islands() {
    let mut fabric = Fabric::new();
    let nodes = gpus(&mut fabric, 10);
    for b in 0..10 {
        for a in 0..b {
            let near = b == a + 1 || (a, b) == (0, 9);
            let (class, gbps) = link(usize::from(near));
            fabric.link(nodes[a], nodes[b], class, gbps).unwrap();
        }
    }
    let graph = fabric.lower().unwrap();
    let free = &graph.all() - &DeviceSet::from([5]);
    let request = Request::new(Pattern::ring(8));
    let limits = request.limits.matches(u64::MAX - 1);
    for limits in [request.limits, limits] {
        let request = Request {
            limits,
            ..request.clone()
        };
        let found = mapa_core::auto()
            .decide(&request, &graph.with_free(&free))
            .unwrap();
        assert_eq!(found.best().score("ring_packing_network_gbps"), Some(48.0));
        assert_eq!(found.placement().set(), [1, 2, 3, 4, 6, 7, 8, 9].into());
    }
}

#[test]
fn a_limit_leaves_an_answer_and_a_bound_that_holds() {
    let n = 40;
    let mut fabric = Fabric::new();
    let nodes = gpus(&mut fabric, n);
    for b in 0..n {
        for a in 0..b {
            let near = b == a + 1 || b == a + 5 || b + 1 == n && a == 0;
            let (class, gbps) = link(usize::from(near));
            fabric.link(nodes[a], nodes[b], class, gbps).unwrap();
        }
    }
    let graph = fabric.lower().unwrap();
    let policy = BuiltIn::named("preserve").unwrap();
    let request = Request::new(Pattern::ring(7)).sensitive(false);
    let free = graph.all();
    let whole = policy.decide(&request, &graph.with_free(&free)).unwrap();
    assert!(whole.search().complete());
    let best = whole.best().score("preserved_gbps").unwrap();
    for nodes in [100, 1_000, 10_000, 100_000] {
        let mut limited = request.clone();
        limited.limits = limited.limits.nodes(nodes);
        let found = policy.decide(&limited, &graph.with_free(&free)).unwrap();
        let left = found.best().score("preserved_gbps").unwrap();
        assert!(left <= best);
        match found.at_most() {
            Some(most) => assert!(best <= most, "{best} left, at most {most} said"),
            None => assert_eq!(left, best),
        }
    }
}

/// Ranks that all communicate alike may be exchanged at will: each set has one match, and no list of ascending
/// ranks is tried after it, of which 24 ranks have 16 million.
#[test]
fn an_all_to_all_on_all_devices_takes_one_match() {
    let n = 24;
    let mut fabric = Fabric::new();
    let nodes = gpus(&mut fabric, n);
    for b in 0..n {
        for a in 0..b {
            let near = b == a + 1 || b + 1 == n && a == 0;
            let (class, gbps) = link(if near { 4 } else { 2 });
            fabric.link(nodes[a], nodes[b], class, gbps).unwrap();
        }
    }
    let graph = fabric.lower().unwrap();
    let request = Request::new(Pattern::all_to_all(n));
    let all = graph.all();
    for name in ["auto", "max-bandwidth"] {
        let policy = BuiltIn::named(name).unwrap();
        let found = policy.decide(&request, &graph.with_free(&all)).unwrap();
        assert!(
            found.search().complete() && found.search().matches == 1,
            "{name}"
        );
        assert_eq!(found.placement().to_vec(), all.iter().collect::<Vec<_>>());
    }
}
