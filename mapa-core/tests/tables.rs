//! Tables change nothing: answers, statistics and limits do not depend on earlier decisions.

use mapa_core::testing::oracle;
use mapa_core::{
    Candidate, Decision, DeviceId, DeviceSet, Fabric, HardwareGraph, Limits, LinkClass, Objective,
    Pattern, Policy, Refusal, Request, Rules, Shape, Tiers, aggregate_gbps,
    criteria::{max, min},
    effective_gbps, greedy, preserved_gbps,
};
use proptest::prelude::*;

use crate::common::gpus;

/// `n` devices, every two of them joined, links by number.
fn machine(n: usize, links: impl Fn(usize, usize) -> usize) -> HardwareGraph {
    let classes = [
        (LinkClass::Direct(2), 50.0),
        (LinkClass::Direct(1), 25.0),
        (LinkClass::Sys, 12.0),
        (LinkClass::Pix, 20.0),
        (LinkClass::Direct(4), 100.0),
    ];
    let mut fabric = Fabric::new();
    let nodes = gpus(&mut fabric, n);
    for b in 0..n {
        for a in 0..b {
            let (class, gbps) = classes[links(a, b) % classes.len()];
            fabric.link(nodes[a], nodes[b], class, gbps).unwrap();
        }
    }
    fabric.lower().unwrap()
}

/// Sixteen devices with links of three kinds in no order.
fn uneven() -> HardwareGraph {
    machine(16, |a, b| (a * 7 + b * 13 + a * b * 3) % 11 % 3)
}

fn decide(
    policy: &dyn Policy,
    request: &Request,
    graph: &HardwareGraph,
) -> Result<Decision, Refusal> {
    let all = graph.all();
    policy.decide(request, &graph.with_free(&all))
}

#[test]
fn a_decision_and_what_it_took_do_not_depend_on_earlier_ones() {
    let squares = Rules::new("squares")
        .prefer(max(Objective::edges("squares", |e| {
            e.link.gbps * e.link.gbps
        })))
        .then(min(Objective::edges("sum", |e| e.link.gbps)));
    let cases = [
        (Shape::Tree, 10),
        (Shape::RingTree, 6),
        (Shape::RingTree, 7),
        (Shape::Ring, 9),
        (Shape::AllToAll, 5),
    ];
    for (shape, k) in cases {
        let fresh = || uneven();
        let asked = fresh();
        // Every table that may be needed is made now.
        for policy in [&squares as &dyn Policy, &greedy()] {
            decide(policy, &Request::new(shape.pattern(k)), &asked).unwrap();
        }
        for nodes in [1_000, 60_000, 120_000, 250_000, 1_000_000, u64::MAX] {
            let request = Request::new(shape.pattern(k)).limits(Limits::NONE.nodes(nodes));
            for policy in [&squares as &dyn Policy, &greedy()] {
                let (cold, warm) = (
                    decide(policy, &request, &fresh()),
                    decide(policy, &request, &asked),
                );
                assert_eq!(cold, warm, "{shape} of {k}, {nodes} nodes");
                if let Ok(decision) = warm {
                    assert!(
                        decision.search().nodes <= nodes,
                        "{shape} of {k}: {:?} of {nodes}",
                        decision.search()
                    );
                }
            }
        }
    }
}

#[test]
fn trees_of_every_size_are_decided() {
    let graph = uneven();
    let mut last = 0.0;
    for k in 2..=16 {
        let decision = decide(&greedy(), &Request::new(Pattern::binary_tree(k)), &graph).unwrap();
        assert!(decision.search().complete(), "{k}: {:?}", decision.search());
        let gbps = decision.best().score("aggregate_gbps").unwrap();
        assert!(
            gbps > last && gbps <= 50.0 * (k - 1) as f64,
            "{k}: {gbps} after {last}"
        );
        last = gbps;
    }
}

#[test]
fn a_floor_on_a_score_of_whole_placements_is_searched_for() {
    let graph = machine(4, |a, b| a + b);
    let odd_first = || {
        Objective::placement("rank 0 is odd", |c: &Candidate<'_>| {
            f64::from(c.placement[0].0 % 2)
        })
    };
    let policy = Rules::new("own")
        .prefer(max(aggregate_gbps()))
        .require_score(odd_first(), |odd| odd > 0.5);
    let decision = decide(&policy, &Request::new(Pattern::chain(3)), &graph).unwrap();
    assert_eq!(decision.placement()[0].0 % 2, 1);
}

#[test]
fn a_floor_is_held_against_the_sum_as_it_is_defined() {
    let graph = machine(4, |_, _| 0);
    let tenth = || Objective::edges("tenths", |_| 0.1);
    let request = Request::new(Pattern::all_to_all(4));
    let all = graph.all();
    let placement: Vec<DeviceId> = all.iter().collect();
    let candidate = Candidate {
        view: graph.with_free(&all),
        pattern: &request.pattern,
        placement: &placement,
    };
    let value = tenth().score(&candidate);
    let policy = Rules::new("own").require_score(tenth(), move |sum| sum <= value);
    assert!(decide(&policy, &request, &graph).is_ok());
    let policy = Rules::new("own").require_score(tenth(), move |sum| sum > value);
    assert!(decide(&policy, &request, &graph).is_err());
}

#[test]
fn values_that_differ_less_than_twelve_digits_are_equal_to_tables_too() {
    let graph = machine(4, |a, b| (3 * a + 2 * b) % 5);
    let large = Objective::edges("large", |e| 9e8 + e.link.gbps * e.traffic * 1e-6);
    let small = Objective::edges("small", |e| -e.link.gbps * e.traffic);
    let request = Request::new(Pattern::from_edges(3, [(0, 1, 1.0), (1, 2, 2.0)]).unwrap());
    let policy = Rules::new("own")
        .prefer(max(large.clone()))
        .then(max(small.clone()));
    let all = graph.all();
    let expected = oracle::best(&request, &graph.with_free(&all), &[large, small]);
    assert_eq!(
        decide(&policy, &request, &graph)
            .ok()
            .map(|decision| decision.placement().to_vec()),
        expected
    );
}

#[test]
fn infinite_values_and_what_is_no_number_have_their_places() {
    let graph = machine(5, |a, b| a * b);
    let all = graph.all();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0] {
        let odd = Objective::links("odd", Tiers::PAPER, move |census| {
            if census.count(0) > 0 { value } else { 1.0 }
        });
        for shape in Shape::ALL {
            let request = Request::new(shape.pattern(4));
            let policy = Rules::new("own")
                .prefer(max(odd.clone()))
                .then(max(aggregate_gbps()));
            let expected = oracle::best(
                &request,
                &graph.with_free(&all),
                &[odd.clone(), aggregate_gbps()],
            );
            assert_eq!(
                decide(&policy, &request, &graph)
                    .ok()
                    .map(|decision| decision.placement().to_vec()),
                expected
            );
        }
    }
}

#[test]
fn objectives_made_anew_do_not_pile_up() {
    let graph = machine(4, |a, b| a + b);
    let request = Request::new(Pattern::ring(4));
    for i in 0..5_000 {
        let policy = Rules::new("fresh").prefer(max(Objective::edges("fresh", move |e| {
            e.link.gbps + f64::from(i)
        })));
        decide(&policy, &request, &graph).unwrap();
    }
    assert!(graph.table_bytes() < 4 << 20, "{}", graph.table_bytes());
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(400))]

    /// One machine with many requests in turn: no table is taken for another.
    #[test]
    fn many_requests_to_one_machine(
        links in proptest::collection::vec(0usize..5, 15),
        asked in proptest::collection::vec(
            (mapa_core::testing::requests(6, 1..=4), mapa_core::testing::free_sets(6), 0usize..6, 0usize..6),
            1..12,
        ),
    ) {
        let graph = machine(6, |a, b| links[b * (b - 1) / 2 + a]);
        let objectives = [
            aggregate_gbps(),
            effective_gbps(),
            preserved_gbps(),
            Objective::edges("weighted", |e| e.traffic * e.link.gbps),
            Objective::links("fewest of the first", Tiers::PAPER, |c| -f64::from(c.count(0))),
            Objective::chosen("ids", |s| s.devices.iter().map(|d| f64::from(d.0 % 3)).sum()),
        ];
        for (request, free, first, second) in asked {
            let by = [objectives[first].clone(), objectives[second].clone()];
            let policy = Rules::new("any").prefer(max(by[0].clone())).then(max(by[1].clone()));
            let free: DeviceSet = free;
            let view = graph.with_free(&free);
            let expected = oracle::best(&request, &view, &by);
            prop_assert_eq!(policy.decide(&request, &view).ok().map(|decision| decision.placement().to_vec()), expected);
        }
    }
}
